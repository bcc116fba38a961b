// The page: games, a table, and where games are files a wall of thousands of them, with Python once all can be seen.
import { Local } from "./local.js";
import { server } from "./server.js";
import { Table, element } from "./table.js";
import { Wall } from "./wall.js";

const fail = (error) => {
  element("error").textContent = String(error.message ?? error);
  element("error").hidden = false;
  document.body.dataset.state = "error";
};
addEventListener("error", ({ error, message }) => fail(error ?? message));
addEventListener("hashchange", () => location.reload()); // a link was followed
addEventListener("unhandledrejection", ({ reason }) => fail(reason));

// what a link says of a position; null if it names none
function linked() {
  const said = new URLSearchParams(location.hash.slice(1));
  if (said.has("table")) return { table: said.get("table") };
  const list = (name) => said.get(name)?.split(".").filter((x) => x) ?? [];
  const game = catalogue.games.find(({ game }) => game === (said.get("game") ?? location.hash.slice(1)));
  if (!game) return null;
  element("game").value = game.game;
  return said.has("seats") ? {
    game: game.game, seats: list("seats"), seed: said.get("seed") && Number(said.get("seed")), start: said.get("start"),
    actions: list("moves").map(Number),
  } : null;
}

async function choose() {
  table.offer(catalogue.games.find(({ game }) => game === element("game").value));
  if (catalogue.server) return;
  element("table").hidden = true;
  const game = element("game").value, about = await engine.about(game);
  if (game !== element("game").value) return; // another one was chosen meanwhile
  history.replaceState(null, "", `#${game}`);
  wall.show(about, Number(element("count").value));
  document.body.dataset.state = "wall";
}

const catalogue = await (await fetch("games.json")).json();
const engine = catalogue.server ? server : new Local(catalogue, fail);
const table = new Table(engine, fail);
let wall = null;
element("game").replaceChildren(...catalogue.games.map(({ title, game }) => new Option(title, game)));
element("game").addEventListener("change", choose);
const asked = linked();
if (!catalogue.server) {
  element("live").hidden = false;
  wall = new Wall({
    scroller: element("wall"), inner: element("inner"), canvas: element("tiles"), cursor: element("cursor"),
    told: (rate) => {
      const shown = rate >= 1e6 ? `${(rate / 1e6).toFixed(1)} million` : Math.round(rate).toLocaleString("en");
      element("told").textContent = `${wall.games.batch.toLocaleString("en")} games, ${shown} steps a second in this tab`;
      document.body.dataset.rate = Math.round(rate);
      engine.startPython(); // the wall moves
    },
    take: (start) => table.begin({ start }),
  });
  element("count").addEventListener("change", () => wall.show(wall.games.about, Number(element("count").value)));
  element("pace").addEventListener("change", () => { wall.pace = Number(element("pace").value); });
}
await choose();
if (asked?.table) await table.ask("look", asked.table);
else if (asked) await table.ask("create", asked);
else if (catalogue.server) await table.begin();
