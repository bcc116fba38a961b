// The page: a wall of games, the table of one that was taken from it, and Python once both can be seen.
import { load } from "./games.js";
import { Table } from "./table.js";
import { Wall } from "./wall.js";

const element = (id) => document.getElementById(id);
const fail = (error) => {
  element("error").textContent = String(error.message ?? error);
  element("error").hidden = false;
  document.body.dataset.state = "error";
};
addEventListener("error", ({ error, message }) => fail(error ?? message));
addEventListener("unhandledrejection", ({ reason }) => fail(reason));

// a function of a game's id, words and player that promises its picture and text
function startPython() {
  const worker = new Worker("python.js", { type: "module" }), waiting = new Map();
  worker.onerror = (event) => fail(event.message ?? "Python cannot be started");
  worker.onmessage = ({ data: { number, found, progress, failed } }) => {
    if (progress !== undefined) {
      element("python").textContent = progress;
      element("python").hidden = !progress;
      document.body.dataset.python = progress ? "loading" : "ready";
    }
    if (failed) fail(failed);
    waiting.get(number)?.(found);
    waiting.delete(number);
  };
  let last = 0;
  return (id, words, player) => new Promise((answer) => {
    waiting.set(++last, answer);
    worker.postMessage({ number: last, id, words, player });
  });
}

const catalogue = await (await fetch("games.json")).json();
let python = null, about = null;
const table = new Table(catalogue.python ? (...position) => (python ??= startPython())(...position) : null);
const wall = new Wall({
  scroller: element("wall"), inner: element("inner"), canvas: element("tiles"), cursor: element("cursor"),
  told: (rate) => {
    const shown = rate >= 1e6 ? `${(rate / 1e6).toFixed(1)} million` : Math.round(rate).toLocaleString("en");
    element("told").textContent = `${wall.games.batch.toLocaleString("en")} games, ${shown} steps a second in this tab`;
    document.body.dataset.rate = Math.round(rate);
    if (catalogue.python) python ??= startPython(); // the wall moves
  },
  take: (game) => {
    table.begin(about, game);
    element("table").scrollIntoView({ behavior: "smooth", block: "nearest" });
  },
});

async function show() {
  const id = element("game").value;
  const found = await load(catalogue.games[id]);
  if (id !== element("game").value) return; // another one was chosen meanwhile
  about = found;
  history.replaceState(null, "", `#${id}`);
  element("table").hidden = true;
  wall.show(about, Number(element("count").value));
  document.body.dataset.state = "wall";
}

element("game").replaceChildren(...Object.keys(catalogue.games).map((id) => new Option(id.replaceAll("_", " "), id)));
const asked = decodeURIComponent(location.hash.slice(1));
if (asked in catalogue.games) element("game").value = asked;
element("game").addEventListener("change", show);
element("count").addEventListener("change", () => wall.show(about, Number(element("count").value)));
element("pace").addEventListener("change", () => { wall.pace = Number(element("pace").value); });
await show();
