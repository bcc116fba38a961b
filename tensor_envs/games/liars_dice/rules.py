"""Liar's dice: hidden dice, and rising bids on how many of all dice show a face, until a player calls a bid a lie.

Rules and rulings: RULES.md beside this file. A die is its face - 1, and a player's dice ascend. `bids` is the set of
all actions so far; member q * sides + f is the bid that q + 1 dice show the face f + 1.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.rules import WORD_BITS, Scalar, maximum, minimum, uint32, uint64, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import num_words, set_of, sort, sum_of
from tensor_envs.rules.observation import Observation, bits, one_hot
from tensor_envs.rules.plain import check_fields
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec, next_player

MAX_PLAYERS = 6
MAX_DICE = 6
MAX_SIDES = 8


@dataclass(frozen=True)
class LiarsDice:
    """Rule fields of liar's dice (L7).

    Attributes:
        players: 2..6.
        dice: dice of each player, 1..6.
        sides: faces of a die, 2..8; the highest is wild.
    """

    players: int = 2
    dice: int = 1
    sides: int = 6

    def __post_init__(self) -> None:
        check_fields(self, players=(2, MAX_PLAYERS), dice=(1, MAX_DICE), sides=(2, MAX_SIDES))

    @property
    def bids(self) -> int:
        """Number of bids, and the action of a call."""
        return self.players * self.dice * self.sides

    @property
    def spec(self) -> Spec:
        return Spec(
            num_players=self.players,
            num_actions=self.bids + 1,
            observation_shape=(self.players + self.dice * self.sides + self.bids + 1,),
            fields=(
                Field("dice", (self.players, self.dice), high=self.sides - 1),
                Field("bid", low=-1, high=self.bids - 1),
                Field("bids", (num_words(self.bids + 1),), kind="uint32"),
            ),
            chance=True,
            perfect_information=False,
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {"dice": self.thrown(chance), "bid": -1}

    def thrown(self, chance: Chance) -> list[list[Scalar]]:
        """Throw all dice (L1)."""
        dice = [chance.draw(die, self.sides) for die in range(self.players * self.dice)]
        return [sort(dice[first : first + self.dice]) for first in range(0, len(dice), self.dice)]

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the bids above the last one, and the call of a bid (L3)."""
        mask = list[Scalar]()
        for w in range(num_words(self.bids + 1)):
            bids_here = 2 ** min(self.bids - w * WORD_BITS, WORD_BITS) - 1
            lower = minimum(maximum(s.bid + 1 - w * WORD_BITS, 0), WORD_BITS)
            mask.append(uint32(uint64(bids_here) >> lower << lower))
        mask[-1] |= uint32(s.bid >= 0) << self.bids % WORD_BITS
        return mask

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        calls = action == self.bids
        face = s.bid % self.sides
        wild = self.sides - 1
        shown = sum_of((die == face) | (die == wild) for own in s.dice for die in own)
        bidder = where(s.current_player == 0, self.players - 1, s.current_player - 1)
        loser = where(shown > s.bid // self.sides, s.current_player, bidder)  # L4
        share = 1 / (self.players - 1)
        rewards = [where(calls, where(loser == player, -1.0, share), 0.0) for player in range(self.players)]
        made = set_of([action], self.bids + 1)
        after = s.replace(
            bid=where(calls, s.bid, action),
            bids=[old | new for old, new in zip(s.bids, made, strict=True)],
            current_player=next_player(s),
        )
        return Outcome(after, rewards, terminated=calls)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player, its dice, and all bids and the call (L5)."""
        return {
            "player": one_hot(player, self.players),
            "own dice, ascending": [one_hot(die, self.sides) for die in s.dice[player]],
            "bids that were made, and the call": bits(s.bids, self.bids + 1),
        }

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the dice of all other players."""
        new = enumerate(zip(s.dice, self.thrown(chance), strict=True))
        return s.replace(dice=[where(player == seat, old, thrown) for seat, (old, thrown) in new])
