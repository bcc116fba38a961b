// Prints the colours that `tiles.js` paints for states: node paint.js TILE STATES
import { readFileSync } from "node:fs";
import { Tiles } from "./tiles.js";

const [tile, states] = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file)));
const tiles = new Tiles(tile), { width, height, scale } = tiles;
console.log(JSON.stringify(states.map((words) => {
  const painted = new Uint32Array(width * height);
  tiles.paint(Uint32Array.from(words), 0, 1, painted, 0, width);
  const seen = [];
  for (let y = scale - 1; y < height; y += scale) {
    for (let x = scale - 1; x < width; x += scale) {
      const colour = painted[y * width + x];
      seen.push("#" + [colour, colour >>> 8, colour >>> 16].map((part) => (part & 255).toString(16).padStart(2, "0")).join(""));
    }
  }
  return seen;
})));
