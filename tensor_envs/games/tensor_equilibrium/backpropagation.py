"""Backpropagation: move the tokens and turn one tile of every type that moved up face-down."""

from __future__ import annotations

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import CODE_BITS, board_of
from tensor_envs.games.tensor_equilibrium.data import TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.players import at_top, by_tier
from tensor_envs.rules import GameState, Scalar, int32, minimum, select, sum_of, uint32, union_of, where

MAX_UPS = 3  # types that move up in one Backpropagation


def moves_up(rules: RuleFields, counts: Scalar) -> Scalar:
    """Return the flags of the types that move up, from the tally of face-up tiles (F34 to F36, F38)."""
    place = rules.tiebreak_order.index
    ahead = uint32(0)  # by type, the number of types ahead of it
    for k in range(1, TYPES):
        loses_ties = tally.pack([place((t + k) % TYPES) > place(t) for t in range(TYPES)])
        ahead = ahead + tally.not_less(tally.rotate(counts, k), counts + loses_ties)
    among_first = tally.at_least(ahead, MAX_UPS) ^ tally.ONES
    all_tied = counts == tally.rotate(counts, 1)
    return where(all_tied, 0, among_first & tally.at_least(counts, 1))


def backpropagate(rules: RuleFields, s: GameState, round_ends: Scalar, game_ends: Scalar) -> tuple[GameState, Scalar]:
    """Apply the Backpropagation that ends a round (F33) or the game (F41).

    Returns:
        The state, and whether the round limit is reached (G43).
    """
    rounds = s.round + round_ends
    capped = round_ends & (rounds == rules.max_rounds)
    flips = round_ends & ~capped  # G37
    level = []
    gpu = []
    tiles = []
    face_up = []
    pend_flip = []
    for p in range(rules.players):
        up = moves_up(rules, s.face_up[p])
        top = at_top(rules, s.level[p])
        down = (up ^ tally.ONES) & tally.at_least(s.level[p], 1)  # G19
        moved = s.level[p] + (up & ~top) - down
        level.append(where(round_ends | game_ends, moved, s.level[p]))
        paid = minimum(s.gpu[p] + by_tier(rules, s.level[p], rules.tier_income), rules.gpu_max)
        gpu.append(where(round_ends, paid, s.gpu[p]))
        flipped = where(flips, up if rules.flip_when_capped else up & ~top, 0)  # G21
        several = flipped & tally.at_least(s.face_up[p], 2)
        single = flipped ^ several  # G36: no choice
        board = board_of(rules, s, p)
        turned = union_of(where(tally.has(single, t), board.types[t], 0) for t in range(TYPES))
        tiles.append([*s.tiles[p][:CODE_BITS], board.face_up & ~turned])
        face_up.append(s.face_up[p] - single)
        pend_flip.append(where(flips, int32(tally.squeeze(several)), s.pend_flip[p]))
    changed = s.replace(
        level=level,
        gpu=gpu,
        tiles=tiles,
        face_up=face_up,
        pend_flip=pend_flip,
        round=rounds,
        ops=s.ops + where(round_ends, sum_of(s.hand), 0),
        order=where(round_ends, s.next_order, s.order),
        hand=[where(round_ends, 0, hand) for hand in s.hand],
        next_order=[where(round_ends, -1, player) for player in s.next_order],
        passed=[~round_ends & passed for passed in s.passed],
        n_passed=where(round_ends, 0, s.n_passed),
        pos=where(round_ends, 0, s.pos),
    )
    return changed, capped


def next_flip(rules: RuleFields, s: GameState, looks: Scalar) -> GameState:
    """Give the turn to the first player in order who has to choose a tile to flip, or start the round (F37, G36)."""
    player = s.order[0]
    phase = int32(Phase.MAIN)
    for other in reversed(s.order):
        chooses = select(s.pend_flip, other) != 0
        player = where(chooses, other, player)
        phase = where(chooses, Phase.FLIP, phase)
    return s.replace(current_player=where(looks, player, s.current_player), phase=where(looks, phase, s.phase))
