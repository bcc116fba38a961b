"""Immediate effect of an action on boards, storage, cards, GPU and tokens, and the refill of the market."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.action import DecodedAction
from tensor_envs.games.tensor_equilibrium.board import board_of
from tensor_envs.games.tensor_equilibrium.data import TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.legal import effects
from tensor_envs.games.tensor_equilibrium.players import storage_space, wrapped
from tensor_envs.games.tensor_equilibrium.tiles import move_tiles
from tensor_envs.rules import (
    Chance,
    GameState,
    Scalar,
    has_bit,
    integer,
    lookup,
    minimum,
    put,
    select,
    sum_of,
    where,
    word,
)

FIRST_COUNTER = 16  # chance counter of the first draw from the pile (RULES.md, "Chance")
# phases whose choice is a tweak or may be followed by one
TWEAKED = (Phase.PLACE, Phase.SUB_CELL, Phase.ADD_CELL, Phase.DIV_CELL, Phase.MUL_CELL, Phase.TWEAK)


class TurnResult(NamedTuple):
    """Decoded action, and what is left to do after it."""

    action: DecodedAction
    player: Scalar  # owner of the board or tokens that changed
    tweaks: Scalar  # the action was a tweak, or tweaks may follow
    picked: Scalar  # the action completes a Download
    set_up: Scalar  # the action completes the set-up


def act(rules: RuleFields, s: GameState, index: Scalar, chance: Chance) -> tuple[GameState, TurnResult]:
    """Apply an action and the refill; the phase stays as it was."""
    action = DecodedAction(rules, s, index)
    player = where(action.at(Phase.PLACE), s.pend_target, s.current_player)
    tweaks = action.at(*TWEAKED)
    if not rules.op_needs_effect:  # G32
        possible = effects(board_of(rules, s, s.current_player), s.supply)
        tweaks = tweaks | action.runs & ~select(possible, action.operation)
    tiles, kind = move_tiles(rules, s, action, player)
    picks = picks_left(rules, s, action)
    picked = (action.downloads | action.takes) & (picks == 0)
    set_up = action.at(Phase.SETUP_CELL) & (s.pos == rules.players - 1)
    level = select(s.level, player) + where(action.tweaks, tally.one(action.type), 0)
    after = s.replace(
        **tiles,
        **pay(rules, s, action),
        **update_pending(rules, s, action, kind),
        **take_spot(rules, s, action),
        level=put(s.level, player, level),
        picks_left=picks,
        tweaks_left=tweaks_left(rules, s, action, player, kind),
    )
    refills = picked & ~s.final | set_up  # F17, F40, F9
    return refill(rules, after, refills, chance), TurnResult(action, player, tweaks, picked, set_up)


def counts_as_pass(rules: RuleFields, s: GameState, action: DecodedAction) -> Scalar:
    """Return whether the action is a pass with a reward and a turn-order spot, which a final action is not (G40)."""
    if not rules.final_pass_reward:
        return action.passes & ~s.final
    return action.passes & ~(s.final & select(s.passed, s.current_player))


def pay(rules: RuleFields, s: GameState, action: DecodedAction) -> dict[str, Any]:
    """Return the new GPU: costs, the reward for passing (F32), the pay for hacking (G26)."""
    prices = (
        (action.downloads, rules.cost_download),
        (action.codes, lookup(rules.op_cost, action.operation)),
        (action.runs, rules.cost_run),
        (action.loads, rules.cost_load),
        (action.hacks, rules.cost_hack - rules.hack_gpu_gain),
        (counts_as_pass(rules, s, action), -lookup(rules.pass_reward, s.n_passed)),
    )
    cost = integer(0)
    for chosen, price in prices:
        cost = where(chosen, price, cost)
    gpu = minimum(select(s.gpu, s.current_player) - cost, rules.gpu_max)  # G11
    return {"gpu": put(s.gpu, s.current_player, gpu)}


def take_spot(rules: RuleFields, s: GameState, action: DecodedAction) -> dict[str, Any]:
    """Return the fields of the turn-order track: who passes takes the topmost free spot (F32)."""
    passes, player = counts_as_pass(rules, s, action), s.current_player
    return {
        "next_order": put(s.next_order, where(passes, s.n_passed, -1), player),
        "passed": [passed | passes & (player == p) for p, passed in enumerate(s.passed)],
        "n_passed": s.n_passed + passes,
    }


def picks_left(rules: RuleFields, s: GameState, action: DecodedAction) -> Scalar:
    """Return how many tiles are still to be taken (F16), at most as many as the market holds (G18)."""
    level, storage = select(s.level, s.current_player), select(s.storage, s.current_player)
    started = minimum(storage_space(rules, level, storage), tally.total(s.market))
    return where(action.takes, s.picks_left - 1, where(action.downloads, started, s.picks_left))


def update_pending(rules: RuleFields, s: GameState, action: DecodedAction, kind: Scalar) -> dict[str, Any]:
    """Return the fields of storage, market, hand, operation cards and pending choices."""
    player, tile, card = s.current_player, tally.one(action.type), tally.one(action.operation)
    taken = where(action.takes, tile, 0)
    storage = select(s.storage, player) + taken - where(action.sends, tile, 0)
    drawn = where(action.codes, card, 0) - where(action.runs, card, 0)  # F20, F27
    removes, edges = action.at(Phase.ADD_REMOVE), action.edges
    has_type = action.sends | action.types & ~action.at(Phase.SETUP_CENTRE)
    return {
        "storage": put(s.storage, player, storage),
        "market": s.market - taken,
        "hand": put(s.hand, player, select(s.hand, player) + drawn),
        "ops": s.ops - drawn,
        "pend_target": where(
            action.hacks, wrapped(rules, player + action.offset), where(action.loads, player, -1)
        ),
        "pend_type": where(has_type, action.type, where(removes, kind, -1)),
        "pend_bit": where(removes | edges, action.bit, where(action.at(Phase.ADD_TYPE), s.pend_bit, -1)),
        "pend_direction": where(edges, action.direction, 0),
    }


def tweaks_left(
    rules: RuleFields, s: GameState, action: DecodedAction, player: Scalar, kind: Scalar
) -> Scalar:
    """Return the tweaks left: as many as the operation grants (F27), or those for a tile of the top row (F24, F26)."""
    bonus = has_bit(select(s.rows, player), kind & 7)
    if not rules.hack_bonus:  # G25
        bonus = bonus & (player == s.current_player)
    left = where(action.tweaks, s.tweaks_left - 1, where(action.stops, 0, s.tweaks_left))
    left = where(action.runs, lookup(rules.op_tweaks, action.operation), left)
    return where(action.at(Phase.PLACE), where(bonus, rules.load_tweaks, 0), left)


def refill(rules: RuleFields, s: GameState, refills: Scalar, chance: Chance) -> GameState:
    """Draw tiles from the pile until the market is full (F9, F17)."""
    below = list(accumulate(tally.number(s.pile, t) for t in range(TYPES)))  # tiles of types 0..t
    left = below.pop()
    count = where(refills, minimum(left, rules.market_size - tally.total(s.market)), 0)
    drawn = word(0)
    for i in range(rules.market_size):
        x = chance.draw(FIRST_COUNTER + rules.pile_start + i - left, left - i)
        reached = [x < upper for upper in below]
        below = [upper - hit for upper, hit in zip(below, reached, strict=True)]
        drawn = drawn + where(count > i, tally.one(TYPES - 1 - sum_of(reached)), 0)
    return s.replace(market=s.market + drawn, pile=s.pile - drawn)
