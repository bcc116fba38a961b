// node digest.js digest ID...: digests of what kernels in WebAssembly do, for tests/web/test_kernels.py; `speed` measures them.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { Games } from "./games.js";

const [what, ...ids] = process.argv.slice(2);
for (const id of ids) {
  const file = async (suffix) => gunzipSync(await readFile(`games/${id}.${suffix}.gz`));
  const about = JSON.parse(await file("json"));
  about.module = await WebAssembly.compile(await file("wasm"));
  if (what === "digest") {
    const games = new Games(about, 1024, 2n ** 63n + 7n), chain = createHash("sha256");
    const add = (...names) => names.forEach((name) => chain.update(games[name]));
    add("keys", "states");
    for (let step = 0; step < 200; step++) {
      games.run("uniform");
      add("actions", "states");
    }
    games.run("init");
    games.run("rollout", 16);
    add("states");
    games.run("init");
    for (let step = 0; step < 8; step++) {
      games.run("sample");
      games.run("step");
      add("actions", "states");
    }
    console.log(id, chain.digest("hex"));
  } else {
    const games = new Games(about, 4096), best = { uniform: 0, rollout: 0 };
    const kinds = [["uniform", 64, () => games.run("uniform")], ["rollout", 1, () => games.run("rollout", 64)]];
    for (let run = 0; run < 80; run++) {
      for (const [name, calls, play] of kinds) { // by the process's own time: other work does not count
        const start = process.cpuUsage();
        for (let k = 0; k < calls; k++) play();
        const { user, system } = process.cpuUsage(start);
        best[name] = Math.max(best[name], 64 * games.batch / (user + system));
      }
    }
    console.log(id, ...Object.entries(best).map(([name, rate]) => `${name} ${rate.toFixed(1)} M steps/s`));
  }
}
