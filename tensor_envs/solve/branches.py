"""Expansion of games in batches: every legal action, and every outcome of its chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from tinygrad.helpers import tqdm

from tensor_envs._engine.batch_layout import LANES, BatchBuffers
from tensor_envs._engine.engine import Engine
from tensor_envs._engine.inputs import int_array
from tensor_envs._engine.layout import FLAGS, Layout, column_of
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs._runtime.opening import open_device
from tensor_envs._runtime.programs import LONG_SECONDS
from tensor_envs._runtime.progress import announced
from tensor_envs._validate import wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.solve.outcomes import Explicit, facts, first_states
from tensor_envs.solve.packed import Array, view_columns

PARENTS = 1 << 16  # maximum number of games that are expanded together
EDGES = 1 << 18  # maximum number of their edges in a batch
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
            name: name of the start in errors.

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
        (self.ply_slot,) = self.layout.slots["ply"]
        (self.player_slot,) = self.layout.slots["current_player"]
        if isinstance(start, State):
            self.first_table = self.pack(start)
        else:
            self.first_table = self.layout.pack([game | dict.fromkeys(FLAGS, False) for game in first])
        # All games of a table are at one ply, which is then a number of the table instead of a column.
        plies = column_of(self.first_table, self.ply_slot)
        if (plies != plies[0]).any():
            raise ValueError(f"{name} must be games of one ply, got plies {plies.min()} to {plies.max()}")
        self.ply = int(plies[0])

    def pack(self, state: State) -> Array:
        """Return the words of a state's games, in the layout of the explicit game if it has chance."""
        table = state.buffers.layout.download(state.buffers.words)
        if self.engine is self.env.engine:
            return table
        values = state.numpy()
        explicit = self.layout
        table = _convert(table, self.env.engine.layout, explicit)
        table[:, explicit.rewards : explicit.mask] = values["rewards"].view(np.uint32)
        # Every legal action of the game is one for each outcome in the explicit game.
        bits = np.repeat(values["legal_action_mask"], self.outcomes, axis=1)
        mask = np.zeros((len(table), 32 * explicit.mask_words), bool)
        mask[:, : bits.shape[1]] = bits
        table[:, explicit.mask :] = np.packbits(mask, axis=1, bitorder="little").view("<u4")
        return table

    def state(self, table: Array) -> State:
        """Return games of the environment from words of this layout, with row keys of zeros."""
        table = _convert(table, self.layout, self.env.engine.layout)
        engine = self.env.engine
        keys = np.zeros((len(table), KEY_WORDS), np.uint32)
        return State(self.env, engine.refresh(engine.load(table, keys, self.device)))

    def players(self, table: Array) -> Array:
        """Return the player to move of each game, int64 [rows]."""
        return column_of(table, self.player_slot)

    def is_over(self, table: Array) -> Array:
        """Return whether each game is over, bool [rows]."""
        flags = [table[:, slot.word] >> slot.shift & 1 for name in FLAGS for slot in self.layout.slots[name]]
        return np.bitwise_or.reduce(flags) != 0

    def rewards(self, table: Array) -> Array:
        """Return the rewards of the last step, float32 [rows, P]."""
        return self.layout.unpack_rewards(table)

    def legal_actions(self, table: Array) -> Array:
        """Return the legal actions of the environment, bool [rows, A]."""
        return self.layout.unpack_mask(table)[:, :: self.outcomes]

    def view_columns(self, buffers: BatchBuffers, table: Array, player: int | None = None) -> list[Array]:
        """Return the information visible to the players to move, or to one player, as columns of 32-bit words.

        Args:
            buffers: batch of the games.
            table: words of the games without padding, uint32 [rows, words].
            player: a player, who sees its legal actions only where it is to move; None for the players to move.
        """
        observation = self.engine.observe(buffers, player).numpy()[: len(table)].reshape(len(table), -1)
        mover = self.players(table)
        legal = self.legal_actions(table)
        if player is not None:
            legal &= (mover == player)[:, None]
        return view_columns(column_of(table, self.ply_slot), mover, legal, observation)

    def upload(self, table: Array) -> BatchBuffers:
        """Upload a table as a batch, padded by repeated rows to `padded_size`."""
        table = np.resize(table, (padded_size(len(table)), table.shape[1]))
        return self.engine.load(table, np.zeros((len(table), KEY_WORDS), np.uint32), self.device)

    def gather(self, buffers: BatchBuffers, rows: Array) -> BatchBuffers:
        """Gather the games at some rows, padded by repeated rows to `padded_size`."""
        rows = np.resize(rows, padded_size(len(rows)))
        layout = self.engine.batch_layout(len(rows), self.device)
        return self.engine.gather(buffers, int_array("rows", rows, layout), len(rows))

    def play_all(self, buffers: BatchBuffers, count: int) -> Iterator[tuple[Array, Array, BatchBuffers, Array]]:
        """Play every legal action of the explicit game in the first `count` games of a batch, in parts.

        Edges are in order, and the outcomes of an action stay in one part.

        Yields:
            The row of each edge, its action, the padded batch of games after the edges, and their words without
            padding, uint32 [edges, words].
        """
        edges = np.flatnonzero(self.layout.unpack_mask(buffers.layout.download(buffers.words)[:count]))
        # A part ends after the last outcome of an action.
        size = EDGES - EDGES % self.outcomes
        for begin in range(0, len(edges), size):
            rows, actions = np.divmod(edges[begin : begin + size], self.spec.num_actions)
            # Copy each game once for every action, then play all of them in one step.
            after = self.gather(buffers, rows)
            after = self.engine.step(after, int_array("actions", np.resize(actions, after.batch), after.layout))
            yield rows, actions, after, after.layout.download(after.words)[: len(rows)]


def padded_size(count: int) -> int:
    """Round up to a batch size. There are few sizes, because tinygrad caches the memory of every size.

    No size is below a block's lanes, which would need other kernels.
    """
    return -(-count // SIZE_STEP) * SIZE_STEP if count > SIZE_STEP else max(LANES, 1 << (count - 1).bit_length())


def progress_bar(label: str, total: int | None, shown: bool) -> Any:
    """Return a bar on stderr that counts positions; it prints nothing unless `shown`."""
    return tqdm(desc=label, total=total, unit=" positions", unit_scale=True, disable=not shown)


def start_arrays(start: Env | State) -> dict[str, np.ndarray]:
    """Return the arrays that a file stores for the start of a solution: the words of a State, none for an Env."""
    return {"words": start.buffers.layout.download(start.buffers.words)} if isinstance(start, State) else {}


def start_of(env: Env, arrays: Mapping[str, np.ndarray]) -> Env | State:
    """Return the start of a solution from the arrays of its file. ValueError for words that are no state."""
    if "words" not in arrays:
        return env
    words = np.array(arrays["words"])
    env.engine.layout.check(words)
    return State(env, env.engine.load(words, np.zeros((len(words), KEY_WORDS), np.uint32), open_device(None)))


def _convert(table: Array, source: Layout, target: Layout) -> Array:
    """Copy the fields and flags that two layouts share from one to the other; rewards and mask are 0."""
    words = np.zeros((len(table), target.words), np.uint32)
    for name in source.slots.keys() & target.slots.keys():
        for old, new in zip(source.slots[name], target.slots[name], strict=True):
            for k in range(-(-old.width // 32)):
                bits = table[:, old.word + k] >> np.uint32(old.shift) & np.uint32((1 << min(old.width, 32)) - 1)
                words[:, new.word + k] |= bits << np.uint32(new.shift)
    return words
