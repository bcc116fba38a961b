// A batch of games in WebAssembly: its arrays, and the kernels of one game that change them. Arrays are [blocks, values,
// lanes], as on every device.

export const LANES = 64;

export async function load(file) {
  const [about, bytes] = await Promise.all([
    fetch(`${file}.json`).then((answer) => answer.json()),
    fetch(`${file}.wasm`).then((answer) => answer.arrayBuffer()),
  ]);
  return { ...about, module: await WebAssembly.compile(bytes) };
}

export class Games {
  // about: of a game, as `load` gives it; seed: a BigInt
  constructor(about, batch, seed = 0n) {
    this.about = about;
    this.batch = batch;
    this.blocks = Math.ceil(batch / LANES);
    this.kernels = new WebAssembly.Instance(about.module).exports;
    const memory = this.kernels.memory;
    let end = this.kernels.__heap_base.value;
    this.places = {};
    for (const [name, values] of Object.entries(about.arrays)) {
      this.places[name] = end = Math.ceil(end / 64) * 64;
      end += 4 * this.size(name);
    }
    memory.grow(Math.max(0, Math.ceil((end - memory.buffer.byteLength) / 65536)));
    for (const [name, kind] of [["words", Uint32Array], ["actions", Int32Array], ["totals", Float32Array],
      ["rng", Uint32Array], ["scalars", Int32Array], ["share", Int32Array]]) {
      this[name] = new kind(memory.buffer, this.places[name], this.size(name));
    }
    this.share.set([0, this.blocks]);
    this.scalars.set([Number(BigInt.asIntN(32, seed)), Number(BigInt.asIntN(32, seed >> 32n)), 0]);
    this.run("seed");
    this.run("init");
  }

  // numbers in an array; of those that are of no game there are four
  size(name) {
    return this.about.arrays[name] * this.blocks * LANES || 4;
  }

  run(kernel) {
    this.kernels[kernel](...this.about.calls[kernel].map((name) => this.places[name]));
  }

  // many steps of the uniform policy
  rollout(steps) {
    this.scalars[0] = steps;
    this.run("rollout");
  }

  // where value 0 of a row stands in an array of so many values a game; the others follow, LANES apart
  at(row, values) {
    return Math.floor(row / LANES) * values * LANES + row % LANES;
  }

  // all values of a row in an array
  row(name, row) {
    const values = this.about.arrays[name], first = this.at(row, values);
    return Array.from({ length: values }, (_, k) => this[name][first + k * LANES]);
  }

  // a game as `game` gives it takes the place of a row's
  set(row, game) {
    for (const name of ["words", "rng"]) {
      const first = this.at(row, game[name].length);
      game[name].forEach((x, k) => { this[name][first + k * LANES] = x; });
    }
  }

  // a game that goes on: what its last step has said of the game before it is forgotten
  live(row) {
    const first = this.at(row, this.about.arrays.words), { terminated, truncated } = this.about.slots;
    for (const [[word, shift]] of [terminated, truncated]) this.words[first + word * LANES] &= ~(1 << shift);
  }

  game(row) {
    return { words: this.row("words", row), rng: this.row("rng", row) };
  }
}

// What a page must know of a game by its words: who is to move, what is legal, what was paid, whether it is over.
export function read(about, words) {
  const number = ([word, shift, width, low]) => (words[word] >>> shift & (width === 32 ? -1 : (1 << width) - 1)) + low;
  const { current_player: player, terminated, truncated } = about.slots;
  return {
    player: number(player[0]),
    over: number(terminated[0]) + number(truncated[0]) > 0,
    truncated: number(truncated[0]) > 0,
    legal: about.actions.map((_, a) => a).filter((a) => words[about.mask + (a >> 5)] >>> (a & 31) & 1),
    rewards: [...new Float32Array(Uint32Array.from(words.slice(about.rewards, about.mask)).buffer)],
  };
}
