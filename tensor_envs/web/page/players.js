// Computer players of the page: by search, or perfectly by a table.
import { Kernels, load } from "./games.js";
import { memoize, request } from "./net.js";

const loaded = new Map(); // promises of the kernels of players, by file

// a part of a game's kernels, such as "player", with arrays for one game
async function loadKernels(file, part) {
  const about = await load(`${file}.${part}`), kernels = new Kernels(about, 1);
  for (const [name, values] of Object.entries(about.initial)) kernels[name].set(values);
  return Object.assign(kernels, about);
}

// The result of a search. kind: of a player, whose simulations count; else those of a hint.
async function searched(file, game, kind) {
  const kernels = await memoize(loaded, file, () => loadKernels(file, "player"));
  const kinds = Object.keys(kernels.heads), simulations = (of) => Number(of.split(":")[1]), most = kinds.at(-1);
  const head = kernels.heads[kind ?? most], table = kernels.initial.params.slice(head.length);
  // factors of visit counts, then those of numbers of legal actions
  kernels.params.set([...head, ...table.slice(0, simulations(kind ?? most) + 1), ...table.slice(simulations(most) + 1)]);
  kernels.states.set(game.words);
  kernels.keys.set(game.keys);
  kernels.run("search");
  return kernels;
}

// the lookup of a game's table, a safetensors file: the length of its header, the header, and bytes
async function loadTable(file) {
  const [kernels, answer] = await Promise.all([loadKernels(file, "table"), request(`${file}.table.safetensors`)]);
  const bytes = await answer.arrayBuffer(), start = 8 + Number(new DataView(bytes).getBigUint64(0, true));
  const { __metadata__: _, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, start - 8)));
  for (const [name, { data_offsets: [first, last] }] of Object.entries(header)) {
    kernels[name].set(new Uint8Array(bytes, start + first, last - first));
  }
  return kernels;
}

// the actions that keep the value of a position
async function solved(file, { words }, legal) {
  const kernels = await memoize(loaded, `${file} table`, () => loadTable(file));
  kernels.states.set(words);
  kernels.run("judge");
  const worths = legal.map((action) => kernels.values[action]), value = Math.max(...worths);
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
