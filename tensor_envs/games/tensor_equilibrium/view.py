"""Observation: everything but the order of the pile, players counted from the observer on (RULES.md, "Observation")."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import board_of
from tensor_envs.games.tensor_equilibrium.data import MAX_INT8, OPERATIONS, PHASES, TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon
from tensor_envs.games.tensor_equilibrium.players import by_tier, wrapped
from tensor_envs.rules import (
    GameState,
    Part,
    Scalar,
    Value,
    bits,
    integer,
    number,
    one_hot,
    select,
    sum_of,
    where,
    word64,
)

NUMBERS_OF_PLAYER = 37
NUMBERS_OF_TABLE = 26


def observation_size(rules: RuleFields) -> int:
    """Return the length of an observation without the mask."""
    by_player = rules.players * (2 * TYPES * rules.cells + NUMBERS_OF_PLAYER) + NUMBERS_OF_TABLE
    return by_player + PHASES + rules.players + TYPES + rules.cells + len(STRIDES)


def observation_dtype(rules: RuleFields) -> str:
    """Return the dtype of an observation: int8 unless rounds or pile counts exceed it."""
    greatest = max(rules.max_rounds, TYPES * rules.tiles_per_type_per_player * rules.players)
    return "int8" if greatest <= MAX_INT8 else "int16"


def observation(rules: RuleFields, s: GameState, observer: Scalar) -> list[Part]:
    """Return the parts `cells`, `players`, `table`, `pending` and `mask`."""
    # the observer is -1 after the end: the view is the last seat's then
    first = where(observer < 0, rules.players - 1, observer)
    players = [wrapped(rules, first + k) for k in range(rules.players)]
    mask = [where(observer == s.current_player, actions, 0) for actions in s.legal_action_mask]
    return [
        *(part for player in players for part in cells(rules, s, player)),
        *(part for player in players for part in holdings(rules, s, player)),
        *table(rules, s),
        *pending(rules, s, players),
        bits(mask, rules.num_actions),
    ]


def numbers(*values: Value) -> list[Part]:
    """Return a part for each value."""
    return [number(value) for value in values]


def cells(rules: RuleFields, s: GameState, player: Scalar) -> list[Part]:
    """Return a plane for every type face-up, then one for every type face-down."""
    board, numbered = board_of(rules, s, player), Hexagon(rules.board_radius).numbered
    up = [numbered(tiles & board.face_up) for tiles in board.types]
    down = [numbered(tiles & ~board.face_up) for tiles in board.types]
    return [bits(plane, rules.cells) for plane in up + down]


def holdings(rules: RuleFields, s: GameState, player: Scalar) -> list[Part]:
    """Return a player's tokens, tiles, cards, limits and place in the order."""
    level, tiers = select(s.level, player), (rules.tier_hand, rules.tier_storage, rules.tier_income)
    turn = where(s.phase == Phase.TWEAK, select(s.order, s.pos), s.current_player)  # else the player to move's
    return [
        *numbers(*(n + rules.level_min for n in counts(level))),
        *numbers(*counts(select(s.storage, player))),
        *numbers(*counts(select(s.hand, player), len(OPERATIONS))),
        number(select(s.gpu, player)),
        bits(select(s.rows, player), 2 * TYPES),
        bits(select(s.pend_flip, player), TYPES),
        number(select(s.passed, player)),
        number(place_of(player, s.order)),
        number(place_of(player, s.next_order)),
        *numbers(*(by_tier(rules, level, values) for values in tiers)),
        number(turn == player),
    ]


def place_of(player: Scalar, order: Sequence[Scalar]) -> Scalar:
    """Return a player's position in an order, or -1."""
    place = integer(-1)
    for i, other in enumerate(order):
        place = where(other == player, i, place)
    return place


def counts(packed: Scalar, size: int = TYPES) -> list[Scalar]:
    """Return the first `size` counts of a tally."""
    return [tally.number(packed, i) for i in range(size)]


def table(rules: RuleFields, s: GameState) -> list[Part]:
    """Return the market, operation cards, supply, pile and the progress of the game."""
    pile = counts(s.pile)
    return numbers(
        *counts(s.market),
        *counts(s.ops, len(OPERATIONS)),
        *counts(s.supply),
        sum_of(pile),
        *(pile if rules.observe_pile_counts else [0] * TYPES),  # G44
        *(s.picks_left, s.tweaks_left, s.final, s.final_left, s.round, rules.players),
    )


def pending(rules: RuleFields, s: GameState, players: Sequence[Scalar]) -> list[Part]:
    """Return the phase and the pending choices."""
    cell = where(s.pend_bit < 0, 0, word64(1) << (s.pend_bit & 63))
    return [
        one_hot(s.phase, PHASES),
        bits([player == s.pend_target for player in players], rules.players),
        one_hot(s.pend_type, TYPES),
        bits(Hexagon(rules.board_radius).numbered(cell), rules.cells),
        one_hot(where(s.phase == Phase.MUL_CELL, s.pend_direction, -1), len(STRIDES)),
    ]
