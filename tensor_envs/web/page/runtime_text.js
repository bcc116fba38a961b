// Python's text, and the methods of its own types, see `runtime.js`.
import { each, ordered } from "./runtime_lists.js";
import { eq, pos } from "./runtime_numbers.js";
import { Keywords, ValueError, attribute, call, fail, untranslatable } from "./runtime_objects.js";
import { Dict, PySet } from "./runtime_sets.js";

export const str = (x = "") => (typeof x === "string" ? x : repr(x));
export function repr(x) {
  if (x === null || x === undefined) return "None";
  if (typeof x === "boolean") return x ? "True" : "False";
  if (typeof x === "string") return x.includes("'") && !x.includes('"') ? `"${x}"` : `'${x.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
  if (x instanceof Array) return `[${x.map(repr).join(", ")}]`;
  if (x instanceof Dict) return `{${x.items().map(([key, value]) => `${repr(key)}: ${repr(value)}`).join(", ")}}`;
  if (x instanceof PySet) return x.size ? `{${[...x].map(repr).join(", ")}}` : "set()";
  return String(x);
}

// a number as by "%g"
function general(x, precision) {
  if (!x) return "0";
  const [digits, exponent] = Number(x).toExponential(precision - 1).split("e"), power = Number(exponent);
  const cut = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= precision) return `${cut(digits)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  return cut(Number(x).toFixed(Math.max(0, precision - 1 - power)));
}

const SPEC = /^(?:(.)?([<>^=]))?([+ ])?(0)?(\d+)?(,)?(?:\.(\d+))?([a-z%])?$/u;
export function format(x, spec) {
  const [, fill, align, sign, zero, width, comma, precision, kind] = SPEC.exec(spec) ?? untranslatable(`format ${spec}`);
  const isText = typeof x === "string", digits = precision === undefined ? null : Number(precision);
  let text = isText ? (digits === null ? x : x.slice(0, digits))
    : kind === "g" ? general(x, digits || 6)
    : kind === "f" ? Number(x).toFixed(digits ?? 6)
    : kind === "%" ? `${(100 * x).toFixed(digits ?? 6)}%`
    : kind === "x" ? x.toString(16) : kind === "b" ? x.toString(2) : str(pos(x));
  if (comma) text = text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  if (sign && !text.startsWith("-")) text = sign + text;
  const room = Math.max(0, Number(width ?? 0) - text.length), pad = fill ?? (zero ? "0" : " ");
  const how = align ?? (zero ? "=" : isText ? "<" : ">");
  if (how === "=" && text.startsWith("-")) return `-${pad.repeat(room)}${text.slice(1)}`;
  if (how === "^") return pad.repeat(room >> 1) + text + pad.repeat(room - (room >> 1));
  return how === "<" ? text + pad.repeat(room) : pad.repeat(room) + text;
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
export const escape = (text) => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter]);
export const substituted = (pattern, by, text) => text.replace(new RegExp(pattern, "g"), (found) => (typeof by === "string" ? by : by({ group: () => found })));
export const fullmatch = (source, text) => new RegExp(`^(?:${source})$`, "u").exec(text);
export const pattern = (source) => ({ fullmatch: (text) => fullmatch(source, text) });
export function wrap(text, width) {
  const lines = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (lines.length && lines.at(-1).length + 1 + word.length <= width) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines;
}

const STRINGS = {
  join: (text, parts) => [...each(parts)].join(text),
  split: (text, separator = null, most = -1) => {
    const parts = separator === null ? text.trim().split(/\s+/).filter(Boolean) : text.split(separator);
    return most < 0 || parts.length <= most ? parts : [...parts.slice(0, most), parts.slice(most).join(separator ?? " ")];
  },
  replace: (text, old, by) => text.replaceAll(old, by),
  strip: (text) => text.trim(),
  rstrip: (text) => text.trimEnd(),
  partition: (text, separator) => {
    const at = text.indexOf(separator);
    return at < 0 ? [text, "", ""] : [text.slice(0, at), separator, text.slice(at + separator.length)];
  },
  startswith: (text, parts) => (parts instanceof Array ? parts : [parts]).some((part) => text.startsWith(part)),
  removesuffix: (text, part) => (part && text.endsWith(part) ? text.slice(0, -part.length) : text),
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  capitalize: (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase(),
  isupper: (text) => text !== text.toLowerCase() && text === text.toUpperCase(),
  islower: (text) => text !== text.toUpperCase() && text === text.toLowerCase(),
  isdecimal: (text) => /^\d+$/.test(text),
  isidentifier: (text) => /^[A-Za-z_]\w*$/.test(text),
  index: (text, part) => (text.includes(part) ? text.indexOf(part) : fail(ValueError, "substring not found")),
  center: (text, width, room = width - text.length) => text.padStart(text.length + (room >> 1) + (room & width & 1)).padEnd(width),
  find: (text, part) => text.indexOf(part), count: (text, part) => text.split(part).length - 1,
  format: (text, ...args) => text.replace(/\{(?::([^}]*))?\}/g, (_, spec = "") => format(args.shift(), spec)),
  ljust: (text, width) => text.padEnd(width),
};

const LISTS = {
  append: (x, value) => { x.push(value); return null; },
  extend: (x, values) => { x.push(...each(values)); return null; },
  pop: (x, k = -1) => x.splice(k, 1)[0],
  remove: (x, value) => { x.splice(LISTS.index(x, value), 1); return null; },
  index: (x, value) => {
    const k = x.findIndex((other) => eq(other, value));
    return k < 0 ? fail(ValueError, `${repr(value)} is not in the list`) : k;
  },
  count: (x, value) => x.filter((other) => eq(other, value)).length,
  copy: (x) => [...x],
  sort: (x, ...rest) => { x.splice(0, x.length, ...ordered(x, rest)); return null; },
};

const binary = (x) => BigInt(x < 0 ? -x : x).toString(2);
const NUMBERS = { bit_length: (x) => (x ? binary(x).length : 0), bit_count: (x) => binary(x).replaceAll("0", "").length };

// a method whose name one of Python's own types has
export function method(x, name, ...args) {
  const own = x?.[name];
  if (typeof own === "function" && !(x instanceof Array && !own.isMethod) && typeof x === "object") return own.apply(x, args);
  const methods = typeof x === "string" ? STRINGS : x instanceof Array ? LISTS : NUMBERS;
  return methods[name] ? methods[name](x, ...args) : own(...args);
}
export function callMethod(x, name, given, ...args) {
  const own = x?.[name];
  if (own?.isMethod) return call(attribute(x, name), given, ...args);
  if (typeof own === "function" && own.params) return call(own, given, ...args);
  return method(x, name, ...args, new Keywords(given));
}
