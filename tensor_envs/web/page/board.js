// The picture of a position. Its parts that stand for legal actions are pressed, dragged, held, or reached by arrow keys.
import { create, element, svg } from "./controls.js";

const MARKED = 40; // most parts that are marked before one is chosen: where more are legal, nearly all are
const LEGIBLE = 11, TOUCHED = 24; // pixels of the smallest text that can be read, and of the smallest part for a finger
const SLACK = 3; // units by which a text's box may leave the picture: its letters are smaller
const DRAGGED = 5; // pixels after which a press is a drag
const SIDEWAYS = 3; // a part straight ahead is nearer to an arrow key than one aside
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const numbers = (text) => (text ? text.split(" ").map(Number) : []);
const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

export class Board {
  constructor(table) {
    Object.assign(this, { table, parts: [] });
    addEventListener("resize", () => this.fit());
    addEventListener("keydown", ({ key }) => { if (key === "Escape") this.select(null); });
  }

  clear() {
    this.select(null);
    this.parts = [];
    element("picture").replaceChildren();
  }

  show(text) {
    this.select(null);
    this.picture = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
    this.picture.style.setProperty("--width", `${this.picture.width.baseVal.value}px`);
    this.prepare();
    element("picture").replaceChildren(this.picture);
    this.fit();
  }

  // Enlarges the text of a small picture, as far as that fits. Where text or parts are still too small, the whole picture
  // is larger than the screen, and is scrolled.
  fit() {
    const picture = element("picture"), texts = [...picture.querySelectorAll("text")], { width } = this.picture?.viewBox.baseVal ?? {};
    if (!picture.firstChild) return;
    for (const text of texts) text.dataset.size ??= text.getAttribute("font-size");
    const sides = this.parts.map(({ area }) => area.getBBox()).map((box) => Math.min(box.width, box.height));
    const least = Math.max(this.picture.dataset.least ?? 0, TOUCHED / Math.min(...sides), ...texts.map(({ dataset: { size } }) => LEGIBLE / 2 / size));
    picture.style.setProperty("--least", `${least * width}px`);
    picture.classList.toggle("large", least * width > picture.clientWidth);
    picture.tabIndex = picture.classList.contains("large") ? 0 : -1; // it is scrolled
    const legible = LEGIBLE / this.picture.getScreenCTM().a;
    for (const text of texts) {
      const size = Number(text.dataset.size), outside = () => {
        const { x, width: wide } = text.getBBox();
        return x < -SLACK || x + wide > width + SLACK;
      };
      let now = Math.max(size, legible);
      text.setAttribute("font-size", now);
      for (; now > size && outside(); text.setAttribute("font-size", now)) now = Math.max(size, 0.95 * now);
    }
  }

  // Make the parts that stand for legal actions buttons, and remove the others.
  prepare() {
    const { table } = this, { view, controls } = table, actions = table.at === null ? view.actions : [];
    const known = new Map(actions.map((action) => [action.action, action]));
    this.parts = [];
    for (const area of this.picture.querySelectorAll("[data-actions]")) {
      const { dataset: { targets, label, toggle, mark } } = area;
      const legal = numbers(area.dataset.actions).filter((action) => known.has(action));
      if (!legal.length) {
        area.remove(); // it would lie over others
        continue;
      }
      const ends = numbers(targets).filter((action) => known.has(action));
      const name = label ?? legal.map((action) => controls.actionName(action, known.get(action).name)).join(", ");
      area.append(svg("title", {}, name));
      area.classList.add("legal");
      if (mark) area.after(svg("path", { d: mark, class: "mark" }));
      const attributes = { role: "button", tabindex: this.parts.length ? -1 : 0, "aria-label": name, ...(toggle && { "aria-pressed": false }) };
      for (const [key, value] of Object.entries(attributes)) area.setAttribute(key, value);
      const part = { area, legal, ends, toggle, starts: legal.filter((action) => !ends.includes(action)) };
      this.parts.push(part);
      area.addEventListener("click", ({ detail }) => this.choose(part, detail));
      area.addEventListener("keydown", (event) => this.press(part, event));
      area.addEventListener("pointerdown", (event) => this.grab(part, event));
      area.addEventListener("focus", () => this.parts.forEach((other) => { other.area.tabIndex = other === part ? 0 : -1; }));
    }
    const starts = this.parts.filter((part) => part.starts.length);
    if (starts.length <= MARKED) for (const { area } of starts) area.classList.add("start");
    for (const part of starts) part.area.classList.toggle("movable", this.places(part.starts).length > 0);
    if (!actions.length) return;
    // on a phone the list of actions is folded if the picture reaches all of them
    const reached = new Set(this.parts.flatMap(({ legal }) => legal));
    if (this.listed !== view.game) element("listed").open = !controls.narrow.matches || reached.size < actions.length;
    this.listed = view.game;
  }

  // marks the parts of some actions
  mark(name, actions) {
    for (const { area, legal } of this.parts) area.classList.toggle(name, legal.some((action) => actions.includes(action)));
  }

  // Enter presses a part, and arrow keys walk to the next one in their direction.
  press(part, event) {
    const arrow = ARROWS[event.key];
    if (!arrow && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (!arrow) {
      this.choose(part);
      return;
    }
    const [x, y] = middle(part.area.getBBox()), [right, down] = arrow;
    const ways = this.parts.map(({ area }) => {
      const [left, top] = middle(area.getBBox()), ahead = (left - x) * right + (top - y) * down;
      const aside = Math.abs((left - x) * down) + Math.abs((top - y) * right);
      return { area, way: ahead > 1 ? ahead + SIDEWAYS * aside : Infinity };
    });
    const next = ways.reduce((best, other) => (other.way < best.way ? other : best));
    if (next.way < Infinity) next.area.focus();
  }

  // the parts where some actions end
  places(actions) {
    return this.parts.filter(({ ends }) => ends.some((action) => actions.includes(action)));
  }

  // A part was pressed. If a piece is selected, the part may be where it goes. Otherwise a single action that needs no
  // second press is played, and several are offered as a choice. Parts that toggle, such as dice, select one of several
  // actions: the one that has exactly the held parts.
  choose(part, clicks = 0) {
    if (part.toggle) {
      part.area.setAttribute("aria-pressed", part.area.classList.toggle("held"));
      return;
    }
    const here = this.selected ? part.ends.filter((action) => this.selected.starts.includes(action)) : [];
    if (this.selected && !here.length && clicks > 1) return;
    const toggles = this.parts.filter(({ toggle }) => toggle);
    const named = (action) => toggles.every(({ area, legal }) => legal.includes(action) === area.classList.contains("held"));
    const all = here.length ? here : part.starts.length ? part.starts : part.ends;
    const meant = toggles.length && all.length > 1 ? all.filter(named) : all;
    const places = here.length || !part.starts.length ? [] : this.places(meant);
    const elsewhere = meant.filter((action) => !places.some(({ ends }) => ends.includes(action)));
    if (this.selected === part) this.select(null);
    else if (places.length) this.select(part, places, elsewhere);
    else if (meant.length === 1) this.table.act(meant[0], clicks);
    else this.select(part, [], meant);
  }

  // marks a part, the places where its actions end, and shows the other actions beside it
  select(part, places = [], actions = []) {
    const { view, controls } = this.table, choice = element("choice");
    this.selected = part && places.length ? part : null;
    for (const { area } of this.parts) {
      area.classList.toggle("selected", area === part?.area);
      area.classList.toggle("target", places.some((place) => place.area === area));
    }
    choice.hidden = !actions.length;
    if (choice.hidden) return;
    const known = actions.map((number) => view.actions.find(({ action }) => action === number));
    const close = create("button", { type: "button", className: "close", textContent: "Cancel" });
    close.addEventListener("click", () => {
      this.select(null);
      part.area.focus();
    });
    choice.replaceChildren(...known.map((action) => controls.button(action)), close);
    const inner = part.area.getBoundingClientRect(), outer = choice.offsetParent.getBoundingClientRect();
    const left = Math.min(inner.left - outer.left, outer.width - choice.offsetWidth - 4);
    Object.assign(choice.style, { left: `${Math.max(4, left)}px`, top: `${inner.bottom - outer.top + 6}px` });
    choice.querySelector("button").focus({ preventScroll: true });
  }

  // A piece follows the pointer, and is dropped on a place where it may go.
  grab(part, { button, clientX, clientY }) {
    if (button || !part.area.classList.contains("movable")) return;
    const end = new AbortController(), { signal } = end, { a: scale } = this.picture.getScreenCTM();
    let piece = null;
    const drop = ({ type, clientX: x, clientY: y }) => {
      end.abort();
      piece?.forEach((shape) => shape.removeAttribute("transform"));
      const area = document.elementFromPoint(x, y), place = this.parts.find((other) => other.area === area);
      if (type === "pointerup" && piece && area?.classList.contains("target")) this.choose(place);
    };
    addEventListener("pointermove", ({ clientX: x, clientY: y }) => {
      if (!piece && Math.hypot(x - clientX, y - clientY) < DRAGGED) return;
      if (this.selected !== part) this.choose(part);
      piece ??= this.piece(part.area);
      for (const shape of piece) shape.setAttribute("transform", `translate(${(x - clientX) / scale} ${(y - clientY) / scale})`);
    }, { signal });
    for (const type of ["pointerup", "pointercancel"]) addEventListener(type, drop, { signal });
  }

  // the shapes of the piece on a part, above all others: those around the last one, which lies on top of a stack
  piece(area) {
    const outer = area.getBBox(), reach = Math.min(outer.width, outer.height) / 2;
    const near = ([x, y], [left, top], right = reach, down = reach) => Math.abs(x - left) <= right && Math.abs(y - top) <= down;
    const shapes = [...this.picture.querySelectorAll("circle, polygon, text")].filter((shape) => {
      const box = shape.getBBox();
      return near(middle(box), middle(outer), outer.width / 2, outer.height / 2) && box.width < outer.width && box.height < outer.height;
    });
    const piece = shapes.filter((shape) => near(middle(shape.getBBox()), middle(shapes.at(-1).getBBox())));
    this.parts[0].area.before(...piece);
    return piece;
  }
}
