// Thousands of games played at once by the uniform policy, those in sight painted. A click or Enter takes one over.
import { LANES } from "./games.js";
import { Tiles } from "./tiles.js";

const BUDGET = 10; // milliseconds of a frame for pictures
const FULL = 40; // milliseconds of a frame for steps at full pace
const GAP = 5; // pixels between games

export class Wall {
  // scroller holds inner, which holds the canvas and the cursor; report(steps a second); take(the words and keys of a game)
  constructor({ scroller, inner, canvas, cursor, report, take }) {
    Object.assign(this, { scroller, inner, canvas, cursor, report, take });
    this.context = canvas.getContext("2d");
    this.chosen = 0;
    new ResizeObserver(() => this.lay()).observe(scroller);
    inner.addEventListener("click", (event) => {
      const box = inner.getBoundingClientRect(), { width, height } = this.cell;
      const column = Math.floor((event.clientX - box.left) / width), row = Math.floor((event.clientY - box.top) / height);
      if (column < this.columns) this.choose(row * this.columns + column, true);
    });
    scroller.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns, Enter: 0 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      this.choose(this.chosen + by, event.key === "Enter");
    });
    requestAnimationFrame((now) => this.frame(now));
  }

  // games: a `Games`, or null to show none
  show(games) {
    this.games = games;
    if (!games) return;
    this.tiles = new Tiles(games.about.tile);
    this.chosen = this.steps = this.painted = 0;
    this.since = this.last = performance.now();
    this.cursor.hidden = true;
    this.lay();
  }

  // fits columns and canvas to the window
  lay() {
    if (!this.games) return;
    const { clientWidth, clientHeight } = this.scroller;
    this.cell = { width: this.tiles.width + GAP, height: this.tiles.height + GAP };
    this.columns = Math.max(1, Math.floor(clientWidth / this.cell.width));
    this.inner.style.height = `${Math.ceil(this.games.batch / this.columns) * this.cell.height}px`;
    this.canvas.width = clientWidth;
    this.canvas.height = clientHeight;
    this.image = this.context.createImageData(clientWidth, clientHeight + 2 * this.cell.height); // rows cut by the edges
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.first = -1;
  }

  choose(game, taken) {
    if (!(game >= 0 && game < this.games.batch)) return;
    this.chosen = game;
    const { width, height } = this.cell, top = Math.floor(game / this.columns) * height, { cursor } = this;
    cursor.hidden = false;
    Object.assign(cursor.style, { left: `${game % this.columns * width - 3}px`, top: `${top - 3}px`,
      width: `${width - GAP + 6}px`, height: `${height - GAP + 6}px` });
    cursor.scrollIntoView({ block: "nearest" });
    if (!taken) return;
    this.games.live(game);
    this.take(this.games.game(game));
  }

  frame(now) {
    requestAnimationFrame((later) => this.frame(later));
    if (!this.games) return;
    const start = performance.now();
    if (this.pace === Infinity) {
      this.steps += this.games.many(FULL) * this.games.batch;
    } else if (this.pace && now - this.last >= 1000 / this.pace - 4) {
      this.last = now;
      this.games.run("uniform");
      this.steps += this.games.batch;
    }
    this.paint();
    if (start - this.since > 500) {
      this.report(this.steps / (start - this.since) * 1000);
      this.steps = 0;
      this.since = start;
    }
  }

  // paints the games in sight, as many as there is time for; the next frame continues
  paint() {
    const { games, tiles, columns, cell, scroller, canvas } = this, start = performance.now();
    const top = Math.floor(scroller.scrollTop / cell.height), rows = Math.ceil(canvas.height / cell.height) + 1;
    if (this.first !== top) {
      this.pixels.fill(0);
      this.painted = 0;
    }
    this.first = top;
    const from = top * columns, count = Math.min(rows * columns, games.batch - from), [, values] = games.about.arrays.states;
    for (let k = 0; k < count && (k % LANES || performance.now() - start < BUDGET); k++) {
      const place = this.painted % count, corner = Math.floor(place / columns) * cell.height * canvas.width;
      games.live(from + place);
      tiles.paint(games.states, games.at(from + place, values), LANES, this.pixels,
        corner + place % columns * cell.width, canvas.width);
      this.painted = place + 1;
    }
    this.context.clearRect(0, 0, canvas.width, canvas.height);
    this.context.putImageData(this.image, 0, top * cell.height - Math.floor(scroller.scrollTop));
  }
}
