// node choices.js KIND ID PLIES [ACTION...]: the actions of a computer player in a game with itself, or in a game of
// these actions, for tests/web/test_kernels.py.
import { readFile } from "node:fs/promises";
import { Games, load, read } from "./games.js";
import { choose } from "./players.js";

globalThis.fetch = async (path) => new Response(await readFile(path));
const [kind, id, plies, ...played] = process.argv.slice(2), file = `games/${id}`, about = await load(file), actions = [];
const one = new Games(about, 1, 2n ** 63n + 7n);
for (;;) {
  const game = one.game(0), { over, legal } = read(about, game.words);
  if (over || actions.length === Number(plies)) break;
  const start = performance.now(), action = await choose(kind, file, game, legal);
  if (process.env.TIMES) console.error(id, kind, performance.now() - start);
  one.actions[0] = played[actions.length] ?? action;
  actions.push(action);
  one.run("step");
}
console.log(JSON.stringify(actions));
