// A game in a few pixels: trees of questions for the game's words say what stands where, and every pixel is a look of that.

export class Tiles {
  constructor({ width, height, questions, nodes, roots, looks, pixels }) {
    Object.assign(this, { width, height, roots, pixels: Int32Array.from(pixels), nodes: Int32Array.from(nodes) });
    this.questions = Int32Array.from(questions.flat());
    // as they stand in the memory of an image: blue, green, red from the highest byte
    const stored = (colour) => {
      const [r, g, b] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
      return 0xff000000 + b * 65536 + g * 256 + r;
    };
    this.looks = looks.map(([content, ...colours]) => ({ content, colours: Uint32Array.from(colours, stored) }));
    this.contents = new Int32Array(roots.length);
    this.colours = new Uint32Array(looks.length);
  }

  // words: [values, lanes], of which the first of the game is at `first`; into: pixels, `wide` a row
  paint(words, first, lanes, into, corner, wide) {
    const { questions, nodes, roots, looks, contents, colours, pixels, width, height } = this;
    for (let k = 0; k < roots.length; k++) {
      let at = roots[k];
      while (at >= 0) {
        const ask = 4 * nodes[at], word = words[first + questions[ask] * lanes]; // word, shift, mask, value
        at = nodes[at + ((word >>> questions[ask + 1] & questions[ask + 2]) === questions[ask + 3] ? 2 : 1)];
      }
      contents[k] = ~at;
    }
    for (let k = 0; k < looks.length; k++) colours[k] = looks[k].colours[contents[looks[k].content]];
    for (let y = 0, pixel = 0; y < height; y++) {
      for (let x = 0, to = corner + y * wide; x < width; x++) into[to++] = colours[pixels[pixel++]];
    }
  }
}
