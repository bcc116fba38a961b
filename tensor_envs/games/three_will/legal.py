"""Legal actions: options of the directive, passing, Free cards and the choice of a challenger."""

from __future__ import annotations

from tensor_envs.games.three_will.agents import BoardView, count, locked, place_of, turned
from tensor_envs.games.three_will.data import CHALLENGE, FMOVE, FREE, MOVE, OPTIONS, SLOTS, ThreeWillFields
from tensor_envs.games.three_will.squares import ALL, OTHER_GOAL, OWN_GOAL, direction, inside, next_to, squares_of
from tensor_envs.rules import GameState, Scalar, halves, has_bit, int32, select, sum_of, uint64, where


def legal_actions(rules: ThreeWillFields, s: GameState) -> list[Scalar]:
    """Return whether each action is legal (section 4)."""
    board = BoardView.seen_by(s, s.current_player)
    sources, step_exists = operations(rules, s, board)
    scopes = [halves(scope) for scope in sources]
    context = halves(where(s.phase == CHALLENGE, examinable(rules, board), 0))
    own, other = ([place_of(agents, slot) for slot in range(SLOTS)] for agents in board)
    return [
        *(has_bit(scope, int32(place & 63)) & (place & 64 == 0) for place in own for scope in scopes),
        ~step_exists,  # F9, G11, G14
        s.phase == FREE,
        *(has_bit(context, int32(place & 63)) for place in other),
    ]


def operations(rules: ThreeWillFields, s: GameState, board: BoardView) -> tuple[list[Scalar], Scalar]:
    """Return the squares of the agents that may follow each option of the directive (4.2), and whether a step exists.

    A step is a move onto an empty square that crosses no edge.
    """
    mine = squares_of(board.own, 0)
    theirs = squares_of(board.other, 0)
    operating = (s.phase == MOVE) | (s.phase == FMOVE)
    active = mine & ~OWN_GOAL  # F11, F15
    movable = where(operating, active, 0)
    stackable = where(payable(rules, s), active | (theirs & ~OTHER_GOAL), 0)  # F17, G19
    empty = ~(mine | theirs)
    scopes = []
    steps = uint64(0)
    for option in range(OPTIONS):
        ahead = direction(rules.chart, option, s.die)
        vacant = next_to(empty, ahead)
        within = inside(ahead)
        leaping = s.phase == FMOVE  # F21
        if not rules.leap_diagonals:  # G15
            leaping = leaping & (ahead.forward == 0)
        able = where(ahead.exists, movable, 0)
        scopes.append((vacant | next_to(stackable, ahead)) & where(leaping, ALL, within) & able)
        steps = steps | (vacant & within & able)
    return scopes, steps != 0


def payable(rules: ThreeWillFields, s: GameState) -> Scalar:
    """Return whether the player to act has a Double Risk card or, with none, may borrow one (F19, G10)."""
    has_own = select(s.dr, s.current_player) > 0
    return has_own | (sum_of([*s.dr, *s.free]) != rules.cards_total) if rules.loan else has_own


def examinable(rules: ThreeWillFields, board: BoardView) -> Scalar:
    """Return the squares of the declarer's agents in the context of the declared win (F29, G24).

    The context is the declarer's goal row or, if that is no win, the squares where the declarer holds agents.
    """
    in_base = count(locked(turned(board.other)))
    held = squares_of(board.own, 1) & ~OWN_GOAL
    return where(in_base < rules.to_win, held, OTHER_GOAL)
