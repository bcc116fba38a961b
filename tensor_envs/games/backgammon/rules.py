"""Backgammon: each player moves fifteen men by the numbers of two dice, home and off the board.

Rules and rulings: RULES.md beside this file. A pip is a place by its distance from the end of a player's path: the
points are pips 1..24, the bar is pip 25, and pip p of a player is pip 25 - p of the opponent. Sets of pips are words,
pip p at bit p.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensor_envs.rules import WORD_BITS, Scalar, Value, maximum, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import any_of, bit, max_of, min_of, num_words, pack_flags, sum_of, union_of
from tensor_envs.rules.observation import Observation, bits, number
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

MEN = 15
POINTS = 24
BAR = 25
FACES = 6
START = {24: 2, 13: 5, 8: 3, 6: 5}  # men by pip
# pips 1..24, and 1..6
ON_POINTS = 2 ** (POINTS + 1) - 2
HOME = 2 ** (FACES + 1) - 2
SEEN = 1, 2, 3  # men of a pip that observations tell apart by sets
SOURCES = 26  # origins of a move: none, the bar, pips 24..1
MAX_PLIES = 2**31 - 1


@dataclass(frozen=True)
class Backgammon:
    """Rule fields of backgammon.

    Attributes:
        gammons: whether a gammon counts double and a backgammon threefold.
        max_plies: plies after which a game is truncated.
    """

    gammons: bool = True
    max_plies: int = 10_000

    def __post_init__(self) -> None:
        check_fields(self, gammons=bool, max_plies=(1, MAX_PLIES))

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=2,
            num_actions=SOURCES * FACES,
            observation_shape=(2 * ((len(SEEN) + 1) * POINTS + 2) + FACES + 1,),
            observation_dtype="int8",
            # men of each player on pips 1..25; moves by each number that are left in the turn
            fields=(Field("men", (2, BAR), high=MEN), Field("dice", (FACES,), high=4)),
            max_plies=self.max_plies,
            chance=True,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        """Return the first position: the player with the higher die begins and plays both numbers (B2)."""
        drawn = chance.draw(0, FACES * (FACES - 1))
        first = drawn // (FACES - 1)
        second = drawn % (FACES - 1)
        second += second >= first
        men = [START.get(pip, 0) for pip in range(1, BAR + 1)]
        return {"men": [men] * 2, "dice": thrown(first, second), "current_player": second > first}

    def legal_action_mask(self, s: GameState) -> Mask:
        own, other = sides(s.men, s.current_player)
        moves = legal_moves(own, other, s.dice)
        words = [uint32(union_of(by for _, by in moves) == 0), *[uint32(0)] * (num_words(SOURCES * FACES) - 1)]
        for source in range(1, SOURCES):
            # numbers that move a man from there, in one word or across two
            faces = union_of((by >> SOURCES - source & 1) << face - 1 for face, by in moves)
            at, shift = divmod(source * FACES, WORD_BITS)
            words[at] = words[at] | faces << shift
            if shift + FACES > WORD_BITS:
                words[at + 1] = words[at + 1] | faces >> WORD_BITS - shift
        return words

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        own, other = sides(s.men, s.current_player)
        passes = action == 0
        die = action % FACES + 1
        start = where(passes, -FACES, SOURCES - action // FACES)  # a pass moves no man
        end = start - die  # below 1: off the board (B8)
        own = [men - (start == pip) + (end == pip) for pip, men in enumerate(own, 1)]
        hits = [(25 - end == pip) & (men == 1) for pip, men in enumerate(other[:POINTS], 1)]
        other = [*(men - hit for hit, men in zip(hits, other, strict=False)), other[-1] + any_of(hits)]
        dice = [left - ((die == face) & ~passes) for face, left in enumerate(s.dice, 1)]

        won = sum_of(own) == 0
        turn_ends = passes | (sum_of(dice) == 0)
        drawn = chance.draw(1 + s.ply, FACES * FACES)
        dice = where(turn_ends, thrown(drawn // FACES, drawn % FACES), dice)
        white = s.current_player == 0
        state = s.replace(
            men=where(white, [own, other], [other, own]),
            dice=dice,
            current_player=where(turn_ends & ~won, 1 - s.current_player, s.current_player),
        )
        pays = where(won, self.worth(other), 0)
        return Outcome(state, rewards=[where(white, pays, -pays), where(white, -pays, pays)], terminated=won)

    def worth(self, loser: Sequence[Scalar]) -> Value:
        """Return the points of a win (B9)."""
        if not self.gammons:
            return 1
        none_off = sum_of(loser) == MEN
        behind = any_of(men > 0 for men in loser[POINTS - FACES :])  # on the bar or in the winner's home
        return 1 + none_off + (none_off & behind)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return both players' men by the observer's pips, on the bars and off the board, and the dice (B11)."""
        own, other = sides(s.men, player)
        return {
            **men_seen("own", own[:POINTS]),
            "own men on the bar": number(own[-1]),
            "own men off the board": number(MEN - sum_of(own)),
            **men_seen("the opponent's", other[:POINTS][::-1]),
            "the opponent's men on the bar": number(other[-1]),
            "the opponent's men off the board": number(MEN - sum_of(other)),
            "moves left by the faces 1 to 6": [*map(number, s.dice)],
            "whether the player moves": number(s.current_player == player),
        }


def men_seen(whose: str, men: Sequence[Scalar]) -> dict[str, Any]:
    """Return a player's men on pips 1 to 24 as entries of an observation.

    One man can be hit and two hold a point. A network learns that sooner from sets of pips, which TD-Gammon's had,
    than from numbers of men.
    """
    sets = {f"pips with {count} or more of {whose} men": bits([n >= count for n in men], POINTS) for count in SEEN}
    return {**sets, f"{whose} men beyond {SEEN[-1]} on pips 1 to 24": [number(maximum(n - SEEN[-1], 0)) for n in men]}


def thrown(first: Scalar, second: Scalar) -> list[Scalar]:
    """Return the moves by each number that two dice, 0..5, allow; a double allows four (B3)."""
    double = first == second
    return [where(double & (first == k), 4, (first == k) | (second == k)) for k in range(FACES)]


def sides(men: Sequence[Sequence[Scalar]], player: Scalar) -> tuple[list[Scalar], list[Scalar]]:
    """Return the men of both players, each by the player's own pips 1..25."""
    return where(player == 0, men[0], men[1]), where(player == 0, men[1], men[0])


def legal_moves(own: Sequence[Scalar], other: Sequence[Scalar], dice: Sequence[Scalar]) -> list[tuple[Scalar, Scalar]]:
    """Return the lowest and the highest number left, each with the pips from which a man may be moved by it."""
    men = pips(own, lambda count: count > 0)
    alone = pips(own, lambda count: count == 1)
    made = pips([*other[:POINTS][::-1], 0], lambda count: count >= 2)  # the opponent's
    free = ~made & ON_POINTS
    high = max_of(where(left > 0, face, 0) for face, left in enumerate(dice, 1))
    low = min_of(where(left > 0, face, FACES) for face, left in enumerate(dice, 1))
    by_low = movable(men, free, low)
    by_high = movable(men, free, high)
    # both numbers are played if possible (B6), else the higher one (B7)
    low_first = by_low & followed(men, alone, free, low, high)
    high_first = by_high & followed(men, alone, free, high, low)
    two = low != high
    both = (low_first | high_first) != 0
    by_low = where(two, where(both, low_first, where(by_high != 0, 0, by_low)), by_low)
    return [(low, by_low), (high, where(two & both, high_first, by_high))]


def pips(men: Sequence[Value], holds: Any) -> Scalar:
    """Return the set of pips whose number of men has a property."""
    return pack_flags([False, *(holds(count) for count in men)])[0]


def movable(men: Scalar, free: Scalar, die: Scalar) -> Scalar:
    """Return the pips from which a number moves a man; men on the bar must enter first."""
    steps = men & free << die
    far = men >> die
    # from the pip of the number or, if no man is that far, from the highest
    off = where(far == 0, highest(men), men & bit(die))
    return where(men >> BAR != 0, steps & 1 << BAR, steps | where(men > HOME, 0, off))  # off if all are at home


def highest(home: Scalar) -> Scalar:
    """Return the highest of pips 1..6."""
    below = home >> 1 | home >> 2 | home >> 3
    return home & ~(below | below >> 3)


def followed(men: Scalar, alone: Scalar, free: Scalar, first: Scalar, then: Scalar) -> Scalar:
    """Return the pips from which a man moved by the first number leaves a move by the other one."""
    leaves_move: list[Value] = [False]
    for pip in range(1, BAR + 1):
        man = uint32(1 << pip)
        moved = (men & ~(alone & man) | man >> first) & ~uint32(1)  # bit 0: off the board
        leaves_move.append(movable(moved, free, then) != 0)
    return pack_flags(leaves_move)[0]
