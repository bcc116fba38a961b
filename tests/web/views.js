// node views.js MODULE < CASES: what a game's module gives in cases [function, arguments], for tests/web/test_views.py.
import { readFileSync } from "node:fs";

const views = await import(process.argv[2]);
console.log(JSON.stringify(JSON.parse(readFileSync(0)).map(([what, given]) => views[what](...given))));
