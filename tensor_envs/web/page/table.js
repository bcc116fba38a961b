// One game at a table: who sits where, the legal actions as buttons and as parts of the picture, a curtain for secrets.
// How it is asked is in `server.js` and `local.js`.
const KINDS = {
  person: "person", uniform: "computer, random", search: "computer, search", trained: "computer, trained network",
  perfect: "computer, perfect", playouts: "computer, a second of random games",
};
const SOLVING = 500; // milliseconds until it is asked again whether a game is solved
const WRITING = 200; // and until the address says the position: browsers bear a few changes a second
export const element = (id) => document.getElementById(id);

export const made = (tag, properties, ...children) => {
  const found = Object.assign(document.createElement(tag), properties);
  found.append(...children);
  return found;
};

// how a game has ended
export function result({ truncated, returns }) {
  const best = Math.max(...returns), names = returns.flatMap((got, k) => (got === best ? [`player ${k}`] : []));
  if (returns.length === 1) return `The game is over: ${Math.round(100 * best) / 100} points.`;
  if (names.length === returns.length) return truncated ? "A draw, by the limit of the game's length." : "A draw.";
  const last = names.pop();
  const text = names.length ? `${names.join(", ")} and ${last} share the win.` : `${last} wins.`;
  return text[0].toUpperCase() + text.slice(1);
}

export class Table {
  constructor(engine, fail) {
    Object.assign(this, { engine, fail, serial: 0 });
    const on = (id, does, event = "click") => element(id).addEventListener(event, does);
    on("undo", () => this.ask("undo", this.view));
    on("link", () => this.link());
    on("save", () => this.save());
    on("all", () => this.list(this.view.actions));
    element("curtain").querySelector("button").addEventListener("click", () => {
      this.looking = this.view.viewer;
      this.show(this.view);
    });
    on("new", (event) => {
      event.preventDefault();
      this.begin();
    }, "submit");
  }

  // who may play a game
  offer({ game, players, kinds, rules }) {
    this.game = game;
    this.serial += 1; // the table before this one is left
    element("rules").href = rules;
    element("seats").replaceChildren(...Array.from({ length: players }, (_, player) => {
      const select = made("select", {}, ...kinds.map((kind) => new Option(KINDS[kind], kind)));
      select.value = player ? kinds.at(-1) : "person";
      select.dataset.player = player;
      return made("label", {}, `Player ${player} `, select);
    }));
  }

  // a new game, or one that has begun elsewhere
  begin(from = {}) {
    const seats = [...element("seats").querySelectorAll("select")].map((select) => select.value);
    const seed = element("seed").value;
    return this.ask("create", { game: this.game, seats, seed: seed === "" ? null : Number(seed), actions: [], ...from });
  }

  // a question to the engine; late answers to older ones are dropped
  async ask(what, ...given) {
    const serial = ++this.serial;
    document.body.dataset.state = "busy";
    element("error").hidden = true;
    if (what === "create") this.looking = null;
    const held = document.activeElement?.matches(":focus-visible") ? document.activeElement : null;
    if (what === "act") this.from = ["actions", "picture"].find((id) => element(id).contains(held));
    try {
      const view = await this.engine[what](...given);
      if (serial !== this.serial) return;
      if (what === "create" || what === "look") this.enter(view);
      await this.show(view);
    } catch (error) {
      if (serial === this.serial) this.fail(error);
    }
  }

  enter({ game, seats }) {
    element("game").value = game;
    if (game !== this.game) element("game").dispatchEvent(new Event("change"));
    element("seats").querySelectorAll("select").forEach((select, k) => { select.value = seats[k]; });
    const first = element("table").hidden;
    element("table").hidden = false;
    if (first) element("table").scrollIntoView({ behavior: "smooth", block: "nearest" });
    this.clear();
  }

  clear() {
    element("picture").replaceChildren();
    element("words").hidden = element("save").disabled = true;
    delete document.body.dataset.pictured;
  }

  async show(view) {
    const { over, computer, viewer, ply } = this.view = view, serial = this.serial;
    this.drawn = null;
    this.covered = view.secret && !over && this.looking !== viewer;
    element("curtain").hidden = !this.covered;
    element("curtain").firstElementChild.textContent = `Only player ${viewer} looks at the screen now.`;
    element("status").classList.toggle("result", over);
    element("status").textContent = over ? this.ending(view) : `${this.named(view.player)} ${
      view.waiting ? "solves the game" : computer ? "is thinking" : "to move"}`;
    element("undo").disabled = !view.moves.some(({ player }) => view.seats[player] === "person");
    element("link").textContent = "Copy link";
    this.tell(view.moves);
    this.list(this.covered ? [] : view.actions);
    if (this.covered) this.clear();
    else if (view.small && !element("picture").querySelector("svg")) element("picture").replaceChildren(view.small);
    const state = over ? "over" : computer ? "computer" : this.covered ? "covered" : "ready";
    const wait = Math.max(Number(element("thinks").value), view.waiting ? SOLVING : 0);
    if (computer) setTimeout(() => { if (serial === this.serial) this.ask("advance", view); }, wait);
    const link = view.link ?? this.fragment(await this.engine.position(view));
    if (view !== this.view) return;
    this.address = `#${link}`;
    if (view.link) this.write();
    else this.writing ??= setTimeout(() => this.write(), WRITING);
    Object.assign(document.body.dataset, { state, ply });
    const found = this.covered ? null : await view.drawn;
    if (found && view === this.view) this.picture(found);
  }

  write() {
    this.writing = clearTimeout(this.writing);
    if (!element("table").hidden) history.replaceState(null, "", this.address);
  }

  // who plays by the keyboard goes on where an action was chosen
  focus(from, first) {
    if (this.from === from && document.activeElement === document.body) element(from).querySelector(first)?.focus();
  }

  named(player) {
    const { seats } = this.view, persons = seats.filter((kind) => kind === "person").length;
    return `Player ${player}${seats[player] !== "person" ? " (computer)" : persons === 1 ? " (you)" : ""}`;
  }

  ending(view) {
    return result(view) + (view.seed === null ? "" : ` The seed was ${view.seed}.`);
  }

  tell(moves) {
    element("moves").replaceChildren(...moves.map(({ ply, player, name }) => made(
      "li", {}, made("span", { textContent: `${ply + 1}.` }), made("span", { textContent: `player ${player}` }), name,
    )).reverse());
  }

  list(actions) {
    const { over, computer } = this.view;
    element("all").hidden = this.covered || actions.length === this.view.actions.length;
    const note = made("p", { textContent: over ? "The game is over." : computer ? "The computer is to move." : "" });
    element("actions").replaceChildren(...(actions.length ? actions.map((action) => this.button(action)) : [note]));
    this.focus("actions", "button");
  }

  button({ action, name }) {
    const button = made("button", { type: "button", textContent: name });
    button.dataset.action = action;
    button.addEventListener("click", () => this.ask("act", this.view, action));
    const parts = () => element("picture").querySelectorAll(`path.legal[data-actions~="${action}"]`);
    for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
      button.addEventListener(event, () => parts().forEach((area) => area.classList.toggle("pointed", on)));
    }
    return button;
  }

  picture(found) {
    this.drawn = found.svg;
    const picture = document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true);
    picture.style.maxWidth = `${1.6 * picture.width.baseVal.value}px`;
    this.prepare(picture);
    element("picture").replaceChildren(picture);
    this.focus("picture", ".legal");
    element("text").textContent = found.text;
    element("words").hidden = element("save").disabled = false;
    this.tell(found.moves);
    document.body.dataset.pictured = this.view.ply;
  }

  // Parts that stand for legal actions can be clicked; where one stands for several, the list shows these.
  prepare(picture) {
    for (const area of picture.querySelectorAll("[data-actions]")) {
      const numbers = area.dataset.actions.split(" ").map(Number);
      const legal = this.view.actions.filter(({ action }) => numbers.includes(action));
      if (!legal.length) {
        area.remove(); // it would lie over others
        continue;
      }
      const names = legal.map(({ name }) => name).join(", ");
      area.append(Object.assign(document.createElementNS(picture.namespaceURI, "title"), { textContent: names }));
      area.classList.add("legal");
      for (const [name, value] of [["role", "button"], ["tabindex", "0"], ["aria-label", names]]) area.setAttribute(name, value);
      const choose = () => (legal.length === 1 ? this.ask("act", this.view, legal[0].action) : this.list(legal));
      area.addEventListener("click", choose);
      area.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      });
    }
  }

  // a position in an address: how it began, and what was played
  fragment({ actions, seats, ...more }) {
    return new URLSearchParams({ ...more, seats: seats.join("."), moves: actions.join(".") });
  }

  async link() {
    this.address = `#${this.fragment(await this.engine.position(this.view))}`;
    this.write();
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    element("link").textContent = copied ? "Copied" : "It is the page's address";
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.drawn], { type: "image/svg+xml" }));
    made("a", { href: url, download: `${this.game}_${this.view.ply}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(url));
  }
}
