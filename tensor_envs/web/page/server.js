// Tables of a local server (`python -m tensor_envs.play`), by requests.
import { request } from "./net.js";

const CONFLICT = 409, GONE = 410; // statuses: the table has moved on; the server has no such table

async function ask(path, body) {
  const answer = await request(path, body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(content.error), { conflict: answer.status === CONFLICT, gone: answer.status === GONE });
  return content;
}

const game = (name) => `api/games/${encodeURIComponent(name)}`;
const reopened = new Map(); // tables of a server that was restarted, and their new names

// A question about a table. A server that was restarted has lost it, and replays its moves if they have no secrets that
// the page may not know.
async function about({ table, position }, what, body) {
  const now = (name) => `api/tables/${reopened.get(name) ?? name}/${what}`;
  try {
    return await ask(now(table), body);
  } catch (error) {
    if (!error.gone) throw error;
    if (!position) throw new Error("The server was started again. What it alone knew of this game, cards, dice or invitations, is lost: begin a new one.");
    reopened.set(table, (await ask("api/tables", position)).table);
    return ask(now(table), body);
  }
}

const change = (view, what, body) => about(view, what, { ply: view.ply, ...body });

export const server = {
  form: (name) => ask(`${game(name)}/form`),
  add: (what, given, fields) => (what === "about" ? ask(game(given)) : ask("api/games", { id: given, fields })),
  look: (table) => ask(`api/tables/${encodeURIComponent(table)}`),
  async create({ game, seats, seed, actions, start }) {
    if (start) throw new Error("the link is of a game that was taken from the wall of a static page");
    return ask("api/tables", { game, seats, seed, actions });
  },
  act: (view, action) => change(view, "act", { action }),
  advance: (view) => change(view, "advance"),
  undo: (view) => change(view, "undo"),
  at: (view, ply) => about(view, `at/${ply}`),
  judge: (view, ply) => about(view, `judge/${ply}`),
  file: async (view, ending) => (await about(view, `file/${ending}`)).text,
  read: (game, ending, text) => ask("api/files", { game, ending, text }),
  hint: (view) => about(view, `hint/${view.ply}`),
  prompt: async (view, ply) => (await about(view, `prompt/${ply}`)).prompt,
};
