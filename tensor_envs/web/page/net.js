// Requests that are repeated until there is an answer: a connection may be lost for a while.
const WAITS = [500, 1000, 2000, 4000]; // milliseconds before a further try; the last one goes on
const waiting = new Set(); // functions that end such a wait

export const tryNow = () => waiting.forEach((end) => end());
globalThis.addEventListener?.("online", tryNow);

let notify = () => {}; // called with whether requests are waiting for a connection
export const onLost = (listener) => { notify = listener; };

const wait = (milliseconds) => new Promise((done) => {
  const end = () => {
    clearTimeout(timer);
    waiting.delete(end);
    done();
  };
  const timer = setTimeout(end, milliseconds);
  waiting.add(end);
  notify(true);
});

// an answer of the host, whatever it says
export async function request(path, options) {
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await fetch(path, options);
      if (!waiting.size) notify(false);
      return answer;
    } catch {
      await wait(WAITS[Math.min(tries, WAITS.length - 1)]);
    }
  }
}

// a file of a game, which was compressed when the site was built; some servers let the browser unpack it
export const unpack = async (path) => {
  const { body, headers } = await request(`${path}.gz`);
  return new Response(headers.get("content-encoding") ? body : body.pipeThrough(new DecompressionStream("gzip")));
};

// a module of the host; browsers keep a failure to import, so that a further try needs another address
export const imported = (path) => import(path).catch(() => request(path).then(() => import(`${path}?${performance.now()}`)));

// what a promise gives, kept in a map by a key; a failure is not kept
export function memoize(kept, key, begin) {
  if (!kept.has(key)) {
    kept.set(key, begin().catch((error) => {
      kept.delete(key);
      throw error;
    }));
  }
  return kept.get(key);
}
