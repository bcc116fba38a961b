"""Observation: everything but the order of the pile, players counted from the observer on (RULES.md, "Observation")."""

from __future__ import annotations

from collections.abc import Sequence

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import board_of
from tensor_envs.games.tensor_equilibrium.data import MAX_INT8, OPERATIONS, PHASES, TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon
from tensor_envs.games.tensor_equilibrium.players import by_tier, wrapped
from tensor_envs.rules import Scalar, Value, int32, select, sum_of, uint64, where
from tensor_envs.rules.observation import Observation, Part, bits, number, one_hot
from tensor_envs.rules.spec import GameState

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


def observation(rules: RuleFields, s: GameState, observer: Scalar) -> Observation:
    """Return the parts of `cells`, `holdings`, `table` and `pending`, and the mask, by their names."""
    # the observer is -1 after the end: the view is the last seat's then
    first = where(observer < 0, rules.players - 1, observer)
    players = [wrapped(rules, first + k) for k in range(rules.players)]
    mask = [where(observer == s.current_player, actions, 0) for actions in s.legal_action_mask]
    named = [f"player +{k}" for k in range(rules.players)]  # in turn order, the observer first
    parts: dict[str, Part | list[Part]] = {}
    for name, player in zip(named, players, strict=True):
        parts[f"{name}: tiles face-up, then face-down, of each type"] = cells(rules, s, player)
    for name, player in zip(named, players, strict=True):
        parts |= {f"{name}: {of}": part for of, part in holdings(rules, s, player).items()}
    return parts | table(rules, s) | pending(rules, s, players) | {"legal actions": bits(mask, rules.num_actions)}


def numbers(values: Sequence[Value]) -> list[Part]:
    """Return a part for each value."""
    return [number(value) for value in values]


def cells(rules: RuleFields, s: GameState, player: Scalar) -> list[Part]:
    """Return a plane for every type face-up, then one for every type face-down."""
    board = board_of(rules, s, player)
    numbered = Hexagon(rules.board_radius).numbered
    up = [numbered(tiles & board.face_up) for tiles in board.types]
    down = [numbered(tiles & ~board.face_up) for tiles in board.types]
    return [bits(plane, rules.cells) for plane in up + down]


def holdings(rules: RuleFields, s: GameState, player: Scalar) -> dict[str, Part | list[Part]]:
    """Return a player's tokens, tiles, cards, limits and place in the order."""
    level = select(s.level, player)
    tiers = (rules.tier_hand, rules.tier_storage, rules.tier_income)
    turn = where(s.phase == Phase.TWEAK, select(s.order, s.pos), s.current_player)  # else the player to move's
    return {
        "level of each type": numbers([n + rules.level_min for n in counts(level)]),
        "stored tiles of each type": numbers(counts(select(s.storage, player))),
        "cards of each operation": numbers(counts(select(s.hand, player), len(OPERATIONS))),
        "GPU": number(select(s.gpu, player)),
        "rows taken": bits(select(s.rows, player), 2 * TYPES),
        "types to flip": bits(select(s.pend_flip, player), TYPES),
        "has passed": number(select(s.passed, player)),
        "place in the order": number(index_in(player, s.order)),
        "place in the next order": number(index_in(player, s.next_order)),
        "limits of hand, storage and income": numbers([by_tier(rules, level, values) for values in tiers]),
        "has the turn": number(turn == player),
    }


def index_in(player: Scalar, order: Sequence[Scalar]) -> Scalar:
    """Return the index of a player in an order, or -1 if the player is not in it."""
    index = int32(-1)
    for i, other in enumerate(order):
        index = where(other == player, i, index)
    return index


def counts(packed: Scalar, size: int = TYPES) -> list[Scalar]:
    """Return the first `size` counts of a tally."""
    return [tally.number(packed, i) for i in range(size)]


def table(rules: RuleFields, s: GameState) -> dict[str, Part | list[Part]]:
    """Return the market, operation cards, supply, pile and the progress of the game."""
    pile = counts(s.pile)
    progress = [s.picks_left, s.tweaks_left, s.final, s.final_left, s.round, rules.players]
    return {
        "market, tiles of each type": numbers(counts(s.market)),
        "operation cards of each kind": numbers(counts(s.ops, len(OPERATIONS))),
        "supply, tiles of each type": numbers(counts(s.supply)),
        "tiles in the pile": number(sum_of(pile)),
        "pile, tiles of each type if observe_pile_counts": numbers(
            pile if rules.observe_pile_counts else [0] * TYPES  # G44
        ),
        "picks left, tweaks left, final round, final turns left, round, players": numbers(progress),
    }


def pending(rules: RuleFields, s: GameState, players: Sequence[Scalar]) -> dict[str, Part | list[Part]]:
    """Return the phase and the pending choices."""
    cell = where(s.pend_bit < 0, 0, uint64(1) << (s.pend_bit & 63))
    return {
        "phase": one_hot(s.phase, PHASES),
        "pending target, as player +k": bits([player == s.pend_target for player in players], rules.players),
        "pending type": one_hot(s.pend_type, TYPES),
        "pending cell": bits(Hexagon(rules.board_radius).numbered(cell), rules.cells),
        "pending direction": one_hot(where(s.phase == Phase.MUL_CELL, s.pend_direction, -1), len(STRIDES)),
    }
