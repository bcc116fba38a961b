"""Three Will: bring three agents to the opponent's base, by dice, cards and stacks of two.

Rules and rulings: RULES.md beside this file; F, G and section numbers are its numbers. Four agents are a word
(`agents`) and thirty-two squares are one (`squares`), so that no rule goes through the sixteen agents one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

from tinygrad import Tensor, dtypes

from tensor_envs.core.memory import select, series
from tensor_envs.core.spec import Chance, Field, GameState, Mask, Outcome, Scalar, Spec
from tensor_envs.games.three_will.agents import Agents, count, everybody, of_player, packed
from tensor_envs.games.three_will.data import (
    ACTIONS,
    AGENTS,
    CES_CARDS,
    CHALLENGE,
    CHART,
    DIRECTIVE,
    EXAMINE,
    EXTRA_THROW,
    FACES,
    FMOVE,
    FREE,
    MOVE,
    NUMBER_KEYS,
    OPTIONS,
    OVER,
    PASS,
    PLAYERS,
    SET_UP,
    SLOTS,
    STARTER,
    STEPS,
    TOP_CARD,
    USE_FREE,
    Chart,
)
from tensor_envs.games.three_will.legal import legal_actions
from tensor_envs.games.three_will.observation import length, observation
from tensor_envs.games.three_will.operations import agents_after, deed

NOBODY = -1
MAX_CARDS = 127  # an int8 field counts them
MAX_TURNS = 2**30
SWITCHES = (
    "fail_ends_turn",
    "loan",
    "leap_diagonals",
    "supplementary",
    "challenge",
    "challenge_ends_turn",
    "ids_visible",
)


@dataclass(frozen=True)
class ThreeWillRules:
    """A field for every ruling that is a matter of choice; ValueError, naming the field, for what makes no game."""

    chart: Chart = CHART  # G1, G2: by face 1..6 one to three options (forward, right)
    first_player: int = -1  # G4: 0, 1, or -1 to draw
    fail_ends_turn: bool = True  # G9
    loan: bool = True  # G10
    cards_each: int = 4
    cards_total: int = 8
    leap_diagonals: bool = True  # G15
    held_under_locked: str = "released"  # G17: or "held"
    supplementary: bool = True  # G23
    challenge: bool = True  # G24
    challenge_ends_turn: bool = True  # G26
    ids_visible: bool = False  # G27
    max_turns: int = 600  # G28
    to_win: int = 3  # G29

    def __post_init__(self) -> None:
        chart = tuple(tuple(map(tuple, steps)) for steps in self.chart)
        object.__setattr__(self, "chart", chart)
        if len(chart) != FACES or not all(
            1 <= len(steps) <= OPTIONS and set(steps) <= set(STEPS) and len(set(steps)) == len(steps)
            for steps in chart
        ):
            raise ValueError(
                f"chart must give each of {FACES} faces 1 to {OPTIONS} different steps (forward, right) of -1, 0, 1, "
                f"not both 0, got {self.chart}"
            )
        for name in SWITCHES:
            self._check(name, (True, False))
        self._check("held_under_locked", ("released", "held"))
        self._check("first_player", range(-1, PLAYERS))
        self._check("cards_total", range(MAX_CARDS + 1))
        self._check("cards_each", range(self.cards_total // PLAYERS + 1))
        self._check("max_turns", range(1, MAX_TURNS + 1))
        self._check("to_win", range(1, SLOTS + 1))

    def _check(self, name: str, allowed: Sequence[Any]) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) != isinstance(allowed[0], bool) or value not in allowed:
            choice = (
                f"{allowed[0]}..{allowed[-1]}"
                if isinstance(allowed, range)
                else " or ".join(map(repr, allowed))
            )
            raise ValueError(f"{name} must be {choice}, got {value!r}")

    @cached_property
    def spec(self) -> Spec:
        counters = ("ces", "die", "phase", "challenge_left", "declarer", "turn_owner", "after", "winner")
        return Spec(
            num_players=PLAYERS,
            num_actions=ACTIONS,
            observation_shape=(length(self.ids_visible),),
            observation_dtype=dtypes.float32,
            chance=True,
            fields=(
                Field("agents", (AGENTS // 4,), dtypes.uint32),  # see `agents`
                Field("bearers", (PLAYERS,), dtypes.uint32),  # the slot of number n in bits 4n-4..4n-1
                Field("turns", (), dtypes.int32),
                Field("dr", (PLAYERS,)),
                Field("free", (PLAYERS,)),
                *map(Field, counters),
            ),
        )

    def init(self, chance: Chance) -> dict[str, Any]:
        return {
            "agents": packed(SET_UP, [0] * AGENTS),  # G3
            "bearers": numbers_dealt(chance),  # F3
            "ces": chance.draw(TOP_CARD, CES_CARDS),  # F5
            "dr": [self.cards_each] * PLAYERS,  # F6
            "die": 1 + chance.draw(DIRECTIVE, FACES),
            "phase": MOVE,
            "current_player": chance.draw(STARTER, PLAYERS) if self.first_player < 0 else self.first_player,
            "challenge_left": int(self.challenge),
            **dict.fromkeys(("declarer", "turn_owner", "after", "winner"), NOBODY),
        }

    def legal_action_mask(self, s: GameState) -> Mask:
        return legal_actions(self, s)

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        """The turn machine (4.3, 4.6)."""
        rolls = 2 * (s.ply + 1)
        done = deed(self, s, action, 1 + chance.draw(EXTRA_THROW + rolls, FACES))
        agents = agents_after(self, Agents(s.agents), done)
        me, other = s.current_player, 1 - s.current_player
        passes, uses_free, examines = action.eq(PASS), action.eq(USE_FREE), (action < EXAMINE).logical_not()
        operated, challenge = done.steps | done.stacks, s.phase.eq(CHALLENGE)

        # A won position is declared at once, and stands if nobody may challenge it (G21, G24). A challenge fails
        # if it is declined, with card 0 and with another number (F23); the declarer is the other player.
        won, victor = self.victor(agents, favoured=done.swaps.where(other, me))
        won = won & (operated | done.swaps)
        declares = won & operated & s.challenge_left.ne(0)
        upheld = challenge & done.swaps.logical_not()
        ends = upheld | (won & declares.logical_not())
        winner = upheld.where(other, victor)

        # Otherwise the operation, or the turn that a lost challenge resumes, may be followed by a Free card.
        resumes = done.swaps & won.logical_not()
        may_use_free = done.steps & done.leaps.logical_not() & (select(s.free, me) > 0)  # F10, F20, G13
        to_free = may_use_free & won.logical_not()
        turn_ends = (passes & challenge.logical_not()) | (operated & (won | may_use_free).logical_not())
        if self.fail_ends_turn:  # G9
            turn_ends = turn_ends | done.fails
        if self.challenge_ends_turn:  # G26
            turn_ends = turn_ends | resumes
        else:
            to_free = to_free | (resumes & s.after.eq(1))
            turn_ends = turn_ends | (resumes & s.after.ne(1))
        turns = s.turns + turn_ends.cast(dtypes.int32)
        truncated = turn_ends & (turns < self.max_turns).logical_not()  # G28
        next_turn = turn_ends & truncated.logical_not()

        phase = next_turn.where(MOVE, s.phase)
        phase = to_free.where(FREE, uses_free.where(FMOVE, phase))
        phase = (ends | truncated).where(OVER, declares.where(CHALLENGE, phase))
        turn_owner = resumes.where(s.turn_owner, me)
        dr, free = paid(s, attempts=done.stacks | done.fails, uses_free=uses_free)
        state = s.replace(
            agents=list(agents.words),
            turns=turns,
            dr=dr,
            free=free,
            die=(next_turn | uses_free).where(1 + chance.draw(DIRECTIVE + rolls, FACES), s.die),  # G12
            phase=phase,
            current_player=declares.where(1 - victor, next_turn.where(1 - turn_owner, turn_owner)),
            challenge_left=examines.where(0, s.challenge_left),
            declarer=declares.where(victor, resumes.where(NOBODY, s.declarer)),
            turn_owner=declares.where(me, resumes.where(NOBODY, s.turn_owner)),
            after=declares.where(
                may_use_free.where(me.const_like(1), NOBODY), resumes.where(NOBODY, s.after)
            ),
            winner=ends.where(winner, NOBODY),
        )
        reward = ends.where(1 - 2 * winner, 0)
        return Outcome(state, (reward, -reward), terminated=ends, truncated=truncated)

    def victor(self, agents: Agents, favoured: Scalar) -> tuple[Scalar, Scalar]:
        """Whether somebody has a winning position, and who: bases first, in each the favoured player first (G22)."""
        locked = agents.locked
        active = everybody() - locked - agents.lower
        by_base = [(count(of_player(locked, p)) < self.to_win).logical_not() for p in range(PLAYERS)]  # F7
        won, who = first_of(by_base, favoured)
        if not self.supplementary:
            return won, who
        by_blocking = [of_player(active, 1 - p).some.logical_not() for p in range(PLAYERS)]  # F8, F29, G23
        blocked, by_whom = first_of(by_blocking, favoured)
        return won | blocked, won.where(who, by_whom)

    def observe(self, s: GameState, player: Tensor) -> Tensor:
        return observation(self, s, player)


def first_of(holds: Sequence[Scalar], favoured: Scalar) -> tuple[Scalar, Scalar]:
    """Whether it holds for a player, and for whom: for the favoured one, if for both."""
    return holds[0] | holds[1], (holds[0] & holds[1]).where(favoured, holds[1].cast(dtypes.int32))


def paid(s: GameState, attempts: Scalar, uses_free: Scalar) -> tuple[list[Scalar], list[Scalar]]:
    """Double Risk and Free cards after an action. A loan goes from the bank to the other player (F19, G10)."""
    lends = attempts & select(s.dr, s.current_player).eq(0)
    dr, free = [], []
    for player in range(PLAYERS):
        mine = s.current_player.eq(player)
        spent = mine & attempts & lends.logical_not()
        dr.append(s.dr[player] - spent.cast(dtypes.int32))
        used, got = mine & uses_free, mine.logical_not() & lends
        free.append(s.free[player] - used.cast(dtypes.int32) + got.cast(dtypes.int32))
    return dr, free


def numbers_dealt(chance: Chance) -> list[Scalar]:
    """Either player's numbers, the ranks of eight keys, as the slots by number."""
    keys = series(AGENTS, lambda agent: chance.bits(agent + NUMBER_KEYS))
    return [ranked(keys[SLOTS * player :][:SLOTS]) for player in range(PLAYERS)]


def ranked(keys: Sequence[Scalar]) -> Scalar:
    """The slots of eight keys by rank, in four bits each."""
    ranks = [keys[0].const_like(0)] * SLOTS
    for slot in range(SLOTS):
        for before in range(slot):
            smaller = keys[slot] < keys[before]  # of equal keys the lower slot's comes first
            ranks[before] = ranks[before] + smaller.cast(dtypes.uint32)
            ranks[slot] = ranks[slot] + smaller.logical_not().cast(dtypes.uint32)
    return reduce(or_, (rank.const_like(slot) << (rank << 2) for slot, rank in enumerate(ranks)))
