"""Yahtzee: five dice, up to three throws a turn, thirteen boxes to fill with points.

Rules and rulings: RULES.md beside this file. Dice are 1..6 and ascend. A box is -1 while it is open.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensor_envs.rules import Scalar, all_of, any_of, float32, maximum, select, sort, sum_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, Part, bits, number, one_hot
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec, next_player

DICE = 5
SIDES = 6
REROLLS = 2
MAX_PLAYERS = 4
BOXES = (
    "ones", "twos", "threes", "fours", "fives", "sixes",
    "three of a kind", "four of a kind", "full house", "small straight", "large straight", "yahtzee", "chance",
)  # fmt: skip
UPPER = 6
YAHTZEE = BOXES.index("yahtzee")
SETS = 2**DICE - 1  # sets of dice to reroll: the first actions; those that fill a box follow
# points in the upper boxes for the bonus; for another yahtzee
NEEDED = 63
BONUS = 35
EXTRA = 100
MOST = 50  # points of a box: a yahtzee
THROWS = SIDES**DICE
MAX_EXTRAS = len(BOXES) - 1


@dataclass(frozen=True)
class Yahtzee:
    """Rule fields of Yahtzee (Y12).

    Attributes:
        players: 1..4; a player alone is paid points, several play for a win.
    """

    players: int = 1

    def __post_init__(self) -> None:
        check_fields(self, players=(1, MAX_PLAYERS))

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=self.players,
            num_actions=SETS + len(BOXES),
            observation_shape=(DICE * SIDES + REROLLS + 1 + self.players * (2 * len(BOXES) + 1),),
            fields=(
                Field("dice", (DICE,), low=1, high=SIDES),
                Field("rerolls", high=REROLLS),
                Field("boxes", (self.players, len(BOXES)), low=-1, high=MOST),
                Field("extras", (self.players,), high=MAX_EXTRAS),  # yahtzees after the first
            ),
            observation_dtype="float32",
            chance=True,
            zero_sum=self.players > 1,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        dice = sort(thrown(chance.draw(0, THROWS)))
        return {"dice": dice, "rerolls": REROLLS, "boxes": [[-1] * len(BOXES)] * self.players}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the sets of dice while throws are left (Y3), and the boxes that may be filled (Y4, Y7)."""
        boxes = s.boxes[s.current_player]
        joker = is_joker(s.dice, boxes)
        opened = [box < 0 for box in boxes]
        upper = [is_open & (s.dice[0] == face + 1) for face, is_open in enumerate(opened[:UPPER])]
        forced = any_of(upper)
        lower = any_of(opened[UPPER:])
        allowed = [where(joker & (forced | lower), upper[face], opened[face]) for face in range(UPPER)]
        return [s.rerolls > 0] * SETS + allowed + [is_open & ~(joker & forced) for is_open in opened[UPPER:]]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        fills = action >= SETS
        boxes = s.boxes[s.current_player]
        joker = is_joker(s.dice, boxes)
        points = select(worth(s.dice, joker), maximum(action - SETS, 0))
        filled = [where(action == SETS + box, points, old) for box, old in enumerate(boxes)]
        extra = fills & joker & (boxes[YAHTZEE] > 0)
        over = fills & (s.current_player == self.players - 1) & all_of(box >= 0 for box in filled)
        movers = [s.current_player == player for player in range(self.players)]
        extras = [old + (extra & moves) for old, moves in zip(s.extras, movers, strict=True)]
        rows = [where(moves, filled, row) for row, moves in zip(s.boxes, movers, strict=True)]
        gained = points + where(bonus(filled) > bonus(boxes), BONUS, 0) + where(extra, EXTRA, 0)
        totals = [total(row, extra) for row, extra in zip(rows, extras, strict=True)]
        new = thrown(chance.draw(s.ply + 1, THROWS))
        again = [fills | ((action + 1 >> die & 1) != 0) for die in range(DICE)]
        after = s.replace(
            dice=sort([where(*which) for which in zip(again, new, s.dice, strict=True)]),
            rerolls=where(fills, REROLLS, s.rerolls - 1),
            boxes=rows,
            extras=extras,
            current_player=where(fills, next_player(s), s.current_player),
        )
        if self.players == 1:
            return Outcome(after, [where(fills, gained, 0)], terminated=over)
        return Outcome.scores(after, totals, over)  # Y8

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the dice, the throws left, and the boxes and extra yahtzees of each player, from its own on (Y10).

        Points are shares of the most, and a face is one entry of six: a network learns sooner from these than from
        numbers.
        """
        parts: dict[str, Part | list[Part]] = {
            "face of each die": [one_hot(die - 1, SIDES) for die in s.dice],
            "throws left": one_hot(s.rerolls, REROLLS + 1),
        }
        for turn in range(self.players):
            seat = (player + turn) % self.players
            boxes = s.boxes[seat]
            points = [float32(maximum(box, 0)) * (1 / MOST) for box in boxes]
            parts[f"player +{turn}: open boxes"] = bits([box < 0 for box in boxes], len(BOXES))
            parts[f"player +{turn}: points of each box"] = [*map(number, points)]
            parts[f"player +{turn}: extra yahtzees"] = number(float32(s.extras[seat]) * (1 / MAX_EXTRAS))
        return parts


def thrown(throw: Scalar) -> list[Scalar]:
    """Return the dice of one of all throws (Y2)."""
    return [1 + throw // SIDES**die % SIDES for die in range(DICE)]


def is_joker(dice: Sequence[Scalar], boxes: Sequence[Scalar]) -> Scalar:
    """Return whether five dice are equal and the box for it is filled (Y7)."""
    return (dice[0] == dice[-1]) & (boxes[YAHTZEE] >= 0)


def worth(dice: Sequence[Scalar], joker: Scalar) -> list[Scalar]:
    """Return the points of ascending dice in each box (Y5, Y7)."""
    counts = [sum_of(die == face for die in dice) for face in range(1, SIDES + 1)]
    has = {n: any_of(count >= n for count in counts) for n in (3, 4)}
    house = any_of(count == 3 for count in counts) & any_of(count == 2 for count in counts)
    runs = {n: any_of(all_of(x > 0 for x in counts[k : k + n]) for k in range(SIDES + 1 - n)) for n in (4, 5)}
    everything = sum_of(dice)
    return [
        *(count * face for face, count in enumerate(counts, 1)),
        *(where(has[n], everything, 0) for n in (3, 4)),
        *(where(joker | holds, points, 0) for holds, points in ((house, 25), (runs[4], 30), (runs[5], 40))),
        where(dice[0] == dice[-1], MOST, 0),
        everything,
    ]


def bonus(boxes: Sequence[Scalar]) -> Scalar:
    """Return whether the upper boxes have the points for their bonus (Y6)."""
    return sum_of(maximum(box, 0) for box in boxes[:UPPER]) >= NEEDED


def total(boxes: Sequence[Scalar], extras: Scalar) -> Scalar:
    """Return the points of a player."""
    return sum_of(maximum(box, 0) for box in boxes) + where(bonus(boxes), BONUS, 0) + EXTRA * extras
