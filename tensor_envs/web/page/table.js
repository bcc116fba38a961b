// One game, played on by a person: the legal actions as buttons and, once there is Python, as parts of the picture.
import { Games, read } from "./games.js";
import { Tiles } from "./tiles.js";

const THINKS = 400; // milliseconds that the computer takes for a move
const LARGE = 420; // pixels of a picture without Python
const element = (id) => document.getElementById(id);

export class Table {
  // python: null, or a function of a game's id, words and player that promises its picture and text
  constructor(python) {
    this.python = python;
    this.serial = 0; // of what is shown: late answers about older positions are dropped
    element("seat").addEventListener("change", () => this.show());
    element("new").addEventListener("click", () => this.begin());
    element("undo").addEventListener("click", () => this.undo());
    element("all").addEventListener("click", () => this.list(this.now.legal));
  }

  // a game begins: one taken from the wall or a new one
  begin(about = this.about, game = null) {
    this.games = new Games(about, 1, BigInt(Math.floor(Math.random() * 2 ** 53)));
    if (game) this.games.set(0, game);
    this.past = [];
    element("picture").replaceChildren();
    element("words").hidden = true;
    delete document.body.dataset.pictured;
    const other = this.about !== about;
    this.about = about;
    if (other || game) this.offer(read(about, this.games.row("words", 0)).player);
    element("table").hidden = false;
    this.show();
  }

  // who may be played
  offer(player) {
    const named = (text, value) => Object.assign(document.createElement("option"), { value, textContent: text });
    const seats = Array.from({ length: this.about.players }, (_, k) => named(`player ${k}`, k));
    element("seat").replaceChildren(...seats, named("everybody", -1), named("nobody", -2));
    element("seat").value = player;
  }

  get seat() {
    return Number(element("seat").value);
  }

  get isPersons() {
    return !this.now.over && (this.seat === -1 || this.seat === this.now.player);
  }

  play(action) {
    const { words, rng } = this.games.game(0);
    this.past.push({ words, rng, player: this.now.player, action, returns: this.returns });
    this.games.actions[0] = action;
    this.games.run("step");
    this.show();
  }

  undo() {
    do {
      const game = this.past.pop();
      if (!game) break;
      this.games.set(0, game);
      this.now = read(this.about, game.words);
    } while (!this.isPersons && this.past.length);
    this.show();
  }

  show() {
    const serial = ++this.serial, { about, past } = this, words = this.games.row("words", 0);
    this.now = read(about, words);
    const last = past.at(-1);
    this.returns = last ? last.returns.map((x, k) => x + this.now.rewards[k]) : this.now.rewards.map(() => 0);
    const persons = this.isPersons, state = this.now.over ? "over" : persons ? "ready" : "computer";
    element("status").textContent = this.now.over
      ? `The game is over: ${this.returns.map((x, k) => `player ${k} got ${Math.round(100 * x) / 100}`).join(", ")}.`
      : `Player ${this.now.player} ${persons ? "to move" : "is thinking"}`;
    element("undo").disabled = !past.length;
    const unseen = about.hidden && this.seat >= 0 && !this.now.over;
    element("moves").replaceChildren(...past.map(({ player, action }) => Object.assign(document.createElement("li"), {
      textContent: `player ${player}: ${unseen && player !== this.seat ? "a move, not shown" : about.actions[action]}`,
    })).reverse());
    this.list(persons ? this.now.legal : []);
    this.picture(serial, words, this.seat < 0 || (about.hidden && this.now.over) ? null : this.seat);
    Object.assign(document.body.dataset, { state, ply: past.length });
    if (state === "computer") setTimeout(() => { if (serial === this.serial) this.think(); }, THINKS);
  }

  // the computer's move, a random legal one
  think() {
    this.games.run("sample");
    this.play(this.games.actions[0]);
  }

  list(actions) {
    element("all").hidden = actions.length === this.now.legal.length || !actions.length;
    element("actions").replaceChildren(...actions.map((action) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: this.about.actions[action] });
      button.dataset.action = action;
      button.addEventListener("click", () => this.play(action));
      for (const [event, is] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) {
        button.addEventListener(event, () => this.areas(action).forEach((area) => area.classList.toggle("pointed", is)));
      }
      return button;
    }));
  }

  areas(action) {
    return document.querySelectorAll(`#picture [data-actions~="${action}"]`);
  }

  // in a few pixels until Python has drawn one, unless that would show what is hidden
  async picture(serial, words, player) {
    const hides = this.about.hidden && player !== null && this.python;
    if (!hides && !element("picture").querySelector("svg")) element("picture").replaceChildren(this.small(words));
    const found = this.python && await this.python(this.about.id, words, player);
    if (!found || serial !== this.serial) return;
    const picture = document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true);
    picture.style.maxWidth = `${1.5 * picture.width.baseVal.value}px`;
    this.prepare(picture);
    element("picture").replaceChildren(picture);
    element("text").textContent = found.text;
    element("words").hidden = false;
    document.body.dataset.pictured = this.past.length;
  }

  small(words) {
    const tiles = new Tiles(this.about.tile), canvas = document.createElement("canvas");
    Object.assign(canvas, { width: tiles.width, height: tiles.height });
    canvas.style.width = `${Math.min(LARGE, 12 * tiles.width)}px`;
    const image = new ImageData(tiles.width, tiles.height);
    tiles.paint(words, 0, 1, new Uint32Array(image.data.buffer), 0, tiles.width);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  // Parts that stand for legal actions can be clicked; where one stands for several, the list shows these.
  prepare(picture) {
    const now = this.isPersons ? this.now.legal : [];
    for (const area of picture.querySelectorAll("[data-actions]")) {
      const legal = area.dataset.actions.split(" ").map(Number).filter((action) => now.includes(action));
      if (!legal.length) {
        area.remove(); // it would lie over others
        continue;
      }
      const names = legal.map((action) => this.about.actions[action]).join(", ");
      area.append(Object.assign(document.createElementNS(picture.namespaceURI, "title"), { textContent: names }));
      area.classList.add("legal");
      for (const [name, value] of [["role", "button"], ["tabindex", "0"], ["aria-label", names]]) area.setAttribute(name, value);
      const choose = () => (legal.length === 1 ? this.play(legal[0]) : this.list(legal));
      area.addEventListener("click", choose);
      area.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      });
    }
  }
}
