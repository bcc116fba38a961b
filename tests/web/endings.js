// node endings.js ID ACTION...: what `ending` of players.js finds in each position of a game of these actions, for
// tests/web/test_kernels.py.
import { readFile } from "node:fs/promises";
import { Games, load, read } from "./games.js";
import { ending } from "./players.js";

globalThis.fetch = async (path) => {
  const bytes = await readFile(path);
  return { json: () => JSON.parse(bytes), arrayBuffer: () => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) };
};
const [id, ...played] = process.argv.slice(2), about = await load(`games/${id}`), found = [];
const one = new Games(about, 1, 2n ** 63n + 7n);
for (const action of played) {
  const game = one.game(0);
  found.push(ending(game, read(about, game.words).legal, about));
  one.actions[0] = action;
  one.run("step");
}
console.log(JSON.stringify(found));
