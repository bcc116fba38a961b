// The package's own Python, on a thread of its own: a part of it, such as `bridge`, is an archive of that name.
import { memoize, onLost, request } from "./net.js";
import { loadPyodide } from "./python/pyodide.mjs";

const REFUSALS = ["ValueError", "TypeError", "NotImplementedError"]; // which say what is wrong in a sentence
const bytes = async (path) => new Uint8Array(await (await request(path)).arrayBuffer());
const notify = (progress) => self.postMessage({ progress });
const failed = (error) => (REFUSALS.includes(error.type)
  ? String(error).split(`\n${error.type}: `).at(-1).trim() : String(error).slice(-500));

onLost((lost) => notify(lost ? "No connection. Trying again ..." : ""));

async function start() {
  notify("Python is being loaded ...");
  const python = await loadPyodide({ indexURL: new URL("./python/", import.meta.url).href });
  python.runPython("import sys; sys.path.insert(0, '/package'); sys.dont_write_bytecode = True");
  return python;
}

const parts = new Map(); // promises of Python itself, and of its modules

async function load(part) {
  const [python, archive] = await Promise.all([memoize(parts, "", start), bytes(`python/${part}.zip`)]);
  notify("Python reads the rules ...");
  python.unpackArchive(archive, "zip", { extractDir: "/package" });
  const module = python.pyimport(part);
  notify("");
  return module;
}

const loaded = (part) => memoize(parts, part, () => load(part));

// what: "part.function"; given: its arguments
self.onmessage = async ({ data: { number, what, given } }) => {
  try {
    const bridge = await loaded("bridge");
    await loaded(what.split(".")[0]);
    self.postMessage({ number, answer: JSON.parse(bridge.answer(what, JSON.stringify(given))) });
  } catch (error) {
    self.postMessage({ number, failed: failed(error) });
  }
};
