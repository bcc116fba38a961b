// Python's dictionaries and sets, see `runtime.js`.
import { each, has } from "./runtime_lists.js";
import { KeyError, Keywords, fail, keywords } from "./runtime_objects.js";
import { repr } from "./runtime_text.js";

const ids = new WeakMap(); // of objects in tuples
let last = 0;
const idOf = (x) => ids.get(x) ?? ids.set(x, `\0#${last += 1}`).get(x);

// a key of a Map: equal things have the same one
function keyOf(x) {
  if (typeof x === "boolean") return Number(x);
  if (x instanceof Array) return `\0(${x.map((part) => (typeof part === "string" ? JSON.stringify(part) : String(keyOf(part)))).join()})`;
  if (x instanceof Keywords) return keyOf(Object.entries(x.given).flat());
  return x instanceof PySet ? `\0{${[...x].map(keyOf).sort().join()}}` : x !== null && typeof x === "object" ? idOf(x) : x;
}

export class Dict {
  constructor(pairs = []) {
    this.map = new Map();
    for (const [key, value] of pairs) this.put(key, value);
  }
  get size() { return this.map.size; }
  * [Symbol.iterator]() { for (const [key] of this.map.values()) yield key; }
  has(key) { return this.map.has(keyOf(key)); }
  at(key) { return (this.map.get(keyOf(key)) ?? fail(KeyError, repr(key)))[1]; }
  put(key, value) {
    const known = this.map.get(keyOf(key));
    if (known) known[1] = value;
    else this.map.set(keyOf(key), [key, value]);
  }
  get(key, other = null) { return this.has(key) ? this.at(key) : other; }
  items() { return [...this.map.values()].map(([key, value]) => [key, value]); }
  keys() { return new PySet(this); }
  values() { return [...this.map.values()].map(([, value]) => value); }
  copy() { return new Dict(this.items()); }
  pop(key, other) {
    const found = other === undefined || this.has(key) ? this.at(key) : other;
    this.map.delete(keyOf(key));
    return found;
  }
  setdefault(key, value = null) { return this.has(key) ? this.at(key) : (this.put(key, value), value); }
  update(other) { for (const [key, value] of entries(other)) this.put(key, value); }
  joined(other) { return new Dict([...this.items(), ...other.items()]); }
}
export const entries = (x) => (x instanceof Dict ? x.items() : [...each(x)]);
export const dict = (pairs = [], ...rest) => (pairs instanceof Keywords ? new Dict(Object.entries(pairs.given)) : new Dict([...entries(pairs), ...Object.entries(keywords(rest))]));

export class PySet {
  constructor(values = []) {
    this.map = new Map();
    this.update(values);
  }
  get size() { return this.map.size; }
  [Symbol.iterator]() { return this.map.values(); }
  has(x) { return this.map.has(keyOf(x)); }
  add(x) { if (!this.has(x)) this.map.set(keyOf(x), x); }
  discard(x) { this.map.delete(keyOf(x)); }
  update(values) { for (const x of each(values)) this.add(x); }
  minus(other) { return new PySet([...this].filter((x) => !has(other, x))); }
  joined(other) { return new PySet([...this, ...other]); }
  pop() { return [...this].slice(0, 1).map((x) => (this.discard(x), x))[0]; }
}
dict.fromkeys = (keys, value = null) => new Dict([...each(keys)].map((key) => [key, value]));
export const set = (values) => new PySet(values), frozenset = set;
