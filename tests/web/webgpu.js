// What a browser's WebGPU makes of kernels in WGSL: the digest of what digest.js does, for tests/web/test_webgpu.py.
import { Gpu, gpuDevice } from "./gpu.js";
import { Local } from "./local.js";

async function digest(gpu, seed, steps) {
  const told = [], run = async (names, read) => told.push(...await gpu.run(names, read));
  await gpu.begin(...seed);
  await run([], ["keys", "states"]);
  for (let step = 0; step < steps; step++) await run(["uniform"], ["actions", "states"]);
  await run(["init"], []);
  for (let step = 0; step < 8; step++) await run(["sample", "step"], ["actions", "states"]);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(told).arrayBuffer()));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const answer = {};
try {
  const { made, asked, seed, steps } = await (await fetch("job.json")).json();
  const kernels = made ?? await new Local(new Map(), true, null).startPython()("playground.kernels", ...asked);
  const device = await gpuDevice();
  answer.adapter = device.adapterInfo.architecture;
  device.pushErrorScope("validation");
  answer.digest = await digest(await Gpu.ready(device, kernels), seed, steps);
  const error = await device.popErrorScope();
  if (error) answer.error = error.message;
} catch (error) {
  answer.error = String(error);
}
await fetch("answer", { method: "POST", body: JSON.stringify(answer) });
