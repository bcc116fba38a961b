"""What a search keeps for the next one: memory for trees, kernels that are bound, a network that is captured."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.backend.compiling import compiling
from tensor_envs.core.backend.device import DeviceName, before_capture, empty_buffer, is_gpu, upload
from tensor_envs.core.backend.replay import Replay
from tensor_envs.core.engine import Cut, Engine, Games, cut
from tensor_envs.core.env import Env
from tensor_envs.core.state import State
from tensor_envs.core.validate import shown
from tensor_envs.search.kernels import Conclude, Found, Grow, Plant, SearchByPlayouts
from tensor_envs.search.memory import NOISES, Form, Sizes, TreeArrays, padded

Evaluate = Callable[[State], tuple[Tensor, Tensor]]
TREE_BYTES = 2**28  # of the trees that are there at once
MOST_BLOCKS = 256  # that a kernel searches: few, so that indices have 32 bits
NETWORK_BLOCKS = 4  # on a CPU, where the trees of a search with a network should stay in its cache


@functools.lru_cache(16)  # most searches have the numbers of the one before
def about_array(head: tuple[int, ...], table: bytes, shards: int, device: DeviceName) -> Tensor:
    """The array `about` of a kernel."""
    numbers = np.concatenate([np.array(head, np.int32), np.frombuffer(table, np.int32)])
    return upload(np.tile(numbers, shards), device)


@functools.lru_cache(64)
def chunk_of(engine: Engine, form: Form, whole: Cut) -> Cut:
    """The part of a batch whose trees are there at once."""
    sizes, lanes = Sizes.of(form, engine.game, engine.layout), whole.grid.lanes
    most = TREE_BYTES // (lanes * 4 * (sizes.states + sizes.nodes + sizes.edges))
    if form.method != "playout" and not is_gpu(whole.device):
        most = NETWORK_BLOCKS
    blocks = max(1, min(most, MOST_BLOCKS))
    chunk = whole if blocks >= whole.grid.blocks else cut(blocks * lanes * whole.shards, whole.device)
    return replace(chunk, grid=replace(chunk.grid, most=MOST_BLOCKS))


@functools.lru_cache(4)
def memory_for(engine: Engine, form: Form, where: Cut) -> TreeArrays:
    """Memory for trees, used again and again."""
    sizes = Sizes.of(form, engine.game, engine.layout)
    nodes, edges = (where.empty(size, dtypes.int32) for size in (sizes.nodes, sizes.edges))
    return TreeArrays(where.empty(sizes.states), nodes, edges)


def found_arrays(env: Env, where: Cut) -> Found:
    return Found(*(where.empty(size, dtypes.int32) for size in (1, 3 * env.num_actions + 1)))


class Playouts:
    """Searches by playouts of so many games at a time, with their memory."""

    def __init__(self, engine: Engine, form: Form, where: Cut):
        self.engine, self.kernel, self.where = engine, SearchByPlayouts(form), where
        self.tree = memory_for(engine, form, where)
        self.run: Callable[..., object] | None = None

    def search(self, games: Games, about: Tensor, found: Found) -> None:
        if self.run is None:
            arrays = SearchByPlayouts.Arrays(self.tree, games.words, games.row_rng, about, found)
            self.run = self.engine.prepare(self.kernel, self.where, arrays)
        self.run(*self.tree, games.words, games.row_rng, about, *found)


@functools.lru_cache(4)
def playouts_of(engine: Engine, form: Form, whole: Cut, directly: bool) -> Playouts:
    """directly: whether tinygrad launches nothing, see `launches_directly`."""
    return Playouts(engine, form, chunk_of(engine, form, whole))


class Network:
    """A network's searches of so many games at a time, with their memory."""

    def __init__(self, env: Env, form: Form, where: Cut, evaluate: Evaluate, table: bytes):
        self.env, self.where, self.evaluate, self.bound = env, where, evaluate, False
        self.leaf = env.init(where.batch, device=where.device)
        with compiling() as meanwhile, before_capture():
            logits, values = self._checked(self.leaf)
            self.form = replace(form, values=1 if values.ndim == 1 else env.num_players)
            meanwhile.append(lambda: self._prepare(table))
            Tensor.realize(logits, values)  # what it sets up at its first call must not be captured
        self.evaluation = Replay(self._evaluate)
        self._bind()

    def _prepare(self, table: bytes) -> None:
        env, form, where = self.env, self.form, self.where
        self.tree = memory_for(env._engine, form, where)
        self.logits, self.values = (
            empty_buffer(where.batch * size, dtypes.float32, where.device)
            for size in (env.num_actions, form.values)
        )
        self.root_noise = where.empty(NOISES[form.method] * padded(env.num_actions), dtypes.float32)
        head = (0, where.grid.blocks, where.share, where.share, 1, 0, 0)
        about = about_array(head, table, where.shards, where.device)
        self.growing = Grow.Arrays(
            self.tree, self.leaf.tensors[0], self.logits, self.values, about, self.root_noise
        )
        for kernel, arrays in (
            (Grow(form), self.growing),
            (Plant(form), self._plant(self.leaf._games, about, self.root_noise)),
            (Conclude(form), self._conclude(about, found_arrays(env, where))),
        ):
            env._engine.prepare(kernel, where, arrays)

    def _plant(self, games: Games, about: Tensor, noise: Tensor) -> Plant.Arrays:
        leaf = self.leaf.tensors[0]
        return Plant.Arrays(self.tree, leaf, games.words, games.row_rng, about, noise, self.root_noise)

    def _conclude(self, about: Tensor, found: Found) -> Conclude.Arrays:
        return Conclude.Arrays(self.tree, about, self.logits, self.values, self.root_noise, found)

    def _evaluate(self, words: Tensor, row_rng: Tensor, logits: Tensor, values: Tensor) -> None:
        new = self._checked(State(self.env, Games(words, row_rng, self.where.batch)))
        Tensor.realize(
            *(
                old.assign(x.cast(dtypes.float32).reshape(-1))
                for old, x in zip((logits, values), new, strict=True)
            )
        )

    def _checked(self, state: State) -> tuple[Tensor, Tensor]:
        """What `evaluate` gives, if it is that. TypeError or ValueError."""
        given = self.evaluate(state)
        if not isinstance(given, tuple) or len(given) != 2 or not all(isinstance(x, Tensor) for x in given):
            raise TypeError(f"evaluate must return two Tensors, logits and values, got {shown(given)}")
        logits, values = given
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
        self.look = self.evaluation.bind(*self.leaf.tensors, self.logits, self.values)
        self.grow = self.env._engine.bind(Grow(self.form), self.where, self.growing)

    def search(self, noise: Tensor, games: Games, about: Tensor, found: Found) -> None:
        engine = self.env._engine
        engine.run(Plant(self.form), self.where, self._plant(games, about, noise))
        for _ in range(self.form.simulations):
            self.look()
            self.grow()
            if not self.bound:  # what has been played once can be bound
                self._bind()
                self.bound = True
        self.look()
        engine.run(Conclude(self.form), self.where, self._conclude(about, found))


@functools.lru_cache(8)
def network_of(env: Env, form: Form, where: Cut, evaluate: Evaluate, table: bytes) -> Network:
    return Network(env, form, where, evaluate, table)
