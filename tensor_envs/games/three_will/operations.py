"""What an action does on the board: steps and leaps, the stacking protocol, the swap of a challenge."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tinygrad import dtypes

from tensor_envs.core.memory import select
from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.three_will.agents import FLAG, SQUARE, Agents
from tensor_envs.games.three_will.data import EXAMINE, OPTIONS, PASS, SIDE, SLOTS
from tensor_envs.games.three_will.sets import Bits, choose
from tensor_envs.games.three_will.squares import STRAIGHT, decoded, directions

if TYPE_CHECKING:
    from tensor_envs.games.three_will.rules import ThreeWillRules


class Deed(NamedTuple):
    """What an action comes to: one of `steps`, `stacks`, `fails`, `swaps`, or nothing on the board."""

    source: Scalar  # the byte of the agent that acts, or that is examined
    target: Scalar  # the square ahead, or the byte of the examined agent's double
    steps: Scalar  # a step or leap to an empty square
    stacks: Scalar  # an attempt whose extra throw is a double
    fails: Scalar  # an attempt whose is not
    swaps: Scalar  # the examined agent is a swapped one
    leaps: Scalar  # a step or an attempt is over the edge


def deed(rules: ThreeWillRules, s: GameState, action: Scalar, extra_throw: Scalar) -> Deed:
    """Read an action (4.1) in a state."""
    white, agents = s.current_player.eq(0), Agents(s.agents)
    own, other = SLOTS * s.current_player, SLOTS * (1 - s.current_player)
    operates, examines = action < PASS, (action < EXAMINE).logical_not()
    slot = action * 11 >> 5  # action // OPTIONS, up to PASS
    examined = (action - EXAMINE) & (SLOTS - 1)
    source = agents.at(operates.where(own + slot, other + examined))

    ahead = decoded(select(directions(rules.chart, white, s.die), action - OPTIONS * slot))
    row = (source >> 3 & 7) + ahead.row - STRAIGHT
    column = (source & 7) + ahead.column - STRAIGHT
    beyond = (column & SIDE).ne(0)  # columns -1 and 8
    square = (row << 3 | column & 7) & SQUARE

    bearers = [bearer(slots, s.ces) for slots in s.bearers]
    double = agents.at(own + select(bearers, s.current_player))
    target = operates.where(square, double)
    attempts = operates & agents.on(target & SQUARE).some
    doubled = extra_throw.eq(s.die)  # G8
    return Deed(
        source=source,
        target=target,
        steps=operates & attempts.logical_not(),
        stacks=attempts & doubled,
        fails=attempts & doubled.logical_not(),
        swaps=examines & s.ces.ne(0) & select(bearers, 1 - s.current_player).eq(examined),  # F23
        leaps=beyond,
    )


def bearer(slots: Scalar, number: Scalar) -> Scalar:
    """The slot of the agent with a number 1..8, int32."""
    place = ((number - 1) & (SLOTS - 1)) << 2
    return (slots >> place.cast(dtypes.uint32) & 0xF).cast(dtypes.int32)


def agents_after(rules: ThreeWillRules, agents: Agents, done: Deed) -> Agents:
    """All agents after a deed."""
    source, target = done.source & SQUARE, done.target & SQUARE
    here, there = agents.on(source), agents.on(target)
    locked, lower = agents.locked, agents.lower

    # A step takes the stack along, but what is locked stays behind and is single (F24, G5, G18).
    stays = here & locked

    # The stacking protocol (F16): who is too many goes to the source, the lowest unless he is locked (F26).
    rest, top, low = here & lower, there - lower, there & lower
    ejected = choose((low & locked).some, top, low)
    stacked = ((lower | top) - rest - ejected) | ejected.only_if(rest.some)

    # The swap exchanges square and level of the examined agent and his double (G25).
    examined, double = like(done.source, here, lower), like(done.target, there, lower)
    changed = (examined | double).only_if(((done.source ^ done.target) & FLAG).ne(0))
    swapped = (lower - changed) | (changed - lower)

    to_target = choose(done.steps, here - stays, examined.only_if(done.stacks | done.swaps))
    to_source = choose(done.stacks, ejected, double.only_if(done.swaps))
    lower = choose(done.stacks, stacked, choose(done.swaps, swapped, lower - stays.only_if(done.steps)))
    moved = agents.put(to_target, target).put(to_source, source)
    if rules.held_under_locked == "released":
        for square in (source, target):
            lower = settled(moved.on(square), lower, moved.locked)
    return moved.with_lower(lower)


def like(agent: Scalar, present: Bits, lower: Bits) -> Bits:
    """Which of the agents on a square is the one with this byte: the one of its level."""
    return choose((agent & FLAG).eq(0), present - lower, present & lower)


def settled(present: Bits, lower: Bits, locked: Bits) -> Bits:
    """Of a locked and a free agent on one square the locked one is the lower (F24, F25, G17, G20)."""
    mixed = (present & locked).some & (present - locked).some
    return choose(mixed, (lower - present) | (present & locked), lower)
