"""What a player sees (RULES.md, "Observation"): all but the order of the pile, seats counted from the observer on."""

from __future__ import annotations

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from tensor_envs.core.spec import GameState
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import CODE_BITS
from tensor_envs.games.tensor_equilibrium.data import MAX_INT8, OPERATIONS, PHASES, TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon
from tensor_envs.games.tensor_equilibrium.players import SEAT_BITS, by_tier
from tensor_envs.ops.bits import WORD

NUMBERS_OF_PLAYER = 37
NUMBERS_OF_TABLE = 26


def observation_size(rules: RuleFields) -> int:
    """Entries of an observation without the mask."""
    seen = rules.players * (2 * TYPES * rules.cells + NUMBERS_OF_PLAYER) + NUMBERS_OF_TABLE
    return seen + PHASES + rules.players + TYPES + rules.cells + len(STRIDES)


def observation_dtype(rules: RuleFields) -> DType:
    """Rounds may be more than int8 holds."""
    return dtypes.int8 if rules.max_rounds <= MAX_INT8 else dtypes.int16


def observation(rules: RuleFields, s: GameState, player: Tensor) -> Tensor:
    """Parts `cells`, `players`, `table`, `pending` and `mask`, end to end."""
    batch = player.shape[0]
    seats = Tensor.arange(rules.players)
    # after the end there is no player to move: seen from the last seat then
    nearest = (player.reshape(batch, 1) + rules.players + seats) % rules.players  # (B, P), the k-th seat
    turned = (nearest.unsqueeze(-1) == seats).unsqueeze(-1)  # (B, P, P, 1)

    def from_observer(values: Tensor) -> Tensor:
        """(B, P, n) by seat -> the same by distance from the observer."""
        return (turned.where(values.unsqueeze(1), 0)).sum(2)

    codes = from_observer(tile_codes(rules, s).cast(dtypes.int8).contiguous())
    kinds = Tensor.arange(1, 2 * TYPES + 1, dtype=dtypes.int8).reshape(1, 1, -1, 1)
    seen = [
        (codes.unsqueeze(2) == kinds).flatten(1),
        from_observer(numbers(rules, s)).flatten(1),
        table(rules, s),
        pending(rules, s, nearest),
        s.legal_action_mask & (player == s.current_player).reshape(batch, 1),
    ]
    # each part is a kernel of its own: in one, every entry would be computed in the way of every part
    dtype = observation_dtype(rules)
    return Tensor.cat(*(part.cast(dtype).contiguous() for part in seen), dim=1)


def cell_bits(rules: RuleFields) -> Tensor:
    """(H,): the bit of every cell."""
    rows = Hexagon(rules.board_radius).rows
    return Tensor.cat(*(Tensor.arange(row.bit, row.bit + row.size) for row in rows))


def tile_codes(rules: RuleFields, s: GameState) -> Tensor:
    """(B, P, H): the code of every cell, 1 + t for a face-up tile of type t, 6 + t for a face-down one."""
    halves = s.tiles.unsqueeze(-1)  # (B, P, 4, 2, 1)
    bits = cell_bits(rules)
    amounts = (bits % WORD).cast(dtypes.uint32)
    planes = ((bits < WORD).where(halves[:, :, :, 0], halves[:, :, :, 1]) >> amounts & 1).cast(dtypes.int32)
    code = planes[:, :, 0] + planes[:, :, 1] * 2 + planes[:, :, 2] * 4
    return (planes[:, :, CODE_BITS] != 0).where(code, code + (code != 0) * TYPES)


def spread(words: Tensor, slots: int, bits: int) -> Tensor:
    """(B, ...) words -> (B, ..., slots): the numbers in them, of so many bits each."""
    amounts = (Tensor.arange(slots) * bits).cast(words.dtype)
    return ((words.unsqueeze(-1) >> amounts) & ((1 << bits) - 1)).cast(dtypes.int32)


def numbers(rules: RuleFields, s: GameState) -> Tensor:
    """(B, P, 37), see NUMBERS in RULES.md."""
    players = rules.players
    level = spread(s.level, TYPES, tally.BITS) + rules.level_min
    seats = Tensor.arange(players)
    order = spread(s.order, players, SEAT_BITS)  # (B, P): the seat at every place
    places = Tensor.arange(players).reshape(1, -1, 1)
    place = ((order.unsqueeze(-1) == seats) * places).sum(1)
    spots = spread(s.next_order, players, SEAT_BITS).unsqueeze(-1) == seats
    filled = places < s.n_passed.reshape(-1, 1, 1).cast(dtypes.int32)
    next_place = ((spots & filled) * (places + 1)).sum(1) - 1
    turn_seat = ((Tensor.arange(players) == s.pos.reshape(-1, 1).cast(dtypes.int32)) * order).sum(1)
    turn = (s.phase == Phase.TWEAK).where(turn_seat, s.current_player)  # else the turn is the decider's
    singles = [
        (s.passed.reshape(-1, 1) >> seats.cast(s.passed.dtype)) & 1,
        place,
        next_place,
        by_tier(rules, s.level, rules.tier_hand),
        by_tier(rules, s.level, rules.tier_storage),
        by_tier(rules, s.level, rules.tier_income),
        turn.reshape(-1, 1) == seats,
    ]
    parts = [
        level,
        spread(s.storage, TYPES, tally.BITS),
        spread(s.hand, len(OPERATIONS), tally.BITS),
        s.gpu.unsqueeze(-1),
        spread(s.rows.cast(dtypes.int32), 2 * TYPES, 1),
        spread(s.pend_flip.cast(dtypes.int32), TYPES, 1),
        Tensor.stack(*(single.cast(dtypes.int32) for single in singles), dim=-1),
    ]
    return Tensor.cat(*(part.cast(dtypes.int32) for part in parts), dim=-1)


def table(rules: RuleFields, s: GameState) -> Tensor:
    """(B, 26): what lies on the table and how far the game is."""
    batch = s.pile.shape[0]
    pile = spread(s.pile, TYPES, tally.BITS)
    singles = [s.picks_left, s.tweaks_left, s.final, s.final_left, s.round]
    parts = [
        spread(s.market, TYPES, tally.BITS),
        spread(s.ops, len(OPERATIONS), tally.BITS),
        spread(s.supply, TYPES, tally.BITS),
        pile.sum(-1, keepdim=True),
        pile if rules.observe_pile_counts else pile.const_like(0),  # G44
        *(single.reshape(batch, 1).cast(dtypes.int32) for single in singles),
        s.pile.const_like(rules.players).reshape(batch, 1).cast(dtypes.int32),
    ]
    return Tensor.cat(*parts, dim=1)


def pending(rules: RuleFields, s: GameState, nearest: Tensor) -> Tensor:
    """(B, 16 + P + 5 + H + 3): the phase, and what is on its way."""

    def one_hot(values: Tensor, size: int) -> Tensor:
        return values.reshape(-1, 1).cast(dtypes.int32) == Tensor.arange(size)

    copying = s.phase == Phase.MUL_CELL
    parts = [
        one_hot(s.phase, PHASES),
        s.pend_target.reshape(-1, 1).cast(dtypes.int32) == nearest,
        one_hot(s.pend_type, TYPES),
        s.pend_bit.reshape(-1, 1).cast(dtypes.int32) == cell_bits(rules),
        one_hot(s.pend_direction, len(STRIDES)) & copying.reshape(-1, 1),
    ]
    return Tensor.cat(*parts, dim=1)
