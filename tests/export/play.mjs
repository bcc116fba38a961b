// A program that plays an exported WebAssembly module and writes all that it computes, for tests/export/test_export.py.
import { readFileSync, writeSync } from "node:fs";

const [file, seed, games, steps, turns] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(file));
const about = JSON.parse(new TextDecoder().decode(WebAssembly.Module.customSections(module, "tensor_envs")[0]));
const { exports } = new WebAssembly.Instance(module);
const kinds = { uint32: Uint32Array, int32: Int32Array, float32: Float32Array, bool: Uint8Array, int8: Int8Array };
const blocks = games / about.lanes, places = {}, arrays = {};
let end = exports.__heap_base.value;
for (const [name, [kind, values]] of Object.entries(about.arrays)) {
  places[name] = end = Math.ceil(end / 64) * 64;
  end += values * games * kinds[kind].BYTES_PER_ELEMENT;
}
exports.memory.grow(Math.ceil((end - exports.memory.buffer.byteLength) / 65536));
for (const [name, [kind, values]] of Object.entries(about.arrays)) {
  arrays[name] = new kinds[kind](exports.memory.buffer, places[name], values * games);
}

function call(name, numbers = {}) {
  const all = { ...places, blocks, ...numbers };
  exports[name](...about.functions[name].map((parameter) => all[parameter]));
}

function write(name) {
  const { buffer, byteOffset, byteLength } = arrays[name];
  for (let done = 0; done < byteLength;) done += writeSync(1, new Uint8Array(buffer, byteOffset + done, byteLength - done));
}

const words = BigInt(seed);
call("seed", { seed_low: Number(BigInt.asIntN(32, words)), seed_high: Number(words >> 32n) | 0, first_row: 0 });
call("init");
["keys", "states"].forEach(write);
for (let step = 0; step < steps; step++) {
  call("sample");
  for (let game = 0; game < games; game++) {
    if ((game + step) % 13 === 0) {
      arrays.actions[game] = (game + step) % 26 ? (game + step) % (about.actions.length + 2) - 1 : -1;
    }
  }
  write("actions");
  call("step");
  write("states");
  if (step % 8 === 0) {
    ["mask", "observe"].forEach((name) => call(name));
    ["masks", "observations"].forEach(write);
  }
  if (step % 2) call("reset");
}
call("reset");
call("rollout", { steps: Number(turns) });
["states", "totals"].forEach(write);
