"""Which actions are legal: what the directive allows, passing, Free cards, the choice of a challenger."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from tensor_envs.core.memory import select
from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.three_will.agents import FLAG, Agents, count, of_player
from tensor_envs.games.three_will.data import (
    CHALLENGE,
    EXAMINE,
    FMOVE,
    FREE,
    MOVE,
    OPTIONS,
    PASS,
    SLOTS,
    USE_FREE,
)
from tensor_envs.games.three_will.sets import Bits, choose, word
from tensor_envs.games.three_will.squares import (
    STRAIGHT,
    decoded,
    directions,
    goal_row,
    inside,
    next_to,
    of_level,
    stands_on,
)
from tensor_envs.ops.bits import WORD

if TYPE_CHECKING:
    from tensor_envs.games.three_will.rules import ThreeWillRules


def legal_actions(rules: ThreeWillRules, s: GameState) -> list[Scalar]:
    """The mask (section 4)."""
    white = s.current_player.eq(0)
    own, other = Agents(s.agents).of(white), Agents(s.agents).of(white.logical_not())
    operating = s.phase.eq(MOVE) | s.phase.eq(FMOVE)
    scope, step_exists = scopes(rules, s, own, other)
    operations = gathered(options(own, slot, scope) << OPTIONS * slot for slot in range(SLOTS))
    compelled = operating & step_exists  # F9, G11, G14
    context = examinable(rules, s, own)
    examined = gathered(stands_on(other, slot, context) << slot for slot in range(SLOTS))
    examined = s.phase.eq(CHALLENGE).where(examined, 0)
    actions = (
        operating.where(operations, 0),
        compelled.where(word(0), word(1 << PASS)),
        s.phase.eq(FREE).where(word(1 << USE_FREE), word(0)),
        examined << EXAMINE,
    )
    return [gathered(actions), examined >> WORD - EXAMINE]


def gathered(bits: Iterable[Scalar]) -> Scalar:
    return reduce(or_, bits)


def scopes(rules: ThreeWillRules, s: GameState, own: Agents, other: Agents) -> tuple[list[Bits], Scalar]:
    """For every option of the directive the squares from which an active agent may follow it (4.2), and whether a
    step, no leap nor attempt, is among them."""
    white = s.current_player.eq(0)
    mine, theirs = of_level(own, 0), of_level(other, 0)
    movable = mine - goal_row(white)  # F11, F15
    stackable = movable | (theirs - goal_row(white.logical_not()))  # F17, G19
    stackable = stackable.only_if(payable(rules, s))
    empty = Bits.constant(0xFFFFFFFF, 0xFFFFFFFF) - (mine | theirs)
    found, steps_found = [], Bits.constant(0, 0)
    for ahead in map(decoded, directions(rules.chart, white, s.die)):
        vacant, within = next_to(empty, ahead), inside(ahead)
        leaping = s.phase.eq(FMOVE)  # F21
        if not rules.leap_diagonals:  # G15
            leaping = leaping & ahead.row.eq(STRAIGHT)
        open_ = within | Bits.constant(0xFFFFFFFF, 0xFFFFFFFF).only_if(leaping)
        found.append(((vacant | next_to(stackable, ahead)) & open_ & movable).only_if(ahead.exists))
        steps_found = steps_found | (vacant & within & movable).only_if(ahead.exists)
    return found, steps_found.some


def payable(rules: ThreeWillRules, s: GameState) -> Scalar:
    """Whether the player to act has a Double Risk card or, with none, may borrow one (F19, G10)."""
    has_own = select(s.dr, s.current_player) > 0
    banked = (s.dr[0] + s.dr[1] + s.free[0] + s.free[1]).ne(rules.cards_total)
    return has_own | banked if rules.loan else has_own


def options(own: Agents, slot: int, scope: list[Bits]) -> Scalar:
    """The options of a slot's agent as bits; a lower agent has none (F17)."""
    bits = gathered(stands_on(own, slot, squares) << option for option, squares in enumerate(scope))
    return (own.byte(slot) & FLAG).eq(0).where(bits, 0)


def examinable(rules: ThreeWillRules, s: GameState, own: Agents) -> Bits:
    """The squares of the declarer's agents in the context of his win (F29, G24): his goal row or, if that is no
    win, where he holds agents of the player to act."""
    white = s.current_player.eq(0)
    locked = Agents(s.agents).locked
    in_base = count(choose(white, of_player(locked, 1), of_player(locked, 0)))
    held = of_level(own, 1) - goal_row(white)
    return choose(in_base < rules.to_win, held, goal_row(white.logical_not()))
