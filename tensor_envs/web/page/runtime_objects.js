// Python's functions with keywords, its classes, objects and errors, see `runtime.js`.
import { each, entryAt, list, tuple } from "./runtime_lists.js";
import { bool, float, int } from "./runtime_numbers.js";
import { Dict, PySet, dict, frozenset, set } from "./runtime_sets.js";
import { method, str } from "./runtime_text.js";

export class Exception extends Error {}
export const [ValueError, TypeError, KeyError, IndexError, StopIteration, NotImplementedError] = Array.from({ length: 6 }, () => class extends Exception {});
export const fail = (Kind, text) => { throw new Kind(text); };
export const untranslatable = (text) => fail(NotImplementedError, `no translation: ${text}`);
export const missing = (text) => () => untranslatable(text);
export const only = (error, kinds) => { if (!kinds.some((kind) => error instanceof kind)) throw error; };

export class Keywords { constructor(given) { this.given = given; } }
export const define = (f, params, rest) => Object.assign(f, { params, rest });
export const keywords = (rest) => (rest.at(-1) instanceof Keywords ? { ...rest.pop().given } : {});
export const named = (mapping) => Object.fromEntries([...mapping.items()]);
export const taken = (given, name, other) => (Object.hasOwn(given, name) ? given[name] : other());

export function cached(f) {
  const found = new Dict();
  return define((...args) => (found.has(args) ? found.at(args) : found.setdefault(args, f(...args))), f.params, f.rest);
}

const isClass = (f) => f?.prototype instanceof Instance || f?.prototype instanceof Array || f?.prototype instanceof Exception;
export const create = (f, ...args) => (isClass(f) || f === Exception ? new f(...args) : f.__call__ ? f.__call__(...args) : f(...args));

// a call with keywords
export function call(f, given, ...args) {
  const params = isClass(f) ? f.prototype.__init__?.params?.slice(1) : f.params;
  if (!params || f.rest) return create(f, ...args, new Keywords(given));
  for (const [name, value] of Object.entries(given)) args[params.indexOf(name)] = value;
  return create(f, ...args);
}

export function partial(f, ...first) {
  const given = keywords(first), more = Object.keys(given).length ? [new Keywords(given)] : [];
  return (...rest) => create(f, ...first, ...rest, ...more);
}

export class Instance { constructor(...args) { this.__init__?.(...args); } }

export class List extends Array {
  constructor(...args) {
    super();
    (this.__init__ ?? this.push).call(this, ...(this.__init__ ? args : args[0] ?? []));
  }
}

export const listInit = (self, values = []) => { self.push(...each(values)); };
export const blank = (kind) => (kind.prototype instanceof Array ? Object.setPrototypeOf([], kind.prototype) : Object.create(kind.prototype));
export const setAttribute = (self, name, value) => { self[name] = value; };
const fix = (self, name, value) => Object.defineProperty(self, name, { value, configurable: true, writable: true });
export function methodOf(kind, name, f) {
  fix(kind, name, f);
  fix(kind.prototype, name, Object.assign(function (...args) { return f(this, ...args); }, { params: f.params, rest: f.rest, isMethod: true }));
}
export const attributeOf = (kind, name, value) => [kind, kind.prototype].forEach((holder) => fix(holder, name, value));
export const property = (kind, name, f, kept) => Object.defineProperty(kind.prototype, name, {
  get() { return kept ? fix(this, name, f(this))[name] : f(this); },
  set(value) { fix(this, name, value); },
  configurable: true,
});

// fields: names and functions of defaults; of a named tuple they are its entries
export function dataClass(kind, fields, isTuple) {
  const names = fields.map(([name]) => name);
  kind.fields = names;
  methodOf(kind, "__init__", define((self, ...args) => {
    fields.forEach(([name, other], k) => {
      const value = args[k] === undefined ? other() : args[k];
      if (isTuple) self.push(value);
      else self[name] = value;
    });
    self.__post_init__?.();
  }, ["self", ...names], false));
  if (isTuple) names.forEach((name, k) => Object.defineProperty(kind.prototype, name, { get() { return this[k]; }, configurable: true }));
}

export function inherited(kind, name, self) {
  const base = Object.getPrototypeOf(kind);
  if (base === List) return name === "__init__" ? (values) => listInit(self, values) : (k) => entryAt(self, k);
  return (...args) => base.prototype[name].apply(self, args);
}

// an attribute; a method stays one of its object
export function attribute(self, name) {
  const found = self[name];
  if (typeof found !== "function" && found !== undefined) return found;
  if (found?.isMethod) return Object.assign((...args) => found.apply(self, args), { params: found.params?.slice(1), rest: found.rest });
  if (found !== undefined || self instanceof Instance) return found;
  return (...args) => method(self, name, ...args);
}
export const getattr = (self, name, other) => (hasattr(self, name) || other === undefined ? attribute(self, name) : other);
export const hasattr = (self, name) => self !== null && self !== undefined && name in Object(self) && !(self instanceof Array && name in Array.prototype);
export const vars = (self) => ({ copy: () => dict(Object.entries(self)), update: (x, ...rest) => { Object.assign(self, named(x), keywords(rest)); } });
export const no = () => null;

const isInt = (x) => (typeof x === "number" ? Number.isInteger(x) : typeof x === "bigint");
export function type(x) {
  if (typeof x === "boolean") return bool;
  if (typeof x === "string") return str;
  if (typeof x === "number" || typeof x === "bigint") return isInt(x) ? int : float;
  return x?.constructor === Array ? list : x?.constructor;
}
export function isinstance(x, kind) {
  if (kind instanceof Array) return kind.some((one) => isinstance(x, one));
  if (kind === int) return typeof x === "boolean" || isInt(x);
  if (kind === float) return typeof x === "number" && !Number.isInteger(x);
  if (kind === list || kind === tuple) return x instanceof Array;
  if (kind === dict) return x instanceof Dict;
  if (kind === set || kind === frozenset) return x instanceof PySet;
  if (kind === str || kind === bool) return type(x) === kind;
  return typeof kind === "function" && x instanceof kind;
}
