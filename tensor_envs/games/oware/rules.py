"""Oware: seeds are sown around the board, and houses of two or three captured; more captured seeds win.

Rules and rulings: RULES.md beside this file. The state is that of the player to move: the own houses and then the
opponent's, in the order of sowing, and both stores. Positions since the last capture are the houses after it, and for
each ply the action and a hash of the position that it led to. Where a hash recurs, these plies are played again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tensor_envs.games._kit.houses import observed
from tensor_envs.rules import Scalar, Value, int32, repeat, scalar, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import all_of, any_of, lookup, min_of, select, sum_of, union_of
from tensor_envs.rules.observation import Observation, number
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MAX_SIZE, MAX_QUIET = 64, 400
SEED_BITS, HOUSES_A_WORD = 6, 5  # of a packed position: bits of a house, houses in a word
PLY_BITS = 16  # in `history`: the action, and a hash of as many bits as are left
MULTIPLIER = 0x9E3779B1  # multiplier of the hash: odd, so that no bit is lost


@dataclass(frozen=True)
class Oware:
    """Rule fields of oware (W9).

    Attributes:
        houses: houses of a player.
        seeds: seeds in every house at first; 2 * houses * (seeds + 1) is at most 64.
        quiet_plies: plies without a capture after which a game ends, 1..400.
    """

    houses: int = 6
    seeds: int = 4
    quiet_plies: int = 100

    def __post_init__(self) -> None:
        check_fields(self, houses=(1, MAX_SIZE // 4))
        check_fields(self, seeds=(1, MAX_SIZE // (2 * self.houses) - 1), quiet_plies=(1, MAX_QUIET))

    @property
    def total(self) -> int:
        """Number of seeds."""
        return 2 * self.houses * self.seeds

    @property
    def action_bits(self) -> int:
        """Number of bits of an action in the history."""
        return (self.houses - 1).bit_length()

    @property
    def packed_words(self) -> int:
        """Number of words of a packed position."""
        return -(-2 * self.houses // HOUSES_A_WORD)

    @property
    def history_words(self) -> int:
        """Number of words of the history."""
        return max(self.quiet_plies // 2, 1)

    @property
    def spec(self) -> Spec:
        fields = (
            Field("houses", (2 * self.houses,), high=self.total),
            Field("stores", (2,), high=self.total),
            Field("quiet", high=self.quiet_plies),  # plies since the last capture
            Field("start", (self.packed_words,), kind="uint32"),  # the houses after it
            # the positions since, two in a word, the present one first
            Field("history", (self.history_words,), kind="uint32"),
        )
        shape = (2 * self.houses + 4,)
        return Spec(2, self.houses, observation_shape=shape, fields=fields, observation_dtype="int16")

    def init(self, chance: Chance) -> dict[str, Any]:
        houses = [self.seeds] * 2 * self.houses
        return {"houses": houses} | self.remembered([houses], [])

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the own houses that may be sown (W2)."""
        return playable(s.houses)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        n = self.houses
        houses, gain = moved(s.houses, action)
        captures = gain != 0
        stores = [s.stores[1], s.stores[0] + gain]
        half = self.total // 2
        decided = (stores[1] > half) | ((stores[0] == half) & (stores[1] == half))  # W6
        quiet = where(captures, 0, s.quiet + 1)
        position = packed(houses)
        code = self.hashed(position)
        recurs = ~captures & self.recurs(s, position, code)
        over = decided | ~any_of(playable(houses)) | recurs | (quiet == self.quiet_plies)  # W7
        sides = houses[:n], houses[n:]
        stores = [store + where(over, sum_of(side), 0) for store, side in zip(stores, sides, strict=True)]
        past = [where(captures | over, 0, word) for word in s.history]
        after = s.replace(
            houses=where(over, [0] * 2 * n, houses),
            stores=stores,
            quiet=where(over, 0, quiet),
            start=where(over, [0] * len(position), where(captures, position, s.start)),
            history=appended(past, where(over, 0, code | where(captures, 0, uint32(action)))),
            current_player=1 - s.current_player,
        )
        return Outcome.scores(after, where(s.current_player == 0, stores[::-1], stores), over)

    def remembered(self, positions: Sequence[Sequence[Value]], actions: Sequence[Value]) -> dict[str, list[Scalar]]:
        """Return the fields of the positions since the last capture, and of the actions between them."""
        codes = [self.hashed(packed(houses)) for houses in positions]
        plies = [code | uint32(action) for code, action in zip(codes, [0, *actions], strict=True)]
        return {"start": packed(positions[0]), "history": reduce(appended, plies, [uint32(0)] * self.history_words)}

    def action_at(self, history: Sequence[Value], back: Value) -> Scalar:
        """Return the action by which the position `back` plies ago was reached."""
        word = lookup([uint32(word) for word in history], back // 2)
        return int32(word >> back % 2 * PLY_BITS & (1 << self.action_bits) - 1)

    def hashed(self, position: Sequence[Scalar]) -> Scalar:
        """Return a hash of a position, in the bits that it has in the history."""
        code = uint32(0)
        for word in position:
            code = (code >> PLY_BITS ^ code ^ word) * MULTIPLIER
        return code >> 32 - PLY_BITS + self.action_bits << self.action_bits

    def recurs(self, s: GameState, position: list[Scalar], code: Scalar) -> Scalar:
        """Return whether the position after an action without a capture is in the history, for the same player (W7)."""
        # Every second position is the player's: the upper half of each word. Before one recurs, each house is sown.
        hashes = (1 << 2 * PLY_BITS) - (1 << PLY_BITS + self.action_bits)
        alike = min_of([1, *((word ^ code << PLY_BITS) & hashes for word in s.history[self.houses - 1 :])]) == 0

        def replayed(values: list[Scalar]) -> list[Scalar]:
            """Play the ply `back` plies before the last one, in the packed position before it."""
            *past, back, found = values
            same = all_of(a == b for a, b in zip(past, position, strict=True)) & (back & 1 == 0)
            after, _ = sown(unpacked(past, 2 * self.houses), self.action_at(s.history, int32(back)))
            return [*packed(turned(after)), back - 1, found | uint32(same)]

        return repeat(where(alike, s.quiet, 0), [*s.start, uint32(s.quiet) - 1, 0], replayed)[-1] != 0

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the seeds of the player and of the opponent, whose turn it is, and the quiet plies (W10)."""
        return observed(s, player) | {"plies since the last capture": number(s.quiet)}


def playable(houses: Sequence[Scalar]) -> list[Scalar]:
    """Return whether each house of the player to move may be sown (W2)."""
    n = len(houses) // 2
    feeds = sum_of(houses[n:]) == 0
    return [seeds > where(feeds, n - 1 - house, 0) for house, seeds in enumerate(houses[:n])]


def sown(houses: Sequence[Scalar], action: Scalar) -> tuple[list[Scalar], Scalar]:
    """Return the houses after a house is sown, and the house that gets the last seed (W3)."""
    size = len(houses)
    after = list[Scalar]()
    seeds = select(houses[: size // 2], action)
    laps = seeds // (size - 1)
    rest = seeds % (size - 1)
    for house, old in enumerate(houses):
        steps = where(action < house, house - action, house - action + size)
        after.append(where(action == house, 0, old + laps + int32(steps <= rest)))
    last = action + where(rest == 0, size - 1, rest)
    return after, last - where(last >= size, size, 0)


def moved(houses: Sequence[Scalar], action: Scalar) -> tuple[list[Scalar], Scalar]:
    """Return the houses after an action, from the next player's side, and how many seeds it captures."""
    n = len(houses) // 2
    after, last = sown(houses, action)
    own, other = after[:n], after[n:]
    taken = [scalar(False)] * n
    follows = scalar(False)
    for k in range(n)[::-1]:  # W4
        follows = ((last == n + k) | follows) & ((other[k] == 2) | (other[k] == 3))
        taken[k] = follows
    gain = sum_of(where(take, seeds, 0) for take, seeds in zip(taken, other, strict=True))
    captures = (gain != 0) & (gain != sum_of(other))  # W5
    rest = [where(captures & take, 0, seeds) for take, seeds in zip(taken, other, strict=True)]
    return [*rest, *own], where(captures, gain, 0)


def turned(houses: Sequence[Scalar]) -> list[Scalar]:
    """Return the houses from the other player's side."""
    n = len(houses) // 2
    return [*houses[n:], *houses[:n]]


def packed(houses: Sequence[Value]) -> list[Scalar]:
    """Return the words of a position."""
    rows = [houses[at : at + HOUSES_A_WORD] for at in range(0, len(houses), HOUSES_A_WORD)]
    return [union_of(uint32(seeds) << SEED_BITS * k for k, seeds in enumerate(row)) for row in rows]


def unpacked(words: Sequence[Value], size: int) -> list[Scalar]:
    """Return the houses of a packed position."""
    places = [divmod(house, HOUSES_A_WORD) for house in range(size)]
    return [int32(uint32(words[w]) >> SEED_BITS * k & (1 << SEED_BITS) - 1) for w, k in places]


def appended(history: Sequence[Value], ply: Scalar) -> list[Scalar]:
    """Return the history with a ply in front; the oldest ply drops out of the last word."""
    lower = [ply, *(uint32(word) >> PLY_BITS for word in history)]
    return [uint32(word) << PLY_BITS | ply for word, ply in zip(history, lower, strict=False)]
