// A game in a few pixels: the colour of each is looked up by some bits of the game's words, see `render/tile.py`.
import { value } from "./games.js";

const LONGER = 60, LARGEST = 8; // screen pixels of the picture's longer side, and most of one of its pixels

// the value of some bits of a game's words, of which the first are the lowest
function valueOf(bits, words, first, lanes) {
  let key = 0, at = 0;
  for (const some of bits) {
    key |= value(words, some, first, lanes) << at;
    at += some[2];
  }
  return key;
}

export class Tiles {
  constructor({ width, height, player, palettes, views, places, marks, colours }) {
    this.scale = Math.max(1, Math.min(LARGEST, Math.floor(LONGER / Math.max(width, height))));
    Object.assign(this, { columns: width, rows: height, width: width * this.scale, height: height * this.scale, player });
    // bytes of a pixel in an image's memory, from the highest: opacity, blue, green, red
    const stored = colours.map((colour) => {
      const [r, g, b] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
      return 0xff000000 + b * 65536 + g * 256 + r;
    });
    palettes = palettes.map((palette) => palette.map((colour) => stored[colour]));
    this.views = views.map(({ cells, pixels }) => ({ pixels, cells: cells.map(([palette, ...bits]) => [palettes[palette], bits]) }));
    this.marks = marks.map(([colour, place, bits]) => [stored[colour], places[place], bits]);
    this.pixels = new Uint32Array(width * height);
  }

  // words: [values, lanes], of which the first of the game is at `first`; into: pixels of the screen, `wide` a row
  paint(words, first, lanes, into, corner, wide) {
    const { columns, rows, width, scale, player, views, marks, pixels } = this;
    const view = views[views.length > 1 ? value(words, player, first, lanes) : 0];
    const shown = view.cells.map(([palette, bits]) => palette[valueOf(bits, words, first, lanes)]);
    view.pixels.forEach((cell, k) => { pixels[k] = shown[cell]; });
    for (const [colour, places, bits] of marks) {
      const place = places[value(words, bits, first, lanes)];
      if (place >= 0) pixels[place] = colour;
    }
    for (let row = 0, k = 0; row < rows; row++) {
      const start = corner + row * scale * wide;
      for (let column = 0, to = start; column < columns; column++, to += scale) into.fill(pixels[k++], to, to + scale);
      for (let line = 1; line < scale; line++) into.copyWithin(start + line * wide, start, start + width);
    }
  }
}
