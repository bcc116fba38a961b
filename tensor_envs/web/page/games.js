// A batch of games in WebAssembly: its arrays, [blocks, values, lanes], and the kernels that change them.
import { unpack } from "./net.js";

export const LANES = 64;
const ROUND = 16; // steps of one call of the rollout kernel

export async function load(file) {
  const [about, bytes] = await Promise.all([
    unpack(`${file}.json`).then((answer) => answer.json()),
    unpack(`${file}.wasm`).then((answer) => answer.arrayBuffer()),
  ]);
  return { ...about, module: await WebAssembly.compile(bytes) };
}

const KINDS = { uint32: Uint32Array, int32: Int32Array, float32: Float32Array, bool: Uint8Array, uint8: Uint8Array, int8: Int8Array, int16: Int16Array };

// A number in some bits of a game's words. Python gives their place, see `tile.location`; word 0 is at `first`.
export const value = (words, [word, shift, bits, low], first = 0, lanes = 1) =>
  (words[first + word * lanes] >>> shift & -1 >>> 32 - bits) + low;

// The kernels of a module and their arrays, for so many blocks of games.
export class Kernels {
  constructor({ module, arrays, calls }, blocks, lanes = 1) {
    Object.assign(this, { calls, blocks });
    this.kernels = new WebAssembly.Instance(module).exports;
    const { memory } = this.kernels;
    let end = this.kernels.__heap_base.value;
    this.places = {};
    const length = ([, values]) => values * blocks * lanes;
    for (const [name, array] of Object.entries(arrays)) {
      this.places[name] = end = Math.ceil(end / 64) * 64;
      end += 4 * length(array);
    }
    memory.grow(Math.max(0, Math.ceil((end - memory.buffer.byteLength) / 65536)));
    for (const [name, array] of Object.entries(arrays)) {
      this[name] = new KINDS[array[0]](memory.buffer, this.places[name], length(array));
    }
  }

  run(kernel, ...numbers) {
    this.kernels[kernel](...this.calls[kernel].map((name) => this.places[name]), ...numbers, this.blocks);
  }
}

export class Games extends Kernels {
  // about: of a game, as `load` gives it; seed: a BigInt
  constructor(about, batch, seed = 0n) {
    super(about, Math.ceil(batch / LANES), LANES);
    Object.assign(this, { about, batch });
    this.run("seed", Number(BigInt.asIntN(32, seed)), Number(BigInt.asIntN(32, seed >> 32n)), 0);
    this.run("init");
  }

  // run rollouts for about `time` milliseconds -> steps of each game
  many(time) {
    const start = performance.now();
    let steps = 0;
    do {
      this.run("rollout", ROUND);
      steps += ROUND;
    } while (performance.now() - start < time);
    return steps;
  }

  // index of a row's first value in an array of `values` per game; the others follow, LANES apart
  at(row, values) {
    return Math.floor(row / LANES) * values * LANES + row % LANES;
  }

  // all values of a row in an array
  row(name, row) {
    const [, values] = this.about.arrays[name], first = this.at(row, values);
    return Array.from({ length: values }, (_, k) => this[name][first + k * LANES]);
  }

  // clear the flags of the last step, which belong to the previous episode
  live(row) {
    const first = this.at(row, this.about.arrays.states[1]), { terminated, truncated } = this.about.slots;
    for (const [[word, shift]] of [terminated, truncated]) this.states[first + word * LANES] &= ~(1 << shift);
  }

  game(row) {
    return { words: this.row("states", row), keys: this.row("keys", row) };
  }

  // replace a row's game by one that `game` returned
  set(row, game) {
    for (const [array, values] of [[this.states, game.words], [this.keys, game.keys]]) {
      const first = this.at(row, values.length);
      values.forEach((x, k) => { array[first + k * LANES] = x; });
    }
  }
}

// The player to move, legal actions, rewards and end of a game, from its words.
export function read(about, words) {
  const { current_player: player, terminated, truncated } = about.slots;
  return {
    player: value(words, player[0]),
    over: value(words, terminated[0]) + value(words, truncated[0]) > 0,
    truncated: value(words, truncated[0]) > 0,
    legal: Array.from({ length: about.actions }, (_, a) => a).filter((a) => words[about.mask + (a >> 5)] >>> (a & 31) & 1),
    rewards: [...new Float32Array(Uint32Array.from(words.slice(about.rewards, about.mask)).buffer)],
  };
}
