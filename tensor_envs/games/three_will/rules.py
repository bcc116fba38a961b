"""Three Will: bring three agents to the opponent's base, by dice, cards and stacks of two.

RULES.md beside this file has the rules and rulings; comments cite its F, G and section numbers. The board is seen from
the side of the player to act, whose base is row 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs.games.three_will.agents import SIDE_WORDS, active, count, locked, packed
from tensor_envs.games.three_will.data import (
    ACTIONS,
    AGENTS,
    CES_CARDS,
    CHALLENGE,
    DIRECTIVE,
    EXAMINE,
    EXTRA_THROW,
    FACES,
    FMOVE,
    FREE,
    MOVE,
    NOBODY,
    NUMBER_KEYS,
    OVER,
    PASS,
    PLAYERS,
    SET_UP,
    SLOTS,
    STARTER,
    TOP_CARD,
    USE_FREE,
    ThreeWillFields,
)
from tensor_envs.games.three_will.legal import legal_actions
from tensor_envs.games.three_will.observation import length, observation
from tensor_envs.games.three_will.operations import resolve_action
from tensor_envs.rules import Scalar, map_range, put, select, sum_of, uint32, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec


@dataclass(frozen=True)
class ThreeWillRules(ThreeWillFields):
    """Rules of one game; `data.ThreeWillFields` has the rule fields."""

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            num_players=PLAYERS,
            num_actions=ACTIONS,
            observation_shape=(length(self.ids_visible),),
            observation_dtype="float32",
            chance=True,
            events=("loan", "stack", "leap", "failed attempt", "declared win", "challenge", "swap"),
            perfect_information=False,  # the top card and, by default, the numbers are hidden from both players
            fields=(
                Field("agents", (PLAYERS * SIDE_WORDS,), kind="uint32"),  # see `agents`
                Field("bearers", (PLAYERS,), kind="uint32"),  # the slot of number n in bits 4n-4..4n-1
                Field("turns", high=self.max_turns),
                Field("dr", (PLAYERS,), high=self.cards_total),
                Field("free", (PLAYERS,), high=self.cards_total),
                Field("ces", high=CES_CARDS - 1),
                Field("die", low=1, high=FACES),
                Field("phase", high=OVER),
                Field("challenge_left", kind="bool"),
                Field("declarer", low=NOBODY, high=PLAYERS - 1),
                Field("turn_owner", low=NOBODY, high=PLAYERS - 1),
                Field("after", kind="bool"),  # in a challenge: may a Free card follow the operation?
                Field("winner", low=NOBODY, high=PLAYERS - 1),
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        counters = (TOP_CARD, DIRECTIVE, STARTER)
        sizes = (CES_CARDS, FACES, PLAYERS)
        draws = map_range(3, lambda k: chance.draw(select(counters, k), select(sizes, k)))
        return {
            "agents": packed(SET_UP) * PLAYERS,  # G3
            "bearers": numbers_dealt(chance),  # F3
            "ces": draws[0],  # F5
            "dr": [self.cards_each] * PLAYERS,  # F6
            "die": 1 + draws[1],
            "phase": MOVE,
            "current_player": draws[2] if self.first_player < 0 else self.first_player,
            "challenge_left": self.challenge,
            **dict.fromkeys(("declarer", "turn_owner", "winner"), NOBODY),
        }

    def legal_action_mask(self, s: GameState) -> Mask:
        return legal_actions(self, s)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        """Apply an action and advance the turn (4.3, 4.6)."""
        rolls = 2 * (s.ply + 1)
        me = s.current_player
        other = 1 - s.current_player
        effect = resolve_action(self, s, action, 1 + chance.draw(EXTRA_THROW + rolls, FACES))
        passes = action == PASS
        uses_free = action == USE_FREE
        examines = action >= EXAMINE
        operated = effect.steps | effect.leaps | effect.stacks
        challenge = s.phase == CHALLENGE

        # A won position is declared at once, and stands if no challenge is left (G21, G24). A challenge fails if
        # it is declined, with card 0 and with another number (F23). The declarer is the opponent.
        won, victor = self.victor(effect.agents, favoured=where(effect.swaps, other, me))
        won = won & (operated | effect.swaps)
        declares = won & operated & s.challenge_left
        upheld = challenge & ~effect.swaps
        ends = upheld | (won & ~declares)
        winner = where(upheld, other, victor)

        # Otherwise the operation, or the turn that a lost challenge resumes, may be followed by a Free card.
        resumes = effect.swaps & ~won
        free_follows = effect.steps & (select(s.free, me) > 0)  # F10, F20, G13
        to_free = free_follows & ~won
        turn_ends = (passes & ~challenge) | (operated & ~won & ~free_follows)
        if self.fail_ends_turn:  # G9
            turn_ends = turn_ends | effect.fails
        if self.challenge_ends_turn:  # G26
            turn_ends = turn_ends | resumes
        else:
            to_free = to_free | (resumes & s.after)
            turn_ends = turn_ends | (resumes & ~s.after)
        turns = s.turns + turn_ends
        truncated = turn_ends & (turns >= self.max_turns)  # G28
        next_turn = turn_ends & ~truncated

        # The end wins over a declaration, and a declaration over whatever would come next.
        phase = where(uses_free, FMOVE, where(to_free, FREE, where(next_turn, MOVE, s.phase)))
        phase = where(ends | truncated, OVER, where(declares, CHALLENGE, phase))
        # A declaration interrupts a turn; its owner and what was to follow are kept until the challenge is lost.
        interrupted = where(resumes, [NOBODY, NOBODY, False], [s.declarer, s.turn_owner, s.after])
        declarer, turn_owner, after = where(declares, [victor, me, free_follows], interrupted)
        turn_of = where(resumes, s.turn_owner, me)
        dr, free, lends = paid(s, attempts=effect.stacks | effect.fails, uses_free=uses_free)
        # A new directive is thrown for every turn and every Free card.
        state = s.replace(
            agents=effect.agents,
            turns=turns,
            dr=dr,
            free=free,
            die=where(next_turn | uses_free, 1 + chance.draw(DIRECTIVE + rolls, FACES), s.die),  # G12
            phase=phase,
            current_player=where(declares, 1 - victor, where(next_turn, 1 - turn_of, turn_of)),
            challenge_left=s.challenge_left & ~examines,
            declarer=declarer,
            turn_owner=turn_owner,
            after=after,
            winner=where(ends, winner, NOBODY),
        )
        reward = where(ends, 1 - 2 * winner, 0)
        events = {
            "loan": lends,
            "stack": effect.stacks,
            "leap": effect.leaps,
            "failed attempt": effect.fails,
            "declared win": declares,
            "challenge": examines,
            "swap": effect.swaps,
        }
        return Outcome(state, (reward, -reward), terminated=ends, truncated=truncated, events=events)

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample what is hidden from both players: the top card and, unless they are visible, the numbers."""
        dealt = s.replace(ces=chance.draw(TOP_CARD, CES_CARDS))
        return dealt if self.ids_visible else dealt.replace(bearers=numbers_dealt(chance))

    def victor(self, agents: Sequence[Scalar], favoured: Scalar) -> tuple[Scalar, Scalar]:
        """Return whether a player has a winning position, and which one.

        Bases count before blocking; in each, the favoured player comes first (G22).
        """
        white, black = agents[:SIDE_WORDS], agents[SIDE_WORDS:]
        by_base = [count(locked(own)) >= self.to_win for own in (white, black)]  # F7
        won, winner = first_of(by_base, favoured)
        if not self.supplementary:
            return won, winner
        by_blocking = [union_of(active(other)) == 0 for other in (black, white)]  # F8, F29, G23
        blocked, by_whom = first_of(by_blocking, favoured)
        return won | blocked, where(won, winner, by_whom)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        return observation(self, s, player)


def first_of(holds: Sequence[Scalar], favoured: Scalar) -> tuple[Scalar, Scalar]:
    """Return whether a condition holds for a player, and which one: the favoured one if it holds for both."""
    return holds[0] | holds[1], where(holds[0] & holds[1], favoured, holds[1])


def paid(s: GameState, attempts: Scalar, uses_free: Scalar) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Return both players' Double Risk and Free cards after an action, and whether a card is lent.

    A loan goes from the bank to the opponent as a Free card (F19, G10).
    """
    me = s.current_player
    other = 1 - s.current_player
    own = select(s.dr, me)
    lends = attempts & (own == 0)
    free = put(s.free, me, select(s.free, me) - uses_free)
    return put(s.dr, me, own - (attempts & ~lends)), put(free, other, select(s.free, other) + lends), lends


def numbers_dealt(chance: Chance) -> list[Scalar]:
    """Return the slots of each player by number: the ranks of eight random keys."""
    keys = map_range(AGENTS, lambda agent: chance.bits(NUMBER_KEYS + agent))
    return [ranked(keys[SLOTS * player :][:SLOTS]) for player in range(PLAYERS)]


def ranked(keys: Sequence[Scalar]) -> Scalar:
    """Return the slots of eight keys by rank, four bits each; equal keys rank by slot."""
    slots = []
    for slot, key in enumerate(keys):
        precedes = [*(other <= key for other in keys[:slot]), *(other < key for other in keys[slot + 1 :])]
        slots.append(uint32(slot) << 4 * sum_of(precedes))
    return union_of(slots)
