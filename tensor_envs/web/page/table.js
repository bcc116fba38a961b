// One game at a table: who sits where, the legal actions as buttons and as parts of the picture, a curtain for secrets,
// and the moves so far. How it is asked is in `server.js` and `local.js`.
const KINDS = { person: "person", uniform: "random", trained: "trained network", perfect: "perfect", playouts: "a second of random games" };
const USUAL = "playout:32"; // a new opponent
const WAITING = 100; // milliseconds until it is asked again for what is being computed
const ELSEWHERE = 1000; // and for the move of a person at another screen
const WRITING = 200; // and until the address says the position: browsers bear a few changes a second
const MARKED = 40; // parts of a picture that are marked before one is chosen; where more are legal, nearly all are
const NAMED = 3; // best actions whose names are shown
const LEGIBLE = 11; // pixels of the smallest text of a picture
const SLACK = 3; // what a letter's box may be outside of a picture, in its units: a letter is smaller
const NARROW = "(max-width: 860px)";
export const element = (id) => document.getElementById(id);

export const made = (tag, properties, ...children) => {
  const found = Object.assign(document.createElement(tag), properties);
  found.append(...children);
  return found;
};

const copied = async (text) => Boolean(await navigator.clipboard?.writeText(text).then(() => true, () => false));

const numbers = (text) => (text ? text.split(" ").map(Number) : []);

// how a game has ended; players: their names
export function result({ players, truncated, returns, reason, zero_sum: zeroSum = true }) {
  const best = Math.max(...returns), names = returns.flatMap((got, k) => (got === best ? [players[k]] : []));
  const limit = truncated ? "the limit of the game's length" : "", why = [limit, reason].filter(Boolean).join("; ");
  const last = names.pop(), all = names.length + 1 === returns.length;
  const text = returns.length === 1 || (all && !zeroSum) ? `The game is over: ${Math.round(100 * best) / 100} points`
    : all ? "A draw" : names.length ? `${names.join(", ")} and ${last} share the win` : `${last} wins`;
  return why ? `${text}: ${why}.` : `${text}.`;
}

// a kind of player: "playout:4" is level 1, and each level doubles the simulations
export function kindName(kind) {
  const simulations = Number(kind.split(":")[1]);
  return KINDS[kind] ?? `level ${Math.log2(simulations) - 1}`;
}

// the screen shows what was changed before
const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

// a position in an address: how it began, and what was played
export const fragment = ({ actions, seats, ...more }) => new URLSearchParams({ ...more, seats: seats.join("."), moves: actions.join(".") });

export class Table {
  constructor(engine, fail) {
    Object.assign(this, { engine, fail, serial: 0 });
    const on = (id, does, event = "click") => element(id).addEventListener(event, does);
    on("undo", () => this.ask("undo", this.view));
    on("link", () => this.link());
    on("save", () => this.save());
    on("words", () => this.spell(), "toggle");
    on("copy", async () => { element("copy").textContent = await copied(element("text").textContent) ? "Copied" : "Mark it to copy it"; });
    on("hint", () => this.advise(true));
    on("evaluate", () => this.evaluate());
    on("enlarge", () => {
      const large = element("picture").classList.toggle("large");
      element("enlarge").setAttribute("aria-pressed", large);
      element("picture").tabIndex = large ? 0 : -1; // it is scrolled
      this.legible();
    });
    addEventListener("resize", () => this.legible());
    on("first", () => this.lookAt(0));
    on("back", () => this.lookAt((this.at ?? this.view.ply) - 1));
    on("on", () => this.lookAt((this.at ?? this.view.ply) + 1));
    on("now", () => this.lookAt(this.view.ply));
    element("curtain").querySelector("button").addEventListener("click", () => {
      this.looking = this.view.viewer;
      this.show(this.view);
    });
    on("rematch", () => this.begin({ seed: null }));
    on("swap", () => {
      const selects = [...element("seats").querySelectorAll("select")], kinds = selects.map((select) => select.value);
      selects.forEach((select, k) => { select.value = kinds[(k + 1) % kinds.length]; });
      this.begin({ seed: null });
    });
    on("close", () => { element("over").hidden = true; });
    on("new", (event) => {
      event.preventDefault();
      this.begin();
    }, "submit");
    addEventListener("keydown", ({ key, target }) => {
      if (key === "Escape") this.select(null);
      const button = { ArrowLeft: "back", ArrowRight: "on" }[key];
      if (button && !target.closest("input, select, textarea, pre, dialog, #wall")) element(button).click();
    });
    this.narrow = matchMedia(NARROW);
    const fold = () => { element("tools").open = !this.narrow.matches; };
    this.narrow.addEventListener("change", fold);
    fold();
  }

  // who may play a game
  offer({ game, title, players, kinds, hints, chance }) {
    Object.assign(this, { game, title, chance });
    this.names = players;
    this.serial += 1; // the table before this one is left
    for (const id of ["hint", "evaluate"]) element(id).hidden = !hints;
    element("seats").replaceChildren(...players.map((name, player) => {
      const select = made("select", {}, ...kinds.map((kind) => new Option(kind.includes(":") ? `${kindName(kind)}: ${kind.split(":")[1]} simulations` : kindName(kind), kind)));
      select.value = !player ? "person" : kinds.includes(USUAL) ? USUAL : kinds.at(-1);
      select.dataset.player = player;
      return made("label", {}, `${name} `, select);
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
    element("seats").querySelectorAll("select").forEach((select, k) => { select.value = seats[k]; });
    const first = element("table").hidden, still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element("table").hidden = false;
    if (first) element("table").scrollIntoView({ behavior: still ? "auto" : "smooth", block: "nearest" });
    this.clear();
  }

  clear() {
    element("picture").replaceChildren();
    element("words").hidden = element("save").disabled = true;
    element("text").textContent = "";
    delete document.body.dataset.pictured;
  }

  async show(view) {
    const { over, computer, viewer, ply } = view, serial = this.serial;
    const again = () => { if (serial === this.serial) this.ask("advance", view); };
    const pause = view.seats[view.player] === "person" ? ELSEWHERE : WAITING;
    if (view.waiting && this.view?.waiting && ply === this.view.ply) { // all this is shown
      document.body.dataset.state = "computer";
      setTimeout(again, pause);
      return;
    }
    this.view = { players: this.names, ...view };
    this.drawn = this.at = null;
    this.select(null);
    element("over").hidden = !over;
    if (over) element("over").firstElementChild.textContent = result(this.view);
    element("swap").hidden = view.seats.length < 2;
    this.covered = view.secret && !over && this.looking !== viewer;
    element("curtain").hidden = !this.covered;
    element("curtain").firstElementChild.textContent = `Only ${this.view.players[viewer]} looks at the screen now.`;
    this.say();
    element("undo").disabled = Number.isInteger(view.seat) || !view.moves.some(({ player }) => view.seats[player] === "person");
    if (view.invites) this.invite(view.invites);
    element("hint").disabled = over || computer || this.covered;
    element("link").textContent = "Copy link";
    this.tell(view.moves);
    this.list(this.covered ? [] : view.actions);
    this.worth(null);
    if (this.covered) this.clear();
    const state = over ? "over" : computer ? "computer" : this.covered ? "covered" : "ready";
    const current = this.view, link = view.link ?? fragment(await this.engine.position(view));
    if (current !== this.view) return;
    this.address = `#${link}`;
    if (view.link) this.write();
    else this.writing ??= setTimeout(() => this.write(), WRITING);
    Object.assign(document.body.dataset, { state, ply });
    const found = this.covered ? null : await view.drawn;
    // the last move is seen before the computer's search, which may hold up the page
    if (computer) painted().then(() => setTimeout(again, view.waiting ? pause : 0));
    if (!found || current !== this.view || this.at !== null) return;
    Object.assign(this.view, found);
    this.say();
    this.tell(found.moves);
    for (const button of element("actions").querySelectorAll("button")) this.explain(button);
    this.picture(found);
    document.body.dataset.pictured = ply;
    if (state === "ready" && element("evaluate").getAttribute("aria-pressed") === "true") this.advise(false);
  }

  // the status, and the players with their scores
  say() {
    const { view } = this, { over, player, players, scores, returns } = view;
    element("status").classList.toggle("result", over);
    element("status").textContent = over ? result(view)
      : `${this.named(player)} ${view.computer ? "is thinking" : "to move"}`;
    document.title = `${element("status").textContent} – ${this.title}`;
    // without chance any seed is the same game
    if (over && this.chance && view.seed !== null) element("status").append(" ", made("small", { textContent: `The seed was ${view.seed}.` }));
    const points = ([total]) => (total ? `${Math.round(100 * total) / 100} points` : "");
    element("players").replaceChildren(...players.map((_, k) => {
      const row = made("li", {}, made("b", { textContent: this.named(k) }),
        made("span", { textContent: players.length === 1 ? points(returns) : scores?.[k] ?? "" }));
      if (k === player) row.setAttribute("aria-current", "true");
      return row;
    }));
  }

  write() {
    this.writing = clearTimeout(this.writing);
    if (element("table").hidden) return;
    history.replaceState(null, "", this.address);
    if (this.view.over) delete localStorage.game;
    else localStorage.game = this.address;
  }

  // who plays by the keyboard goes on where an action was chosen
  focus(from, first) {
    if (this.from === from && document.activeElement === document.body) element(from).querySelector(first)?.focus();
  }

  named(player) {
    const { seats, players, seat } = this.view, persons = seats.filter((kind) => kind === "person").length;
    return `${players[player]}${seats[player] !== "person" ? ` (${kindName(seats[player])})` : (seat ?? (persons === 1 ? player : null)) === player && seats.length > 1 ? " (you)" : ""}`;
  }

  // the moves, the last one first; each shows the position after it
  tell(moves) {
    const { players, ply } = this.view;
    element("moves").replaceChildren(...moves.map(({ ply: at, player, name }) => {
      const button = made("button", { type: "button" },
        made("span", { textContent: `${at + 1}.` }), made("span", { textContent: players[player] }), made("span", { textContent: name }));
      button.dataset.ply = at + 1;
      button.addEventListener("click", () => this.lookAt(at + 1));
      return made("li", {}, button);
    }).reverse());
    this.place(this.at ?? ply);
  }

  place(at) {
    const { ply } = this.view;
    dispatchEvent(new Event("shown"));
    element("first").disabled = element("back").disabled = this.covered || at <= 0;
    element("on").disabled = element("now").disabled = at >= ply;
    for (const button of element("moves").querySelectorAll("button")) {
      button.disabled = Boolean(this.covered);
      if (Number(button.dataset.ply) === at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
  }

  // the position after so many plies; the table goes on from its last one
  async lookAt(at) {
    const { view } = this;
    if (at < 0 || at > view.ply) return;
    if (at === view.ply) {
      this.show(view);
      return;
    }
    this.at = at;
    element("over").hidden = true;
    this.worth(null);
    this.select(null);
    this.place(at);
    const found = await this.engine.at(view, at);
    if (view !== this.view || at !== this.at) return;
    element("status").textContent = at ? `After move ${at} of ${view.ply}` : "The first position";
    if (found.svg) this.picture(found);
    document.body.dataset.pictured = at;
  }

  // *** advice ***

  evaluate() {
    const on = element("evaluate").getAttribute("aria-pressed") !== "true";
    element("evaluate").setAttribute("aria-pressed", on);
    if (on) this.advise(false);
    else this.worth(null);
  }

  // The value of the position and, if they are shown, the best actions. A search's value is shown until the exact one is
  // known, which may be never.
  async advise(shown) {
    const { view } = this, serial = this.advised = (this.advised ?? 0) + 1;
    if (view.over || view.computer || this.covered || this.at !== null) return;
    if (shown) this.hinted = view;
    const on = () => view === this.view && serial === this.advised && this.at === null
      && (this.hinted === view || element("evaluate").getAttribute("aria-pressed") === "true");
    element("hint").disabled = true;
    if (shown) {
      element("advice").textContent = "Searching ...";
      element("advice").hidden = false;
      await painted();
    }
    try {
      for (let waiting = true; waiting && on();) {
        const found = await this.engine.hint(view);
        if (!on()) return;
        if (found.actions.length) {
          this.worth(found);
          if (this.hinted === view) this.mark(found);
          element("hint").disabled = false;
        }
        ({ waiting = false } = found);
        if (waiting) await new Promise((done) => { setTimeout(done, WAITING); });
      }
    } catch (error) {
      if (view === this.view) this.fail(error);
    } finally {
      if (view === this.view) element("hint").disabled = false;
    }
  }

  // the best actions, in the picture and by name
  mark({ actions }) {
    const { view } = this;
    element("picture").querySelectorAll("path.legal").forEach((area) => {
      area.classList.toggle("best", numbers(area.dataset.actions).some((action) => actions.includes(action)));
    });
    element("actions").querySelectorAll("button").forEach((button) => {
      button.classList.toggle("best", actions.includes(Number(button.dataset.action)));
    });
    const known = new Map(view.actions.map(({ action, name }) => [action, name]));
    const texts = actions.slice(0, NAMED).map((action) => {
      const phrase = actions.length === 1 && !view.spoken && view.phrases?.[action];
      return this.called(action, known.get(action)) + (phrase ? `, ${phrase}` : "");
    });
    const more = actions.length - texts.length;
    element("advice").textContent = `Best: ${texts.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
    element("advice").hidden = false;
  }

  // the evaluation: what the player to move can expect, or how the game ends with perfect play
  worth(found) {
    element("advice").hidden = true;
    element("worth").hidden = found?.value === undefined || found.value === null;
    if (element("worth").hidden) return;
    const { player, players, zero_sum: zeroSum } = this.view, { value, exact, distance } = found;
    const two = players.length === 2 && zeroSum !== false;
    const plies = distance ? ` in ${distance} ${distance === 1 ? "ply" : "plies"}` : "";
    const text = !exact ? `${players[player]} ${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`
      : `${value ? `${players[value > 0 ? player : 1 - player]} wins${plies}` : "A draw"} with perfect play`;
    const share = 50 * (1 + Math.max(-1, Math.min(1, player ? -value : value)));
    element("bar").hidden = !two;
    element("bar").firstElementChild.style.width = `${share}%`;
    element("bar").setAttribute("aria-valuenow", Math.round(share));
    element("bar").setAttribute("aria-valuetext", text);
    element("worth").lastElementChild.textContent = text;
  }

  // *** actions ***

  list(actions) {
    const { over, computer } = this.view;
    const note = made("p", { textContent: over ? "The game is over." : computer ? "The computer is to move." : "" });
    element("count-actions").textContent = actions.length ? ` (${actions.length})` : "";
    element("actions").replaceChildren(...(actions.length ? actions.map((action) => this.button(action)) : [note]));
    this.focus("actions", "button");
  }

  // a button with an action's name and what it does
  button({ action, name }) {
    const button = made("button", { type: "button" }, made("span", { textContent: name }));
    button.dataset.action = action;
    this.explain(button);
    button.addEventListener("click", ({ detail }) => this.act(action, detail));
    const parts = () => element("picture").querySelectorAll(`path.legal[data-actions~="${action}"]`);
    for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
      button.addEventListener(event, () => parts().forEach((area) => area.classList.toggle("pointed", on)));
    }
    return button;
  }

  explain(button) {
    const { phrases, spoken } = this.view, phrase = phrases?.[button.dataset.action];
    if (!phrase || button.querySelector("small")) return;
    const name = button.firstElementChild, small = made("small", { textContent: spoken ? name.textContent : phrase });
    name.textContent = this.called(button.dataset.action, name.textContent);
    button.append(small);
  }

  // what people call an action: its name, or where names are codes what it does
  called(action, name) {
    const { phrases, spoken } = this.view, phrase = spoken && phrases?.[action];
    return phrase ? phrase[0].toUpperCase() + phrase.slice(1) : name;
  }

  picture(found) {
    this.drawn = found.svg;
    const picture = document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true);
    picture.style.setProperty("--width", `${picture.width.baseVal.value}px`);
    this.prepare(picture);
    element("picture").replaceChildren(picture);
    element("enlarge").hidden = !element("picture").classList.contains("large") && picture.clientWidth > 0.9 * picture.width.baseVal.value;
    this.legible();
    this.focus("picture", ".legal");
    element("words").hidden = element("save").disabled = false;
    this.spell();
  }

  // Enlarges the text of a small picture, as far as that fits. Where it would be more than twice its size, such as on a
  // phone in a game of many parts, the whole picture can be enlarged.
  legible() {
    const svg = element("picture").querySelector("svg"), texts = [...svg?.querySelectorAll("text") ?? []];
    if (!texts.length) return;
    const least = LEGIBLE / svg.getScreenCTM().a, { width } = svg.viewBox.baseVal;
    for (const text of texts) text.dataset.size ??= text.getAttribute("font-size");
    const few = Math.min(...texts.map(({ dataset: { size } }) => size));
    for (const text of texts) {
      const size = Number(text.dataset.size), outside = () => {
        const { x, width: wide } = text.getBBox();
        return x < -SLACK || x + wide > width + SLACK;
      };
      let now = least <= 2 * few ? Math.max(size, least) : size;
      text.setAttribute("font-size", now);
      for (; now > size && outside(); text.setAttribute("font-size", now)) now = Math.max(size, 0.95 * now);
    }
  }

  // the position as text, as soon as it is looked at
  async spell() {
    const { view, at } = this, text = element("text");
    text.textContent = "";
    element("copy").textContent = "Copy";
    if (!element("words").open) return;
    const found = await this.engine.prompt(view, at ?? view.ply);
    if (view === this.view && at === this.at && !this.covered) text.textContent = found;
  }

  // Parts that stand for legal actions can be clicked.
  prepare(picture) {
    const actions = this.at === null ? this.view.actions : [], areas = [];
    const known = new Map(actions.map((action) => [action.action, action]));
    const add = (tag, properties) => {
      const found = document.createElementNS(picture.namespaceURI, tag);
      for (const [name, value] of Object.entries(properties)) found.setAttribute(name, value);
      return found;
    };
    for (const area of picture.querySelectorAll("[data-actions]")) {
      const legal = numbers(area.dataset.actions).filter((action) => known.has(action));
      if (!legal.length) {
        area.remove(); // it would lie over others
        continue;
      }
      const ends = numbers(area.dataset.targets).filter((action) => known.has(action));
      const name = legal.map((action) => this.called(action, known.get(action).name)).join(", "), title = add("title", {});
      title.textContent = name;
      area.append(title);
      area.classList.add("legal");
      for (const [key, value] of [["role", "button"], ["tabindex", "0"], ["aria-label", name]]) area.setAttribute(key, value);
      const part = { area, legal, ends, starts: legal.filter((action) => !ends.includes(action)) };
      areas.push(part);
      area.addEventListener("click", ({ detail }) => this.choose(part, detail));
      area.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.choose(part);
      });
    }
    const starts = areas.filter((part) => part.starts.length);
    if (starts.length <= MARKED) for (const { area } of starts) area.classList.add("start");
    this.parts = areas;
    if (!actions.length) return;
    // whoever reaches every action by the picture, does not need the list on a phone
    const reached = new Set(areas.flatMap(({ legal }) => legal));
    if (this.listed !== this.view.game) element("listed").open = !this.narrow.matches || reached.size < actions.length;
    this.listed = this.view.game;
  }

  // A part was clicked. With a piece chosen before, it may be the place where that piece ends; else what it stands for is
  // played if it is one action without another place to click, and shown as a choice if there are several.
  choose(part, clicks = 0) {
    const here = this.selected ? part.ends.filter((action) => this.selected.starts.includes(action)) : [];
    if (this.selected && !here.length && clicks > 1) return;
    const meant = here.length ? here : part.starts.length ? part.starts : part.ends;
    const places = here.length || !part.starts.length ? [] : this.parts.filter(({ ends }) => ends.some((action) => meant.includes(action)));
    const elsewhere = meant.filter((action) => !places.some(({ ends }) => ends.includes(action)));
    if (this.selected === part) this.select(null);
    else if (places.length) this.select(part, places, elsewhere);
    else if (meant.length === 1) this.act(meant[0], clicks);
    else this.select(part, [], meant);
  }

  // marks a part, the places where its actions end, and shows the other actions beside it
  select(part, places = [], actions = []) {
    this.selected = part && places.length ? part : null;
    for (const { area } of this.parts ?? []) {
      area.classList.toggle("selected", area === part?.area);
      area.classList.toggle("target", places.some((place) => place.area === area));
    }
    const choice = element("choice");
    choice.hidden = !actions.length;
    if (choice.hidden) return;
    const known = actions.map((number) => this.view.actions.find(({ action }) => action === number));
    const close = made("button", { type: "button", className: "close", textContent: "Cancel" });
    close.addEventListener("click", () => {
      this.select(null);
      part.area.focus();
    });
    choice.replaceChildren(...known.map((action) => this.button(action)), close);
    const inner = part.area.getBoundingClientRect(), outer = choice.offsetParent.getBoundingClientRect();
    const left = Math.min(inner.left - outer.left, outer.width - choice.offsetWidth - 4);
    Object.assign(choice.style, { left: `${Math.max(4, left)}px`, top: `${inner.bottom - outer.top + 6}px` });
    choice.querySelector("button").focus({ preventScroll: true });
  }

  // links to the seats of persons at other screens
  invite(invites) {
    element("invites").replaceChildren(...invites.map(({ player, link }) => {
      const button = made("button", { type: "button", textContent: `Invite ${this.names[player]}` });
      button.addEventListener("click", async () => { button.textContent = await copied(link) ? "Copied" : link; });
      return button;
    }));
  }

  async link() {
    this.address = `#${fragment(await this.engine.position(this.view))}`;
    this.write();
    element("link").textContent = await copied(location.href) ? "Copied" : "It is the page's address";
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.drawn], { type: "image/svg+xml" }));
    made("a", { href: url, download: `${this.game}_${this.at ?? this.view.ply}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(url));
  }
}
