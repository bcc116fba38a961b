// node digest.js ID...: digests of what kernels in WebAssembly do, for tests/web/test_kernels.py; `speed` measures them.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Games } from "./games.js";

const [what, ...ids] = process.argv.slice(2);
for (const id of ids) {
  const about = JSON.parse(await readFile(`games/${id}.json`));
  about.module = await WebAssembly.compile(await readFile(`games/${id}.wasm`));
  if (what === "digest") {
    const games = new Games(about, 4096, 2n ** 63n + 7n), chain = createHash("sha256");
    const add = (...names) => names.forEach((name) => chain.update(games[name]));
    add("rng", "words");
    for (let step = 0; step < 200; step++) {
      games.run("uniform");
      add("actions", "words");
    }
    games.run("init");
    for (let step = 0; step < 8; step++) {
      games.run("sample");
      games.run("step");
      add("actions", "words");
    }
    console.log(id, chain.digest("hex"));
  } else {
    const games = new Games(about, 4096), best = { uniform: 0, rollout: 0 };
    for (let run = 0; run < 40; run++) {
      for (const [name, steps, play] of [["uniform", 1, () => games.run("uniform")], ["rollout", 64, () => games.rollout(64)]]) {
        const start = performance.now();
        let calls = 0;
        do { play(); calls++; } while (performance.now() - start < 20);
        best[name] = Math.max(best[name], calls * steps * games.batch / (performance.now() - start) / 1000);
      }
    }
    console.log(id, ...Object.entries(best).map(([name, rate]) => `${name} ${rate.toFixed(1)} M steps/s`));
  }
}
