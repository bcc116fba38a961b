// Tables of a local server (`python -m tensor_envs.play`), by requests.
async function ask(path, body) {
  const answer = await fetch(path, body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.error), { conflict: answer.status === 409 });
  return found;
}

async function view(path, body) {
  const found = await ask(path, body);
  return { ...found, link: `table=${found.table}`, drawn: Promise.resolve(found) };
}

const game = (name) => `api/games/${encodeURIComponent(name)}`;

export const server = {
  form: (name) => ask(`${game(name)}/form`),
  add: (what, given, fields) => (what === "about" ? ask(game(given)) : ask("api/games", { id: given, fields })),
  look: (table) => view(`api/tables/${encodeURIComponent(table)}`),
  async create({ game, seats, seed, actions, start }) {
    if (start) throw new Error("the link is of a game that was taken from the wall of a static page");
    return view("api/tables", { game, seats, seed, actions });
  },
  act: ({ table, ply }, action) => view(`api/tables/${table}/act`, { ply, action }),
  advance: ({ table, ply }) => view(`api/tables/${table}/advance`, { ply }),
  undo: ({ table, ply }) => view(`api/tables/${table}/undo`, { ply }),
  at: ({ table }, ply) => ask(`api/tables/${table}/at/${ply}`),
  hint: ({ table, ply }) => ask(`api/tables/${table}/hint/${ply}`),
  prompt: async ({ table }, ply) => (await ask(`api/tables/${table}/prompt/${ply}`)).prompt,
  position: ({ table }) => ask(`api/tables/${table}/position`),
};
