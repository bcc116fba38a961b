// A batch of games on the browser's GPU, by kernels that the package's own Python traces in the page.
import { Rows } from "./games.js";

// null where there is none
export async function gpuDevice() {
  return await (await navigator.gpu?.requestAdapter())?.requestDevice() ?? null;
}

// Kernels and their arrays.
export class Gpu {
  // made: as `playground.kernels` gives it
  static async ready(device, { kernels, arrays }) {
    const gpu = new Gpu();
    const buffer = (size, usage) => device.createBuffer({ size, usage: usage | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC });
    gpu.device = device;
    gpu.buffers = Object.fromEntries(Object.entries(arrays).map(([name, bytes]) => [name, buffer(bytes, GPUBufferUsage.STORAGE)]));
    const infinity = buffer(4, GPUBufferUsage.UNIFORM); // which tinygrad's WGSL begins with
    device.queue.writeBuffer(infinity, 0, new Float32Array([Infinity]));
    gpu.kernels = {};
    for (const [name, { source, entryPoint, groups, names }] of Object.entries(kernels)) {
      const entry = (binding, type) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } });
      const layout = device.createBindGroupLayout({ entries: [entry(0, "uniform"), ...names.map((_, k) => entry(k + 1, "storage"))] });
      const group = device.createBindGroup({
        layout,
        entries: [infinity, ...names.map((array) => gpu.buffers[array])].map((b, binding) => ({ binding, resource: { buffer: b } })),
      });
      const module = device.createShaderModule({ code: source });
      for (const { message, type } of (await module.getCompilationInfo()).messages) if (type === "error") throw new Error(`${name}: ${message}`);
      const pipeline = await device.createComputePipelineAsync({
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }), compute: { module, entryPoint },
      });
      gpu.kernels[name] = { pipeline, group, groups };
    }
    return gpu;
  }

  // a seed's two words
  begin(low, high) {
    this.device.queue.writeBuffer(this.buffers.scalars, 0, new Uint32Array([low, high, 0]));
    return this.run(["seed", "init"], []);
  }

  // kernels, one after the other -> the bytes of some arrays after them
  async run(names, read) {
    const { device, buffers } = this, encoder = device.createCommandEncoder();
    for (const name of names) {
      const { pipeline, group, groups } = this.kernels[name], pass = encoder.beginComputePass();
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
    return Promise.all(copies.map(async (copy) => {
      await copy.mapAsync(GPUMapMode.READ);
      const bytes = copy.getMappedRange().slice(0);
      copy.destroy();
      return bytes;
    }));
  }
}

// The same games as the wall knows them: their words are those that the GPU had last.
export class GpuGames extends Rows {
  static async ready(device, about, made, batch) {
    const games = new GpuGames(), gpu = await Gpu.ready(device, made);
    Object.assign(games, { gpu, about, batch, done: 0, round: 1, busy: false });
    await gpu.begin(0, 0);
    [games.words, games.rng] = (await gpu.run([], ["words", "rng"])).map((bytes) => new Uint32Array(bytes));
    return games;
  }

  once() {
    return this.go(1);
  }

  // steps that take about so many milliseconds
  many(time) {
    return this.go(this.round, time);
  }

  // -> steps that were done since it was asked before
  go(steps, time) {
    const { done } = this, start = performance.now();
    this.done = 0;
    if (this.busy) return done;
    this.busy = true;
    this.gpu.run(Array(steps).fill("uniform"), ["words"]).then(([bytes]) => {
      this.words = new Uint32Array(bytes);
      this.done += steps;
      this.busy = false;
      if (time) this.round = performance.now() - start < time ? Math.min(1024, 2 * steps) : Math.max(1, steps >> 1);
    });
    return done;
  }
}
