// What is around the board: who sits where, the status, the actions as buttons, the moves so far, and advice.
const KINDS = { person: "person", uniform: "random", trained: "trained network", perfect: "perfect", playouts: "a second of random games" };
const USUAL = "playout:32"; // a new opponent
export const WAITING = 100; // milliseconds until the engine is asked again for what it computes
const NAMED = 3; // best actions whose names are shown
const COMPILED = "the search of this game is compiled, once ...";
export const element = (id) => document.getElementById(id);

export const create = (tag, properties, ...children) => {
  const created = Object.assign(document.createElement(tag), properties);
  created.append(...children);
  return created;
};

// an element of a picture
export const svg = (tag, attributes, ...children) => {
  const created = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
};

export const copied = async (text) => Boolean(await navigator.clipboard?.writeText(text).then(() => true, () => false));

export function download(name, content) {
  const url = URL.createObjectURL(new Blob([content]));
  create("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url));
}

export const pause = () => new Promise((done) => { setTimeout(done, WAITING); });

// resolves once the screen shows earlier changes
export const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

// how a game has ended; players: their names
export function outcome({ players, truncated, returns, reason, zero_sum: zeroSum = true }) {
  const best = Math.max(...returns), names = returns.flatMap((got, k) => (got === best ? [players[k]] : []));
  const limit = truncated ? "the limit of the game's length" : "", why = [limit, reason].filter(Boolean).join("; ");
  const last = names.pop(), all = names.length + 1 === returns.length;
  const text = returns.length === 1 || (all && !zeroSum) ? `The game is over: ${Math.round(100 * best) / 100} points`
    : all ? "A draw" : names.length ? `${names.join(", ")} and ${last} share the win` : `${last} wins`;
  return why ? `${text}: ${why}.` : `${text}.`;
}

// a kind of player: "playout:4" is level 1, and each level doubles the simulations
const kindName = (kind) => KINDS[kind] ?? `level ${Math.log2(Number(kind.split(":")[1])) - 1}`;

export class Controls {
  constructor(table) {
    this.table = table;
    const on = (id, does, event = "click") => element(id).addEventListener(event, does);
    on("save", () => download(`${table.game}_${table.at ?? table.view.ply}.svg`, this.drawn));
    on("words", () => this.showText(), "toggle");
    on("copy", async () => { element("copy").textContent = await copied(element("text").textContent) ? "Copied" : "Mark it to copy it"; });
    on("hint", () => this.hint());
    on("swap", () => {
      this.seats = this.seats.map((_, k, kinds) => kinds[(k + 1) % kinds.length]);
      table.begin({ seed: null });
    });
    on("close", () => { element("over").hidden = true; });
    on("new", (event) => {
      event.preventDefault();
      table.begin();
    }, "submit");
    addEventListener("keydown", ({ key, target, defaultPrevented }) => {
      const button = { ArrowLeft: "back", ArrowRight: "on" }[key];
      if (button && !defaultPrevented && !target.closest("input, select, textarea, pre, dialog, #wall")) element(button).click();
    });
    this.narrow = matchMedia("(max-width: 860px)");
    const fold = () => { element("tools").open = !this.narrow.matches; };
    this.narrow.addEventListener("change", fold);
    fold();
  }

  get selects() {
    return [...element("seats").querySelectorAll("select")];
  }

  get seats() {
    return this.selects.map(({ value }) => value);
  }

  set seats(kinds) {
    this.selects.forEach((select, k) => { select.value = kinds[k]; });
  }

  // who may play a game
  offer({ players, kinds, hints }) {
    element("hint").hidden = !hints;
    element("seats").replaceChildren(...players.map((name, player) => {
      const select = create("select", {}, ...kinds.map((kind) => new Option(kind.includes(":") ? `${kindName(kind)}: ${kind.split(":")[1]} simulations` : kindName(kind), kind)));
      select.value = !player ? "person" : kinds.includes(USUAL) ? USUAL : kinds.at(-1);
      select.dataset.player = player;
      return create("label", {}, `${name} `, select);
    }));
  }

  // remember where the keyboard's focus was, so that it returns there after the move
  remember() {
    const held = document.activeElement?.matches(":focus-visible") ? document.activeElement : null;
    this.from = ["actions", "picture"].find((id) => element(id).contains(held));
  }

  focus(from, first) {
    if (this.from === from && document.activeElement === document.body) element(from).querySelector(first)?.focus();
  }

  clear() {
    element("words").hidden = element("save").disabled = true;
    element("text").textContent = "";
  }

  // show a new view of the table, except its picture
  show() {
    const { view, covered } = this.table, { over, computer, viewer, players } = view;
    element("over").hidden = !over;
    if (over) element("over").firstElementChild.textContent = outcome(view);
    element("swap").hidden = view.seats.length < 2;
    element("curtain").hidden = !covered;
    element("curtain").firstElementChild.textContent = `Only ${players[viewer]} looks at the screen now.`;
    element("undo").disabled = Number.isInteger(view.seat) || !view.moves.some(({ player }) => view.seats[player] === "person");
    if (view.invites) this.invite(view.invites);
    element("hint").disabled = over || computer || covered;
    element("link").textContent = "Copy link";
    this.showStatus();
    this.showMoves();
    this.showActions(covered ? [] : view.actions);
    this.showValue(null);
  }

  pictured(drawn) {
    this.drawn = drawn;
    element("words").hidden = element("save").disabled = false;
    this.focus("picture", ".legal");
    this.showText();
  }

  lookBack() {
    element("over").hidden = true;
    this.showValue(null);
    this.markShown();
  }

  // the status, and the players with their scores
  showStatus() {
    const { view, title, chance } = this.table, { over, player, players, scores, returns } = view;
    element("status").classList.toggle("result", over);
    element("status").textContent = over ? outcome(view) : `${this.playerName(player)} ${view.compiling ? `waits: ${COMPILED}` : view.computer ? "is thinking" : "to move"}`;
    document.title = `${element("status").textContent} – ${title}`;
    // without chance any seed is the same game
    if (over && chance && view.seed !== null) element("status").append(" ", create("small", { textContent: `The seed was ${view.seed}.` }));
    const points = ([total]) => (total ? `${Math.round(100 * total) / 100} points` : "");
    element("players").replaceChildren(...players.map((_, k) => {
      const row = create("li", {}, create("b", { textContent: this.playerName(k) }),
        create("span", { textContent: players.length === 1 ? points(returns) : scores?.[k] ?? "" }));
      if (k === player) row.setAttribute("aria-current", "true");
      return row;
    }));
  }

  playerName(player) {
    const { seats, players, seat } = this.table.view, persons = seats.filter((kind) => kind === "person").length;
    const isYou = seats.length > 1 && (seat ?? (persons === 1 ? player : null)) === player;
    const role = seats[player] === "person" ? isYou && "you" : kindName(seats[player]);
    return players[player] + (role ? ` (${role})` : "");
  }

  // The moves, the last one first, or by the game's own notation in pairs. Each shows the position after it.
  showMoves() {
    const { players, moves } = this.table.view, rows = [], paired = moves.some(({ written }) => written);
    for (const { ply, player, name, written } of moves) {
      const button = create("button", { type: "button" }, ...(paired ? [written]
        : [`${ply + 1}.`, players[player], name].map((textContent) => create("span", { textContent }))));
      button.dataset.ply = ply + 1;
      button.addEventListener("click", () => this.table.lookAt(ply + 1));
      if (!paired) rows.unshift(create("li", {}, button));
      else if (player && rows.length) rows.at(-1).append(button);
      else rows.push(create("li", {}, `${rows.length + 1}. ${player ? "..." : ""}`, button));
    }
    element("moves").replaceChildren(...rows);
    element("moves").classList.toggle("paired", paired);
    this.markShown();
    if (paired) element("moves").scrollTop = element("moves").scrollHeight;
  }

  // marks the position that is shown
  markShown() {
    const { view: { ply }, at: back, covered } = this.table, at = back ?? ply;
    dispatchEvent(new Event("shown"));
    element("first").disabled = element("back").disabled = covered || at <= 0;
    element("on").disabled = element("now").disabled = at >= ply;
    for (const button of element("moves").querySelectorAll("button")) {
      button.disabled = Boolean(covered);
      if (Number(button.dataset.ply) === at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    }
  }

  // *** advice ***

  // The value of the position and the best actions. An estimate is shown at once, and stays if no exact value is found.
  async hint() {
    const { table } = this, { view } = table, wanted = () => view === table.view && table.at === null;
    if (!wanted()) return;
    element("hint").disabled = true;
    element("advice").textContent = "Searching ...";
    element("advice").hidden = false;
    await painted();
    try {
      for (let waiting = true; waiting && wanted();) {
        const advice = await table.engine.hint(view);
        if (!wanted()) return;
        if (advice.actions.length) {
          this.showValue(advice);
          this.showBest(advice);
        } else if (advice.compiling) element("advice").textContent = `First ${COMPILED}`;
        ({ waiting = false } = advice);
        if (waiting) await pause();
      }
    } catch (error) {
      if (view === table.view) table.fail(error);
    } finally {
      if (view === table.view) element("hint").disabled = false;
    }
  }

  // the best actions, in the picture and by name
  showBest({ actions }) {
    const { board, view } = this.table;
    board.mark("best", actions);
    element("actions").querySelectorAll("button").forEach((button) => {
      button.classList.toggle("best", actions.includes(Number(button.dataset.action)));
    });
    const known = new Map(view.actions.map(({ action, name }) => [action, name]));
    const texts = actions.slice(0, NAMED).map((action) => {
      const phrase = actions.length === 1 && !view.spoken && view.phrases?.[action];
      return this.actionName(action, known.get(action)) + (phrase ? `, ${phrase}` : "");
    });
    const more = actions.length - texts.length;
    element("advice").textContent = `Best: ${texts.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
    element("advice").hidden = false;
  }

  // the evaluation: what the player to move can expect, or how the game ends with perfect play
  showValue(advice) {
    element("advice").hidden = true;
    element("worth").hidden = advice?.value === undefined || advice.value === null;
    if (element("worth").hidden) return;
    const { player, players, zero_sum: zeroSum } = this.table.view, { value, exact, distance, waiting } = advice;
    const plies = distance ? ` in ${distance} ${distance === 1 ? "ply" : "plies"}` : "";
    const more = waiting ? "; looking for the exact value ..." : "";
    const text = !exact ? `${players[player]} ${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}, estimated by random games${more}`
      : `${value ? `${players[value > 0 ? player : 1 - player]} wins${plies}` : "A draw"} with perfect play`;
    const share = 50 * (1 + Math.max(-1, Math.min(1, player ? -value : value)));
    element("bar").hidden = players.length !== 2 || zeroSum === false;
    element("bar").firstElementChild.style.width = `${share}%`;
    element("bar").setAttribute("aria-valuenow", Math.round(share));
    element("bar").setAttribute("aria-valuetext", text);
    element("worth").lastElementChild.textContent = text;
  }

  // *** actions ***

  showActions(actions) {
    const { over, computer } = this.table.view;
    const note = create("p", { textContent: over ? "The game is over." : computer ? "The computer is to move." : "" });
    element("count-actions").textContent = actions.length ? ` (${actions.length})` : "";
    element("actions").replaceChildren(...(actions.length ? actions.map((action) => this.button(action)) : [note]));
    this.focus("actions", "button");
  }

  // a button with what people call an action, and what it does if that is more
  button({ action, name }) {
    const { table } = this, { phrases, spoken, symbols } = table.view, phrase = !spoken && phrases?.[action];
    const symbol = symbols?.[action] ? [create("i", { textContent: symbols[action] }), " "] : [];
    const button = create("button", { type: "button" }, create("span", {}, ...symbol, this.actionName(action, name)));
    if (phrase) button.append(create("small", { textContent: phrase }));
    button.dataset.action = action;
    button.addEventListener("click", ({ detail }) => table.act(action, detail));
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => table.board.mark("pointed", [action]));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => table.board.mark("pointed", []));
    return button;
  }

  // what people call an action: its name, or where names are codes what it does
  actionName(action, name) {
    const { phrases, spoken } = this.table.view, phrase = spoken && phrases?.[action];
    return phrase ? phrase[0].toUpperCase() + phrase.slice(1) : name;
  }

  // the position as text, as soon as it is looked at
  async showText() {
    const { table } = this, { view, at } = table, text = element("text");
    text.textContent = "";
    element("copy").textContent = "Copy";
    if (!element("words").open) return;
    const prompt = await table.engine.prompt(view, at ?? view.ply);
    if (view === table.view && at === table.at && !table.covered) text.textContent = prompt;
  }

  // links to the seats of persons at other screens
  invite(invites) {
    element("invites").replaceChildren(...invites.map(({ player, link }) => {
      const button = create("button", { type: "button", textContent: `Invite ${this.table.players[player]}` });
      button.addEventListener("click", async () => { button.textContent = await copied(link) ? "Copied" : link; });
      return button;
    }));
  }
}
