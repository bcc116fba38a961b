// A table in this page: its game is played by the kernels, or by Python under rules of the form. Pictures and texts are
// those of the game's module, which was translated from Python, or Python's.
import { Games, load, read } from "./games.js";
import { imported } from "./net.js";
import { choose, judge } from "./players.js";

const NOT_SHOWN = "a move, not shown";

// a position's numbers as text for links, and back
const packed = (numbers) => btoa(String.fromCharCode(...new Uint8Array(Uint32Array.from(numbers).buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const unpacked = (text) => [...new Uint32Array(Uint8Array.from(
  atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt()).buffer)];

// A game played by its kernels; a position is its words and keys.
class Compiled {
  constructor(about) {
    this.about = about;
    this.one = new Games(about, 1);
  }

  begin(seed) {
    return new Games(this.about, 1, BigInt(seed)).game(0);
  }

  // action: null samples one uniformly
  play(game, action) {
    const { one } = this;
    one.set(0, game);
    if (action === null) one.run("sample");
    else one.actions[0] = action;
    one.run("step");
    return { ...one.game(0), action: one.actions[0] };
  }
}

export class Local {
  // games: Map of the entries of the page's list
  constructor(games, python, fail) {
    this.abouts = new Map();
    Object.assign(this, { games, hasPython: python, fail });
  }

  async about(game) {
    if (!this.abouts.has(game)) {
      const { file } = this.games.get(game), [about, views] = await Promise.all([load(file), imported(`./${file}.js`)]);
      this.abouts.set(game, { ...about, views });
    }
    return this.abouts.get(game);
  }

  // the list entry of a game that the list lacks, see `playground.py`
  async add(what, ...given) {
    if (!this.hasPython) throw new Error("this page has no Python, which such rules need");
    const { about, ...entry } = await this.startPython()(`playground.${what}`, ...given), { game } = entry;
    if (!this.abouts.has(game)) this.abouts.set(game, about);
    return this.games.get(game) ?? entry;
  }

  form(game) {
    return this.startPython()("playground.form", game);
  }

  // games for the wall; null without kernels, or a tile to paint them by
  async batch(game, batch) {
    const about = await this.about(game);
    return about.tile && about.module ? new Games(about, batch) : null;
  }

  played(game, about) {
    const ask = (what, ...given) => this.startPython()(`playground.${what}`, game, ...given);
    if (about.module) return new Compiled(about);
    return {
      begin: (seed) => ask("begin", seed),
      play: ({ words, keys }, action) => ask("play", words, keys, action),
      playouts: ({ words, keys }) => ask("playouts", words, keys),
    };
  }

  // seed: null draws one; start: a game of the wall, or its text
  async create({ game, seats, seed, start, actions }) {
    const about = await this.about(game), { players, kinds } = this.games.get(game);
    if (seats.length !== players.length || !seats.every((kind) => kinds.includes(kind))) throw new Error(`seats must be ${players.length} of ${kinds}`);
    seed = start ? null : seed ?? Math.floor(Math.random() * 2 ** 53);
    const rules = this.played(game, about), { states: [, words], keys: [, keys] } = about.arrays;
    if (start && !start.words) {
      const numbers = unpacked(start);
      if (numbers.length !== words + keys) throw new Error("the link is of another version of the game");
      start = { words: numbers.slice(0, words), keys: numbers.slice(words) };
    }
    const table = { about, game, seats, seed, start, rules, now: start ?? await rules.begin(seed), past: [] };
    for (const action of actions) {
      if (!read(about, table.now.words).legal.includes(action)) throw new Error(`the link plays ${action}, which is illegal there`);
      await this.play(table, action);
    }
    this.table = table;
    return this.view();
  }

  // plays an action, unless the table has changed meanwhile; null samples one uniformly
  async play(table, chosen) {
    const { about, rules, now, past } = table, ply = past.length;
    const after = await rules.play(now, chosen);
    const { player } = read(about, now.words), { action } = after, [name] = await this.names(about, now.words, [action]);
    const written = await this.ask(about, "written", now.words, action);
    if (ply !== past.length) return;
    past.push({ ...now, player, action, name, written, rewards: read(about, after.words).rewards });
    table.now = { words: after.words, keys: after.keys };
  }

  async act(view, action) {
    await this.play(this.table, action);
    return this.view();
  }

  async advance() {
    const { table } = this, { about, game, rules, seats, now, past } = table, ply = past.length;
    const { player, legal } = read(about, now.words), kind = seats[player];
    const chosen = await (kind === "playouts" ? rules.playouts(now) : choose(kind, this.games.get(game).file, now, legal));
    if (table === this.table && ply === past.length) await this.play(table, chosen);
    return this.view();
  }

  // the best actions for the person to move, and what they are worth; null: not known
  async hint() {
    const { about, game, rules, now } = this.table, { file } = this.games.get(game), { legal } = read(about, now.words);
    return about.module ? judge(file, now, legal, about) : { actions: [await rules.playouts(now)], value: null };
  }

  async undo() {
    const { past, seats } = this.table;
    const last = past.findLastIndex(({ player }) => seats[player] === "person");
    if (last >= 0) {
      const { words, keys } = past.splice(last)[0];
      this.table.now = { words, keys };
    }
    return this.view();
  }

  // the view of a table, as a server returns it, see `tensor_envs/play/tables.py`
  async view() {
    const { about, game, seats, seed, start, now: { words }, past } = this.table, { hidden } = about;
    const { player, over, truncated, legal, rewards } = read(about, words);
    const persons = seats.flatMap((kind, k) => (kind === "person" ? [k] : []));
    const isPersons = !over && seats[player] === "person", allowed = isPersons ? legal : [];
    const viewer = !persons.length || (hidden && over) ? null : hidden && isPersons ? player : persons[0];
    const names = await this.names(about, words, allowed), shown = await this.shown(words, viewer, past.length, allowed, over);
    const from = start ? { start: packed([...start.words, ...start.keys]) } : { seed };
    return {
      players: this.games.get(game).players, ...shown,
      game, seats, seed, ply: past.length, player, over, truncated, viewer, computer: !over && !isPersons,
      secret: hidden && persons.length > 1, waiting: false,
      position: { game, seats, ...from, actions: past.map(({ action }) => action) },
      moves: past.map(({ player: who, written }, ply) => ({ ply, player: who, written, name: shown.moves[ply] })),
      actions: allowed.map((action, k) => ({ action, name: names[k] })),
      returns: past.reduce((sum, { rewards: paid }) => sum.map((x, k) => x + paid[k]), rewards.map(() => 0)),
    };
  }

  // -> the scene of a position after `ply` plies, see `render/scene.py`. If a user's game has no translation it has names
  // of moves alone, and in a game with secrets those of the other players are hidden.
  async shown(words, viewer, ply, actions, over) {
    const { about } = this.table, past = this.table.past.slice(0, ply), veiled = about.custom && about.hidden && viewer !== null;
    const moves = past.map(({ player, name }) => (veiled && player !== viewer ? NOT_SHOWN : name));
    const before = !veiled ? past : moves.at(-1) === NOT_SHOWN ? [] : past.slice(-1);
    return await this.ask(about, "view", words, viewer, moves, actions, before.map(({ words: at, action }) => [at, action]), over) ?? { moves };
  }

  async names(about, words, actions) {
    return await this.ask(about, "names", words, actions) ?? actions.map(String);
  }

  // the result of a function of `views.py`, from the game's module or Python; null if a user's game has no translation
  async ask(about, what, ...given) {
    if (!about.views) return this.startPython()(`bridge.${what}`, about.id, ...given);
    try {
      return about.views[what](...given);
    } catch (error) {
      if (!about.custom) throw error;
      return null;
    }
  }

  // an earlier position
  at({ viewer }, ply) {
    return this.shown(this.table.past[ply].words, viewer, ply, [], false);
  }

  // the position after so many plies as text, see `views.py`
  async prompt({ viewer }, ply) {
    const { about, now, past } = this.table, { words } = past[ply] ?? now, { legal } = read(about, words);
    const moves = past.slice(0, ply).map(({ player, name }) => [player, name]);
    return this.ask(about, "prompt", words, about.hidden ? viewer : null, moves, await this.names(about, words, legal));
  }

  // -> a function of "module.function" and its arguments, which promises Python's answer; undefined without Python
  startPython() {
    if (!this.hasPython || this.python) return this.python;
    const worker = new Worker("python.js", { type: "module" }), waiting = new Map();
    const note = document.getElementById("python");
    worker.onerror = (event) => this.fail(event.message ?? "Python cannot be started");
    worker.onmessage = ({ data: { number, answer, progress, failed } }) => {
      if (progress !== undefined) {
        note.textContent = progress;
        note.hidden = !progress;
      }
      if (failed) waiting.get(number)?.reject(new Error(failed));
      else waiting.get(number)?.resolve(answer);
      waiting.delete(number);
    };
    let last = 0;
    this.python = (what, ...given) => new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      worker.postMessage({ number: last, what, given });
    });
    return this.python;
  }
}
