"""Expansion of games in batches: every legal action, and every outcome of its chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from tinygrad.helpers import tqdm

from tensor_envs._engine.batch_layout import LANES, BatchBuffers
from tensor_envs._engine.engine import Engine
from tensor_envs._engine.inputs import int_array
from tensor_envs._engine.layout import FLAGS, Layout, Slot
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.programs import LONG_SECONDS
from tensor_envs._runtime.progress import announced
from tensor_envs._validate import wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.solve.outcomes import Explicit, facts, first_states
from tensor_envs.solve.packed import Array

# maximum numbers of a batch
PARENTS = 1 << 16
EDGES = 1 << 18
SIZE_STEP = EDGES // 8  # difference between the sizes of large batches


class Branches:
    """Kernels that play every legal action, and every outcome of its chance, in many games.

    Attributes:
        origin: the constructor's `start`.
        env, engine: the environment, and the kernels of its rules with explicit chance.
        outcomes: number of outcomes of a step's chance; an action has that many consecutive edges.
        rules_read_ply: whether the rules depend on the ply.
        first_table: words of the initial positions, all equally likely, uint32 [n, words].
        ply: ply of the initial positions.
    """

    def __init__(self, start: Env | State, name: str = "start"):
        """Prepare the kernels and the initial positions.

        Args:
            start: an environment, or games of one environment at the same ply.
            name: what errors call the start.

        Raises:
            TypeError, ValueError: a start that cannot be searched.
        """
        if not isinstance(start, (Env, State)):
            raise wrong_type(name, "an Env or a State", start)
        self.env = env = start if isinstance(start, Env) else start.env
        if env.engine.game.has_memory:
            raise ValueError(f"{name} must be of a game that can be searched, {env!r} is too large")
        device = open_device(None) if isinstance(start, Env) else start.device
        if not isinstance(device, str):
            raise ValueError(f"{name} must be on one device, got {device}")
        try:
            self.outcomes, self.rules_read_ply = facts(env.rules)
            with announced(f"listing the first states of {env!r}", LONG_SECONDS):
                first = list(first_states(env.rules)) if isinstance(start, Env) else []
        except ValueError as error:
            raise ValueError(f"{name} must be of a game whose chance can be counted: {error}") from None
        self.origin = start
        self.device = device
        # A game with chance is searched as one without, whose actions name the draws as well.
        self.engine = Engine(Explicit(env.rules, self.outcomes)) if env.spec.chance else env.engine
        self.layout, self.spec = self.engine.layout, self.engine.spec
        self.ply_slot, self.player_slot = (self.layout.slots[name][0] for name in ("ply", "current_player"))
        if isinstance(start, State):
            self.first_table = self.pack(start)
        else:
            self.first_table = self.layout.pack([game | dict.fromkeys(FLAGS, False) for game in first])
        # All games of a table are at one ply, which is then a number of the table instead of a column.
        plies = self.number(self.first_table, self.ply_slot)
        if (plies != plies[0]).any():
            raise ValueError(f"{name} must be games of one ply, got plies {plies.min()} to {plies.max()}")
        self.ply = int(plies[0])

    def pack(self, state: State) -> Array:
        """Return the words of a state's games, in the layout of the explicit game if it has chance."""
        table = state.buffers.layout.download(state.buffers.words)
        if self.engine is self.env.engine:
            return table
        values = state.numpy()
        own = self.layout
        table = _moved(table, self.env.engine.layout, own)
        table[:, own.rewards : own.mask] = values["rewards"].view(np.uint32)
        # Every legal action of the game is one for each outcome in the explicit game.
        bits = np.repeat(values["legal_action_mask"], self.outcomes, axis=1)
        mask = np.zeros((len(table), 32 * own.mask_words), bool)
        mask[:, : bits.shape[1]] = bits
        table[:, own.mask :] = np.packbits(mask, axis=1, bitorder="little").view("<u4")
        return table

    def state(self, table: Array) -> State:
        """Return games of the environment from words of this layout, with row keys of zeros."""
        table = _moved(table, self.layout, self.env.engine.layout)
        engine = self.env.engine
        keys = np.zeros((len(table), KEY_WORDS), np.uint32)
        return State(self.env, engine.refresh(engine.load(table, keys, self.device)))

    def number(self, table: Array, slot: Slot) -> Array:
        """Return the numbers of a slot, int64 [rows]."""
        return (table[:, slot.word].astype(np.int64) >> slot.shift & (1 << slot.width) - 1) + slot.low

    def over(self, table: Array) -> Array:
        """Return whether games are over, bool [rows]."""
        flags = [table[:, slot.word] >> slot.shift & 1 for name in FLAGS for slot in self.layout.slots[name]]
        return np.bitwise_or.reduce(flags) != 0

    def paid(self, table: Array) -> Array:
        """Return the rewards of the last step, float32 [rows, P]."""
        return np.ascontiguousarray(table[:, self.layout.rewards : self.layout.mask]).view(np.float32)

    def legal(self, table: Array) -> Array:
        """Return the legal actions of the explicit game, bool [rows, actions]."""
        mask = np.ascontiguousarray(table[:, self.layout.mask :]).astype("<u4").view(np.uint8)
        return np.unpackbits(mask, axis=1, count=self.spec.num_actions, bitorder="little").view(bool)

    def upload(self, table: Array) -> BatchBuffers:
        """Upload a table as a batch, padded by repeated rows to `padded_size`."""
        table = np.resize(table, (padded_size(len(table)), table.shape[1]))
        return self.engine.load(table, np.zeros((len(table), KEY_WORDS), np.uint32), self.device)

    def gather(self, buffers: BatchBuffers, rows: Array) -> BatchBuffers:
        """Gather the games at some rows, padded by repeated rows to `padded_size`."""
        rows = np.resize(rows, padded_size(len(rows)))
        layout = self.engine.batch_layout(len(rows), self.device)
        return self.engine.gather(buffers, int_array("rows", rows, layout), len(rows))

    def after(self, buffers: BatchBuffers, count: int) -> Iterator[tuple[Array, Array, BatchBuffers, Array]]:
        """Play every legal action in the first games of a batch, in parts.

        Yields rows, actions, the padded batch after them, and its words without padding. Edges are in order, and the
        outcomes of an action stay in one part.
        """
        flat = np.flatnonzero(self.legal(buffers.layout.download(buffers.words)[:count]))
        # A part ends after the last outcome of an action.
        size = EDGES - EDGES % self.outcomes
        for at in range(0, len(flat), size):
            rows, chosen = np.divmod(flat[at : at + size], self.spec.num_actions)
            # Copy each game once for every action, then play all of them in one step.
            after = self.gather(buffers, rows)
            after = self.engine.step(after, int_array("actions", np.resize(chosen, after.batch), after.layout))
            yield rows, chosen, after, after.layout.download(after.words)[: len(rows)]


def padded_size(count: int) -> int:
    """Round up to a batch size. There are few sizes, because tinygrad caches the memory of every size.

    No size is below a block's lanes, which would need other kernels.
    """
    return -(-count // SIZE_STEP) * SIZE_STEP if count > SIZE_STEP else max(LANES, 1 << (count - 1).bit_length())


def counter(what: str, total: int | None, shown: bool) -> Any:
    """Return a progress bar of positions on stderr."""
    return tqdm(desc=what, total=total, unit=" positions", unit_scale=True, disable=not shown)


def start_arrays(start: Env | State) -> dict[str, np.ndarray]:
    """Return the arrays that a file needs for where a solution begins: the words of a State."""
    return {"words": start.buffers.layout.download(start.buffers.words)} if isinstance(start, State) else {}


def start_of(env: Env, arrays: Mapping[str, np.ndarray]) -> Env | State:
    """Return the start of the solution in a file. ValueError for words that are no state."""
    if "words" not in arrays:
        return env
    words = np.array(arrays["words"])
    env.engine.layout.check(words)
    return State(env, env.engine.load(words, np.zeros((len(words), KEY_WORDS), np.uint32), open_device(None)))


def _moved(table: Array, source: Layout, target: Layout) -> Array:
    """Return the fields and flags that two layouts share in the words of the second; all other words are 0."""
    words = np.zeros((len(table), target.words), np.uint32)
    for name in source.slots.keys() & target.slots.keys():
        for one, other in zip(source.slots[name], target.slots[name], strict=True):
            for k in range(-(-one.width // 32)):
                bits = table[:, one.word + k] >> np.uint32(one.shift) & np.uint32((1 << min(one.width, 32)) - 1)
                words[:, other.word + k] |= bits << np.uint32(other.shift)
    return words
