"""Exact repetition: the last plies of a game, and whether the position before one of them was the present one.

A position recurs for the same player only. So each player has sets of its own plies, and those of the player to move
come first. Bit j of a set is the ply that the player has followed by j more: bit 0 is the last one.

Numbers describe a ply, such as where the piece started. The log has a set of plies for each binary digit of each
number. `changes` counts for each ply the things, such as pieces, that stand elsewhere now than before that ply. Its
binary digits are sets as well. Where all are 0, the position before the ply was the present one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tensor_envs.rules import Field, GameState, Grid, GridSet, Scalar, Value, int32, sum_of, union_of, where

Event = tuple[int, Mapping[str, Value]]  # all plies of the player to move (0) or of the opponent (1) with some numbers


class Change(NamedTuple):
    """Move of a thing, such as a piece, from one place to another.

    Attributes:
        left: plies that have brought such a thing to the place that it leaves, or have taken it from there.
        reached: plies that have brought such a thing to the place that it reaches, or have taken it from there.
        happens: whether the thing moves.
    """

    left: Sequence[Event]
    reached: Sequence[Event]
    happens: Value = True


class Past:
    """Log of the last plies of both players.

    Attributes:
        plies: number of plies of each player.
        digits: number of binary digits of each number that describes a ply, by its name.
        grid: sets of plies.
        counts: number of sets of each field.
        fields: fields of a state.

    Args:
        plies, digits: see above.
        things: largest number of things that can move.
    """

    def __init__(self, plies: int, digits: Mapping[str, int], things: int):
        self.plies = plies
        self.digits = digits
        self.grid = Grid(1, max(plies, 1))
        self.counts = {**digits, "changes": things.bit_length(), "known": 1}
        self.fields = [Field(name, (2, count, self.grid.words), kind="uint32") for name, count in self.counts.items()]

    # *** in rules ***

    def after(
        self, s: GameState, numbers: Mapping[str, Value], changes: Sequence[Change], keeps: Value = True
    ) -> dict[str, Any]:
        """Return the fields after a ply.

        Args:
            s: the state before.
            numbers: the numbers that describe the ply, by their names in `digits`.
            changes: the things that the ply can move, each at most once.
            keeps: whether positions before the ply can recur.
        """
        counts = [[self.grid.set(digit) for digit in s.changes[player]] for player in range(2)]
        for change in changes:
            sides = zip(self.odd_since(s, change.left), self.odd_since(s, change.reached), strict=True)
            for player, (left, reached) in enumerate(sides):
                # An event brings the thing to a place or takes it away. Now it is at the place that it leaves: before a
                # ply with an odd number of events since at both places it was at the one that it reaches, and stands
                # there again: one change less. With an even number at both it was where it is: one change more.
                less = left & reached
                carry = where(change.happens, self.grid.set(s.known[player]) - (left ^ reached), self.grid.empty)
                # 1 is added to all counts, or subtracted in `less`: a carry goes on from digit 1, a borrow from 0
                for k, digit in enumerate(counts[player]):
                    counts[player][k] = digit ^ carry
                    carry &= digit ^ less
        moved = sum_of(int32(change.happens) for change in changes)
        old = {name: s.asdict()[name] for name in self.counts} | {"changes": counts}
        fields = dict[str, Any]()
        for name, number in {**numbers, "changes": moved, "known": int32(1)}.items():
            theirs = map(self.grid.set, old[name][1])
            mine = [self.pushed(plies, self.all_if_digit(number, k)) for k, plies in enumerate(old[name][0])]
            # The opponent is to move, whose sets come first.
            fields[name] = [[where(keeps, plies, self.grid.empty) for plies in sets] for sets in (theirs, mine)]
        return fields

    def pushed(self, plies: Sequence[Any], last: GridSet) -> GridSet:
        """Return a set with a new last ply, a member if `last` is not empty; the earliest ply is dropped."""
        return self.grid.shift(plies, 0, 1) | last & self.grid.of([0])

    def all_if_digit(self, number: Value, digit: int) -> GridSet:
        """Return all plies if a binary digit of a number is 1, else none."""
        return where((int32(number) & 1 << digit) != 0, self.grid.full, self.grid.empty)

    def odd_since(self, s: GameState, events: Sequence[Event]) -> tuple[GridSet, GridSet]:
        """Return each player's plies that an odd number of events follows; the ply itself counts."""
        touches = [self.grid.empty, self.grid.empty]
        for player, numbers in events:
            differs = [
                self.all_if_digit(number, k) ^ digit
                for name, number in numbers.items()
                for k, digit in enumerate(s.asdict()[name][player])
            ]
            touches[player] ^= ~union_of(differs)
        # parity of the events of both players from each ply on, by doubling
        odd = touches[0] ^ touches[1]
        steps = 1
        while steps < self.plies:
            odd ^= self.grid.moved(odd, steps)
            steps *= 2
        # Of two plies with the same bit, that of the player to move came first: it does not follow the opponent's.
        return odd, odd ^ touches[0]

    def recurrences(self, s: GameState) -> GridSet:
        """Return the plies of the player to move before which the position was the same."""
        return self.grid.set(s.known[0]) - union_of(map(self.grid.set, s.changes[0]))

    def plies_since(self, plies: GridSet) -> Scalar:
        """Return the player's number of plies from the earliest one of a set on; 0 for the empty set."""
        steps = 1
        while steps < self.plies:
            plies |= self.grid.moved(plies, -steps)
            steps *= 2
        return plies.count()

    # *** in dictionaries ***

    def numbers_of(self, s: Mapping[str, Any]) -> Iterator[dict[str, int]]:
        """Yield the numbers of the known plies of both players, the last ply first."""
        bits = self.grid.word_bits
        for back in range(2 * self.plies):
            player = 1 - back % 2
            word, bit = divmod(back // 2, bits)
            if not s["known"][player][0][word] >> bit & 1:
                return
            yield {
                name: sum((digit[word] >> bit & 1) << k for k, digit in enumerate(s[name][player]))
                for name in self.digits
            }

    def fields_of(self, plies: Iterable[Mapping[str, int]]) -> dict[str, Any]:
        """Return the fields of plies, the last one first, by their numbers and `changes`."""
        known = list(enumerate({**numbers, "known": 1} for numbers in plies))

        def packed(name: str, player: int, digit: int) -> list[int]:
            members = [back // 2 for back, ply in known if back % 2 != player and ply[name] >> digit & 1]
            return [int(word.value) for word in self.grid.of(members)]

        return {
            name: [[packed(name, player, digit) for digit in range(count)] for player in range(2)]
            for name, count in self.counts.items()
        }


def num_changes(before: Mapping[Any, str], now: Mapping[Any, str]) -> int:
    """Return the number of pieces of an earlier position that do not stand where they stood."""
    return sum(now.get(place) != piece for place, piece in before.items())
