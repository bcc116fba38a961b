// A table in this page: its game is played by the kernels, its pictures and texts are Python's once that is there.
import { Games, load, read } from "./games.js";
import { choose } from "./players.js";
import { Tiles } from "./tiles.js";

const LARGE = 420; // pixels of a picture without Python
const NOT_SHOWN = "a move, not shown";

// a position's numbers as text for links, and back
const packed = (numbers) => btoa(String.fromCharCode(...new Uint8Array(Uint32Array.from(numbers).buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const unpacked = (text) => [...new Uint32Array(Uint8Array.from(
  atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt()).buffer)];

export class Local {
  constructor({ games, python }, fail) {
    this.games = new Map(games.map((game) => [game.game, game]));
    this.abouts = new Map();
    Object.assign(this, { hasPython: python, fail });
  }

  async about(game) {
    if (!this.abouts.has(game)) this.abouts.set(game, await load(this.games.get(game).file));
    return this.abouts.get(game);
  }

  // seed: null draws one; start: a game of the wall, or its text
  async create({ game, seats, seed, start, actions }) {
    const about = await this.about(game), { players, kinds } = this.games.get(game);
    if (seats.length !== players || !seats.every((kind) => kinds.includes(kind))) throw new Error(`seats must be ${players} of ${kinds}`);
    seed = start ? null : seed ?? Math.floor(Math.random() * 2 ** 53);
    const one = new Games(about, 1, BigInt(seed ?? 0)), { words: [, words], rng: [, keys] } = about.arrays;
    if (start && !start.words) {
      const numbers = unpacked(start);
      if (numbers.length !== words + keys) throw new Error("the link is of another version of the game");
      start = { words: numbers.slice(0, words), rng: numbers.slice(words) };
    }
    if (start) one.set(0, start);
    this.table = { about, game, seats, seed, start, one, past: [] };
    for (const action of actions) {
      if (!this.now().legal.includes(action)) throw new Error(`the link plays ${action}, which is illegal there`);
      this.play(action);
    }
    return this.view();
  }

  now() {
    const { about, one } = this.table, words = one.row("words", 0);
    return { words, ...read(about, words) };
  }

  play(action) {
    const { one, past } = this.table;
    past.push({ ...one.game(0), player: this.now().player, action });
    one.actions[0] = action;
    one.run("step");
    past.at(-1).rewards = this.now().rewards;
  }

  async act(view, action) {
    this.play(action);
    return this.view();
  }

  async advance() {
    const { table } = this, { about, game, seats, one, past } = table, { player, legal } = this.now(), ply = past.length;
    one.run("sample"); // what the uniform player does
    const chosen = await choose[seats[player]]?.(this.games.get(game).file, one.game(0), legal, about) ?? one.actions[0];
    if (table === this.table && ply === past.length) this.play(chosen);
    return this.view();
  }

  async undo() {
    const { past, seats, one } = this.table;
    const last = past.findLastIndex(({ player }) => seats[player] === "person");
    if (last >= 0) one.set(0, past.splice(last)[0]);
    return this.view();
  }

  async position() {
    const { game, seats, seed, start, past } = this.table;
    const from = start ? { start: packed([...start.words, ...start.rng]) } : { seed };
    return { game, seats, ...from, actions: past.map(({ action }) => action) };
  }

  // what a server says of a table, see `tensor_envs/play/tables.py`
  async view() {
    const { about, game, seats, seed, past } = this.table, { words, player, over, truncated, legal, rewards } = this.now();
    const persons = seats.flatMap((kind, k) => (kind === "person" ? [k] : [])), hidden = about.hidden;
    const isPersons = !over && seats[player] === "person";
    const viewer = !persons.length || (hidden && over) ? null : hidden && isPersons ? player : persons[0];
    const names = past.map(({ action }) => about.actions[action]);
    const python = about.python && this.startPython()?.(about.id, words, viewer, names);
    const moves = past.map(({ player: who }, ply) => ({
      ply, player: who, name: hidden && viewer !== null && who !== viewer ? NOT_SHOWN : names[ply],
    }));
    return {
      game, seats, seed, ply: past.length, player, over, truncated, viewer, moves, computer: !over && !isPersons,
      secret: hidden && persons.length > 1, waiting: false,
      actions: isPersons ? legal.map((action) => ({ action, name: about.actions[action] })) : [],
      returns: past.reduce((sum, { rewards }) => sum.map((x, k) => x + rewards[k]), rewards.map(() => 0)),
      // in a few pixels, which show everything
      small: hidden && viewer !== null && python ? null : this.small(words),
      drawn: python && python.then((found) => found && { ...found, moves: moves.map((move, k) => ({ ...move, name: found.moves[k] })) }),
    };
  }

  small(words) {
    const tiles = new Tiles(this.table.about.tile), canvas = document.createElement("canvas");
    Object.assign(canvas, { width: tiles.width, height: tiles.height });
    canvas.style.width = `${Math.min(LARGE, 12 * tiles.width)}px`;
    const image = new ImageData(tiles.width, tiles.height);
    tiles.paint(words, 0, 1, new Uint32Array(image.data.buffer), 0, tiles.width);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  // -> null, or a function of a game's id, words, player and moves that promises its picture and texts
  startPython() {
    if (!this.hasPython) return null;
    if (this.python) return this.python;
    const worker = new Worker("python.js", { type: "module" }), waiting = new Map();
    const note = document.getElementById("python");
    worker.onerror = (event) => this.fail(event.message ?? "Python cannot be started");
    worker.onmessage = ({ data: { number, found, progress, failed } }) => {
      if (progress !== undefined) {
        note.textContent = progress;
        note.hidden = !progress;
      }
      if (failed) this.fail(failed);
      waiting.get(number)?.(found);
      waiting.delete(number);
    };
    let last = 0;
    this.python = (...position) => new Promise((answer) => {
      waiting.set(++last, answer);
      worker.postMessage({ number: last, position });
    });
    return this.python;
  }
}
