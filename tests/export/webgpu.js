// A page that plays an exported shader and posts the hashes of all that it computes, for tests/export/test_webgpu.py.
async function play({ source, prefix, bytes, actions, lanes, seed, games, steps, turns }) {
  const device = await (await navigator.gpu.requestAdapter()).requestDevice();
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code: source }), visibility = GPUShaderStage.COMPUTE;
  const messages = (await module.getCompilationInfo()).messages.map(({ message }) => message);
  if (messages.length) throw new Error(messages[0]);
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
  const names = [...source.matchAll(/@binding\(\d+\) var<storage, read_write> (\w+)/g)].map((match) => match[1]);
  const buffers = Object.fromEntries(names.map((name) => [name, device.createBuffer({ size: bytes[name], usage })]));
  const shared = device.createBindGroupLayout({ entries: names.map((_, binding) => ({ binding, visibility, buffer: { type: "storage" } })) });
  const entries = names.map((name, binding) => ({ binding, resource: { buffer: buffers[name] } }));
  const group = device.createBindGroup({ layout: shared, entries }), layout = device.createPipelineLayout({ bindGroupLayouts: [shared] });
  const pipelines = {}, written = [];

  async function call(name, ...numbers) {
    device.queue.writeBuffer(buffers.numbers, 0, new Uint32Array([...numbers, 0, 0, 0].slice(0, 3)));
    pipelines[name] ??= await device.createComputePipelineAsync({ layout, compute: { module, entryPoint: `${prefix}_${name}` } });
    const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
    pass.setPipeline(pipelines[name]);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(games / lanes);
    pass.end();
    device.queue.submit([encoder.finish()]);
  }

  async function read(name) {
    const size = bytes[name], encoder = device.createCommandEncoder();
    const copy = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(buffers[name], 0, copy, 0, size);
    device.queue.submit([encoder.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    return copy.getMappedRange().slice(0);
  }

  const write = async (name) => written.push(await read(name));
  await call("seed", ...seed, 0);
  await call("init");
  for (const name of ["keys", "states"]) await write(name);
  for (let step = 0; step < steps; step++) {
    await call("sample");
    const chosen = new Int32Array(await read("actions"));
    for (let game = 0; game < games; game++) {
      if ((game + step) % 13 === 0) chosen[game] = (game + step) % 26 ? (game + step) % (actions + 2) - 1 : -1;
    }
    device.queue.writeBuffer(buffers.actions, 0, chosen);
    await write("actions");
    await call("step");
    await write("states");
    if (step % 8 === 0) {
      await call("mask");
      await call("observe");
      for (const name of ["masks", "observations"]) await write(name);
    }
    if (step % 2) await call("reset");
  }
  await call("reset");
  await call("rollout", turns);
  for (const name of ["states", "totals"]) await write(name);
  const error = await device.popErrorScope();
  if (error) throw new Error(error.message);
  const hashes = await Promise.all(written.map((bytes) => crypto.subtle.digest("SHA-256", bytes)));
  return hashes.map((hash) => [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
}

const answer = await fetch("job.json").then((response) => response.json()).then(play).catch(String);
await fetch("answer", { method: "POST", body: JSON.stringify(answer) });
