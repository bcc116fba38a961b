// The playground: the fields of a game's rules as a form, from the package's own Python, which also says what is wrong.
import { element, create } from "./controls.js";

// a field: choices, or text as Python writes it
function input({ name, text, choices }) {
  if (!choices.length) return create(text.length > 40 ? "textarea" : "input", { name, value: text, spellcheck: false, autocomplete: "off" });
  const select = create("select", { name }, ...choices.map((choice) => new Option(choice)));
  select.value = text;
  return select;
}

export class Form {
  // chosen() -> the game's name; take(a game that is known now)
  constructor(engine, chosen, take) {
    Object.assign(this, { engine, chosen, take });
    element("playground").addEventListener("toggle", () => this.show());
    element("fields").addEventListener("submit", (event) => {
      event.preventDefault();
      this.play();
    });
  }

  refuse(text) {
    element("wrong").textContent = text;
    element("wrong").hidden = !text;
  }

  // the fields of the chosen game's rules, once it is open
  async show() {
    const game = this.chosen(), inputs = element("inputs");
    if (!element("playground").open || this.shown === game) return;
    this.shown = game;
    this.refuse("");
    element("fields").querySelector("button").disabled = true;
    inputs.replaceChildren(create("p", { className: "note", textContent: "Python reads the rules ..." }));
    try {
      const { id, fields } = await this.engine.form(game);
      if (game !== this.shown) return;
      this.id = id;
      inputs.replaceChildren(...fields.map((field) => create("label", {},
        create("b", { textContent: field.name }), input(field), create("small", { textContent: field.choices.length ? "" : field.allowed }))));
      if (!fields.length) inputs.replaceChildren(create("p", { className: "note", textContent: "The rules of this game have no fields." }));
      element("fields").querySelector("button").disabled = !fields.length;
    } catch (error) {
      if (game === this.shown) this.refuse(error.message);
    }
  }

  async play() {
    const texts = Object.fromEntries(new FormData(element("fields")));
    this.refuse("");
    element("fields").querySelector("button").disabled = true;
    try {
      const game = await this.engine.add("named", this.id, texts);
      this.shown = game.game; // as it stands there
      await this.take(game);
    } catch (error) {
      this.refuse(error.message);
    }
    element("fields").querySelector("button").disabled = false;
  }
}
