// A batch of games on the browser's GPU, by kernels that Python traces in the page.
import { Rows } from "./games.js";

// null where there is none
export async function gpuDevice() {
  return await (await navigator.gpu?.requestAdapter())?.requestDevice() ?? null;
}

// Kernels and their arrays, which all of them share.
export class Gpu {
  // made: as `playground.kernels` gives it
  static async ready(device, { source, entries, groups, bytes }) {
    const gpu = new Gpu(), usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    gpu.buffers = Object.fromEntries(Object.entries(bytes).map(([name, size]) => [name, device.createBuffer({ size, usage })]));
    const buffers = Object.values(gpu.buffers), visibility = GPUShaderStage.COMPUTE;
    const shared = device.createBindGroupLayout({ entries: buffers.map((_, binding) => ({ binding, visibility, buffer: { type: "storage" } })) });
    const group = device.createBindGroup({ layout: shared, entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })) });
    const module = device.createShaderModule({ code: source }), layout = device.createPipelineLayout({ bindGroupLayouts: [shared] });
    for (const { message, type } of (await module.getCompilationInfo()).messages) if (type === "error") throw new Error(message);
    const pipelines = Object.entries(entries).map(async ([name, entryPoint]) =>
      [name, await device.createComputePipelineAsync({ layout, compute: { module, entryPoint } })]);
    return Object.assign(gpu, { device, group, groups, pipelines: Object.fromEntries(await Promise.all(pipelines)) });
  }

  // a seed's two words
  begin(low, high) {
    this.device.queue.writeBuffer(this.buffers.numbers, 0, new Uint32Array([low, high, 0]));
    return this.run(["seed", "init"], []);
  }

  // kernels, one after the other -> the bytes of some arrays after them
  async run(names, read) {
    const { device, buffers } = this, encoder = device.createCommandEncoder();
    for (const name of names) {
      const pass = encoder.beginComputePass();
      pass.setPipeline(this.pipelines[name]);
      pass.setBindGroup(0, this.group);
      pass.dispatchWorkgroups(this.groups);
      pass.end();
    }
    const copies = read.map((name) => {
      const copy = device.createBuffer({ size: buffers[name].size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      encoder.copyBufferToBuffer(buffers[name], 0, copy, 0, copy.size);
      return copy;
    });
    device.queue.submit([encoder.finish()]);
    return Promise.all(copies.map(async (copy) => {
      await copy.mapAsync(GPUMapMode.READ);
      const bytes = copy.getMappedRange().slice(0);
      copy.destroy();
      return bytes;
    }));
  }
}

// The games of the wall: their states are those that the GPU had last.
export class GpuGames extends Rows {
  static async ready(device, about, made, batch) {
    const games = new GpuGames(), gpu = await Gpu.ready(device, made);
    Object.assign(games, { gpu, about, batch, done: 0, round: 1, busy: false });
    await gpu.begin(0, 0);
    [games.states, games.keys] = (await gpu.run([], ["states", "keys"])).map((bytes) => new Uint32Array(bytes));
    return games;
  }

  once() {
    return this.go(1);
  }

  // steps that take about so many milliseconds
  many(time) {
    return this.go(this.round, time);
  }

  // -> steps done since the last call
  go(steps, time) {
    const { done } = this, start = performance.now();
    this.done = 0;
    if (this.busy) return done;
    this.busy = true;
    this.gpu.run(Array(steps).fill("uniform"), ["states"]).then(([bytes]) => {
      this.states = new Uint32Array(bytes);
      this.done += steps;
      this.busy = false;
      if (time) this.round = performance.now() - start < time ? Math.min(1024, 2 * steps) : Math.max(1, steps >> 1);
    });
    return done;
  }
}
