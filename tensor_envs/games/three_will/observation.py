"""Observation (section 6)."""

from __future__ import annotations

from tensor_envs.games.three_will.agents import AgentWords, BoardView, place_of
from tensor_envs.games.three_will.data import (
    AGENTS,
    CHALLENGE,
    FACES,
    FMOVE,
    MOVE,
    PLAYERS,
    SIDE,
    SLOTS,
    ThreeWillFields,
)
from tensor_envs.games.three_will.operations import bearer
from tensor_envs.rules import Scalar, Value, float32, int32, select, sum_of, where
from tensor_envs.rules.observation import Observation, Part, number, one_hot
from tensor_envs.rules.spec import GameState

STANDINGS = 3  # active, held, locked
CARDS = 2 * PLAYERS + 1  # Double Risk and Free cards of both, the bank
SEEN = AGENTS * (2 * SIDE + STANDINGS) + FACES + CHALLENGE + 1 + CARDS + 3


def length(ids_visible: bool) -> int:
    """Return the length of an observation."""
    return SEEN + AGENTS * ids_visible


def observation(rules: ThreeWillFields, s: GameState, player: Scalar) -> Observation:
    """Return the parts of an observation by their names."""
    other = 1 - player
    directed = (s.phase == MOVE) | (s.phase == FMOVE)
    dr, free = ([select(pile, player), select(pile, other)] for pile in (s.dr, s.free))
    bank = rules.cards_total - sum_of(dr + free)
    board = BoardView.seen_by(s, player)
    parts: dict[str, Part | list[Part]] = {
        "row, column and standing of each own agent": agents_seen(board.own, goal_row=SIDE - 1),
        "row, column and standing of each opposing agent": agents_seen(board.other, goal_row=0),
        "die, while it directs": one_hot(where(directed, s.die - 1, -1), FACES),
        "phase": one_hot(s.phase, CHALLENGE + 1),
        "Double Risk cards of both players, of all that one may have": [share(cards, rules.cards_each) for cards in dr],
        "Free cards of both players, of all cards": [share(cards, rules.cards_total) for cards in free],
        "cards of the bank, of all cards": share(bank, rules.cards_total),
        "whether a challenge is left": number(s.challenge_left),
        "turns, of the most": share(s.turns, rules.max_turns),
        "whether the player moves": number(s.current_player == player),
    }
    if rules.ids_visible:  # G27
        sides = (numbers(select(s.bearers, p)) for p in (player, other))
        parts["numbers of own and opposing agents"] = [share(n, SLOTS) for side in sides for n in side]
    return parts


def agents_seen(agents: AgentWords, goal_row: int) -> list[Part]:
    """Return the rows, columns and standings of a player's agents."""
    parts: list[Part] = []
    for slot in range(SLOTS):
        place = int32(place_of(agents, slot))
        row = place >> 3 & 7
        column = place & 7
        level = place >> 6
        standing = where(row == goal_row, 2, level)
        parts += [one_hot(row, SIDE), one_hot(column, SIDE), one_hot(standing, STANDINGS)]
    return parts


def share(value: Value, maximum: int) -> Part:
    """Return a value divided by its maximum."""
    return number(float32(value) * (1 / max(1, maximum)))


def numbers(slots: Scalar) -> list[Scalar]:
    """Convert slots by number to numbers by slot."""
    bearers = [bearer(slots, n) for n in range(1, SLOTS + 1)]
    return [sum_of((b == slot) * n for n, b in enumerate(bearers, start=1)) for slot in range(SLOTS)]
