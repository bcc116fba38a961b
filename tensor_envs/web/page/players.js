// Computer players of the page: by search, or perfectly.
import { Games, Kernels, LANES, load, read } from "./games.js";
import { memoize, request } from "./net.js";

const minds = new Map(); // promises of what is loaded for a player of a game

// some of a game's kernels for one game, such as "player"
async function think(file, part) {
  const about = await load(`${file}.${part}`), mind = new Kernels(about, 1);
  for (const [name, values] of Object.entries(about.initial)) mind[name].set(values);
  return Object.assign(mind, about);
}

// kind: of a player by search, whose simulations count; else those of a hint
async function asked(file, kernel, game, kind) {
  const mind = await memoize(minds, file, () => think(file, "player"));
  if (kernel === "search") {
    const kinds = Object.keys(mind.heads), simulations = (of) => Number(of.split(":")[1]), most = kinds.at(-1);
    const head = mind.heads[kind ?? most], table = mind.initial.params.slice(head.length);
    // factors of visit counts, then those of numbers of legal actions
    mind.params.set([...head, ...table.slice(0, simulations(kind ?? most) + 1), ...table.slice(simulations(most) + 1)]);
  }
  mind.states.set(game.words);
  mind.keys.set(game.keys);
  mind.run(kernel);
  return mind;
}

// a safetensors file: what it says about itself, and the bytes of its tensors by name
async function contents(file) {
  const bytes = await (await request(`${file}.safetensors`)).arrayBuffer();
  const size = Number(new DataView(bytes).getBigUint64(0, true)), start = 8 + size;
  const { __metadata__: { about }, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, size)));
  const tensors = Object.entries(header).map(
    ([name, { data_offsets: [first, last] }]) => [name, bytes.slice(start + first, start + last)]);
  return { about: JSON.parse(about), tensors };
}

// *** perfect play, by a table, or where all that can follow is little ***

// each knows what the legal actions are worth to the player to move
class Table {
  static async load(file) {
    const table = new Table();
    table.mind = await think(file, "table");
    for (const [name, bytes] of (await contents(`${file}.table`)).tensors) table.mind[name].set(new Uint8Array(bytes));
    return table;
  }

  worths({ words }, legal) {
    this.mind.states.set(words);
    this.mind.run("judge");
    return legal.map((action) => this.mind.values[action]);
  }
}

const LATER = 1 - 2 ** -10; // what is won sooner counts more, a little

class Solver {
  constructor(about) {
    this.about = about;
    this.games = new Games(about, LANES);
    this.values = new Map(); // of positions for the player to move
  }

  worths({ words, keys }, legal) {
    const { games, about } = this, { player } = read(about, words);
    legal.forEach((action, lane) => {
      games.set(lane, { words, keys });
      games.actions[lane] = action;
    });
    games.run("step");
    const after = legal.map((_, lane) => games.row("states", lane));
    return after.map((words) => {
      const next = read(about, words), paid = next.rewards[player];
      if (next.over) return paid;
      const value = this.value({ words, keys });
      return paid + LATER * (next.player === player ? value : -value);
    });
  }

  value(game) {
    const key = game.words.slice(0, this.about.rewards).join();
    if (!this.values.has(key)) this.values.set(key, Math.max(...this.worths(game, read(this.about, game.words).legal)));
    return this.values.get(key);
  }
}

const solver = (file, about) => memoize(minds, `${file} perfect`, async () => (about.table ? Table.load(file) : new Solver(about)));

async function perfect(file, game, legal, about) {
  const worths = (await solver(file, about)).worths(game, legal), best = Math.max(...worths);
  const kept = legal.filter((_, k) => worths[k] === best);
  return kept[Math.floor(Math.random() * kept.length)];
}

// plies to the end of a game whose worth was found by `Solver`: each but the last has made it smaller
const distance = (worth) => 1 + Math.round(Math.log(Math.abs(worth)) / Math.log(LATER));

function exact(worths, legal, timed) {
  const best = Math.max(...worths), value = Math.sign(best), actions = legal.filter((_, k) => worths[k] === best);
  return { actions, value, exact: true, distance: value && timed ? distance(best) : null };
}

// the best actions and their value for the player to move: exact where there is perfect play, else by search
export async function judge(file, game, legal, about, kinds) {
  if (kinds.includes("perfect")) {
    return exact((await solver(file, about)).worths(game, legal), legal, !about.table);
  }
  const { action: [action], summary } = await asked(file, "search", game);
  // visits, weights and values of all actions, one after the other; the value of the position and its proven outcome
  const value = new Float32Array(summary.slice().buffer)[2 * about.actions + action];
  return { actions: [action], value, exact: summary[3 * about.actions + 1] > 0 };
}

// the action of a player of some kind, who is to move; null: any
export async function choose(kind, file, game, legal, about) {
  if (kind.startsWith("playout:")) return (await asked(file, "search", game, kind)).action[0];
  return kind === "perfect" ? perfect(file, game, legal, about) : null;
}
