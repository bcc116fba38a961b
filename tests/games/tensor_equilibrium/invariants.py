"""Invariants I1 to I19 of the game's rules file; I20, a symmetry of whole games, has a separate test."""

from tests.games.tensor_equilibrium.position import Position
from tests.games.tensor_equilibrium.rules import Act, Phase


def check_state(s: Position) -> None:
    """Assert the invariants of every state by itself."""
    check_counts(s)
    rules, seats, over = s.rules, range(s.num_players), s.phase == Phase.OVER
    for p in seats:
        assert all(rules.level_min <= level <= rules.level_max for level in s.level[p]), "I4"
        assert 0 <= s.gpu[p] <= rules.gpu_max, "I5"
        assert over or sum(s.hand[p]) <= s.hand_limit(p), "I6"
        assert sum(s.storage[p]) <= max(rules.tier_storage), "I7"
        assert all(0 <= code <= 10 and (light or not code) for code, light in zip(s.board[p], s.light, strict=True)), (
            "I8"
        )
        assert s.phase <= Phase.SETUP_CELL or any(s.board[p]) or rules.min_board_tiles == 0, "I9"
        for t in range(5):
            choice = s.phase == Phase.FLIP and s.board[p].count(1 + t) >= 2
            assert choice or not s.pend_flip[p][t], "I18"
    assert sum(s.market) <= rules.market_size, "I10"
    assert s.phase != Phase.MAIN or s.final or sum(s.market) == rules.market_size, "I10"
    assert s.final == (s.phase > Phase.SETUP_CELL and sum(s.pile) == 0), "I11"
    assert sorted(s.order) == list(seats), "I12"
    assert sorted(s.next_order[: s.n_passed]) == [p for p in seats if s.passed[p]], "I12"
    assert s.next_order[s.n_passed :] == [-1] * (len(seats) - s.n_passed), "I12"
    legal = s.legal_actions()
    assert legal == sorted(set(legal)) and s.done == over == (not legal), "I13"
    if s.phase == Phase.MAIN:
        assert s.actor == s.turn == s.order[s.pos] and Act.PASS in legal, "I14"
        assert s.final or not s.passed[s.actor], "I14"
        assert s.pend_target == s.pend_type == s.pend_slot == -1, "I19"
        assert s.picks_left == s.tweaks_left == 0, "I19"
    assert abs(sum(s.rewards)) < 1e-9 and (over or not any(s.rewards)), "I15"


def check_counts(s: Position) -> None:
    """Assert that tiles and cards are neither made nor lost."""
    for t in range(5):
        tiles = s.pile[t] + s.market[t] + s.supply[t] + sum(storage[t] for storage in s.storage)
        tiles += sum(board.count(1 + t) + board.count(6 + t) for board in s.board)
        tiles += s.phase == Phase.PLACE and s.pend_type == t
        assert tiles == s.rules.tiles_per_type, "I1"
    for o in range(4):
        assert s.ops[o] + sum(hand[o] for hand in s.hand) == s.rules.op_copies[s.num_players - 1], "I2"
    piles = [s.pile, s.market, s.supply, s.ops, [s.picks_left, s.tweaks_left, s.final_left], *s.storage, *s.hand]
    assert all(min(pile) >= 0 for pile in piles), "I3"


def check_step(before: Position, after: Position) -> None:
    """Assert the invariants between a state and the next."""
    seats = range(after.num_players)
    placed = [(p, h) for p in seats for h in after.cells if after.board[p][h] and not before.board[p][h]]
    assert len(placed) <= 2, "I8"
    if before.phase in (Phase.PLACE, Phase.ADD_CELL, Phase.MUL_CELL):
        assert len(placed) == (2 if before.phase == Phase.MUL_CELL else 1), "I17"
        assert any(before.touches(p, h) for p, h in placed), "I17"
    if before.phase == Phase.PLACE:
        assert all(before.touches_partner(p, h, before.pend_type) for p, h in placed), "I17"
    for p in seats:
        fuller = sum(after.storage[p]) > sum(before.storage[p])
        assert not fuller or after.done or sum(after.storage[p]) <= after.storage_limit(p), "I7"
        moves = sorted(new - old for new, old in zip(after.level[p], before.level[p], strict=True))
        if after.done or after.round > before.round:
            assert moves[0] >= -1 and moves[-1] <= 2, "I16"
        else:
            tweaked = before.phase == Phase.TWEAK and before.actor == p
            assert moves == [0] * 5 or (tweaked and moves == [0, 0, 0, 0, 1]), "I16"
            assert after.passed[p] >= before.passed[p], "I16"
