"""Trace, cache and launch kernels on the buffers of a batch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs._engine.batch_layout import BatchBuffers, BatchLayout, BlockGrid, batch_layout
from tensor_envs._engine.game import Game
from tensor_envs._engine.kernels.base import Autoreset, Kernel, trace_blocks
from tensor_envs._engine.kernels.observe import DTYPE_BY_NAME, Observe, Outputs
from tensor_envs._engine.kernels.read import ACTION_COUNTER, Read
from tensor_envs._engine.kernels.rollout import Playout, UniformRollout, num_counts
from tensor_envs._engine.kernels.states import Copy, Gather, Init, Refresh, Reset, Seed
from tensor_envs._engine.kernels.step import Events, Sample, Step
from tensor_envs._engine.layout import FLAGS, Layout
from tensor_envs._engine.random import KEY_WORDS, threefry
from tensor_envs._runtime.buffers import cached_upload, empty_buffer
from tensor_envs._runtime.context import LOCK, stays_lazy
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.launch import Recorder, compile_kernel, lazy_kernel, realize
from tensor_envs._runtime.launcher import Launch, ProgramLauncher, base_of, get_or_create, launches_directly
from tensor_envs._runtime.pytree import flatten_arrays, rebuild
from tensor_envs._runtime.threads import all_blocks
from tensor_envs.rules.kernel import trace
from tensor_envs.rules.spec import Rules

A = TypeVar("A", bound=tuple[Any, ...])
Launcher = Callable[..., Launch]  # function of the arguments and the placeholders of external memory, see `bind`


class Engine:
    """Kernels of a game, launched on the buffers of batches."""

    def __init__(self, rules: Rules):
        self.game = Game(rules)
        self.spec = self.game.spec
        self.layout = Layout(self.spec)
        self._launchers: dict[tuple[Any, ...], Any] = {}  # by kernel, grid, device and arrays

    def batch_layout(self, batch: int, device: DeviceName) -> BatchLayout:
        """Return the partition of a batch of this game's states."""
        return batch_layout(batch, device, self.layout.words)

    # *** launching ***

    def run(self, kernel: Kernel, layout: BatchLayout, arrays: A, grid: BlockGrid | None = None) -> A:
        """Run a kernel and return its arrays with the values after it.

        Outside of a capture, the kernel is launched and changes the arrays in place. In a capture it becomes a node of
        the graph: the result has new tensors, and `arrays` still have the values before the kernel.
        """
        grid = grid or layout.grid
        if stays_lazy():
            structure, tensors = flatten_arrays(arrays)
            record = self.recorder(kernel, grid, structure)
            parameters = [*tensors, *block_range(grid, layout.device)]
            after = lazy_kernel(self._name(kernel), record, *parameters, any_size=not grid.gpu)
            return rebuild(structure, after)  # type: ignore[no-any-return]
        with LOCK:
            launcher, arguments = self._launcher(kernel, grid, layout.device, arrays)
            launcher(arguments)()
        return arrays

    def bind(self, kernel: Kernel, layout: BatchLayout, arrays: A, *external: Tensor) -> Launch:
        """Return a prepared launch of a kernel on these arrays; for `external` see `ProgramLauncher.__call__`."""
        with LOCK:
            launcher, arguments = self._launcher(kernel, layout.grid, layout.device, arrays)
            return launcher(arguments, *external)

    def prepare(self, kernel: Kernel, layout: BatchLayout, arrays: A) -> Callable[..., object]:
        """Return a function that runs a kernel on arrays of the same shapes, passed as flat arguments."""
        with LOCK:
            launcher, _ = self._launcher(kernel, layout.grid, layout.device, arrays)
        blocks = block_range(layout.grid, layout.device)

        def run(*leaves: Tensor) -> None:
            with LOCK:
                launcher([*leaves, *blocks])()

        return run

    def _launcher(
        self, kernel: Kernel, grid: BlockGrid, device: DeviceName, arrays: A
    ) -> tuple[Launcher, list[Tensor]]:
        """Return the launcher of a kernel, from the cache or new, and its arguments."""
        structure, tensors = flatten_arrays(arrays)
        arguments = [*tensors, *block_range(grid, device)]
        count = len(tensors)
        # tinygrad's scheduler takes longer than most kernels. It is used only for its debug output and profiles.
        directly = launches_directly()

        def create() -> Launcher:
            name = self._name(kernel)
            record = self.recorder(kernel, grid, structure)
            if not directly:

                def by_tinygrad(parameters: Sequence[Tensor]) -> Launch:
                    return lambda: realize(*lazy_kernel(name, record, *parameters, any_size=not grid.gpu)[:count])

                return by_tinygrad
            # On a CPU one program serves arrays of any size. The program is compiled for these arrays, and later
            # launches pass the addresses of others.
            used, program = compile_kernel(name, record, *arguments, any_size=not grid.gpu)
            return ProgramLauncher(lambda: [(program(), used)], device, [base_of(t.uop) for t in arguments])

        key = (kernel, grid.cache_key if directly else grid, device, structure, directly)
        return get_or_create(self._launchers, key, create), arguments

    def recorder(self, kernel: Kernel, grid: BlockGrid, structure: Any) -> Recorder:
        """Return the recorder of a kernel, whose parameters are its arrays and on the CPU the range of blocks.

        structure: structure of the arrays, see `flatten_arrays`.
        """
        if isinstance(kernel, (UniformRollout, Playout)) and self.game.has_memory:
            raise NotImplementedError(f"a game with memory fields has no {kernel.name} kernel")
        body = trace_blocks(kernel, self.game, self.layout, grid, partial(rebuild, structure))
        return partial(trace, body)

    def _name(self, kernel: Kernel) -> str:
        """Return the name of a kernel's function in its source."""
        # These kernels are the same for many games. Under one name their source is the same, and is compiled once.
        if isinstance(kernel, (Seed, Copy, Gather)):
            return kernel.name
        return f"{type(self.game.rules).__name__}_{kernel.name}"

    # *** states ***

    def row_keys(self, batch: int, words: tuple[int, int], device: DeviceName, first_row: int) -> Tensor:
        """Return the keys of the rows of a batch, see `KEY_WORDS`, given the two words of the seed."""
        layout = self.batch_layout(batch, device)
        shards = [[*words, first_row + shard * layout.shard_size] for shard in range(layout.shards)]
        scalars = np.array(shards, np.uint32).view(np.int32).ravel().tolist()
        arrays = Seed.Arrays(layout.empty(KEY_WORDS), cached_upload(tuple(scalars), device))
        return self.run(Seed(), layout, arrays).row_keys

    def empty(self, buffers: BatchBuffers) -> Tensor:
        """Return an uninitialised buffer for another state of the same rows."""
        return buffers.layout.empty(self.layout.words)

    def init(self, batch: int, words: tuple[int, int], device: DeviceName, first_row: int) -> BatchBuffers:
        """Start episode 0 of `batch` rows, given the two words of the seed."""
        row_keys = self.row_keys(batch, words, device, first_row)
        layout = self.batch_layout(batch, device)
        new = self.run(Init(), layout, Init.Arrays(layout.empty(self.layout.words), row_keys)).new
        return BatchBuffers(new, row_keys, layout)

    def step(
        self, buffers: BatchBuffers, actions: Tensor, reset: Autoreset = "disabled", new: Tensor | None = None
    ) -> BatchBuffers:
        """Play one action in every game, and write the new state to the buffer `new`, if one is passed."""
        layout = buffers.layout
        new = layout.empty(self.layout.words) if new is None else new
        arrays = Step.Arrays(new, buffers.words, buffers.row_keys, actions)
        return BatchBuffers(self.run(Step(reset), layout, arrays).new, buffers.row_keys, layout)

    def events(self, buffers: BatchBuffers, actions: Tensor) -> Tensor:
        """Return the events of one action in every game, int32 [B, E]."""
        layout = buffers.layout
        count = len(self.spec.events)
        arrays = Events.Arrays(buffers.words, buffers.row_keys, actions, layout.empty(count, dtypes.int32))
        return layout.view(self.run(Events(), layout, arrays).events, 0, count)

    def reset(self, buffers: BatchBuffers, chosen: Tensor | None = None) -> BatchBuffers:
        """Start the next episode of the games whose entry in `chosen` is not 0; None stands for the finished games."""
        arrays = Reset.Arrays(self.empty(buffers), buffers.words, buffers.row_keys, chosen)
        return buffers._replace(words=self.run(Reset(), buffers.layout, arrays).new)

    def refresh(self, buffers: BatchBuffers) -> BatchBuffers:
        """Recompute keys and masks from fields and flags; rewards become 0."""
        arrays = Refresh.Arrays(self.empty(buffers), buffers.words, buffers.row_keys)
        return buffers._replace(words=self.run(Refresh(), buffers.layout, arrays).new)

    def copy(self, buffers: BatchBuffers, live: bool, new: Tensor | None = None) -> BatchBuffers:
        """Copy games; `live` clears the flags, so that no game is over."""
        arrays = Copy.Arrays(self.empty(buffers) if new is None else new, buffers.words)
        return buffers._replace(words=self.run(Copy(live), buffers.layout, arrays).new)

    def gather(self, buffers: BatchBuffers, rows: Tensor, count: int, more: BatchBuffers | None = None) -> BatchBuffers:
        """Gather the games of some rows into a batch of `count`; the rows of `more` follow those of `buffers`."""
        layout = self.batch_layout(count, buffers.device)
        new = layout.empty(self.layout.words)
        new_keys = layout.empty(KEY_WORDS)
        sizes = (buffers.batch,) if more is None else (buffers.batch, more.batch)
        arrays = Gather.Arrays(
            new, new_keys, buffers.words, buffers.row_keys, rows, cached_upload(sizes * layout.shards, buffers.device)
        )
        kernel = Gather(buffers.layout.grid.lanes)
        if more is not None:
            kernel = Gather(buffers.layout.grid.lanes, more.layout.grid.lanes)
            # No array may be passed twice: on OpenCL the second one would get the slot of the first.
            same_words = more.words.uop is buffers.words.uop
            same_keys = more.row_keys.uop is buffers.row_keys.uop
            arrays = arrays._replace(
                more=realize(more.words.clone()) if same_words else more.words,
                more_keys=None if same_keys else more.row_keys,
            )
        after = self.run(kernel, layout, arrays)
        return BatchBuffers(after.new, after.new_keys, layout)

    def sample(self, buffers: BatchBuffers) -> Tensor:
        """Return the uniform policy's actions, int32 [B]; 0 for a game that is over."""
        layout = buffers.layout
        if stays_lazy() or layout.grid.gpu or layout.rows == layout.batch:
            arrays = Sample.Arrays(buffers.words, buffers.row_keys, layout.empty(1, dtypes.int32))
            return layout.column(self.run(Sample(), layout, arrays).actions)
        # This grid has no padding. The column of a padded buffer would be a graph of tinygrad, which takes ten times as
        # long as the kernel.
        actions = empty_buffer(layout.batch, dtypes.int32, layout.device)
        arrays = Sample.Arrays(buffers.words, buffers.row_keys, actions)
        self.run(Sample(layout.grid.lanes), layout, arrays, layout.single_games)
        return actions

    def load(self, table: np.ndarray, row_keys: np.ndarray, device: DeviceName) -> BatchBuffers:
        """Upload a batch from its tables: words [B, words] and row keys [B, KEY_WORDS], both uint32."""
        layout = self.batch_layout(len(table), device)
        return BatchBuffers(layout.upload(table), layout.upload(row_keys), layout)

    # *** many steps ***

    def rollout(
        self, buffers: BatchBuffers, steps: int, reset: Autoreset, count: bool = False, games: int | None = None
    ) -> tuple[BatchBuffers, Tensor, Tensor | None]:
        """Play by the uniform policy.

        Args:
            buffers: the games.
            steps: maximum number of actions of each game.
            reset: when finished games are reset.
            count: whether to count decisions, see `Decisions`.
            games: number of games to finish, distributed among the rows (see `BatchLayout.quotas`); None for no number.

        Returns:
            The last state, a buffer of returns and wins (2 P values per game), and the counts or None.
        """
        layout = buffers.layout
        totals = layout.empty(2 * self.spec.num_players, dtypes.float32)
        # Each shard has its own limits, since its rows are numbered from 0.
        limits = [(steps, *(() if games is None else layout.quotas(games, shard))) for shard in range(layout.shards)]
        scalars = cached_upload(sum(limits, ()), buffers.device)
        counts = layout.empty(num_counts(self.spec), dtypes.int32) if count else None
        arrays = UniformRollout.Arrays(self.empty(buffers), buffers.words, buffers.row_keys, totals, scalars, counts)
        after = self.run(UniformRollout(reset, games is not None), layout, arrays)
        return buffers._replace(words=after.new), after.totals, after.counts

    def playout(
        self, buffers: BatchBuffers, copies: int, actions: Tensor | None, words: tuple[int, int], limit: int
    ) -> Tensor:
        """Play copies of every game to their ends by the uniform policy.

        Args:
            buffers: the games.
            copies: copies of each game.
            actions: first action of each game's copies; None for random ones.
            words: the two words of the seed.
            limit: maximum number of actions.

        Returns:
            Returns, float32 [B * copies, P].
        """
        source = buffers.layout
        device = buffers.device
        layout = self.batch_layout(buffers.batch * copies, device)
        row_keys = self.row_keys(layout.batch, words, device, 0)
        totals = layout.empty(self.spec.num_players, dtypes.float32)
        scalars = cached_upload((limit, source.shard_size) * layout.shards, device)
        kernel = Playout(source.grid.lanes, copies)
        arrays = Playout.Arrays(buffers.words, row_keys, totals, scalars, actions)
        return layout.view(self.run(kernel, layout, arrays).totals, 0, self.spec.num_players)

    # *** outputs ***

    @functools.cached_property
    def output_shapes(self) -> Outputs:
        """Shape for one game, and dtype, of each output."""
        spec = self.spec
        flag = ((), dtypes.bool)
        return Outputs(
            (spec.observation_shape, DTYPE_BY_NAME[spec.observation_dtype]),
            ((spec.num_actions,), dtypes.bool),
            ((spec.num_players,), dtypes.float32),
            terminated=flag,
            truncated=flag,
            current_player=((), dtypes.int32),
        )

    def outputs(self, layout: BatchLayout, names: Sequence[str]) -> Outputs:
        """Return uninitialised buffers, padding included, for the named outputs of a batch."""
        sizes = self.output_shapes._asdict()
        return Outputs(**{name: layout.empty(math.prod(sizes[name][0]), sizes[name][1]) for name in names})

    def view(self, layout: BatchLayout, outputs: Outputs, name: str, by_lanes: bool) -> Tensor:
        """Return an output's buffer as [B, ...], lazy."""
        shape = self.output_shapes._asdict()[name][0]
        buffer = getattr(outputs, name)
        rows = layout.view(buffer, 0, math.prod(shape)) if by_lanes else layout.by_rows(buffer, math.prod(shape))
        return rows.reshape(layout.batch, *shape)

    def observe(self, buffers: BatchBuffers, player: int | None, players: Tensor | None = None) -> Tensor:
        """Return observations [B, *observation_shape].

        Args:
            buffers: the games.
            player: the observing player of all games; None for the player to move.
            players: the observing player of each game, int32, in place of `player`.
        """
        layout = buffers.layout
        observer = player if players is None else "each"
        shape, dtype = self.output_shapes[0]
        if stays_lazy():
            # A capture has one grid, so the kernel fills a padded buffer, and tinygrad makes a view of it.
            arrays = Observe.Arrays(self.outputs(layout, ["observation"]), buffers.words, players)
            return self.view(layout, self.run(Observe(observer), layout, arrays).out, "observation", layout.grid.gpu)
        # Otherwise the kernel writes the rows of the batch without padding, which needs no copy.
        new = empty_buffer(layout.batch * math.prod(shape), dtype, layout.device)
        arrays = Observe.Arrays(Outputs(observation=new), buffers.words, players)
        self.run(Observe(observer, layout.grid.lanes), layout, arrays, layout.unpadded)
        return new.reshape(layout.batch, *shape)

    def read(self, buffers: BatchBuffers, name: str) -> Tensor:
        """Return a field, a flag, the rewards, the mask or the action_key, [B, ...]; lazy in a jit."""
        layout = buffers.layout
        if stays_lazy():
            return self._lazy_property(buffers, name)
        lanes = layout.grid.lanes
        if name == "legal_action_mask":
            mask = empty_buffer(layout.batch * self.spec.num_actions, dtypes.bool, layout.device)
            arrays = Observe.Arrays(Outputs(legal_action_mask=mask), buffers.words)
            self.run(Observe(None, lanes), layout, arrays, layout.unpadded)
            return mask.reshape(layout.batch, self.spec.num_actions)
        shape, dtype = self._property(name)
        new = empty_buffer(layout.batch * math.prod(shape), dtype, layout.device)
        row_keys = buffers.row_keys if name == "action_key" else None
        self.run(Read(name, lanes), layout, Read.Arrays(new, buffers.words, row_keys), layout.unpadded)
        return new.reshape(layout.batch, *shape)

    def _property(self, name: str) -> tuple[tuple[int, ...], DType]:
        """Return the shape for one game and the dtype of a field, a flag, the rewards or the action_key."""
        others: dict[str, tuple[tuple[int, ...], DType]] = {
            "rewards": ((self.spec.num_players,), dtypes.float32),
            "action_key": ((2,), dtypes.uint32),
            **dict.fromkeys(FLAGS, ((), dtypes.bool)),
        }
        field = self.layout.fields.get(name)
        return others[name] if field is None else (field.shape, field.dtype)

    def _lazy_property(self, buffers: BatchBuffers, name: str) -> Tensor:
        """Return a property as a lazy expression of the buffers."""
        layout = buffers.layout
        if name != "action_key":
            return self.layout.lazy(lambda first, count: layout.view(buffers.words, first, count), name)
        low, high = (layout.view(buffers.row_keys, 3 + k, 1).reshape(layout.batch) for k in range(2))
        episode = self._lazy_property(buffers, "episode")
        return Tensor.stack(*threefry((low, high), (episode.const_like(ACTION_COUNTER), episode)), dim=1)

    def bind_outputs(self, buffers: BatchBuffers, outputs: Outputs) -> Launch:
        """Return a prepared launch that writes outputs for the player to move, in row-major order."""
        layout = buffers.layout
        arrays = Observe.Arrays(outputs, buffers.words)
        return self.bind(Observe(None, layout.grid.lanes), layout, arrays)

    def write_outputs(self, buffers: BatchBuffers, outputs: Outputs) -> None:
        """Write outputs for the player to move in the order in which `Step` writes them."""
        self.run(Observe(None), buffers.layout, Observe.Arrays(outputs, buffers.words))


# Only these games share engines: the code of a user's rules may change in a process, as in a notebook.
FIXED_RULES = "tensor_envs.games."
_shared_engine: Any = functools.lru_cache(16)(Engine)  # frozen rules are hashable, which their type does not say


def engine_of(rules: Rules) -> Engine:
    """Return the engine of rules. Environments with equal rules of this package share one, with its traced kernels."""
    return (_shared_engine if type(rules).__module__.startswith(FIXED_RULES) else Engine)(rules)


def block_range(grid: BlockGrid, device: DeviceName) -> list[Tensor]:
    """Return the last arguments of a kernel: the range of all blocks on the CPU, none on a GPU."""
    return [] if grid.gpu else [all_blocks(grid.blocks, device)]
