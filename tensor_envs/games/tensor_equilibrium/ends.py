"""What follows an action: tweaks, the next turn, the end of a round with Backpropagation, the end of the game."""

from __future__ import annotations

from typing import NamedTuple

from tensor_envs.core.memory import select
from tensor_envs.core.spec import GameState, Outcome, Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.backpropagation import backpropagate, next_flip
from tensor_envs.games.tensor_equilibrium.cards import lookup
from tensor_envs.games.tensor_equilibrium.data import Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.players import at_top, has_bit, seat_at, wrapped
from tensor_envs.games.tensor_equilibrium.score import rewards
from tensor_envs.games.tensor_equilibrium.turn import Done

FIRST_PHASE = (Phase.SUB_CELL, Phase.ADD_REMOVE, Phase.DIV_CELL, Phase.MUL_EDGE)  # of an operation


class Turn(NamedTuple):
    """How the turn goes on; at most one of the flags holds."""

    tweaks: Scalar  # a tweak is decided next
    passes_on: Scalar  # the turn of the player at `pos` begins
    round_ends: Scalar
    game_ends: Scalar


def go_on(rules: RuleFields, s: GameState, done: Done) -> Outcome:
    """The state after an action -> the state in which somebody decides again, or the end."""
    s, turn = end_turn(rules, s, done)
    s = next_phase(rules, s, done, turn)
    s, capped = backpropagate(rules, s, turn.round_ends, turn.game_ends)
    s = next_flip(rules, s, turn.round_ends | done.move.at(Phase.FLIP))
    between_actions = s.phase.eq(Phase.MAIN) | s.phase.eq(Phase.FLIP)
    late = between_actions & (s.ply + 1 < rules.max_decisions).logical_not()  # G43
    truncated = turn.game_ends.logical_not() & (capped | late)
    over = turn.game_ends | truncated
    s = s.replace(
        phase=over.where(Phase.OVER, s.phase),
        current_player=over.where(-1, s.current_player),
        pend_flip=[over.where(0, types) for types in s.pend_flip],
    )
    scored = over if rules.score_truncated else turn.game_ends
    return Outcome(s, rewards(rules, s, scored), terminated=turn.game_ends, truncated=truncated)


def end_turn(rules: RuleFields, s: GameState, done: Done) -> tuple[GameState, Turn]:
    """Whether tweaks follow, the next player's turn, the end of the round (F10), or that of the game (F40)."""
    move = done.move
    room = [at_top(rules, level).ne(tally.ONES) for level in s.level]
    tweaks = done.tweaks & (s.tweaks_left > 0) & select(room, done.seat)  # G20
    stops_tweaking = done.tweaks & tweaks.logical_not()
    ends = move.passes | move.codes | done.picked | stops_tweaking

    triggered = done.picked & s.final.logical_not() & s.pile.eq(0)  # F40, G38
    final, left = s.final | triggered, triggered.where(rules.players, s.final_left)
    final_steps, another = to_next_final(rules, s, left)
    all_passed = s.n_passed.eq(rules.players)
    steps = final.where(final_steps, steps_to_next(rules, s))
    passes_on = ends & final.where(another, all_passed.logical_not())
    round_ends = ends & final.logical_not() & all_passed
    game_ends = ends & final & another.logical_not()
    moved = passes_on | game_ends
    changed = s.replace(
        tweaks_left=stops_tweaking.where(0, s.tweaks_left),
        final=final,
        final_left=left - (moved & final).where(final_steps, 0),
        pos=wrapped(rules, s.pos + moved.where(steps, 0)),
    )
    return changed, Turn(tweaks, passes_on, round_ends, game_ends)


def to_next_final(rules: RuleFields, s: GameState, left: Scalar) -> tuple[Scalar, Scalar]:
    """How many positions further the next final action is, and whether there is one (F40, G39)."""
    if rules.final_includes_passed:
        another = left > 0
        return another.where(1, 0), another
    steps, another = left, left < 0
    for k in range(rules.players, 0, -1):
        seat = seat_at(s.order, wrapped(rules, s.pos + k))
        acts = (left < k).logical_not() & has_bit(s.passed, seat).logical_not()
        steps, another = acts.where(k, steps), another | acts
    return steps, another


def steps_to_next(rules: RuleFields, s: GameState) -> Scalar:
    """How many positions further the next player is who has not passed."""
    steps = s.pos.const_like(rules.players)
    for k in range(rules.players - 1, 0, -1):
        seat = seat_at(s.order, wrapped(rules, s.pos + k))
        steps = has_bit(s.passed, seat).where(steps, k)
    return steps


def next_phase(rules: RuleFields, s: GameState, done: Done, turn: Turn) -> GameState:
    """Who decides what next, if the round goes on."""
    move, setup = done.move, done.move.at(Phase.SETUP_CELL)
    phase = s.phase + 1  # of a choice in several parts
    phase = setup.where(Phase.SETUP_CENTRE, phase)
    phase = move.runs.where(lookup(FIRST_PHASE, move.operation), phase)
    phase = move.sends.where(Phase.PLACE, move.takes.where(Phase.PICK, phase))
    phase = turn.tweaks.where(Phase.TWEAK, phase)
    main = turn.passes_on | done.set_up
    phase = main.where(Phase.MAIN, phase)
    pos = done.set_up.where(0, setup.where(s.pos + 1, s.pos))
    seat = seat_at(s.order, pos)
    if rules.setup_order == "seat":  # G14
        seat = (setup & done.set_up.logical_not()).where(pos, seat)
    player = (main | setup).where(seat, turn.tweaks.where(done.seat, s.current_player))
    return s.replace(phase=phase, pos=pos, current_player=player)
