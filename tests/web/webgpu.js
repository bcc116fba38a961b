// What a browser's WebGPU makes of kernels in WGSL: the digest of what digest.js does, for tests/web/test_webgpu.py.
const adapter = await navigator.gpu.requestAdapter();
const device = await adapter.requestDevice();

function buffer(size, usage) {
  return device.createBuffer({ size, usage: usage | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
}

async function digest({ kernels, arrays, scalars, steps }) {
  const buffers = {};
  for (const [name, bytes] of Object.entries(arrays)) buffers[name] = buffer(bytes, GPUBufferUsage.STORAGE);
  device.queue.writeBuffer(buffers.scalars, 0, new Int32Array(scalars));
  const infinity = buffer(4, GPUBufferUsage.UNIFORM); // which tinygrad's WGSL begins with
  device.queue.writeBuffer(infinity, 0, new Float32Array([Infinity]));
  const ready = {};
  for (const [name, { source, entryPoint, groups, names }] of Object.entries(kernels)) {
    const entry = (binding, type) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } });
    const layout = device.createBindGroupLayout({
      entries: [entry(0, "uniform"), ...names.map((_, k) => entry(k + 1, "storage"))],
    });
    const group = device.createBindGroup({
      layout,
      entries: [infinity, ...names.map((array) => buffers[array])].map((b, binding) => ({ binding, resource: { buffer: b } })),
    });
    const module = device.createShaderModule({ code: source });
    for (const { message } of (await module.getCompilationInfo()).messages) throw new Error(`${name}: ${message}`);
    const pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint },
    });
    ready[name] = { pipeline, group, groups };
  }
  const told = [];
  async function run(names, read) { // kernels, and then what is in some arrays
    const encoder = device.createCommandEncoder();
    for (const name of names) {
      const { pipeline, group, groups } = ready[name], pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...groups);
      pass.end();
    }
    const copies = read.map((name) => {
      const copy = device.createBuffer({ size: buffers[name].size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      encoder.copyBufferToBuffer(buffers[name], 0, copy, 0, copy.size);
      return copy;
    });
    device.queue.submit([encoder.finish()]);
    for (const copy of copies) {
      await copy.mapAsync(GPUMapMode.READ);
      told.push(new Uint8Array(copy.getMappedRange().slice(0)));
      copy.destroy();
    }
  }
  await run(["seed", "init"], ["rng", "words"]);
  for (let step = 0; step < steps; step++) await run(["uniform"], ["actions", "words"]);
  await run(["init"], []);
  for (let step = 0; step < 8; step++) await run(["sample", "step"], ["actions", "words"]);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(told).arrayBuffer()));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

device.pushErrorScope("validation");
const answer = { adapter: adapter.info.architecture };
try {
  answer.digest = await digest(await (await fetch("job.json")).json());
} catch (error) {
  answer.error = String(error);
}
answer.error ??= (await device.popErrorScope())?.message;
await fetch("answer", { method: "POST", body: JSON.stringify(answer) });
