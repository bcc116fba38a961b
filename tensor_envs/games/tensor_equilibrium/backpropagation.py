"""Backpropagation: tokens move, and a tile of every type that moved up is turned face-down."""

from __future__ import annotations

from functools import reduce
from operator import or_

from tinygrad import dtypes

from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import CODE_BITS, PLANES, board_of
from tensor_envs.games.tensor_equilibrium.data import TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.players import at_top, bits_of, by_tier, has_bit, seat_at

UPS = 3  # types that move up at most


def moves_up(rules: RuleFields, counts: Scalar) -> Scalar:
    """Flags of the types that move up, by face-up tiles (F34 to F36, F38)."""
    place = rules.tiebreak_order.index
    ahead = counts.const_like(0)  # for every type, how many come before it
    for k in range(1, TYPES):
        other = tally.rotate(counts, k)
        loses_ties = tally.pack([place((t + k) % TYPES) > place(t) for t in range(TYPES)])
        ahead = ahead + (((other | tally.SPARE) - counts - loses_ties & tally.SPARE) >> tally.BITS - 1)
    first = tally.at_least(ahead, UPS) ^ tally.ONES
    tied = counts.eq(tally.rotate(counts, 1))
    return tied.where(0, first & tally.at_least(counts, 1))


def backpropagate(
    rules: RuleFields, s: GameState, round_ends: Scalar, game_ends: Scalar
) -> tuple[GameState, Scalar]:
    """The end of a round (F33), or the last Backpropagation (F41) -> also whether the rounds are used up (G43)."""
    players = range(rules.players)
    either = round_ends | game_ends
    rounds = s.round + round_ends.where(1, 0)
    capped = round_ends & rounds.eq(rules.max_rounds)
    flips = round_ends & capped.logical_not()  # G37
    level, gpu, tiles, faces, pending = [], [], list(s.tiles), [], []
    for p in players:
        up, top = moves_up(rules, s.face_up[p]), at_top(rules, s.level[p])
        down = (up ^ tally.ONES) & tally.at_least(s.level[p], 1)  # G19
        moved = s.level[p] + (up & ~top) - down
        level.append(either.where(moved, s.level[p]))
        paid = s.gpu[p] + by_tier(rules, s.level[p], rules.tier_income)
        gpu.append(round_ends.where((paid > rules.gpu_max).where(rules.gpu_max, paid), s.gpu[p]))
        flipped = flips.where(up if rules.flip_when_capped else up & ~top, 0)  # G21
        several = flipped & tally.at_least(s.face_up[p], 2)
        single = flipped ^ several  # G36: flipped without asking
        board = board_of(rules, s, p)
        turned = [(single >> tally.BITS * t & 1).ne(0).where(board.types[t], 0) for t in range(TYPES)]
        tiles[p * PLANES + CODE_BITS] = board.face_up & ~reduce(or_, turned)
        faces.append(s.face_up[p] - single)
        asked = tally.squeeze(several).cast(dtypes.int32)
        pending.append(flips.where(asked, s.pend_flip[p]))
    hands = reduce(lambda a, b: a + b, s.hand)
    changed = s.replace(
        ops=s.ops + round_ends.where(hands, 0),
        hand=[round_ends.where(0, hand) for hand in s.hand],
        order=round_ends.where(s.next_order, s.order),
        next_order=round_ends.where(0, s.next_order),
        passed=round_ends.where(0, s.passed),
        n_passed=round_ends.where(0, s.n_passed),
        round=rounds,
        pos=round_ends.where(0, s.pos),
        level=level,
        gpu=gpu,
        tiles=tiles,
        face_up=faces,
        pend_flip=pending,
    )
    return changed, capped


def next_flip(rules: RuleFields, s: GameState, looks: Scalar) -> GameState:
    """The first player in turn order who has to choose a tile to flip, else the round begins (F37, G36)."""
    waiting = bits_of([types.ne(0) for types in s.pend_flip])
    seat = seat_at(s.order, s.pos.const_like(0))
    phase = s.phase.const_like(Phase.MAIN)
    for position in reversed(range(rules.players)):
        other = seat_at(s.order, s.pos.const_like(position))
        chooses = has_bit(waiting, other)
        seat, phase = chooses.where(other, seat), chooses.where(Phase.FLIP, phase)
    return s.replace(current_player=looks.where(seat, s.current_player), phase=looks.where(phase, s.phase))
