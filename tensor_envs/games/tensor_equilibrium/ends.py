"""Consequences of an action: tweaks, the next turn, the end of a round and the end of the game."""

from __future__ import annotations

from typing import NamedTuple

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.backpropagation import backpropagate, next_flip
from tensor_envs.games.tensor_equilibrium.data import Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.players import at_top, wrapped
from tensor_envs.games.tensor_equilibrium.score import rewards
from tensor_envs.games.tensor_equilibrium.turn import TurnResult
from tensor_envs.rules import GameState, Outcome, Scalar, int32, lookup, select, where

FIRST_PHASE = (Phase.SUB_CELL, Phase.ADD_REMOVE, Phase.DIV_CELL, Phase.MUL_EDGE)  # first phase of each operation


class Continuation(NamedTuple):
    """Flags of what follows an action; at most one is True."""

    tweaks: Scalar  # the next decision is a tweak
    passes_on: Scalar  # the turn of the player at `pos` begins
    round_ends: Scalar
    game_ends: Scalar


def finish_turn(rules: RuleFields, s: GameState, result: TurnResult) -> Outcome:
    """Advance the state after an action to the next decision or to the end of the game."""
    s, continuation = end_turn(rules, s, result)
    s = next_phase(rules, s, result, continuation)
    s, capped = backpropagate(rules, s, continuation.round_ends, continuation.game_ends)
    s = next_flip(rules, s, continuation.round_ends | result.action.in_phase(Phase.FLIP))
    between_actions = (s.phase == Phase.MAIN) | (s.phase == Phase.FLIP)
    late = between_actions & (s.ply + 1 >= rules.max_decisions)  # G43
    truncated = ~continuation.game_ends & (capped | late)
    over = continuation.game_ends | truncated
    s = s.replace(
        phase=where(over, Phase.OVER, s.phase),
        current_player=where(over, -1, s.current_player),
        pend_flip=[where(over, 0, types) for types in s.pend_flip],
    )
    scored = over if rules.score_truncated else continuation.game_ends
    return Outcome(s, rewards(rules, s, scored), terminated=continuation.game_ends, truncated=truncated)


def end_turn(rules: RuleFields, s: GameState, result: TurnResult) -> tuple[GameState, Continuation]:
    """Return the state and what follows: tweaks, the next turn, the end of the round (F10) or of the game (F40)."""
    action = result.action
    room = [at_top(rules, level) != tally.ONES for level in s.level]
    tweaks = result.tweaks & (s.tweaks_left > 0) & select(room, result.player)  # G20
    stops_tweaking = result.tweaks & ~tweaks
    ends = action.passes | action.codes | result.picked | stops_tweaking

    triggered = result.picked & ~s.final & (s.pile == 0)  # F40, G38
    final = s.final | triggered
    left = where(triggered, rules.players, s.final_left)
    ahead = next_turn(rules, s, final, left)
    passes_on = ends & (ahead > 0)
    no_turn = ends & (ahead == 0)
    round_ends = no_turn & ~final
    game_ends = no_turn & final
    steps = where(passes_on, ahead, where(game_ends, left, 0))
    changed = s.replace(
        tweaks_left=where(stops_tweaking, 0, s.tweaks_left),
        final=final,
        final_left=left - where(final, steps, 0),
        pos=wrapped(rules, s.pos + steps),
    )
    return changed, Continuation(tweaks, passes_on, round_ends, game_ends)


def next_turn(rules: RuleFields, s: GameState, final: Scalar, left: Scalar) -> Scalar:
    """Return the distance in the turn order to the next seat with a turn, or 0 if there is none.

    A player takes turns until passing (F10). Then each player has one of the remaining final actions (F40, G39).
    """
    steps = int32(0)
    for k in range(rules.players, 0, -1):
        goes_on = ~select(s.passed, select(s.order, wrapped(rules, s.pos + k)))
        acts = (left >= k) & (goes_on | rules.final_includes_passed)
        steps = where(where(final, acts, goes_on), k, steps)
    return steps


def next_phase(rules: RuleFields, s: GameState, result: TurnResult, continuation: Continuation) -> GameState:
    """Set the phase and the player to move, if the round goes on."""
    action = result.action
    setup = result.action.in_phase(Phase.SETUP_CELL)
    phase = s.phase + 1  # next part of a choice in several parts
    phase = where(setup, Phase.SETUP_CENTRE, phase)
    phase = where(action.runs, lookup(FIRST_PHASE, action.operation), phase)
    phase = where(action.sends, Phase.PLACE, where(action.takes, Phase.PICK, phase))
    phase = where(continuation.tweaks, Phase.TWEAK, phase)
    main = continuation.passes_on | result.set_up
    phase = where(main, Phase.MAIN, phase)
    pos = where(result.set_up, 0, s.pos + setup)
    player = select(s.order, pos)
    if rules.setup_order == "seat":  # G14
        player = where(setup & ~result.set_up, pos, player)
    player = where(main | setup, player, where(continuation.tweaks, result.player, s.current_player))
    return s.replace(phase=phase, pos=pos, current_player=player)
