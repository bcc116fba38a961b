// Python's sequences and loops, see `runtime.js`.
import { add, eq, gt, lt, mul, truth } from "./runtime_numbers.js";
import { IndexError, StopIteration, TypeError, ValueError, create, fail, keywords } from "./runtime_objects.js";
import { Dict, PySet } from "./runtime_sets.js";
import { repr } from "./runtime_text.js";

export const list = (values = []) => [...each(values)], tuple = list;

// what a loop goes through
export function each(x) {
  if (x instanceof Array || typeof x === "string") return x;
  if (x?.__iter__) return x.__iter__();
  if (x?.[Symbol.iterator]) return x;
  if (!x?.__getitem__) fail(TypeError, `${repr(x)} is not iterable`);
  return Array.from({ length: x.__len__() }, (_, k) => x.__getitem__(k));
}
export const iter = (x) => each(x)[Symbol.iterator]();
export function next(iterator, other) {
  const { done, value } = iterator.next();
  return done ? other ?? (other === undefined ? fail(StopIteration, "") : null) : value;
}
export const len = (x) => x.length ?? x.size ?? x.__len__();
export function entryAt(x, k) {
  const n = Number(k), at = n < 0 ? n + x.length : n;
  return at >= 0 && at < x.length ? x[at] : fail(IndexError, `index ${k} out of range`);
}
export const at = (x, k) => (x.__getitem__ ? x.__getitem__(k) : x instanceof Dict ? x.at(k) : entryAt(x, k));
export function put(x, k, value) {
  if (x.__setitem__) x.__setitem__(k, value);
  else if (x instanceof Dict) x.put(k, value);
  else x[k < 0 ? Number(k) + x.length : Number(k)] = value;
}
export const remove = (x, k) => { if (x instanceof Dict) x.pop(k); else x.splice(k < 0 ? k + x.length : k, 1); };

function places(length, start, stop, step) {
  const by = step ?? 1, fit = (k, low, high) => Math.min(Math.max(k < 0 ? Number(k) + length : Number(k), low), high);
  const first = start === null ? (by < 0 ? length - 1 : 0) : by < 0 ? fit(start, -1, length - 1) : fit(start, 0, length);
  const last = stop === null ? (by < 0 ? -1 : length) : by < 0 ? fit(stop, -1, length - 1) : fit(stop, 0, length);
  return range(first, last, by);
}
export function slice(x, start, stop, step) {
  const found = places(x.length, start, stop, step).map((k) => x[k]);
  return typeof x === "string" ? found.join("") : found;
}

// the parts of a value; after: how many follow on a starred part, -1 for none, which comes after `first` others
export function unpack(x, after, first) {
  const values = x instanceof Array ? x : [...each(x)];
  if (after < 0) return values.length === first ? values : fail(ValueError, `expected ${first} values, got ${values.length}`);
  return [...values.slice(0, first), values.slice(first, values.length - after), ...values.slice(values.length - after)];
}

export function has(x, value) {
  if (x.__contains__) return x.__contains__(value);
  if (typeof x === "string") return x.includes(value);
  return x instanceof Dict || x instanceof PySet ? x.has(value) : any(map((other) => eq(other, value), x));
}

export function range(start, stop, step = 1) {
  const [first, end] = stop === undefined ? [0, Number(start)] : [Number(start), Number(stop)], found = [];
  for (let k = first; step > 0 ? k < end : k > end; k += step) found.push(k);
  return Object.assign(found, { start: first, stop: end, step });
}
export function* enumerate(values, start = 0) { for (const x of each(values)) yield [start++, x]; }
export function* zip(...rest) {
  keywords(rest); // strict
  for (const parts = rest.map(iter); parts.length;) {
    const found = parts.map((part) => part.next());
    if (found.some(({ done }) => done)) return;
    yield found.map(({ value }) => value);
  }
}
export function* zip_longest(...rest) {
  const { fillvalue = null } = keywords(rest), lists = rest.map(list);
  for (let k = 0; lists.some((values) => k < values.length); k += 1) yield (lists.map((values) => (k < values.length ? values[k] : fillvalue)));
}
export function* map(f, ...lists) {
  if (lists.length === 1) for (const x of each(lists[0])) yield create(f, x);
  else for (const values of zip(...lists)) yield create(f, ...values);
}
export const reversed = (values) => iter([...each(values)].reverse());
export function* chain(...lists) { for (const values of lists) yield* each(values); }
export function* fromIterable(lists) { for (const values of each(lists)) yield* each(values); }
export function* pairwise(values) {
  const all = list(values);
  for (let k = 1; k < all.length; k += 1) yield [all[k - 1], all[k]];
}
export function* product(...rest) {
  const { repeat = 1 } = keywords(rest), [first, ...others] = Array(repeat).fill(rest.map(list)).flat();
  if (!first) yield [];
  else for (const x of first) for (const more of product(...others)) yield [x, ...more];
}
export const reduce = (f, values, ...start) => list(values).reduce((x, y) => f(x, y), ...start);
export const any = (values) => { for (const x of each(values)) if (truth(x)) return true; return false; };
export const all = (values) => !any(map((x) => !truth(x), values));
export const sum = (values, start = 0) => reduce(add, values, start);
export const prod = (values) => reduce(mul, values, 1);
export function ordered(values, rest) {
  const { key = (x) => x, reverse = false } = keywords(rest);
  const pairs = list(values).map((x) => [key(x), x]), sign = truth(reverse) ? -1 : 1;
  return pairs.sort(([a], [b]) => sign * (lt(a, b) ? -1 : lt(b, a) ? 1 : 0)).map(([, x]) => x);
}
export const sorted = (values, ...rest) => ordered(values, rest);
function best(rest, better) {
  const given = keywords(rest), key = given.key ?? ((x) => x), values = rest.length === 1 ? list(rest[0]) : rest;
  if (!values.length) return "default" in given ? given.default : fail(ValueError, "an empty sequence");
  return values.reduce((x, y) => (truth(better(key(y), key(x))) ? y : x));
}
export const max = (...rest) => best(rest, gt);
export const min = (...rest) => best(rest, lt);
