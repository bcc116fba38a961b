"use strict";

const KINDS = { person: "person", uniform: "computer, random", perfect: "computer, perfect" };
const element = (id) => document.getElementById(id);
const SOLVING = 500; // milliseconds until the server is asked again whether a game is solved
let games = []; // what can be played
let view = null; // what the server has last said of the table
let serial = 0; // of requests: late answers to older ones are dropped
let looking = null; // the seat that has lifted the curtain
let covered = false; // whether the curtain hangs

// *** the server ***

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function request(path, body) {
  const number = ++serial;
  document.body.dataset.state = "busy";
  element("error").hidden = true;
  try {
    const found = await ask(path, body);
    if (number === serial) show(found);
  } catch (error) {
    if (number !== serial) return;
    element("error").textContent = error.message;
    element("error").hidden = false;
    document.body.dataset.state = "error";
  }
}

const play = (action) => request(`api/tables/${view.table}/actions`, { ply: view.ply, action });
const advance = () => request(`api/tables/${view.table}/advance`, { ply: view.ply });

// *** the table ***

const named = (seat) => {
  const persons = view.seats.filter((kind) => kind === "person").length;
  const who = view.seats[seat] !== "person" ? " (computer)" : persons === 1 ? " (you)" : "";
  return `Player ${seat}${who}`;
};

function show(found) {
  view = found;
  location.hash = view.table;
  covered = view.secret && !view.computer && view.result === null && looking !== view.viewer;
  element("curtain").hidden = !covered;
  element("picture").hidden = covered;
  element("text").parentElement.hidden = covered;
  element("curtain").firstElementChild.textContent = `Only player ${view.viewer} looks at the screen now.`;
  element("status").classList.toggle("result", view.result !== null);
  const doing = view.waiting ? "solves the game" : view.computer ? "is thinking" : "to move";
  element("status").textContent = view.result === null ? `${named(view.player)} ${doing}`
    : `${view.result} The seed was ${view.seed}.`;
  element("text").textContent = view.text;
  const picture = document.importNode(new DOMParser().parseFromString(view.svg, "image/svg+xml").documentElement, true);
  picture.style.maxWidth = `${1.6 * picture.width.baseVal.value}px`;
  element("picture").replaceChildren(picture);
  if (!covered) prepare(picture);
  list(covered ? [] : view.actions);
  element("moves").replaceChildren(...view.moves.map(row).reverse());
  Object.assign(document.body.dataset, {
    state: view.result !== null ? "over" : view.computer ? "computer" : covered ? "covered" : "ready", ply: view.ply,
  });
  if (view.computer) {
    const number = serial;
    setTimeout(() => { if (number === serial) advance(); }, Math.max(Number(element("pace").value), view.waiting ? SOLVING : 0));
  }
}

function row(move) {
  const item = document.createElement("li");
  const ply = document.createElement("span");
  const player = document.createElement("span");
  ply.textContent = `${move.ply + 1}.`;
  player.textContent = `player ${move.player}`;
  item.append(ply, player, move.name);
  return item;
}

// Parts of the picture that stand for legal actions can be clicked; where one stands for several, the list shows these.
function prepare(picture) {
  for (const area of picture.querySelectorAll("[data-actions]")) {
    const numbers = area.dataset.actions.split(" ").map(Number);
    const legal = view.actions.filter(({ action }) => numbers.includes(action));
    if (!legal.length) {
      area.remove(); // so that it lies over nothing
      continue;
    }
    const title = document.createElementNS(picture.namespaceURI, "title");
    title.textContent = legal.map(({ name }) => name).join(", ");
    area.append(title);
    area.classList.add("legal");
    area.setAttribute("role", "button");
    area.setAttribute("tabindex", "0");
    area.setAttribute("aria-label", title.textContent);
    const choose = () => legal.length === 1 ? play(legal[0].action) : list(legal);
    area.addEventListener("click", choose);
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
  }
}

function list(actions) {
  element("all").hidden = covered || actions.length === view.actions.length;
  const note = document.createElement("p");
  note.textContent = view.result !== null ? "The game is over." : view.computer ? "The computer is to move." : "";
  element("actions").replaceChildren(...(actions.length ? actions.map(button) : [note]));
}

function button({ action, name }) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = name;
  made.dataset.action = action;
  made.addEventListener("click", () => play(action));
  const parts = () => [...element("picture").querySelectorAll("path.legal")]
    .filter((area) => area.dataset.actions.split(" ").includes(String(action)));
  for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
    made.addEventListener(event, () => parts().forEach((area) => area.classList.toggle("pointed", on)));
  }
  return made;
}

// *** a new game ***

function offer() {
  const game = games.find(({ game }) => game === element("game").value);
  const seats = Array.from({ length: game.players }, (_, seat) => {
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.append(...game.kinds.map((kind) => new Option(KINDS[kind], kind)));
    select.value = seat === 0 ? "person" : game.kinds.at(-1);
    select.dataset.seat = seat;
    label.append(`Player ${seat} `, select);
    return label;
  });
  element("seats").replaceChildren(...seats);
  element("rules").href = `rules/${game.rules}`;
}

function start() {
  looking = null;
  const seats = [...element("seats").querySelectorAll("select")].map((select) => select.value);
  const seed = element("seed").value;
  return request("api/tables", { game: element("game").value, seats, seed: seed === "" ? null : Number(seed) });
}

element("game").addEventListener("change", offer);
element("all").addEventListener("click", () => list(view.actions));
element("curtain").querySelector("button").addEventListener("click", () => {
  looking = view.viewer;
  show(view);
});
element("new").addEventListener("submit", (event) => {
  event.preventDefault();
  start();
});

async function begin() {
  try {
    ({ games } = await ask("api/games"));
  } catch (error) {
    element("error").textContent = `The server does not answer: ${error.message}`;
    element("error").hidden = false;
    return;
  }
  element("game").append(...games.map(({ game, title }) => new Option(title, game)));
  offer();
  const table = location.hash.slice(1);
  if (!table) return start();
  await request(`api/tables/${encodeURIComponent(table)}`); // the page was loaded again
  if (view) {
    element("game").value = view.game;
    offer();
  }
}

begin();
