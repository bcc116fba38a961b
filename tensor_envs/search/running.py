"""Resources that searches share: memory for trees, prepared kernels, a captured network."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.capture import CapturedFunction
from tensor_envs._compiler.devices import DeviceName, before_capture, empty_buffer, is_gpu, upload
from tensor_envs._compiler.launch import realize
from tensor_envs._engine.batch_layout import BatchBuffers, BatchLayout, batch_layout
from tensor_envs._engine.engine import Engine
from tensor_envs._validate import shown
from tensor_envs.env import Env
from tensor_envs.search.kernels import ExpandAndSelect, Finalize, InitRoot, PlayoutSearch
from tensor_envs.search.simulation import Evaluation, Result
from tensor_envs.search.tables import SearchConfig, TreeArrays, TreeSizes, padded
from tensor_envs.state import State

Evaluate = Callable[[State], tuple[Tensor, Tensor]]
TREE_BYTES = 2**28  # of the trees that are in memory at once
MAX_BLOCKS = 256  # of a kernel: few, so that indices have 32 bits
NETWORK_BLOCKS = 4  # on a CPU, where the trees of a search with a network should stay in its cache


@functools.lru_cache(16)  # most searches have the parameters of the one before
def params_array(params: tuple[int, ...], table: bytes, shards: int, device: DeviceName) -> Tensor:
    """Upload the parameters of a kernel, see `memory.Params`."""
    numbers = np.concatenate([np.array(params, np.int32), np.frombuffer(table, np.int32)])
    return upload(np.tile(numbers, shards), device)


@functools.lru_cache(64)
def chunk_of(engine: Engine, config: SearchConfig, whole: BatchLayout) -> BatchLayout:
    """Return the part of a batch whose trees are in memory at once."""
    sizes, lanes = TreeSizes.of(config, engine.game, engine.layout), whole.grid.lanes
    blocks = TREE_BYTES // (lanes * 4 * (sizes.states + sizes.nodes + sizes.edges))
    if config.selection.uses_network and not is_gpu(whole.device):
        blocks = NETWORK_BLOCKS
    blocks = max(1, min(blocks, MAX_BLOCKS))
    small = blocks >= whole.grid.blocks
    chunk = whole if small else batch_layout(blocks * lanes * whole.shards, whole.device)
    return replace(chunk, grid=replace(chunk.grid, most=MAX_BLOCKS))


@functools.lru_cache(4)
def memory_for(engine: Engine, config: SearchConfig, chunk: BatchLayout) -> TreeArrays:
    """Return memory for trees, used again and again."""
    sizes = TreeSizes.of(config, engine.game, engine.layout)
    nodes, edges = (chunk.empty(size, dtypes.int32) for size in (sizes.nodes, sizes.edges))
    return TreeArrays(chunk.empty(sizes.states), nodes, edges)


def result_arrays(env: Env, whole: BatchLayout) -> Result:
    return Result(*(whole.empty(size, dtypes.int32) for size in (1, 3 * env.num_actions + 1)))


class PlayoutRunner:
    """Searches by playouts of a chunk at a time, with their memory."""

    def __init__(self, engine: Engine, config: SearchConfig, chunk: BatchLayout):
        self.engine, self.kernel, self.chunk = engine, PlayoutSearch(config), chunk
        self.tree = memory_for(engine, config, chunk)
        self.run: Callable[..., object] | None = None

    def search(self, games: BatchBuffers, params: Tensor, result: Result) -> None:
        if self.run is None:
            arrays = PlayoutSearch.Arrays(self.tree, games.words, games.row_keys, params, result)
            self.run = self.engine.prepare(self.kernel, self.chunk, arrays)
        self.run(*self.tree, games.words, games.row_keys, params, *result)


@functools.lru_cache(4)
def playout_runner(engine: Engine, config: SearchConfig, whole: BatchLayout, directly: bool) -> PlayoutRunner:
    """directly: whether tinygrad launches nothing, see `launches_directly`."""
    return PlayoutRunner(engine, config, chunk_of(engine, config, whole))


class NetworkRunner:
    """Searches with a network of a chunk at a time, with their memory."""

    def __init__(self, env: Env, config: SearchConfig, chunk: BatchLayout, evaluate: Evaluate, table: bytes):
        self.env, self.chunk, self.evaluate, self.bound = env, chunk, evaluate, False
        self.leaf = env.init(chunk.batch, device=chunk.device)
        with before_capture():
            logits, values = self._checked(self.leaf)
            self.config = replace(config, values=1 if values.ndim == 1 else env.num_players)
            self._prepare(table)  # compiles while tinygrad compiles the network
            realize(logits, values)  # what it sets up at its first call must not be captured
        self.evaluation = CapturedFunction(self._evaluate)
        self._bind()

    def _prepare(self, table: bytes) -> None:
        env, config, chunk = self.env, self.config, self.chunk
        self.tree = memory_for(env.engine, config, chunk)
        self.output = Evaluation(
            *(
                empty_buffer(chunk.batch * size, dtypes.float32, chunk.device)
                for size in (env.num_actions, config.values)
            )
        )
        noise_words = config.selection.noise_count * padded(env.num_actions)
        self.root_noise = chunk.empty(noise_words, dtypes.float32)
        params = params_array(
            (0, chunk.grid.blocks, chunk.share, chunk.share, 1, 0, 0), table, chunk.shards, chunk.device
        )
        self.expansion = ExpandAndSelect.Arrays(
            self.tree, self.leaf.tensors[0], self.output, params, self.root_noise
        )
        for kernel, arrays in (
            (ExpandAndSelect(config), self.expansion),
            (InitRoot(config), self._init_arrays(self.leaf.buffers, params, self.root_noise)),
            (Finalize(config), self._final_arrays(params, result_arrays(env, chunk))),
        ):
            env.engine.prepare(kernel, chunk, arrays)

    def _init_arrays(self, games: BatchBuffers, params: Tensor, noise: Tensor) -> InitRoot.Arrays:
        leaf = self.leaf.tensors[0]
        return InitRoot.Arrays(self.tree, leaf, games.words, games.row_keys, params, noise, self.root_noise)

    def _final_arrays(self, params: Tensor, result: Result) -> Finalize.Arrays:
        return Finalize.Arrays(self.tree, params, self.output, self.root_noise, result)

    def _evaluate(self, words: Tensor, row_keys: Tensor, logits: Tensor, values: Tensor) -> None:
        output = self._checked(State(self.env, BatchBuffers(words, row_keys, self.chunk.batch)))
        Tensor.realize(
            *(
                old.assign(x.cast(dtypes.float32).reshape(-1))
                for old, x in zip((logits, values), output, strict=True)
            )
        )

    def _checked(self, state: State) -> tuple[Tensor, Tensor]:
        """Return the output of `evaluate`. TypeError or ValueError for anything but logits and values."""
        output = self.evaluate(state)
        if (
            not isinstance(output, tuple)
            or len(output) != 2
            or not all(isinstance(x, Tensor) for x in output)
        ):
            raise TypeError(f"evaluate must return two Tensors, logits and values, got {shown(output)}")
        logits, values = output
        batch, spec = state.batch, self.env.spec
        for name, x in (("logits", logits), ("values", values)):
            if not dtypes.is_float(x.dtype):
                raise TypeError(f"evaluate must return {name} of a float dtype, got {x.dtype}")
        if logits.shape != (batch, spec.num_actions):
            raise ValueError(
                f"evaluate must return logits [B, A] = {(batch, spec.num_actions)}, got {logits.shape}"
            )
        shapes: list[tuple[int, ...]] = [(batch, spec.num_players)]
        if spec.num_players == 1 or (spec.num_players == 2 and spec.zero_sum):
            shapes.append((batch,))
        if values.shape not in shapes:
            raise ValueError(
                f"evaluate must return values of shape {' or '.join(map(str, shapes))}, got {values.shape}"
            )
        return logits, values

    def _bind(self) -> None:
        self.look = self.evaluation.bind(*self.leaf.tensors, *self.output)
        self.expand = self.env.engine.bind(ExpandAndSelect(self.config), self.chunk, self.expansion)

    def search(self, noise: Tensor, games: BatchBuffers, params: Tensor, result: Result) -> None:
        engine = self.env.engine
        engine.run(InitRoot(self.config), self.chunk, self._init_arrays(games, params, noise))
        for _ in range(self.config.simulations):
            self.look()
            self.expand()
            if not self.bound:  # a call can be bound once it has been recorded
                self._bind()
                self.bound = True
        self.look()
        engine.run(Finalize(self.config), self.chunk, self._final_arrays(params, result))


@functools.lru_cache(8)
def network_runner(
    env: Env, config: SearchConfig, chunk: BatchLayout, evaluate: Evaluate, table: bytes
) -> NetworkRunner:
    return NetworkRunner(env, config, chunk, evaluate, table)
