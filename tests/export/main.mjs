// Play random games of the exported connect four in Node. tensor_envs/export/README.md has the commands.
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync("connect_four.wasm"));
const section = WebAssembly.Module.customSections(module, "tensor_envs")[0]; // layout, sizes and names as JSON
const { lanes, arrays } = JSON.parse(new TextDecoder().decode(section));
const { memory, __heap_base, ...game } = new WebAssembly.Instance(module).exports;
const states = __heap_base.value, keys = states + 4 * lanes * arrays.states[1], totals = keys + 4 * lanes * arrays.keys[1];
memory.grow(1); // 64 KiB, for one block
game.seed(keys, 42, 0, 0, 1);
game.init(states, keys, 1);
game.rollout(states, keys, totals, 1000, 1);
const wins = new Float32Array(memory.buffer, totals + 4 * lanes * 2, 2 * lanes);
console.log(`64 games: ${wins.reduce((a, b) => a + b)} episodes won`);
