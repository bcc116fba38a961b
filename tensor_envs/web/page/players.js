// Computer players of the page: by search, or perfectly by a table.
import { Kernels, load } from "./games.js";
import { memoize, request } from "./net.js";

const minds = new Map(); // promises of what is loaded for a player of a game

// some of a game's kernels for one game, such as "player"
async function think(file, part) {
  const about = await load(`${file}.${part}`), mind = new Kernels(about, 1);
  for (const [name, values] of Object.entries(about.initial)) mind[name].set(values);
  return Object.assign(mind, about);
}

// The result of a search. kind: of a player, whose simulations count; else those of a hint.
async function searched(file, game, kind) {
  const mind = await memoize(minds, file, () => think(file, "player"));
  const kinds = Object.keys(mind.heads), simulations = (of) => Number(of.split(":")[1]), most = kinds.at(-1);
  const head = mind.heads[kind ?? most], table = mind.initial.params.slice(head.length);
  // factors of visit counts, then those of numbers of legal actions
  mind.params.set([...head, ...table.slice(0, simulations(kind ?? most) + 1), ...table.slice(simulations(most) + 1)]);
  mind.states.set(game.words);
  mind.keys.set(game.keys);
  mind.run("search");
  return mind;
}

// the lookup of a game's table, a safetensors file: the length of its header, the header, and bytes
async function loadTable(file) {
  const [mind, answer] = await Promise.all([think(file, "table"), request(`${file}.table.safetensors`)]);
  const bytes = await answer.arrayBuffer(), start = 8 + Number(new DataView(bytes).getBigUint64(0, true));
  const { __metadata__: _, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, start - 8)));
  for (const [name, { data_offsets: [first, last] }] of Object.entries(header)) {
    mind[name].set(new Uint8Array(bytes, start + first, last - first));
  }
  return mind;
}

// the actions that keep the value of a position
async function solved(file, { words }, legal) {
  const mind = await memoize(minds, `${file} table`, () => loadTable(file));
  mind.states.set(words);
  mind.run("judge");
  const worths = legal.map((action) => mind.values[action]), value = Math.max(...worths);
  return { actions: legal.filter((_, k) => worths[k] === value), value, exact: true };
}

// the best actions and their value for the player to move: exact where there is a table, else by search
export async function judge(file, game, legal, about) {
  if (about.table) return solved(file, game, legal);
  const { action: [action], summary } = await searched(file, game);
  // visits, weights and values of all actions, one after the other; the value of the position and its proven outcome
  const value = new Float32Array(summary.slice().buffer)[2 * about.actions + action];
  return { actions: [action], value, exact: summary[3 * about.actions + 1] > 0 };
}

// the action of a player of some kind, who is to move; null: any
export async function choose(kind, file, game, legal) {
  if (kind === "uniform") return null;
  if (kind !== "perfect") return (await searched(file, game, kind)).action[0];
  const { actions } = await solved(file, game, legal);
  return actions[Math.floor(Math.random() * actions.length)];
}
