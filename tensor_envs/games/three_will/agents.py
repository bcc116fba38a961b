"""Agents packed as bytes, four to a word, so that each rule treats them all at once.

A byte is a place. Bits 0-5 are the square as the agent's player sees it (own base row 0, goal row 7). Bit 6 is the
level: 0 for a single or higher agent, 1 for a lower one. Bit 7 stays clear, so that additions do not carry from byte to
byte. A set of agents has FLAG, bit 7, in the byte of every member. A place times EACH is that place in every byte, for
comparison with all agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensor_envs.games.three_will.data import SIDE, SLOTS
from tensor_envs.rules import GameState, Scalar, int32, select, sum_of, uint32, union_of, where

IN_WORD = 4
SIDE_WORDS = SLOTS // IN_WORD  # words of a player, in slot order
EACH = 0x01010101  # times a number: the number in every byte
# parts of the bytes
SQUARE = 63 * EACH
LOWER = 64 * EACH
FLAG = 128 * EACH
TO_FLAG = FLAG - SIDE * (SIDE - 1) * EACH  # added to squares, it sets FLAG on row 7

AgentWords = Sequence[Scalar]  # the eight agents of a player, or a set of them


def packed(places: Sequence[int]) -> list[int]:
    """Pack places, in slot order, into words of plain ints."""
    fours = [places[first : first + IN_WORD] for first in range(0, len(places), IN_WORD)]
    return [sum(place << 8 * k for k, place in enumerate(four)) for four in fours]


def unpacked(words: Sequence[int]) -> list[int]:
    """Return the places in words of plain ints."""
    return [four >> 8 * k & 127 for four in words for k in range(IN_WORD)]


def place_of(agents: AgentWords, slot: int) -> Scalar:
    """Return the place of an agent: its square, plus 64 for the lower level."""
    return agents[slot // IN_WORD] >> 8 * (slot % IN_WORD) & 127


def place_at(agents: AgentWords, slot: Scalar) -> Scalar:
    """Return the place of an agent whose slot is computed."""
    return select(agents, slot >> 2) >> (slot & 3) * 8 & 127


def turned(agents: AgentWords) -> list[Scalar]:
    """Return a player's agents from the opponent's side: rows and columns become 7 minus themselves."""
    return [four ^ SQUARE for four in agents]


def locked(agents: AgentWords) -> list[Scalar]:
    """Return the set of agents on the goal row of their player (G16)."""
    return [(four & SQUARE) + TO_FLAG & FLAG for four in agents]


def active(agents: AgentWords) -> list[Scalar]:
    """Return the set of agents that are neither locked nor lower (F15)."""
    return [~(is_locked | four << 1) & FLAG for is_locked, four in zip(locked(agents), agents, strict=True)]


def count(members: AgentWords) -> Scalar:
    """Return the number of agents in a set of one player."""
    in_bytes = sum_of(flags >> 7 for flags in members)
    in_halves = in_bytes + (in_bytes >> 16)
    return int32(in_halves + (in_halves >> 8) & 0xF)


class BoardView(NamedTuple):
    """Agents of both players from one player's side."""

    own: AgentWords
    other: AgentWords

    @staticmethod
    def seen_by(s: GameState, player: Scalar) -> BoardView:
        """Return the agents from a player's side."""
        white, black = s.agents[:SIDE_WORDS], s.agents[SIDE_WORDS:]
        return BoardView(where(player == 0, white, black), turned(where(player == 0, black, white)))

    @property
    def words(self) -> list[Scalar]:
        """Words of all agents, own ones first."""
        return [*self.own, *self.other]

    def standing_on(self, place: Scalar) -> list[Scalar]:
        """Return the set of agents at a place."""
        # adding 127 to a byte sets FLAG unless the byte is 0
        return [~((four ^ place) + (FLAG - EACH)) & FLAG for four in self.words]

    def holds(self, place: Scalar) -> Scalar:
        """Return whether an agent is at a place."""
        return union_of(self.standing_on(place)) != 0

    def locks(self, place: Scalar) -> Scalar:
        """Return whether a locked agent is at a place."""
        flags = [*locked(self.own), *locked(turned(self.other))]
        return union_of(here & is_locked for here, is_locked in zip(self.standing_on(place), flags, strict=True)) != 0

    def changed(self, changes: AgentWords) -> BoardView:
        """Return the agents after an exclusive or of their words with changes."""
        words = [four ^ change for four, change in zip(self.words, changes, strict=True)]
        return BoardView(words[:SIDE_WORDS], words[SIDE_WORDS:])

    def moved(self, places: Sequence[Scalar], goals: Sequence[Scalar]) -> BoardView:
        """Move the agents of all places to the goals of their places at the same time, and return the agents."""
        changes = [uint32(0)] * len(self.words)
        for place, goal in zip(places, goals, strict=True):
            members = self.standing_on(place)
            changes = [c ^ (m - (m >> 7) & (place ^ goal)) for c, m in zip(changes, members, strict=True)]
        return self.changed(changes)

    def settled(self, *squares: Scalar) -> BoardView:
        """Return the agents after a locked agent has become the lower one on its square (F24, F25, G17, G20)."""
        changes = [uint32(0)] * len(self.words)
        for square in squares:
            lower = square | LOWER
            wrong = self.locks(square) & self.holds(lower) & ~self.locks(lower)
            both = zip(changes, self.standing_on(square), self.standing_on(lower), strict=True)
            changes = [c | where(wrong, a | b, 0) for c, a, b in both]
        return self.changed([members >> 1 for members in changes])  # from FLAG to the bit of the level
