"""Effect of an action on the board: steps, leaps, stacking, and the swap of a challenge."""

from __future__ import annotations

from typing import NamedTuple

from tensor_envs.games.three_will.agents import EACH, LOWER, SQUARE, BoardView, place_at, turned
from tensor_envs.games.three_will.data import EXAMINE, OPTIONS, PASS, SIDE, SLOTS, ThreeWillFields
from tensor_envs.games.three_will.squares import direction
from tensor_envs.rules import GameState, Scalar, Value, int32, select, uint32, where


class Effect(NamedTuple):
    """Agents after an action, and its kind. At most one of the flags is True."""

    agents: list[Scalar]
    steps: Scalar  # to an empty square
    leaps: Scalar  # to an empty square over an edge
    stacks: Scalar  # an attempt whose extra throw is a double
    fails: Scalar  # an attempt whose extra throw is no double
    swaps: Scalar  # a challenge whose examined agent is swapped


def resolve_action(rules: ThreeWillFields, s: GameState, action: Scalar, extra_throw: Scalar) -> Effect:
    """Apply an action (4.1) to the board."""
    board = BoardView.seen_by(s, s.current_player)
    operates = action < PASS
    examines = action >= EXAMINE
    slot = action // OPTIONS & SLOTS - 1
    option = action % OPTIONS
    examined = action - EXAMINE & SLOTS - 1

    # The acting agent and the square ahead, or the examined agent and its double.
    directions = [direction(rules.chart, i, s.die) for i in range(OPTIONS)]
    source = place_at(board.words, where(operates, slot, SLOTS + examined))
    row = int32(source >> 3 & 7) + select([d.forward for d in directions], option)
    column = int32(source & 7) + select([d.right for d in directions], option)
    beyond = (column & SIDE) != 0  # columns -1 and 8
    square = (row << 3 | column & 7) & 63
    bearers = [bearer(slots, s.ces) for slots in s.bearers]
    double = place_at(board.own, select(bearers, s.current_player))
    # in every byte
    here = source * EACH
    there = where(operates, uint32(square), double) * EACH

    attempts = operates & board.holds(there)
    doubled = extra_throw == s.die  # G8
    moves = operates & ~attempts
    stacks = attempts & doubled
    swaps = examines & (s.ces != 0) & (select(bearers, 1 - s.current_player) == examined)  # F23

    # The goals of the agents at the source, below it, at the target and below it.
    below_here = here | LOWER
    below_there = there | LOWER
    places = [here, below_here, there, below_there]
    # A step takes the stack along, but a locked agent stays behind and is single (F24, G5, G18).
    moved = [there, where(board.locks(below_here), here, below_there), there, below_there]
    # The third agent of a square goes to the source (F16): the lowest, unless it is locked (F26).
    ejected = where(board.holds(below_here), below_here, here)
    stays = board.locks(below_there)
    stacked = [there, here, where(stays, ejected, below_there), where(stays, below_there, ejected)]
    swapped = [there, below_here, here, below_there]  # G25: here and there may be lower places
    goals = where(moves, moved, where(stacks, stacked, where(swaps, swapped, places)))
    board = board.moved(places, goals)
    if rules.held_under_locked == "released":
        board = board.settled(here & SQUARE, there & SQUARE)
    own = board.own
    other = turned(board.other)
    agents = where(s.current_player == 0, [*own, *other], [*other, *own])
    return Effect(agents, moves & ~beyond, moves & beyond, stacks, attempts & ~doubled, swaps)


def bearer(slots: Scalar, number: Value) -> Scalar:
    """Return the slot of the agent with a number in 1..8."""
    return int32(slots >> (int32(number) - 1 & SLOTS - 1) * 4 & 0xF)
