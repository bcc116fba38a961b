// After a game: its evaluation from move to move, the moves that gave most away, files, and other ways on.
import { create, download, element, pause, svg } from "./controls.js";

const WORST = 3; // moves that are listed
const GIVEN = 0.1; // smallest loss that is listed
const WIDTH = 600, HEIGHT = 120; // of the graph, in its units

// what the first player could expect at each ply, from -1 to 1, and what each move gave away
function measured(view, judged) {
  const { returns } = judged.at(-1), first = (value, player) => (player ? -value : value);
  const values = judged.map(({ value }, ply) => (ply < view.ply ? first(value, view.moves[ply].player) : returns[0]));
  const losses = view.moves.map(({ player }, ply) => first(values[ply] - values[ply + 1], player));
  return { values, losses };
}

// the graph; a click looks at the position
function graph(values, lookAt) {
  const x = (ply) => (WIDTH * ply) / Math.max(1, values.length - 1), y = (value) => (HEIGHT * (1 - value)) / 2;
  const drawn = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Evaluation from move to move" },
    svg("path", { d: `M0 ${HEIGHT / 2}H${WIDTH}`, class: "axis" }),
    svg("polyline", { points: values.map((value, ply) => `${x(ply)},${y(value)}`).join(" "), class: "line" }));
  drawn.addEventListener("click", ({ offsetX }) => lookAt(Math.round((offsetX / drawn.clientWidth) * (values.length - 1))));
  return drawn;
}

export class Review {
  constructor(engine, table) {
    Object.assign(this, { engine, table });
    element("review").addEventListener("click", () => this.begin());
    element("branch").addEventListener("click", () => this.branch());
    element("open").addEventListener("change", ({ target }) => this.open(target.files[0]));
    element("opens").hidden = !engine.read;
    addEventListener("shown", () => this.shown());
  }

  // what the table's position allows
  shown() {
    const { view, at } = this.table, { over, position, files = [], players } = view;
    element("review").hidden = !(over && this.engine.judge && players.length === 2 && !element("hint").hidden);
    element("branch").hidden = !(position && at !== null);
    if (this.of === view.table && over) return;
    this.of = over ? view.table : null;
    element("graph").replaceChildren();
    element("files").replaceChildren(...(this.engine.file ? files : []).map((ending) => {
      const button = create("button", { type: "button", textContent: `Save ${ending}` });
      button.addEventListener("click", async () => download(`${view.game}${ending}`, await this.engine.file(view, ending)));
      return button;
    }));
  }

  async begin() {
    const { view } = this.table, judged = [];
    element("review").disabled = true;
    element("over").hidden = true;
    try {
      while (judged.length <= view.ply) {
        element("graph").textContent = `Searching move ${judged.length} of ${view.ply} ...`;
        const verdict = await this.engine.judge(view, judged.length);
        if (view !== this.table.view) return;
        if (verdict.waiting) await pause();
        else judged.push(verdict);
      }
      this.draw(view, judged);
    } finally {
      element("review").disabled = false;
    }
  }

  draw(view, judged) {
    const { values, losses } = measured(view, judged), lookAt = (ply) => this.table.lookAt(ply);
    const worst = [...losses.keys()].filter((ply) => losses[ply] >= GIVEN).sort((a, b) => losses[b] - losses[a]).slice(0, WORST);
    const rows = worst.sort((a, b) => a - b).map((ply) => {
      const { player, name } = view.moves[ply], button = create("button", { type: "button", textContent: `${ply + 1}. ${name}` });
      button.addEventListener("click", () => lookAt(ply));
      return create("li", {}, button, ` ${view.players[player]} gave away ${losses[ply].toFixed(2)}; better was ${judged[ply].best}`);
    });
    const none = create("p", { className: "note", textContent: "No move gave much away." });
    element("graph").replaceChildren(graph(values, lookAt), rows.length ? create("ul", {}, ...rows) : none);
  }

  // other moves from the position that is looked at
  branch() {
    const { view: { position }, at } = this.table;
    this.table.begin({ ...position, actions: position.actions.slice(0, at) });
  }

  async open(file) {
    if (!file) return;
    const ending = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
    this.table.begin(await this.engine.read(this.table.game, ending, await file.text()));
    element("open").value = "";
  }
}
