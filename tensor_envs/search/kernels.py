"""The kernels of tree search: a whole search by playouts, or one simulation of a search with a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import WORD
from tensor_envs._engine.kernels.block import Coords, load, store
from tensor_envs._engine.kernels.rollout import BlockState
from tensor_envs._engine.kernels.tracer import Tracer
from tensor_envs.rules.kernel import Cells, loop
from tensor_envs.rules.scalar import maximum, minimum, scalar, word
from tensor_envs.search.simulation import Arrived, Evaluation, Result, Search
from tensor_envs.search.tables import SearchConfig, TreeArrays


@dataclass(frozen=True)
class PlayoutSearch:
    """Run all simulations, each valued by a game of the uniform policy to its end."""

    config: SearchConfig
    name = "search"

    class Arrays(NamedTuple):
        tree: TreeArrays
        old: Any
        row_keys: Any
        params: Any  # int32, see `memory.Params`
        result: Result

    def trace(self, t: Tracer, a: Arrays) -> None:
        search, resumed = Search(t, a.tree, a.params, self.config), self.config.resumed
        keys = t.block.registers(2, WORD)
        games = BlockState(t, "none", lambda at: [word(0)] * 3 + load(keys, at.register, 2), counts=False)

        def init_root(at: Coords) -> None:
            search.init_root(at, a.old, a.row_keys)

        search.each_root(init_root)
        if not resumed:
            search.each_root(lambda at: search.init_edges(at, 0))
        with loop(self.config.simulations) as k:
            slot = k + (1 + resumed)
            search.simulate(slot, lambda at, s, flags, returns, _: games.begin(at, s, flags, returns))
            t.block.each(lambda at: store(keys, at.register, search.key(at, slot)))
            games.play_to_end(search.params.limit)
            search.backward(games.returns)
        search.each_root(lambda at: search.finalize(at, a.result))


def writer(t: Tracer, leaf: Cells) -> Arrived:
    """Return a function that writes the states that a network evaluates."""

    return lambda at, s, flags, _, rewards: t.words(leaf).store(
        at, s=s, flags=flags, rewards=rewards, mask=t.live_mask(s, flags, "none")
    )


@dataclass(frozen=True)
class InitRoot:
    """Write the roots, which a network then evaluates."""

    config: SearchConfig
    name = "init_root"

    class Arrays(NamedTuple):
        tree: TreeArrays
        leaf: Any  # a state of the roots that are searched
        old: Any
        row_keys: Any
        params: Any
        noise: Any  # float32 [roots of the batch, ActionSelection.noise_count, actions]
        root_noise: Any  # the same of the roots that are searched, padded

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config, a.root_noise)
        count, write = self.config.selection.noise_count, writer(t, a.leaf)

        def stage(at: Coords) -> None:
            s, flags = search.init_root(at, a.old, a.row_keys)
            write(at, s, flags, (), [scalar(0.0)] * t.players)
            row = minimum(search.in_batch(at).batch.row, search.params.roots - 1)
            with loop(count) as part, loop(search.actions) as action:
                x = a.noise[(row * count + part) * search.actions + action]
                a.root_noise[search.noise(at, part, action)] = x

        search.each_root(stage)


@dataclass(frozen=True)
class ExpandAndSelect:
    """Add the network's evaluation of the leaves to the trees, and take the next simulation to its leaves."""

    config: SearchConfig
    name = "expand_and_select"

    class Arrays(NamedTuple):
        tree: TreeArrays
        leaf: Any
        evaluation: Evaluation
        params: Any
        root_noise: Any

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config, a.root_noise)
        slot = search.slot()
        search.each_root(lambda at: search.expand(at, slot, a.evaluation))
        search.backward(lambda at: search.network_returns(at, slot, a.evaluation))
        search.simulate(maximum(slot, self.config.resumed) + 1, writer(t, a.leaf))


@dataclass(frozen=True)
class Finalize:
    """Report the result of a search with a network."""

    config: SearchConfig
    name = "finalize"

    class Arrays(NamedTuple):
        tree: TreeArrays
        params: Any
        evaluation: Evaluation  # of the last leaves
        root_noise: Any
        result: Result

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config, a.root_noise)
        slot = search.slot()
        if self.config.return_tree:
            search.each_root(lambda at: search.expand(at, slot, a.evaluation))
        search.backward(lambda at: search.network_returns(at, slot, a.evaluation))
        search.each_root(lambda at: search.finalize(at, a.result))
