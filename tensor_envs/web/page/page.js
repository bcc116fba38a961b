// The page: a first screen of games, a table, and where games are files a wall of thousands of them.
import { Connection, parsed } from "./connection.js";
import { create, element } from "./controls.js";
import { Form } from "./form.js";
import { Local } from "./local.js";
import { request, onLost, tryNow } from "./net.js";
import { Review } from "./review.js";
import { markdown } from "./rules.js";
import { server } from "./server.js";
import { Wall } from "./wall.js";

const GAMES = 4096; // games of the wall

const fail = (error) => {
  element("error").textContent = String(error.message ?? error);
  element("error").hidden = false;
  document.body.dataset.state = "error";
};
onLost((lost) => { element("lost").hidden = !lost; });
element("again").addEventListener("click", tryNow);
addEventListener("error", ({ error, message }) => fail(error ?? message));
addEventListener("hashchange", ({ newURL }) => { // a link was followed; meanwhile the table may have written its own address
  history.replaceState(null, "", newURL);
  location.reload();
});
addEventListener("unhandledrejection", ({ reason }) => fail(reason));

// the position that the address names; null if it names a game alone. A game under rules of the form is known from then on.
async function linked() {
  const { table: name, ...position } = parsed(location.hash);
  // a server that was started again has other tables; the address may have the moves
  const seen = name && await engine.look(name).catch((error) => {
    if (!error.gone || !position.actions) throw error;
  });
  const game = seen?.game ?? position.game;
  if (!games.has(game)) {
    if (!game.endsWith(")")) return "home";
    offer(await engine.add("about", game));
  }
  element("game").value = game;
  return seen ? { table: name } : position.seats ? { actions: [], ...position } : null;
}

function offer(entry) {
  const { title, game } = entry, { options } = element("game");
  if (![...options].some(({ value }) => value === game)) element("game").append(new Option(title, game));
  games.set(game, entry);
  element("game").value = game;
}

function home() {
  const { game: last } = localStorage, link = element("continue").firstElementChild;
  if (last) {
    const name = games.get(new URLSearchParams(last.slice(1)).get("game"))?.title;
    Object.assign(link, { href: last, textContent: `Continue your game${name ? `: ${name}` : ""}` });
  }
  element("continue").hidden = !last;
  element("cards").replaceChildren(...catalogue.games.map(({ game, title, picture }) => create("a", { href: `#${encodeURIComponent(game)}` },
    create("img", { src: picture, alt: "", loading: "lazy" }), create("b", { textContent: title }), create("span", { textContent: "Play" }))));
  document.body.dataset.state = "home";
}

// the chosen game: its wall, or begin a table
async function choose(begin = watching ? null : () => table.begin()) {
  const game = element("game").value;
  table.offer(games.get(game));
  form.show();
  element("watch").href = `#watch=${encodeURIComponent(game)}`;
  if (begin) {
    await begin();
    return;
  }
  element("table").hidden = true;
  history.replaceState(null, "", element("watch").href);
  wall.show(null);
  await showWall();
  document.body.dataset.state = "wall";
}

async function showWall() {
  const game = element("game").value, batch = await engine.batch(game, GAMES);
  if (game !== element("game").value) return;
  element("live").hidden = !batch; // it has a width when it is shown
  element("alone").hidden = Boolean(batch);
  wall.show(batch);
}

// the rules: text, or the address of it; how to play comes first, with the specification folded below
element("rules").addEventListener("click", async () => {
  const { rules } = games.get(element("game").value), text = rules.includes("\n") ? rules : await (await request(rules)).text();
  const [short, ...rest] = text.split("\n## Specification\n");
  const folded = rest.map((part) => create("details", {}, create("summary", { textContent: "Specification" }), ...markdown(part)));
  element("pages").replaceChildren(...markdown(short), ...folded);
  element("book").showModal();
  element("pages").scrollIntoView();
});

const catalogue = await (await request("games.json")).json();
const games = new Map(catalogue.games.map((game) => [game.game, game]));
const engine = catalogue.server ? server : new Local(games, catalogue.python, fail);
const table = new Connection(engine, fail);
new Review(engine, table);
const form = new Form(engine, () => element("game").value, async (game) => {
  offer(game);
  await choose(() => table.begin());
});
let wall = null;
catalogue.games.forEach(offer);
element("game").selectedIndex = 0;
element("game").addEventListener("change", () => choose());
if (!catalogue.server) {
  wall = new Wall({
    scroller: element("wall"), inner: element("inner"), canvas: element("tiles"), cursor: element("cursor"),
    report: (rate) => {
      const shown = rate >= 1e6 ? `${(rate / 1e6).toFixed(1)} million` : Math.round(rate).toLocaleString("en");
      element("rate").textContent = `${wall.games.batch.toLocaleString("en")} games, ${shown} steps a second in this tab`;
      document.body.dataset.rate = Math.round(rate);
    },
    take: (start) => table.begin({ start }),
  });
  const setPace = () => { wall.pace = Number(element("pace").value); };
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) element("pace").value = "0";
  element("pace").addEventListener("change", setPace);
  setPace();
}
const watching = wall !== null && location.hash.startsWith("#watch=");
const asked = await linked().catch((error) => {
  delete localStorage.game;
  fail(error);
});
const screen = asked === "home" ? "home" : watching ? "wall" : "table";
document.body.dataset.page = screen;
element("home").hidden = screen !== "home";
element("begin").hidden = screen === "home";
element("other").hidden = screen === "home" || !catalogue.python;
element("watch").hidden = watching || !wall;
element("watch").href = `#watch=${encodeURIComponent(element("game").value)}`;
if (screen === "home") home();
else if (asked === null || watching) await choose();
else if (asked) await choose(() => (asked.table ? table.ask("look", asked.table) : table.ask("create", asked)));
