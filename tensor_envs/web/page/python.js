// The games' own Python, on a thread of its own: pictures and texts of positions.
import { loadPyodide } from "./python/pyodide.mjs";

const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());
const tell = (progress) => self.postMessage({ progress });

async function start() {
  tell("Python is being loaded ...");
  const [python, archive] = await Promise.all([
    loadPyodide({ indexURL: new URL("./python/", import.meta.url).href }), bytes("python/package.zip"),
  ]);
  tell("Python reads the rules ...");
  python.unpackArchive(archive, "zip", { extractDir: "/package" });
  python.runPython("import sys; sys.path.insert(0, '/package'); sys.dont_write_bytecode = True");
  const bridge = python.pyimport("bridge");
  tell("");
  return bridge;
}

const ready = start();
ready.catch((error) => self.postMessage({ failed: String(error).slice(-500) }));

self.onmessage = async ({ data: { number, position: [id, words, player, moves] } }) => {
  try {
    const view = (await ready).view;
    const found = JSON.parse(view(id, JSON.stringify(words), player ?? -1, JSON.stringify(moves)));
    self.postMessage({ number, found });
  } catch (error) {
    self.postMessage({ number, found: null, failed: String(error).slice(-500) });
  }
};
