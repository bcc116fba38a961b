"""Table of a solved game: values of positions, the actions that keep them, counts and checksum."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.batch_layout import BlockGrid
from tensor_envs._engine.inputs import int_array
from tensor_envs._runtime.buffers import device_of, upload
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs._runtime.context import stays_lazy
from tensor_envs._runtime.devices import DeviceName, primary
from tensor_envs._runtime.exchange import to_numpy
from tensor_envs._runtime.launch import lazy_kernel
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import file_path, instance, integer
from tensor_envs.envs.state import State
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.games.shed.layers import HostArray, first_bytes, result_bytes
from tensor_envs.games.shed.lookup import DRAW, ILLEGAL, LOSS, WIN, judge
from tensor_envs.games.shed.rules import Shed
from tensor_envs.games.shed.strata import MAX_CARDS
from tensor_envs.rules.kernel import trace

FORMAT = "tensor_envs shed table 3"


class Tablebase:
    """Values of every position of Shed with `cards` cards, for the player to move: 1 win, 0 draw, -1 loss.

    A lookup is one kernel for the whole batch; a caller's TinyJit captures it. A state of another game or device raises
    ValueError.

    Attributes:
        cards: number of cards.
        device: device of the results.
        results: two uint8 tensors with a bit for each quiet position: whether player A has a forced win, with A to move
            and with B to move.

    Examples:
        >>> from tensor_envs.games.shed.solve import solve
        >>> table, state = solve(4, progress=False), te.make("shed", cards=4).init(1)
        >>> table.value(state).tolist(), table.counts()["draw"]
        ([1], 0)
    """

    def __init__(self, cards: int, a_to_move: Tensor, b_to_move: Tensor):
        self.cards = cards
        self.results = [a_to_move, b_to_move]
        self.device = device_of(a_to_move)
        # functions by rules, since the layout of a state depends on `max_plies`, and by partition of the batch
        self._lookups: dict[tuple[Shed, BlockGrid], tuple[CapturedFunction, Tensor]] = {}

    def __repr__(self) -> str:
        return f"<Tablebase of shed with {self.cards} cards on {self.device}>"

    # *** positions ***

    def value(self, state: State) -> Tensor:
        """Return the values for the player to move, int32 [B]: 1 win, 0 draw, -1 loss.

        Both players play perfectly, and there is no limit of plies.
        """
        return self._judged(state)[:, -1]

    def action_values(self, state: State) -> Tensor:
        """Return the value that each action leads to for the player to move, int32 [B, A]; -2 for illegal ones."""
        return self._judged(state)[:, :-1]

    def best_actions(self, state: State) -> Tensor:
        """Return the legal actions that keep the position's value, bool [B, A]."""
        judged = self._judged(state)
        return (judged[:, :-1] == judged[:, -1:]) & state.legal_action_mask

    def regret(self, state: State, action: Any) -> Tensor:
        """Return how much of the position's value an action gives away, int32 [B], 0..2; an illegal one loses."""
        judged = self._judged(state)
        actions = int_array("action", action, state.buffers.layout)[: state.batch]
        chosen = actions.reshape(-1, 1) == Tensor.arange(self.cards + 1, dtype=dtypes.int32)
        got = chosen.where(judged[:, :-1], ILLEGAL).max(axis=1).maximum(LOSS)
        return judged[:, -1] - got

    def _judged(self, state: State) -> Tensor:
        """Return the values of all actions, then of the position, int32 [B, A + 1].

        Raises:
            ValueError: a state of another game or device.
        """
        instance("state", state, State)
        rules = state.env.rules
        if not isinstance(rules, Shed) or rules.cards != self.cards:
            raise ValueError(f"the table is for shed with {self.cards} cards, the state is of {state.env!r}")
        if state.device != self.device:
            raise ValueError(f"the table is on {self.device}, the state on {state.device}")
        words = state.tensors[0]
        batch_layout = state.buffers.layout
        values = batch_layout.empty(self.cards + 2, dtypes.int32)
        record = partial(trace, judge(self.cards, state.env.engine.layout, batch_layout.grid))

        def lookup(*arrays: Tensor) -> list[Tensor]:
            return lazy_kernel("shed_judge", record, *arrays)

        if stays_lazy():
            tricks = batch_layout.empty(1 << self.cards, dtypes.int8)
            arrays = (values, tricks, words, *self.results, self._first_bytes)
            values = lookup(*arrays)[0]
        else:
            key = rules, batch_layout.grid
            if key not in self._lookups:
                captured = CapturedFunction(lambda *arrays: Tensor.realize(*lookup(*arrays)))
                self._lookups[key] = captured, batch_layout.empty(1 << self.cards, dtypes.int8)
            captured, tricks = self._lookups[key]
            captured(values, tricks, words, *self.results, self._first_bytes)
        return values.reshape(batch_layout.rows, self.cards + 2)[: state.batch]

    @cached_property
    def _first_bytes(self) -> Tensor:
        return upload(first_bytes(self.cards), self.device)

    # *** the whole table ***

    def counts(self) -> dict[str, Any]:
        """Count wins, losses and draws for the player to move among quiet positions, and among their endgames.

        Returns:
            Counts by name. "drawn_endgames" has counts by pattern "a-b" (cards of the player who has just moved, and of
            the other), and "start" is the value of the first position.
        """
        ones = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
        # by symmetry, the losses with A to move are as many as A's wins with B to move
        # in parts, since an index takes eight times the memory of its table
        win, loss = (sum(int(ones[part].sum()) for part in np.array_split(table, 256)) for table in self._host)
        ends = self.quiet_values(0)
        held = (int(own).bit_count() for own in np.flatnonzero(ends == DRAW))
        patterns = Counter(f"{n}-{self.cards - n}" for n in held)
        start = self.quiet_values((1 << self.cards) - 1)[0]
        return {
            "quiet": 3**self.cards,
            "win": win,
            "loss": loss,
            "draw": 3**self.cards - win - loss,
            "endgames": {name: int((ends == v).sum()) for name, v in _NAMES.items()},
            "drawn_endgames": dict(patterns),
            "start": next(name for name, v in _NAMES.items() if v == start),
        }

    def quiet_values(self, talon: int) -> HostArray:
        """Return the values of positions without a pile, for the player to move, int8 [2^n].

        Args:
            talon: the set of cards in the talon, a bit word.

        Returns:
            The values by the set of the other player's cards, as a number whose lowest bit is the lowest of the n
            cards that are not in the talon.
        """
        talon = integer("talon", talon, 0, (1 << self.cards) - 1)
        held = self.cards - talon.bit_count()
        first = int(self._starts[talon])
        size = max(1 << held >> 3, 1)
        a, b = (
            np.unpackbits(table[first : first + size], bitorder="little")[: 1 << held].astype(np.int8)
            for table in self._host
        )
        return a - b[::-1]

    @cached_property
    def _host(self) -> list[HostArray]:
        """Results on the host. They take gigabytes, so the memory is shared with the device where that is possible."""
        return [to_numpy(table) for table in self.results]

    @cached_property
    def _starts(self) -> HostArray:
        """First byte of the results of each talon."""
        return first_bytes(self.cards)

    def sha256(self) -> str:
        """Return a checksum of all quiet values: a byte each (0 draw, 1 win, 2 loss), in the order of base-3 numbers.

        Card 1 is the lowest digit: 0 for the talon, 1 for the player to move, 2 for the opponent.
        """
        values = np.empty(3**self.cards, np.uint8)
        for talon in range(1 << self.cards):
            place = np.zeros(1, np.int64)
            for card in range(self.cards):
                if not talon >> card & 1:
                    place = np.concatenate([place + 3**card, place + 2 * 3**card])
            values[place] = self.quiet_values(talon) % 3
        return hashlib.sha256(values.data).hexdigest()

    def verify(self) -> None:
        """Compare the table with an independent solution (`distances.check`, plain NumPy).

        Raises:
            ValueError: a value is wrong; the message names the position.
        """
        from tensor_envs.games.shed.distances import check

        check(self.cards, self.quiet_values)

    # *** files ***

    def write(self, path: str | Path, done: int | None = None) -> None:
        """Write a safetensors file. An existing file is replaced as a whole or not at all.

        Args:
            path: the file.
            done: number of solved talon sets, in the order of `layers.groups`; None is all.

        Raises:
            OSError: the file cannot be written.
        """
        arrays = {name: to_numpy(t) for name, t in zip(_TENSORS, self.results, strict=True)}
        done = 1 << self.cards if done is None else done
        write_arrays(file_path("path", path), FORMAT, {"cards": self.cards, "sets": done}, arrays)

    @staticmethod
    def contents(path: str | Path) -> tuple[int, int, list[HostArray]]:
        """Return the cards, solved talon sets and results in a file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds something else, or is damaged.
        """
        metadata, arrays = read_arrays(file_path("path", path), FORMAT)
        try:
            cards = integer("cards", metadata["cards"], 1, MAX_CARDS)
            done = integer("sets", metadata["sets"], 0, 1 << cards)
            results = [arrays[name] for name in _TENSORS]
            if any(a.shape != (result_bytes(cards),) or a.dtype != np.uint8 for a in results):
                raise ValueError(f"its arrays are not those of {cards} cards")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{str(path)!r} holds no table of shed that can be read: {error}") from None
        return cards, done, results

    @staticmethod
    def read(path: str | Path, device: str) -> tuple[Tablebase, int]:
        """Return the table in a file and its number of solved talon sets. It raises the errors of `contents`."""
        cards, done, results = Tablebase.contents(path)
        return Tablebase(cards, *(upload(np.array(a), device) for a in results)), done

    @staticmethod
    def load(path: str | Path, device: DeviceName | None = None) -> Tablebase:
        """Return the table in a file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it holds something else, is damaged, or is not solved completely.
        """
        table, done = Tablebase.read(path, primary(open_device(device)))
        if done < 1 << table.cards:
            raise ValueError(f"{str(path)!r} is solved only for {done:,} of {1 << table.cards:,} talons")
        return table


_TENSORS = ("a_to_move", "b_to_move")
_NAMES = {"win": WIN, "loss": LOSS, "draw": DRAW}
