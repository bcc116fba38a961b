// Python's values and functions, for functions of Python that were translated to JavaScript, see `web/javascript`. Numbers,
// strings, true, false and null are JavaScript's, with BigInt for whole numbers beyond 2 ** 53. Lists and tuples are arrays.
import { Dict } from "./runtime_sets.js";
export * from "./runtime_lists.js";
export * from "./runtime_numbers.js";
export * from "./runtime_objects.js";
export * from "./runtime_sets.js";
export * from "./runtime_text.js";

// a function of a module, for the page
const plain = (x) => (x instanceof Dict ? Object.fromEntries(x.items().map(([key, value]) => [key, plain(value)]))
  : x instanceof Array ? Array.from(x, plain) : x);
export const entry = (f) => (...args) => plain(f(...args));
