"""Runners of searches: they allocate trees, and compile and launch the kernels for one chunk of a batch at a time."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.helpers import TRAINING

from tensor_envs._engine.batch_layout import BatchBuffers, BatchLayout
from tensor_envs._engine.kernels.rollout import num_counts
from tensor_envs._engine.random import seed_words
from tensor_envs._runtime.buffers import download, empty_buffer, upload
from tensor_envs._runtime.capture import CapturedFunction, ReadInJitError, RepeatedLaunch, before_capture
from tensor_envs._runtime.context import LOCK, stays_lazy
from tensor_envs._runtime.cuda import Deferral, is_cuda, memory_of
from tensor_envs._runtime.devices import DeviceName, is_gpu
from tensor_envs._runtime.exchange import ExportInJitError
from tensor_envs._runtime.launch import realize
from tensor_envs._runtime.launcher import Launch, launches_directly, stored, takes_external_memory
from tensor_envs._runtime.threads import num_threads
from tensor_envs.envs.state import State
from tensor_envs.search.kernels import ExpandAndSelect, Finalize, GatherNoise, InitRoot, PlayoutSearch, RootActions
from tensor_envs.search.memory import (
    MAX_TREE_BLOCKS,
    NetworkOutput,
    SearchConfig,
    SearchSize,
    TreeArrays,
    TreeSizes,
    num_results,
)
from tensor_envs.search.outputs import Evaluate, HostEvaluation, OutputForm, checked
from tensor_envs.search.selection import MAX_VALUE
from tensor_envs.search.simulation import Result
from tensor_envs.search.tree import HostTree, SearchOutput, SearchTree, fetch

if TYPE_CHECKING:
    from tensor_envs._engine.engine import Engine
    from tensor_envs.envs.env import Env

TREE_BYTES = 2**28  # bytes of the trees of a chunk, unless one block needs more
# A CUDA card gets more, or an eighth of its memory if that is less: a chunk of few games would leave the card idle.
CARD_TREE_BYTES = 2**31
# Limit of these numbers, and of all trees of a batch with keep_tree=True. GPUs index words by 32 bits.
MAX_TREE_BYTES = 2**33
# A search on a card mostly waits for memory, and the threads of a workgroup wait for the deepest of their trees. So the
# blocks of a chunk of at most SPREAD_GAMES games are divided into workgroups of SPREAD_THREADS games.
SPREAD_GAMES = 2**14
SPREAD_THREADS = 8
# With still fewer games the card has threads to spare, so a team of threads shares the edges of a node. All other work
# of a game takes a team as long as one thread, so with more games teams would be slower.
TEAM_GAMES = 4096
TEAMS = (16, 8)  # sizes of a team: most nodes have no more edges, so that each thread visits one
SIMULATIONS_PER_CALL = 16  # simulations of a native call, which Ctrl-C cannot interrupt
NETWORK_GAMES = 256  # maximum number of games of a chunk with a network on a CPU
CACHED_TREE_BYTES = 2**21  # bytes of a thread's trees in such a chunk, so that they stay in the cache
_depth = 0  # number of searches that are running, each within the `evaluate` of the one before


def run_search(
    state: State,
    config: SearchConfig,
    size: SearchSize,
    table: bytes,
    seed: int,
    limit: int,
    tree: SearchTree | None,
    evaluate: Evaluate | None = None,
    noise: Callable[[Tensor, Tensor | None, int], Tensor] | None = None,
) -> SearchOutput:
    """Run a search, one chunk of the batch after another.

    Args:
        state: the games.
        config: options that the search is compiled for.
        size: options that it passes to its kernels.
        table: table of the selection, which follows the parameters of a kernel.
        seed: seed of the search.
        limit: maximum number of actions of a playout.
        tree: trees to resume, or None.
        evaluate: the network; None for playouts.
        noise: function that draws the noise of all roots, given the words of the seed and the results of
            `root_actions`; None for playouts.
    """
    env = state.env
    buffers = state.buffers
    words = seed_words(seed)
    engine = env.engine
    layout = buffers.layout
    low, high = (word - (word >> 31 << 32) for word in words)  # as int32
    if stays_lazy():
        raise ExportInJitError("a search replays kernels of its own, so a jit cannot capture it")
    with LOCK, _nested() as mode:
        # The runner has memory for one chunk, which all chunks use in turn.
        search: Callable[[BatchBuffers, Tensor, Result], None]
        if evaluate is None or noise is None:
            playouts = playout_runner(engine, config, size, layout, mode)
            chunk = playouts.chunk
            memory = playouts.tree
            search = playouts.search
        else:
            chunk = chunk_of(engine, config, size, layout)
            network = network_runner(env, config, size, chunk, evaluate, table, mode)
            # Noise must not depend on the chunks, so it is drawn for the whole batch.
            actions, columns = root_actions(env, config, layout, mode)(buffers.words)
            drawn = noise(seed_array(words, state.batch, layout.device), actions, columns)
            memory = network.tree
            search = functools.partial(network.search, drawn)
        trees = list[list[np.ndarray]]()
        counted = whole_chunks(layout, chunk) if config.counts else None
        result = result_arrays(env, layout, counted)
        for first in range(0, layout.grid.blocks, chunk.grid.blocks):
            if tree is not None and tree._whole is not None:
                # A resumed search begins with the nodes of the earlier one.
                tree._whole.put(memory, tree_sizes(engine, config, size.slots), layout, chunk, first)
            params = size.params(first, layout.grid.blocks, layout.shard_size, chunk.shard_size, limit, (low, high))
            # The kernels read the chunk's games from the whole batch, and write into the result of the whole batch.
            search(buffers, params_array(params, table, layout.shards, layout.device), result)
            if size.return_tree:
                # Copy the trees before the next chunk overwrites them.
                trees.append(fetch(memory, chunk))
    # Without a network, a check of the actions on a GPU would cost a wait for the result.
    if evaluate is not None or (config.packed and not is_gpu(layout.device)):
        _check_actions(state, config, layout.download(result.action))
    whole = None
    if size.return_tree:
        whole = HostTree.of(config, config.width(env.spec), tree_sizes(engine, config, size.slots), layout, trees)
    return SearchOutput(layout.column(result.action), SearchTree(state, layout, result.numbers, whole, counted))


def _check_actions(state: State, config: SearchConfig, actions: np.ndarray) -> None:
    """Raise ValueError if a search failed. Kernels cannot raise errors, so they report a failure by the action -1."""
    wrong = int((actions < 0).sum())
    if not wrong:
        return
    max_legal = int(state.numpy()["legal_action_mask"].sum(1).max())
    declared = state.env.spec.max_legal
    if config.packed and declared is not None and max_legal > declared:
        raise ValueError(f"max_legal in the Spec of {state.env!r} must be at least {max_legal}, got {declared}")
    allowed = f"finite numbers, values of at most {MAX_VALUE:g} in magnitude"
    raise ValueError(f"evaluate must give {allowed}, got others in the searches of {wrong} games")


class Mode(NamedTuple):
    """State of the process on which a runner depends, besides its arguments.

    Attributes:
        directly: see `launches_directly`.
        training: tinygrad's TRAINING, which changes a captured network, for example its dropout.
        depth: number of searches around this one. A search within the `evaluate` of another needs its own memory.
    """

    directly: bool
    training: bool
    depth: int


@contextmanager
def _nested() -> Iterator[Mode]:
    """Return the mode of a search, which runs within this block."""
    global _depth
    _depth += 1
    try:
        yield Mode(launches_directly(), bool(TRAINING), _depth - 1)
    finally:
        _depth -= 1


def whole_chunks(whole: BatchLayout, chunk: BatchLayout) -> BatchLayout:
    """Return the layout of a batch whose padding fills its last chunk."""
    chunks = -(-whole.grid.blocks // chunk.grid.blocks)
    return replace(whole, grid=replace(whole.grid, blocks=chunks * chunk.grid.blocks))


@functools.lru_cache(16)  # most searches have the parameters of the search before
def params_array(params: tuple[int, ...], table: bytes, shards: int, device: DeviceName) -> Tensor:
    """Upload the parameters of a kernel, see `records.Params`; each shard has a copy."""
    numbers = np.concatenate([np.array(params, np.int32), np.frombuffer(table, np.int32)])
    return upload(np.tile(numbers, shards), device)


@functools.lru_cache(16)
def seed_array(words: tuple[int, int], batch: int, device: DeviceName) -> Tensor:
    """Upload the same two words of a seed for every game, uint32 [B * 2]."""
    return upload(np.tile(np.array(words, np.uint32), batch), device)


@functools.lru_cache(16)
def root_actions(
    env: Env, config: SearchConfig, layout: BatchLayout, mode: Mode
) -> Callable[[Tensor], tuple[Tensor | None, int]]:
    """Return a function that lists the legal actions of a batch's words, for the noise of the roots.

    The function returns the actions, int32 [B, edges], -1 for padding, and the number of columns to draw noise for, as
    later columns are padding in all games. The actions are None if noise is drawn for all actions, see
    `SearchConfig.lists_actions`.
    """
    if not config.lists_actions(env.spec):
        return lambda words: (None, env.num_actions)
    width = config.width(env.spec)
    actions = layout.empty(width, dtypes.int32)
    run = env.engine.prepare(
        RootActions(width), layout, RootActions.Arrays(layout.empty(env.engine.layout.words), actions)
    )
    rows = layout.by_rows(actions, width)

    def list_actions(words: Tensor) -> tuple[Tensor, int]:
        run(words, actions)
        if is_gpu(layout.device):  # the host would have to wait for the actions
            return rows, width
        listed = download(actions).reshape(-1, width)
        # Use one of three numbers of columns, since the noise is compiled for each.
        fits = (columns for columns in (width // 4, width // 2) if (listed[:, columns] < 0).all())
        return rows, next(fits, width)

    return list_actions


@functools.lru_cache(64)
def chunk_of(engine: Engine, config: SearchConfig, size: SearchSize, whole: BatchLayout) -> BatchLayout:
    """Return the layout of the part of a batch whose trees are in memory at once. ValueError if they do not fit."""
    lanes = whole.grid.lanes
    num_simulations = size.num_simulations

    def tree_bytes(num_simulations: int) -> int:
        return tree_sizes(engine, config, size.resumed + num_simulations + 1).bytes  # type: ignore[no-any-return]

    # If trees are returned, those of the whole batch have to fit; otherwise those of one block.
    games = whole.rows if size.return_tree else lanes
    each = tree_bytes(num_simulations)
    if games * each > MAX_TREE_BYTES:
        fewer = 1 << (MAX_TREE_BYTES // each).bit_length() >> 1
        hint = f"; or search {fewer} games at a time" if fewer and not is_gpu(whole.device) else ""
        max_simulations = bisect.bisect_right(range(1, num_simulations), MAX_TREE_BYTES // games, key=tree_bytes)
        raise ValueError(
            f"num_simulations must be at most {max_simulations} for {games} games"
            f"{' with keep_tree=True' * size.return_tree}, got {num_simulations}: their trees need "
            f"{games * each / 2**30:.1f} GiB of at most {MAX_TREE_BYTES / 2**30:g}{hint}"
        )
    # As many blocks as fit, so that threads have work and launches are few.
    max_bytes = min(CARD_TREE_BYTES, memory_of(str(whole.device)) // 8) if is_cuda(whole.device) else TREE_BYTES
    blocks = max_bytes // (lanes * each)
    if config.selection.uses_network and not is_gpu(whole.device):
        # The network runs between the simulations. A thread's trees should stay in the cache meanwhile.
        blocks = min(blocks, NETWORK_GAMES // lanes, num_threads() * max(1, CACHED_TREE_BYTES // (lanes * each)))
    blocks = max(1, min(blocks, MAX_TREE_BLOCKS))
    is_whole = blocks >= whole.grid.blocks
    # Make all chunks about equally large, since the padding of the last one is searched, too.
    blocks = -(-whole.grid.blocks // -(-whole.grid.blocks // blocks))
    chunk = whole if is_whole else engine.batch_layout(blocks * lanes * whole.shards, whole.device)
    is_spread = is_cuda(whole.device) and chunk.grid.rows <= SPREAD_GAMES
    workgroups = lanes // SPREAD_THREADS if is_spread else 1
    grid = replace(chunk.grid, wide=True, workgroups=workgroups)  # wide, so that a program serves trees of any size
    return replace(chunk, grid=grid)


def team_of(width: int) -> int:
    """Return the number of a card's threads that share the edges of a node of at most `width` edges."""
    return next(size for size in TEAMS if width % size == 0)


def tree_sizes(engine: Engine, config: SearchConfig, slots: int) -> TreeSizes:
    return TreeSizes.of(config, slots, engine.game, engine.layout)


@functools.lru_cache(4)
def memory_for(engine: Engine, config: SearchConfig, slots: int, chunk: BatchLayout, depth: int) -> TreeArrays:
    """Return memory for trees, which searches of the same form and depth share."""
    sizes = tree_sizes(engine, config, slots)
    nodes, edges = (chunk.empty(size, dtypes.int32) for size in (sizes.nodes, sizes.edges))
    return TreeArrays(chunk.empty(sizes.states), nodes, edges)


def result_arrays(env: Env, layout: BatchLayout, counted: BatchLayout | None = None) -> Result:
    """Allocate a result. counted: layout of the numbers if counts of decisions follow them."""
    words = num_results(env.num_actions)
    numbers = (layout, words) if counted is None else (counted, words + num_counts(env.spec))
    return Result(layout.empty(1, dtypes.int32), numbers[0].empty(numbers[1], dtypes.int32))


class PlayoutRunner:
    """Playout search of one chunk of a batch at a time."""

    def __init__(self, engine: Engine, config: SearchConfig, size: SearchSize, whole: BatchLayout, mode: Mode):
        self.engine = engine
        self.kernel = PlayoutSearch(config)
        self.chunk = chunk_of(engine, config, size, whole)
        self.tree = memory_for(engine, config, size.slots, self.chunk, mode.depth)
        self.run: Callable[..., object] | None = None

    def search(self, buffers: BatchBuffers, params: Tensor, result: Result) -> None:
        """Search the games of a chunk, which the parameters select, and write their results."""
        if self.run is None:
            arrays = PlayoutSearch.Arrays(self.tree, buffers.words, buffers.row_keys, params, result)
            self.run = self.engine.prepare(self.kernel, self.chunk, arrays)
        self.run(*self.tree, buffers.words, buffers.row_keys, params, *result)


playout_runner = functools.lru_cache(4)(PlayoutRunner)


class NetworkRunner:
    """Search with a network of one chunk of a batch at a time."""

    def __init__(
        self,
        env: Env,
        config: SearchConfig,
        size: SearchSize,
        chunk: BatchLayout,
        evaluate: Evaluate,
        table: bytes,
        mode: Mode,
    ):
        self.env = env
        self.size = size
        self.chunk = chunk
        self.evaluate = evaluate
        self.depth = mode.depth
        self.leaf = env.init(chunk.batch, device=chunk.device)
        self.form = OutputForm("", 0)
        self.host: HostEvaluation | None = None
        # Try the network. One of another library exports the leaves, which fails here: it is called on the host below.
        with before_capture(), suppress(ExportInJitError):
            self.form, *output = checked(evaluate(self.leaf), self.leaf)
            if self.form.library == "tinygrad":
                sizes = (env.num_actions, self.form.values)
                buffers = (empty_buffer(chunk.batch * size, dtypes.float32, chunk.device) for size in sizes)
                # The kernels of the search compile while tinygrad compiles the network.
                self._prepare(config, table, NetworkOutput(*buffers))
                # The capture must not contain the work that only a first call does.
                realize(*output)
        self.evaluation = CapturedFunction(self._evaluate)
        if self.form.library == "tinygrad":
            # A function that returns Tensors may still read values in Python. Then it is called on the host, too.
            with suppress(ReadInJitError):
                self._bind()
                self.launch_network()
                return
        self.host = HostEvaluation(evaluate, self.leaf, chunk.grid.workgroups)
        self.form = self.host.form
        self._prepare(config, table, self.host.output)
        self._bind()

    def _prepare(self, config: SearchConfig, table: bytes, output: NetworkOutput) -> None:
        """Allocate memory and compile the kernels, given the buffers of the network's output."""
        env = self.env
        chunk = self.chunk
        config = replace(config, values=self.form.values)
        self.config = config
        self.output = output
        self.tree = memory_for(env.engine, config, self.size.slots, chunk, self.depth)
        noise_words = config.selection.noise_count * config.width(env.spec)
        self.root_noise = chunk.empty(noise_words, dtypes.float32)
        numbers = self.size.params(0, chunk.grid.blocks, chunk.shard_size, chunk.shard_size)
        params = params_array(numbers, table, chunk.shards, chunk.device)
        leaf = self.leaf.tensors[0]
        prepare = env.engine.prepare
        noise = self.root_noise
        self.expansion = ExpandAndSelect.Arrays(self.tree, leaf, self.output, params, noise)
        is_small = is_cuda(chunk.device) and chunk.grid.rows <= TEAM_GAMES
        team = team_of(config.width(env.spec)) if is_small else 1
        self.teams = replace(chunk, grid=replace(chunk.grid, team=team))
        prepare(ExpandAndSelect(config), self.teams, self.expansion)
        roots = InitRoot.Arrays(self.tree, leaf, *self.leaf.tensors, params)
        self.init_root = prepare(InitRoot(config), chunk, roots)
        gathered = GatherNoise.Arrays(self.tree, params, noise, noise)
        self.gather_noise = prepare(GatherNoise(config), chunk, gathered)
        final = Finalize.Arrays(self.tree, params, self.output, noise, result_arrays(env, chunk))
        self.finalize = prepare(Finalize(config), chunk, final)

    def _evaluate(self, words: Tensor, row_keys: Tensor, logits: Tensor, values: Tensor) -> None:
        """Evaluate leaves by a tinygrad network, and write the outputs to buffers; this is captured."""
        state = State(self.env, BatchBuffers(words, row_keys, self.leaf.buffers.layout))
        _, *output = checked(self.evaluate(state), state, self.form)
        numbers = [x.cast(dtypes.float32).reshape(-1) for x in output]
        Tensor.realize(*stored(numbers, (logits, values)))

    def _bind(self) -> None:
        """Prepare the launches of all simulations."""
        host = self.host
        reads_in_place = host is not None and takes_external_memory(self.chunk.device)
        external = self.output if reads_in_place else ()
        expand = self.env.engine.bind(ExpandAndSelect(self.config), self.teams, self.expansion, *external)
        self.launch_network: Launch = host or self.evaluation.bind(*self.leaf.tensors, *self.output)
        launches: list[Launch] = [self.launch_network, expand]
        if host is not None and reads_in_place:
            launches = [functools.partial(host.pass_to, expand)]
        # Join the launches of several simulations in one call. Between two calls Python can be interrupted.
        count, rest = divmod(self.size.num_simulations, SIMULATIONS_PER_CALL)
        self.launches = [RepeatedLaunch(launches, SIMULATIONS_PER_CALL)] * count
        self.launches += [RepeatedLaunch(launches, rest)] * (rest > 0)

    def search(self, noise: Tensor, buffers: BatchBuffers, params: Tensor, result: Result) -> None:
        """Search the games of a chunk, which the parameters select, and write their results."""
        leaf = self.leaf.tensors[0]
        # The root is the first leaf, so the network's first call evaluates it.
        self.init_root(*self.tree, leaf, buffers.words, buffers.row_keys, params)
        # The first expansion mixes the noise into the root's priors.
        self.gather_noise(*self.tree, params, noise, self.root_noise)
        with Deferral(self.chunk.device):
            # Each simulation evaluates the leaf, expands it, backs its value up and selects the next leaf.
            for launch in self.launches:
                launch()
            # The last leaf is selected, but not yet evaluated.
            self.launch_network()
        self.finalize(*self.tree, params, *self.output, self.root_noise, *result)


network_runner = functools.lru_cache(8)(NetworkRunner)
