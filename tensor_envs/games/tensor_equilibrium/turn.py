"""What an action does at once to boards, storage, cards, GPU and tokens; then the refill. What follows is in `ends`."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

from tinygrad import dtypes

from tensor_envs.core.memory import select
from tensor_envs.core.spec import Chance, GameState, Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import board_of
from tensor_envs.games.tensor_equilibrium.cards import lookup
from tensor_envs.games.tensor_equilibrium.data import TYPES, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.legal import effects
from tensor_envs.games.tensor_equilibrium.move import Move
from tensor_envs.games.tensor_equilibrium.players import SEAT_BITS, change, has_bit, storage_space, wrapped
from tensor_envs.games.tensor_equilibrium.tiles import move_tiles

FIRST_COUNTER = 16  # of the draws from the pile (RULES.md, "Chance")
# phases whose choice tweaks follow, or is one
TWEAKED = (Phase.PLACE, Phase.SUB_CELL, Phase.ADD_CELL, Phase.DIV_CELL, Phase.MUL_CELL, Phase.TWEAK)


class Done(NamedTuple):
    """What an action leaves to do."""

    move: Move
    seat: Scalar  # whose board or tokens it was about
    tweaks: Scalar  # tweaks may follow, or it was one
    picked: Scalar  # a Download is complete
    set_up: Scalar  # the set-up is complete


def act(rules: RuleFields, s: GameState, action: Scalar, chance: Chance) -> tuple[GameState, Done]:
    """The state after an action and the refill, still in the old phase."""
    move = Move(rules, s, action)
    seat = move.at(Phase.PLACE).where(s.pend_target, s.current_player)
    tweaks = move.at(*TWEAKED)
    if not rules.op_needs_effect:  # G32
        possible = effects(rules, s, board_of(rules, s, s.current_player))
        tweaks = tweaks | move.runs & select(possible, move.operation).logical_not()
    tiles, kind = move_tiles(rules, s, move, seat)
    picks = picks_left(rules, s, move)
    picked = (move.downloads | move.takes) & picks.eq(0)
    set_up = move.at(Phase.SETUP_CELL) & s.pos.eq(rules.players - 1)
    changed = tiles | pay(rules, s, move) | pass_on(rules, s, move) | hold(rules, s, move, kind, picks)
    changed["level"] = change(s.level, seat, lambda level: level + move.tweaks.where(tally.one(move.type), 0))
    changed["tweaks_left"] = tweaks_left(rules, s, move, seat, kind)
    after = s.replace(**changed)
    refills = picked & s.final.logical_not() | set_up  # F17, F40, F9
    return refill(rules, after, refills, chance), Done(move, seat, tweaks, picked, set_up)


def counts_as_pass(rules: RuleFields, s: GameState, move: Move) -> Scalar:
    """Whether it is a pass with its reward and its spot, which a final action is not (G40)."""
    if not rules.final_pass_reward:
        return move.passes & s.final.logical_not()
    return move.passes & (s.final & has_bit(s.passed, s.current_player)).logical_not()


def pay(rules: RuleFields, s: GameState, move: Move) -> dict[str, Any]:
    """GPU: costs, the reward for passing (F32), pay for hacking (G26)."""
    prices = (
        (move.downloads, rules.cost_download),
        (move.codes, lookup(rules.op_cost, move.operation)),
        (move.runs, rules.cost_run),
        (move.loads, rules.cost_load),
        (move.hacks, rules.cost_hack - rules.hack_gpu_gain),
        (counts_as_pass(rules, s, move), -lookup(rules.pass_reward, s.n_passed & 3)),
    )
    cost = s.n_passed.const_like(0)
    for kind, price in prices:
        cost = kind.where(price, cost)
    gains = move.passes | move.hacks
    gpu = select(s.gpu, s.current_player) - cost
    gpu = ((gpu > rules.gpu_max) & gains).where(rules.gpu_max, gpu)  # G11
    return {"gpu": change(s.gpu, s.current_player, lambda _: gpu)}


def pass_on(rules: RuleFields, s: GameState, move: Move) -> dict[str, Any]:
    """The turn-order token goes to the topmost free spot (F32)."""
    passes, player = counts_as_pass(rules, s, move), s.current_player
    return {
        "next_order": s.next_order | passes.where(player << s.n_passed * SEAT_BITS, 0),
        "passed": s.passed | passes.where(player.const_like(1) << player, 0),
        "n_passed": s.n_passed + passes.where(1, 0),
    }


def picks_left(rules: RuleFields, s: GameState, move: Move) -> Scalar:
    """Tiles still to be taken (F16), at most what lies there (G18)."""
    level, storage = select(s.level, s.current_player), select(s.storage, s.current_player)
    space, market = storage_space(rules, level, storage), tally.total(s.market)
    begun = move.downloads.where((space < market).where(space, market), s.picks_left)
    return move.takes.where(s.picks_left - 1, begun)


def hold(rules: RuleFields, s: GameState, move: Move, kind: Scalar, picks: Scalar) -> dict[str, Any]:
    """Tiles into and out of storage, cards into and out of the hand, and what is on its way."""
    player, tile, card = s.current_player, tally.one(move.type), tally.one(move.operation)
    taken = move.takes.where(tile, 0)
    stored = taken - move.sends.where(tile, 0)
    drawn = move.codes.where(card, 0) - move.runs.where(card, 0)  # F20, F27
    target = move.hacks.where(wrapped(rules, player + move.offset), move.loads.where(player, -1))
    known = move.sends | move.types & move.at(Phase.SETUP_CENTRE).logical_not()
    on_cell = move.at(Phase.ADD_REMOVE) | move.edges
    return {
        "storage": change(s.storage, player, lambda tiles: tiles + stored),
        "market": s.market - taken,
        "hand": change(s.hand, player, lambda cards: cards + drawn),
        "ops": s.ops - drawn,
        "picks_left": picks,
        "pend_target": target,
        "pend_type": known.where(move.type, move.at(Phase.ADD_REMOVE).where(kind, -1)),
        "pend_bit": on_cell.where(move.bit, move.at(Phase.ADD_TYPE).where(s.pend_bit, -1)),
        "pend_direction": move.edges.where(move.direction, 0),
    }


def tweaks_left(rules: RuleFields, s: GameState, move: Move, seat: Scalar, kind: Scalar) -> Scalar:
    """Of an operation as many as its card says (F27), of a tile in the top row one (F24, F26)."""
    bonus = has_bit(select(s.rows, seat), kind & 7)
    if not rules.hack_bonus:  # G25
        bonus = bonus & seat.eq(s.current_player)
    left = move.tweaks.where(s.tweaks_left - 1, move.stops.where(0, s.tweaks_left))
    left = move.runs.where(lookup(rules.op_tweaks, move.operation), left)
    return move.at(Phase.PLACE).where(bonus.where(rules.load_tweaks, 0), left)


def refill(rules: RuleFields, s: GameState, refills: Scalar, chance: Chance) -> GameState:
    """Draw tiles from the pile until the market is full (F9, F17)."""
    below = list(accumulate(tally.number(s.pile, t) for t in range(TYPES)))  # tiles of types 0..t
    left = below.pop()
    missing = rules.market_size - tally.total(s.market)
    count = refills.where((left < missing).where(left, missing), 0)
    drawn = s.market.const_like(0)
    for i in range(rules.market_size):
        x = chance.draw(FIRST_COUNTER + rules.pile_start + i - left, left - i)
        reached = [(x < upper).cast(dtypes.int32) for upper in below]
        below = [upper - hit for upper, hit in zip(below, reached, strict=True)]
        drawn = drawn + (count > i).where(tally.one(TYPES - 1 - reduce(add, reached)), 0)
    return s.replace(market=s.market + drawn, pile=s.pile - drawn)
