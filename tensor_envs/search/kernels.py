"""Kernels of searches: a whole search by playouts, or the parts of a search between the calls of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from tensor_envs._compiler.tape import UINT32
from tensor_envs._engine.kernels.base import Coords, MoveList, Tracer, load, row_index, store
from tensor_envs._engine.kernels.rollout import BlockState, Decisions, num_counts
from tensor_envs.rules.kernel import Cells, branch, loop, registers
from tensor_envs.rules.lists import num_words
from tensor_envs.rules.scalar import Scalar, Value, maximum, minimum, scalar, uint32
from tensor_envs.search.memory import NetworkOutput, SearchConfig, TreeArrays, each_legal, num_results
from tensor_envs.search.simulation import LeafHandler, Result, Search


@dataclass(frozen=True)
class PlayoutSearch:
    """Kernel of a whole search, in which a uniformly random playout evaluates each new position."""

    config: SearchConfig
    name = "search"

    class Arrays(NamedTuple):
        tree: TreeArrays
        old: Any
        row_keys: Any
        params: Any  # int32, see `records.Params`
        result: Result

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config)
        keys = t.block.registers(2, UINT32)

        # In playouts the uniform policy has the key of the simulation. The words of the seed and the row are not used.
        def row_keys(at: Coords) -> list[Scalar]:
            return [uint32(0)] * 3 + load(keys, at.register, 2)

        count = num_counts(t.game.spec) if self.config.counts else 0
        first_count = num_results(t.game.spec.num_actions)

        def count_index(at: Coords, number: Value) -> Scalar:
            # The last chunk may have surplus blocks, which repeat the last block of the batch. These need counts of
            # their own, so the block is not clamped to the batch.
            block = at.batch.block + maximum(search.params.first_block, 0)
            return at.batch._replace(block=block).index(first_count + number, first_count + count)

        decisions = Decisions(t, a.result.numbers, count_index) if count else None
        moves = MoveList(t)
        playouts = BlockState(t, "disabled", row_keys, last_rewards=False, decisions=decisions, moves=moves)

        def init_root(at: Coords) -> None:
            search.init_root(at, a.old, a.row_keys)

        search.each_root(init_root)
        # A simulation selects a leaf, expands it, plays a random game from there and backs up its returns.
        with loop(search.num_simulations) as k:
            slot = k + (1 + search.resumed)
            search.simulate(slot, lambda at, s, flags, returns, _: playouts.begin(at, s, flags, returns))
            t.block.each(lambda at: store(keys, at.register, search.key(at, slot)))
            playouts.play_to_end(search.params.limit)
            search.learn_moves(moves, playouts.returns)
            search.backward(slot, playouts.returns)
        search.each_root(lambda at: search.finalize(at, a.result, count))


def writer(t: Tracer, leaf: Cells) -> LeafHandler:
    """Return a handler of leaves that writes their states for the network."""

    return lambda at, s, flags, _, rewards: t.words(leaf).store(
        at, s=s, flags=flags, rewards=rewards, mask=t.live_mask(s, flags, "disabled")
    )


@dataclass(frozen=True)
class InitRoot:
    """Kernel that initialises the roots and writes their states for the network."""

    config: SearchConfig
    name = "init_root"

    class Arrays(NamedTuple):
        tree: TreeArrays
        leaf: Any  # state of the roots that the network evaluates
        old: Any
        row_keys: Any
        params: Any

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config)
        write = writer(t, a.leaf)

        def stage(at: Coords) -> None:
            # the root is the first leaf that the network evaluates
            s, flags = search.init_root(at, a.old, a.row_keys)
            write(at, s, flags, (), [scalar(0.0)] * t.players)

        search.each_root(stage)


@dataclass(frozen=True)
class RootActions:
    """Kernel that lists the legal actions of a batch's positions, so that noise is drawn only for these.

    Attributes:
        width: length of a position's list, with padding.
    """

    width: int
    name = "root_actions"

    class Arrays(NamedTuple):
        states: Any
        actions: Any  # int32 [rows, width], in ascending order; -1 for padding

    def trace(self, t: Tracer, a: Arrays) -> None:
        words = num_words(t.game.spec.num_actions)
        mask = registers(words, UINT32)

        def stage(at: Coords) -> None:
            first = row_index(at) * self.width
            legal = t.game.mask(t.layout.get_state(t.words(a.states).load(at)))
            # The loop over the words of the mask needs them in an array.
            for w in range(words):
                mask[w] = legal[w]
            with loop(self.width) as k:
                a.actions[first + k] = -1

            def put(number: Scalar, action: Scalar) -> None:
                a.actions[first + minimum(number, self.width - 1)] = action

            each_legal(lambda w: mask[w], words, put)

        t.block.each(stage, unroll_max=0)


@dataclass(frozen=True)
class GatherNoise:
    """Kernel that copies the noise of a chunk's roots.

    It is no part of `InitRoot`, since WebGPU allows a kernel eight arrays.
    """

    config: SearchConfig
    name = "gather_noise"

    class Arrays(NamedTuple):
        tree: TreeArrays
        params: Any
        noise: Any  # float32 [B, ActionSelection.noise_count, SearchConfig.noise_width]
        root_noise: Any  # float32 [rows, ActionSelection.noise_count, edges]

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config, a.root_noise)
        count = self.config.selection.noise_count
        size = self.config.noise_width(t.game.spec)

        def stage(at: Coords) -> None:
            # padding takes the noise of the last game
            row = minimum(search.in_batch(at).batch.row, search.params.roots - 1)
            edges = search.edges_of(at, 0)
            with loop(count) as part, loop(edges.count if self.config.packed else search.actions) as k:
                # The noise is in the order of the edges, or of all actions.
                number = k if self.config.lists_actions(t.game.spec) else edges.action(k)
                x = a.noise[(row * count + part) * size + number]
                a.root_noise[search.noise(at, part, k)] = x

        search.each_root(stage)


@dataclass(frozen=True)
class ExpandAndSelect:
    """Kernel that expands the leaves, backs up their values and selects the next leaves."""

    config: SearchConfig
    name = "expand_and_select"

    class Arrays(NamedTuple):
        tree: TreeArrays
        leaf: Any
        output: NetworkOutput
        params: Any
        root_noise: Any

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config, a.root_noise)
        slot = search.slot()
        # `output` is for the leaves of the simulation before.
        search.each_root(lambda at: search.expand(at, slot, a.output))
        search.backward(slot, lambda at: search.network_returns(at, slot, a.output))
        # The next slot: after the root (slot 0) come the slots of a resumed tree, if there is one.
        search.simulate(maximum(slot, search.resumed) + 1, writer(t, a.leaf))


@dataclass(frozen=True)
class Finalize:
    """Kernel that backs up the last leaves and writes the result."""

    config: SearchConfig
    name = "finalize"

    class Arrays(NamedTuple):
        tree: TreeArrays
        params: Any
        output: NetworkOutput  # output for the last leaves
        root_noise: Any
        result: Result

    def trace(self, t: Tracer, a: Arrays) -> None:
        search = Search(t, a.tree, a.params, self.config, a.root_noise)
        slot = search.slot()
        # Priors of the last leaves matter only to trees that are returned.
        with branch(search.separate != 0):
            search.each_root(lambda at: search.expand(at, slot, a.output))
        search.backward(slot, lambda at: search.network_returns(at, slot, a.output))
        search.each_root(lambda at: search.finalize(at, a.result))
