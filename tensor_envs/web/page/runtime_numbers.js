// Python's truth, comparisons and arithmetic, see `runtime.js`.
import { each, has } from "./runtime_lists.js";
import { TypeError, fail } from "./runtime_objects.js";
import { Dict, PySet } from "./runtime_sets.js";
import { repr } from "./runtime_text.js";

export function truth(x) {
  if (typeof x !== "object" || x === null) return Boolean(x);
  return x.__bool__ ? x.__bool__() : x instanceof Array ? x.length > 0 : x instanceof Dict || x instanceof PySet ? x.size > 0 : !x.__len__ || x.__len__() > 0;
}
export const and = (first, ...others) => others.reduce((x, next) => (truth(x) ? next() : x), first);
export const or = (first, ...others) => others.reduce((x, next) => (truth(x) ? x : next()), first);

function same(a, b) {
  if (a === b) return true;
  if (typeof a === "boolean") a = Number(a);
  if (typeof b === "boolean") b = Number(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (a instanceof Array && b instanceof Array) return a.length === b.length && a.every((x, k) => eq(x, b[k]));
  if (a instanceof Dict && b instanceof Dict) return a.size === b.size && [...a].every((k) => b.has(k) && eq(a.at(k), b.at(k)));
  if (a instanceof PySet && b instanceof PySet) return a.size === b.size && [...a].every((x) => b.has(x));
  return a.constructor === b.constructor && Boolean(a.constructor.fields?.every((name) => eq(a[name], b[name])));
}
export const eq = (a, b) => (a?.__eq__ ? a.__eq__(b) : b?.__eq__ ? b.__eq__(a) : same(a, b));
export const ne = (a, b) => (a?.__ne__ ? a.__ne__(b) : b?.__ne__ ? b.__ne__(a) : !eq(a, b));

function before(a, b) {
  const k = a instanceof Array ? a.findIndex((x, i) => i >= b.length || !eq(x, b[i])) : null;
  return k === null ? a < b : k < 0 ? a.length < b.length : k < b.length && before(a[k], b[k]);
}
const subset = (a, b) => [...a].every((x) => b.has(x));
const compared = (name, back, plain) => (a, b) => (a?.[name] ? a[name](b) : b?.[back] ? b[back](a) : plain(a, b));
export const lt = compared("__lt__", "__gt__", (a, b) => (a instanceof PySet ? a.size < b.size && subset(a, b) : before(a, b)));
export const gt = compared("__gt__", "__lt__", (a, b) => lt(b, a));
export const le = compared("__le__", "__ge__", (a, b) => (a instanceof PySet ? subset(a, b) : !before(b, a)));
export const ge = compared("__ge__", "__le__", (a, b) => le(b, a));

const whole = (x) => (x >= -Number.MAX_SAFE_INTEGER && x <= Number.MAX_SAFE_INTEGER ? Number(x) : x); // of a BigInt
export const isNumber = (x) => typeof x === "number" || typeof x === "bigint" || typeof x === "boolean";

// an operator of numbers, and what it does to other things
function operator(name, small, large, other) {
  const forth = `__${name}__`, back = `__r${name}__`;
  return (a, b) => {
    if (typeof a === "number" && typeof b === "number") {
      const found = small(a, b);
      if (found !== undefined) return found;
    }
    if (isNumber(a) && isNumber(b)) {
      if (typeof a === "boolean") a = Number(a);
      if (typeof b === "boolean") b = Number(b);
      const found = typeof a === "number" && typeof b === "number" ? small(a, b) : undefined;
      return found ?? whole(large(BigInt(a), BigInt(b)));
    }
    if (a?.[forth]) return a[forth](b);
    if (b?.[back]) return b[back](a);
    return other(a, b);
  };
}
// a result that is exact, or undefined
const safe = (x, a, b) => (Number.isSafeInteger(x) || !(Number.isInteger(a) && Number.isInteger(b)) ? x : undefined);
const is32 = (a, b) => (a | 0) === a && (b | 0) === b;
const wrong = (a, b) => fail(TypeError, `no operation of ${repr(a)} and ${repr(b)}`);
const again = (a, count) => (typeof a === "string" ? a.repeat(Math.max(0, count)) : Array.from({ length: Math.max(0, count) }, () => [...a]).flat());

export const add = operator("add", (a, b) => safe(a + b, a, b), (a, b) => a + b, (a, b) => (typeof a === "string" ? a + b : [...a, ...b]));
export const sub = operator("sub", (a, b) => safe(a - b, a, b), (a, b) => a - b, (a, b) => a.minus(b));
export const mul = operator("mul", (a, b) => safe(a * b, a, b), (a, b) => a * b, (a, b) => (isNumber(b) ? again(a, Number(b)) : again(b, Number(a))));
export const truediv = operator("truediv", (a, b) => a / b, (a, b) => Number(a) / Number(b), wrong);
export const floordiv = operator("floordiv", (a, b) => Math.floor(a / b), (a, b) => (a - (((a % b) + b) % b)) / b, wrong);
export const mod = operator("mod", (a, b) => a - b * Math.floor(a / b), (a, b) => ((a % b) + b) % b, wrong);
export const pow = operator("pow", (a, b) => safe(a ** b, a, b), (a, b) => a ** b, wrong);
export const lshift = operator("lshift", (a, b) => safe(a * 2 ** b, a, b), (a, b) => a << b, wrong);
export const rshift = operator("rshift", (a, b) => Math.floor(a / 2 ** b), (a, b) => a >> b, wrong);
export const and_ = operator("and", (a, b) => (is32(a, b) ? a & b : undefined), (a, b) => a & b, (a, b) => new PySet([...a].filter((x) => has(b, x))));
export const or_ = operator("or", (a, b) => (is32(a, b) ? a | b : undefined), (a, b) => a | b, (a, b) => a.joined(b));
export const xor = operator("xor", (a, b) => (is32(a, b) ? a ^ b : undefined), (a, b) => a ^ b, (a, b) => a.minus(b).joined(b.minus(a)));
export const iadd = (a, b) => (a instanceof Array && !a.__add__ ? (a.push(...each(b)), a) : add(a, b));
export const ior = (a, b) => (a instanceof PySet || a instanceof Dict ? (a.update(b), a) : or_(a, b));
export const neg = (x) => (x?.__neg__ ? x.__neg__() : typeof x === "bigint" ? whole(-x) : 0 - x);
export const pos = (x) => (typeof x === "boolean" ? Number(x) : x), index = pos;
export const invert = (x) => (x?.__invert__ ? x.__invert__() : sub(-1, x));
export const divmod = (a, b) => [floordiv(a, b), mod(a, b)];
export const abs = (x) => (x < 0 ? neg(x) : pos(x));
export const int = (x = 0) => (typeof x === "string" ? parseInt(x, 10) : typeof x === "bigint" ? x : Math.trunc(x));
export const float = Number, bool = truth, float32 = Math.fround, isfinite = Number.isFinite;
export const { cos, sin, sqrt, ceil, floor } = Math;

// rounds as Python does: half of the last digit goes to the even one
export function round(x, digits = null) {
  const scale = 10 ** (digits ?? 0), y = x * scale;
  if (Number.isInteger(x * 2 ** ((digits ?? 0) + 1)) && Math.abs(y % 1) === 0.5) return 2 * Math.round(y / 2) / scale;
  return digits === null ? Math.round(x) : Number(x.toFixed(digits));
}
