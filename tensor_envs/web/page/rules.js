// RULES.md as a page: the part of Markdown that the games' rules use, as elements.
import { create } from "./controls.js";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s)>]*[^\s)>.,;:])/g;

const link = (address, text) => (/^https?:/.test(address) ? create("a", { href: address, rel: "noopener", target: "_blank" }, text) : text);

function inline(text) {
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, , code, bold, slanted, label, address, bare] = match;
    parts.push(text.slice(last, match.index));
    if (code) parts.push(create("code", {}, code.trim()));
    else if (bold) parts.push(create("b", {}, ...inline(bold)));
    else if (slanted) parts.push(create("em", {}, ...inline(slanted)));
    else parts.push(link(address ?? bare, label ?? bare));
    last = match.index + all.length;
  }
  return [...parts, text.slice(last)];
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table(lines) {
  const [head, , ...rows] = lines.map(cells);
  const body = create("tbody", {}, ...rows.map((row) => create("tr", {}, ...row.map((cell) => create("td", {}, ...inline(cell))))));
  const top = create("thead", {}, create("tr", {}, ...head.map((cell) => create("th", { scope: "col" }, ...inline(cell)))));
  // a table may be wider than the page: it is scrolled, with the keyboard, too
  return create("div", { className: "wide", tabIndex: 0 }, create("table", {}, ...(head.some(Boolean) ? [top] : []), body));
}

const STARTS = /^(#{1,6} |```|\||[-*] |\d+\. )/;

export function markdown(text) {
  const lines = text.split("\n"), page = [];
  for (let k = 0; k < lines.length;) {
    const take = (holds) => {
      const first = k;
      while (k < lines.length && holds(lines[k], k - first)) k += 1;
      return lines.slice(first, k);
    };
    const line = lines[k], heading = line.match(/^(#{1,6}) (.*)/);
    if (!line.trim()) k += 1;
    else if (heading) {
      page.push(create(`h${heading[1].length + 1}`, {}, ...inline(heading[2])));
      k += 1;
    } else if (line.startsWith("```")) {
      k += 1;
      page.push(create("pre", { tabIndex: 0, textContent: take((next) => !next.startsWith("```")).join("\n") }));
      k += 1;
    } else if (line.startsWith("|")) page.push(table(take((next) => next.startsWith("|"))));
    else if (/^([-*]|\d+\.) /.test(line)) {
      const items = [];
      for (const row of take((next) => /^([-*]|\d+\.) |^ +\S/.test(next))) {
        if (/^\S/.test(row)) items.push(row.replace(/^\S+ /, ""));
        else items.push(`${items.pop()} ${row.trim()}`);
      }
      page.push(create(/^\d/.test(line) ? "ol" : "ul", {}, ...items.map((item) => create("li", {}, ...inline(item)))));
    } else page.push(create("p", {}, ...inline(take((next, n) => next.trim() && !(n && STARTS.test(next))).join(" "))));
  }
  return page;
}
