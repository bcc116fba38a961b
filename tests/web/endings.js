// node endings.js ID ACTION...: what `ending` of players.js finds in the first and the last positions of a game of these
// actions, null for those between, for tests/web/test_kernels.py.
import { readFile } from "node:fs/promises";
import { Games, load, read } from "./games.js";
import { ending } from "./players.js";

globalThis.fetch = async (path) => {
  const bytes = await readFile(path);
  return { json: () => JSON.parse(bytes), arrayBuffer: () => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) };
};
const [id, ...played] = process.argv.slice(2), about = await load(`games/${id}`), found = [], LAST = 9;
const one = new Games(about, 1, 2n ** 63n + 7n);
for (const [ply, action] of played.entries()) {
  const game = one.game(0), skipped = ply && ply < played.length - LAST;
  found.push(skipped ? null : ending(game, read(about, game.words).legal, about));
  one.actions[0] = action;
  one.run("step");
}
console.log(JSON.stringify(found));
