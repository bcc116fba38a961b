// A table: questions to the engine, `server.js` or `local.js`, what it answers, and the address that names the position.
// Other tabs with the same address follow.
import { Board } from "./board.js";
import { Controls, WAITING, copied, element, painted } from "./controls.js";

const ELSEWHERE = 1000; // milliseconds until it is asked again for the move of a person at another screen
const WRITING = 200; // milliseconds until the address names the position: browsers allow a few changes a second
const NARROW = "(max-width: 599px)"; // windows that show a game's narrow picture, if it has one
const tabs = globalThis.BroadcastChannel && new BroadcastChannel("tensor_envs");

// a table in an address: its name on a server, and its position, how it began and what was played, if that is known
const fragment = ({ table, position }) => {
  const { actions, seats, ...more } = position ?? {}, played = position && { seats: seats.join("."), moves: actions.join(".") };
  return `#${new URLSearchParams({ ...(table && { table }), ...more, ...played })}`;
};

// what an address says of a position; actions: null if it has no moves
export function parsed(address) {
  const said = new URLSearchParams(address.slice(1)), list = (name) => said.get(name)?.split(".").filter((x) => x);
  return {
    table: said.get("table"), game: said.get("game") ?? said.get("watch") ?? decodeURIComponent(address.slice(1)),
    seats: list("seats"), seed: said.get("seed") && Number(said.get("seed")), start: said.get("start"),
    actions: list("moves")?.map(Number),
  };
}

export class Connection {
  constructor(engine, fail) {
    Object.assign(this, { engine, fail, serial: 0, at: null, narrow: matchMedia(NARROW) });
    this.board = new Board(this);
    this.controls = new Controls(this);
    const on = (id, does) => element(id).addEventListener("click", does);
    on("undo", () => this.ask("undo", this.view));
    on("link", () => this.link());
    on("rematch", () => this.begin({ seed: null }));
    on("first", () => this.lookAt(0));
    on("back", () => this.lookAt((this.at ?? this.view.ply) - 1));
    on("on", () => this.lookAt((this.at ?? this.view.ply) + 1));
    on("now", () => this.lookAt(this.view.ply));
    element("curtain").querySelector("button").addEventListener("click", () => {
      this.looking = this.view.viewer;
      this.show(this.view);
    });
    // a phone was turned
    this.narrow.addEventListener("change", () => { if (document.body.dataset.pictured) this.picture(this.shown, this.at ?? this.view.ply); });
    tabs?.addEventListener("message", ({ data: { from, to, ply } }) => {
      if (from === this.address && ply !== this.view.ply) this.follow(parsed(to));
    });
    // a tab that follows another one computes by itself once it has the focus
    addEventListener("focus", () => { if (this.follows && this.view.computer) this.ask("advance", this.view); });
  }

  // who may play a game
  offer({ game, title, players, chance, kinds, hints }) {
    Object.assign(this, { game, title, players, chance });
    this.serial += 1; // the table before this one is left
    this.controls.offer({ players, kinds, hints });
  }

  // a new game, or one that has begun elsewhere
  begin(from = {}) {
    const seed = element("seed").value;
    return this.ask("create", {
      game: this.game, seats: this.controls.seats, seed: seed === "" ? null : Number(seed), actions: [], ...from });
  }

  // shows the position of another tab, which computes what follows
  follow({ table, ...position }) {
    const asked = table ? this.ask("look", table) : this.ask("create", position);
    this.follows = true;
    return asked;
  }

  // a question to the engine; late answers to older ones are dropped
  async ask(what, ...given) {
    const serial = ++this.serial;
    document.body.dataset.state = "busy";
    element("error").hidden = true;
    this.follows = false;
    if (what === "create") this.looking = null;
    if (what === "act") this.controls.remember();
    try {
      const view = await this.engine[what](...given);
      if (serial !== this.serial) return;
      if (what === "create" || what === "look") this.enter(view);
      this.show(view);
    } catch (error) {
      if (serial !== this.serial) return;
      // the table has moved on, by another window: what it shows now is what counts
      if (error.conflict) await this.ask("look", this.view.table);
      else this.fail(error);
    }
  }

  // One action at a time. The later clicks of a double click play nothing else than the first one.
  act(action, clicks = 0) {
    if (document.body.dataset.state !== "ready" || (clicks > 1 && action !== this.acted)) return;
    this.acted = action;
    this.ask("act", this.view, action);
  }

  enter({ seats }) {
    this.controls.seats = seats;
    const first = element("table").hidden, still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element("table").hidden = false;
    if (first) element("table").scrollIntoView({ behavior: still ? "auto" : "smooth", block: "nearest" });
    this.clear();
  }

  clear() {
    this.board.clear();
    this.controls.clear();
    delete document.body.dataset.pictured;
  }

  show(view) {
    const { over, computer, viewer, ply } = view, serial = this.serial;
    const again = () => { if (serial === this.serial && !this.follows) this.ask("advance", view); };
    const pause = view.seats[view.player] === "person" ? ELSEWHERE : WAITING;
    if (view.waiting && this.view?.waiting && ply === this.view.ply) { // all this is shown
      document.body.dataset.state = "computer";
      setTimeout(again, pause);
      return;
    }
    Object.assign(this, { view, at: null, covered: view.secret && !over && this.looking !== viewer });
    this.controls.show();
    if (this.covered || !view.svg) this.clear();
    else this.picture(view, ply);
    const state = over ? "over" : computer ? "computer" : this.covered ? "covered" : "ready";
    Object.assign(document.body.dataset, { state, ply });
    this.next = fragment(view);
    if (view.table) this.write();
    else this.writing ??= setTimeout(() => this.write(), WRITING);
    // the last move is seen before the computer's search, which may hold up the page
    if (computer) painted().then(() => setTimeout(again, view.waiting ? pause : 0));
  }

  picture(shown, ply) {
    const { svg, narrow } = this.shown = shown;
    this.board.show(narrow && this.narrow.matches ? narrow : svg);
    this.controls.pictured(svg);
    document.body.dataset.pictured = ply;
  }

  // the address says the position, and other tabs follow
  write() {
    this.writing = clearTimeout(this.writing);
    if (element("table").hidden) return;
    const from = this.address, to = this.address = this.next;
    if (!this.follows && from) tabs?.postMessage({ from, to, ply: this.view.ply });
    history.replaceState(null, "", to);
    if (this.view.over) delete localStorage.game;
    else localStorage.game = to;
  }

  // show an earlier position; the table itself stays at its last one
  async lookAt(at) {
    const { view } = this;
    if (at < 0 || at > view.ply) return;
    if (at === view.ply) {
      this.show(view);
      return;
    }
    this.at = at;
    this.controls.lookBack();
    const shown = await this.engine.at(view, at);
    if (view !== this.view || at !== this.at) return;
    element("status").textContent = at ? `After move ${at} of ${view.ply}` : "The first position";
    if (shown.svg) this.picture(shown, at);
  }

  async link() {
    const { position } = this.view;
    if (!position) throw new Error("the seed would give away hidden cards or chance: there is a link when the game is over");
    this.next = fragment({ position });
    this.write();
    element("link").textContent = await copied(location.href) ? "Copied" : "It is the page's address";
  }
}
