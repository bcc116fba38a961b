// node choices.js KIND ID PLIES: the actions of a computer player in a game with itself, for tests/web/test_kernels.py.
import { readFile } from "node:fs/promises";
import { Games, load, read } from "./games.js";
import { choose } from "./players.js";

globalThis.fetch = async (path) => {
  const bytes = await readFile(path);
  return { json: () => JSON.parse(bytes), arrayBuffer: () => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) };
};
const [kind, id, plies] = process.argv.slice(2), file = `games/${id}`, about = await load(file), actions = [];
const one = new Games(about, 1, 2n ** 63n + 7n);
for (;;) {
  const game = one.game(0), { over, legal } = read(about, game.words);
  if (over || actions.length === Number(plies)) break;
  const start = performance.now(), action = await choose[kind](file, game, legal, about);
  if (process.env.TIMES) console.error(id, kind, performance.now() - start);
  actions.push(action);
  one.actions[0] = action;
  one.run("step");
}
console.log(JSON.stringify(actions));
