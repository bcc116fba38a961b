// The package's own Python for games of the form, on a thread of its own.
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
  const [python, archive] = await Promise.all([loadPyodide({ indexURL: new URL("./python/", import.meta.url).href }), bytes("python/package.zip")]);
  python.runPython("import sys; sys.path.insert(0, '/package'); sys.dont_write_bytecode = True");
  notify("Python reads the rules ...");
  python.unpackArchive(archive, "zip", { extractDir: "/package" });
  python.pyimport("playground");
  notify("");
  return python.pyimport("bridge");
}

const started = new Map(); // a promise of Python

// what: "module.function"; given: its arguments
self.onmessage = async ({ data: { number, what, given } }) => {
  try {
    const bridge = await memoize(started, "", start);
    self.postMessage({ number, answer: JSON.parse(bridge.answer(what, JSON.stringify(given))) });
  } catch (error) {
    self.postMessage({ number, failed: failed(error) });
  }
};
