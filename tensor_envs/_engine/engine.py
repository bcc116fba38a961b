"""Trace, cache and launch kernels on the buffers of a batch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs._compiler.capture import (
    CapturedFunction,
    Launch,
    ProgramLauncher,
    base_of,
    get_or_create,
    launches_directly,
)
from tensor_envs._compiler.devices import LOCK, DeviceName, cached_upload, empty_buffer, primary, stays_lazy, upload
from tensor_envs._compiler.launch import Recorder, compiled, launch
from tensor_envs._compiler.threads import all_blocks, runs_natively
from tensor_envs._engine.batch_layout import BatchBuffers, BatchLayout, Grid, batch_layout
from tensor_envs._engine.game import Game
from tensor_envs._engine.kernels.base import AutoReset, Kernel, trace_blocks
from tensor_envs._engine.kernels.observe import DTYPES, ObservationArrays, ObservationPlan, Observe
from tensor_envs._engine.kernels.read import ACTION_COUNTER, Read
from tensor_envs._engine.kernels.rollout import Playout, UniformRollout
from tensor_envs._engine.kernels.states import Copy, Gather, Init, Refresh, Reset, Seed
from tensor_envs._engine.kernels.step import Sample, Step
from tensor_envs._engine.layout import FLAGS, Layout
from tensor_envs._engine.random import KEY_WORDS, threefry
from tensor_envs._pytree import Leaves, flatten, rebuild
from tensor_envs.rules.kernel import trace
from tensor_envs.rules.spec import Rules

A = TypeVar("A", bound=tuple[Any, ...])


class Observations(NamedTuple):
    """Buffers for an observation and a mask, with views of them."""

    arrays: ObservationArrays
    observation: Tensor  # [B, *observation_shape]
    legal_action_mask: Tensor  # [B, A]


class Engine:
    """Kernels of a game, launched on the buffers of batches."""

    def __init__(self, rules: Rules):
        self.game = Game(rules)
        self.spec = self.game.spec
        self.layout = Layout(self.spec)
        self._captures: dict[tuple[Any, ...], CapturedFunction] = {}
        self._tables: dict[DeviceName, Tensor] = {}

    # *** launching ***

    def run(self, kernel: Kernel, where: BatchLayout, arrays: A, exact: bool = False) -> A:
        """Run a kernel and return its arrays after it.

        Eagerly this replays a captured call. While a TinyJit records, it adds a node to its graph, and the given arrays
        are those from before.
        """
        grid = where.exact if exact else where.grid
        if stays_lazy():
            return self._lazily(kernel, grid, arrays, share(grid, where.device))
        with LOCK:
            function, arguments = self._captured(kernel, grid, where.device, arrays)
            function.call(*arguments)
        return arrays

    def bind(self, kernel: Kernel, where: BatchLayout, arrays: A, exact: bool = False) -> Launch:
        """Return a prepared launch of a kernel on these arrays."""
        with LOCK:
            function, arguments = self._captured(kernel, where.exact if exact else where.grid, where.device, arrays)
            return function.bind(*arguments)

    def prepare(self, kernel: Kernel, where: BatchLayout, arrays: A) -> Callable[..., object]:
        """Return a function that runs a kernel on other arrays like these, given leaf by leaf."""
        with LOCK:
            function, _ = self._captured(kernel, where.grid, where.device, arrays)
        blocks = share(where.grid, where.device)
        return lambda *leaves: function(*leaves, *blocks)

    def _captured(
        self, kernel: Kernel, grid: Grid, device: DeviceName, arrays: A
    ) -> tuple[CapturedFunction, list[Tensor]]:
        """Return the captured function of a kernel, and its arguments."""
        blocks, leaves = share(grid, device), Leaves()
        structure, tensors = flatten(arrays, leaves, NoneType), leaves.tensors
        any_size = launches_directly() and blocks
        key = (kernel, grid.form if any_size else grid, device, structure)

        def capture() -> CapturedFunction:
            count = len(tensors)

            def function(*given: Tensor) -> None:
                after = self._lazily(kernel, grid, rebuild(structure, given), given[count:])
                Tensor.realize(*_tensors(after))

            if not (any_size and runs_natively(primary(device))):
                return CapturedFunction(function)
            bases = [base_of(t.uop) for t in (*tensors, *blocks)]
            program = compiled(self._name(kernel), self.recorder(kernel, grid, arrays), *tensors, *blocks)
            return CapturedFunction(function, ProgramLauncher(lambda: [program()], device, bases))

        return get_or_create(self._captures, key, capture), [*tensors, *blocks]

    def _lazily(self, kernel: Kernel, grid: Grid, arrays: A, blocks: Sequence[Tensor]) -> A:
        """Return the arrays after a kernel, lazy. blocks: see `share`."""
        leaves = Leaves()
        structure, record = flatten(arrays, leaves, NoneType), self.recorder(kernel, grid, arrays)
        after = launch(self._name(kernel), record, *leaves.tensors, *blocks, any_size=bool(blocks))
        return rebuild(structure, after)  # type: ignore[no-any-return]

    def recorder(self, kernel: Kernel, grid: Grid, arrays: Any) -> Recorder:
        """Return the recorder of a kernel.

        Its parameters are the arrays, flat, and on the CPU the blocks to play. The entries of `arrays` are Tensors, or
        anything else in their place.
        """
        if isinstance(kernel, (UniformRollout, Playout)) and self.game.has_memory:
            raise NotImplementedError(f"a game with memory fields has no {kernel.name} kernel")
        structure = flatten(arrays, Leaves(), NoneType)
        body = trace_blocks(kernel, self.game, self.layout, grid, functools.partial(rebuild, structure))
        return functools.partial(trace, body)

    def _name(self, kernel: Kernel) -> str:
        return f"{type(self.game.rules).__name__}_{kernel.name}"

    # *** states ***

    def row_keys(self, batch: int, words: tuple[int, int], device: DeviceName, first_row: int) -> Tensor:
        """Return each row's constants: words of the seed, number of the row, key of the uniform policy."""
        where = batch_layout(batch, device)
        shards = [[*words, first_row + shard * where.share] for shard in range(where.shards)]
        scalars = np.array(shards, np.uint32).view(np.int32).ravel().tolist()
        arrays = Seed.Arrays(where.empty(KEY_WORDS), cached_upload(tuple(scalars), device))
        return self.run(Seed(), where, arrays).row_keys

    def empty(self, games: BatchBuffers) -> Tensor:
        """Return an uninitialised buffer for another state of the same rows."""
        return games.layout.empty(self.layout.words)

    def init(self, batch: int, words: tuple[int, int], device: DeviceName, first_row: int) -> BatchBuffers:
        row_keys, where = self.row_keys(batch, words, device, first_row), batch_layout(batch, device)
        new = self.run(Init(), where, Init.Arrays(where.empty(self.layout.words), row_keys)).new
        return BatchBuffers(new, row_keys, batch)

    def step(
        self, games: BatchBuffers, actions: Tensor, reset: AutoReset = "none", new: Tensor | None = None
    ) -> BatchBuffers:
        """Play given actions, into the buffer `new` if there is one."""
        where = games.layout
        new = where.empty(self.layout.words) if new is None else new
        arrays = Step.Arrays(new, games.words, games.row_keys, actions)
        return BatchBuffers(self.run(Step(reset), where, arrays).new, games.row_keys, games.batch)

    def reset(self, games: BatchBuffers, chosen: Tensor | None = None) -> BatchBuffers:
        arrays = Reset.Arrays(self.empty(games), games.words, games.row_keys, chosen)
        return games._replace(words=self.run(Reset(), games.layout, arrays).new)

    def refresh(self, games: BatchBuffers) -> BatchBuffers:
        arrays = Refresh.Arrays(self.empty(games), games.words, games.row_keys)
        return games._replace(words=self.run(Refresh(), games.layout, arrays).new)

    def copy(self, games: BatchBuffers, live: bool, new: Tensor | None = None) -> BatchBuffers:
        """Copy games; `live` clears the flags, so that no game is over."""
        arrays = Copy.Arrays(self.empty(games) if new is None else new, games.words)
        return games._replace(words=self.run(Copy(live), games.layout, arrays).new)

    def gather(self, games: BatchBuffers, rows: Tensor, count: int, more: BatchBuffers | None = None) -> BatchBuffers:
        """Gather the games of some rows into a batch of `count`; the rows of `more` follow those of `games`."""
        where = batch_layout(count, games.device)
        new, new_keys = where.empty(self.layout.words), where.empty(KEY_WORDS)
        sizes = (games.batch,) if more is None else (games.batch, more.batch)
        arrays = Gather.Arrays(
            new, new_keys, games.words, games.row_keys, rows, cached_upload(sizes * where.shards, games.device)
        )
        kernel = Gather(games.layout.grid.lanes)
        if more is not None:
            kernel = Gather(games.layout.grid.lanes, more.layout.grid.lanes)
            alike = [x.uop is y.uop for x, y in zip(games[:2], more[:2], strict=True)]  # no array comes twice
            arrays = arrays._replace(
                more=more.words.clone().realize() if alike[0] else more.words,
                more_keys=None if alike[1] else more.row_keys,
            )
        after = self.run(kernel, where, arrays)
        return BatchBuffers(after.new, after.new_keys, count)

    def sample(self, games: BatchBuffers) -> Tensor:
        """Return the uniform policy's actions, int32 [B]; 0 for a game that is over."""
        arrays = Sample.Arrays(games.words, games.row_keys, games.layout.empty(1, dtypes.int32))
        return games.layout.column(self.run(Sample(), games.layout, arrays).actions)

    def load(self, table: np.ndarray, rng: np.ndarray, device: DeviceName) -> BatchBuffers:
        """Upload a batch, [B, words] and [B, KEY_WORDS]."""
        where = batch_layout(len(table), device)
        return BatchBuffers(where.upload(table), where.upload(rng), len(table))

    # *** many steps ***

    def rollout(self, games: BatchBuffers, steps: int, reset: AutoReset) -> tuple[BatchBuffers, Tensor]:
        """Play many steps of the uniform policy; return the last state and a buffer of 2 P values, returns and wins."""
        where = games.layout
        totals = where.empty(2 * self.spec.num_players, dtypes.float32)
        scalars = cached_upload((steps,) * where.shards, games.device)
        arrays = UniformRollout.Arrays(self.empty(games), games.words, games.row_keys, totals, scalars)
        after = self.run(UniformRollout(reset), where, arrays)
        return games._replace(words=after.new), after.totals

    def playout(
        self, games: BatchBuffers, copies: int, actions: Tensor | None, words: tuple[int, int], limit: int
    ) -> Tensor:
        """Play copies of every game to their ends by the uniform policy; return float32 [B * copies, P]."""
        where, old, device = batch_layout(games.batch * copies, games.device), games.layout, games.device
        row_keys = self.row_keys(where.batch, words, device, 0)
        totals = where.empty(self.spec.num_players, dtypes.float32)
        scalars = cached_upload((limit, old.share) * where.shards, device)
        kernel = Playout(old.grid.lanes, copies)
        arrays = Playout.Arrays(games.words, row_keys, totals, scalars, actions)
        return where.view(self.run(kernel, where, arrays).totals, 0, self.spec.num_players)

    # *** observations ***

    @functools.cached_property
    def observation_plan(self) -> ObservationPlan:
        return ObservationPlan(self.game, self.layout)

    def table(self, where: BatchLayout) -> Tensor:
        """Return the table of `ObservationPlan` on the devices."""
        if where.device not in self._tables:
            entries = np.concatenate([self.observation_plan.table.ravel()] * where.shards)
            self._tables[where.device] = upload(entries, where.device)
        return self._tables[where.device]

    def observations(self, where: BatchLayout) -> Observations:
        """Return buffers for the observations and masks of a batch, by lanes."""
        shape, actions = self.spec.observation_shape, self.spec.num_actions
        size = math.prod(shape)
        seen, mask = where.empty(size, DTYPES[self.spec.observation_dtype]), where.empty(actions, dtypes.bool)
        views = where.view(seen, 0, size).reshape(where.batch, *shape), where.view(mask, 0, actions)
        return Observations(ObservationArrays(seen, mask, self.table(where)), *views)

    def observe(self, games: BatchBuffers, player: int | None, players: Tensor | None = None) -> Tensor:
        """Return observations [B, *observation_shape] of `player`, of the games' own `players`, or of the mover."""
        where, shape, who = games.layout, self.spec.observation_shape, player if players is None else "each"
        size, dtype, table = math.prod(shape), DTYPES[self.spec.observation_dtype], self.table(where)
        if stays_lazy():  # for a network: by lanes
            seen = ObservationArrays(where.empty(size, dtype), None, table)
            after = self.run(Observe(who), where, Observe.Arrays(seen, games.words, players)).seen.observation
            return where.view(after, 0, size).reshape(where.batch, *shape)
        # for the host: game by game
        seen = ObservationArrays(empty_buffer(where.batch * size, dtype, where.device), None, table)
        self.run(Observe(who, where.grid.lanes), where, Observe.Arrays(seen, games.words, players), exact=True)
        return seen.observation.reshape(where.batch, *shape)

    def read(self, games: BatchBuffers, name: str) -> Tensor:
        """Return a field, a flag, the rewards, the mask or the action_key, [B, ...]; lazy in a jit."""
        where = games.layout
        if stays_lazy():
            return self._lazy(games, name)
        lanes = where.grid.lanes
        if name == "legal_action_mask":
            mask = empty_buffer(where.batch * self.spec.num_actions, dtypes.bool, where.device)
            seen = ObservationArrays(None, mask, self.table(where))
            self.run(Observe(None, lanes), where, Observe.Arrays(seen, games.words), exact=True)
            return mask.reshape(where.batch, self.spec.num_actions)
        shape, dtype = self._property(name)
        new = empty_buffer(where.batch * math.prod(shape), dtype, where.device)
        row_keys = games.row_keys if name == "action_key" else None
        self.run(Read(name, lanes), where, Read.Arrays(new, games.words, row_keys), exact=True)
        return new.reshape(where.batch, *shape)

    def _property(self, name: str) -> tuple[tuple[int, ...], DType]:
        known: dict[str, tuple[tuple[int, ...], DType]] = {
            "rewards": ((self.spec.num_players,), dtypes.float32),
            "action_key": ((2,), dtypes.uint32),
            **dict.fromkeys(FLAGS, ((), dtypes.bool)),
        }
        field = self.layout.fields.get(name)
        return known[name] if field is None else (field.shape, field.dtype)

    def _lazy(self, games: BatchBuffers, name: str) -> Tensor:
        """Return a property as an expression of the buffers."""
        where = games.layout
        if name != "action_key":
            return self.layout.lazy(lambda first, count: where.view(games.words, first, count), name)
        low, high = (where.view(games.row_keys, 3 + k, 1).reshape(where.batch) for k in range(2))
        episode = self._lazy(games, "episode")
        return Tensor.stack(*threefry((low, high), (episode.const_like(ACTION_COUNTER), episode)), dim=1)

    def bind_host_observations(self, games: BatchBuffers) -> tuple[Launch, ObservationArrays]:
        """Return a prepared launch that writes the mover's observation and mask game by game, and its arrays."""
        layout, dtype = games.layout, DTYPES[self.spec.observation_dtype]
        sizes = math.prod(self.spec.observation_shape), self.spec.num_actions
        seen, mask = (
            empty_buffer(layout.batch * n, d, layout.device) for n, d in zip(sizes, (dtype, dtypes.bool), strict=True)
        )
        arrays = Observe.Arrays(ObservationArrays(seen, mask, self.table(layout)), games.words)
        return self.bind(Observe(None, layout.grid.lanes), layout, arrays, exact=True), arrays.seen

    def write_observations(self, games: BatchBuffers, into: Observations) -> None:
        """Write the mover's observation and mask into existing buffers."""
        self.run(Observe(None), games.layout, Observe.Arrays(into.arrays, games.words))


def share(grid: Grid, device: DeviceName) -> list[Tensor]:
    """Return the last argument of a kernel on the CPU: the blocks to play, all of them. A GPU has workgroups."""
    return [] if grid.gpu else [all_blocks(grid.blocks, device)]


def _tensors(arrays: tuple[Any, ...]) -> list[Tensor]:
    """Return the tensors of nested named tuples."""
    leaves = Leaves()
    flatten(arrays, leaves, NoneType)
    return leaves.tensors
