"""Immediate effect of an action on boards, storage, cards, GPU and tokens, and the refill of the market."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import board_of
from tensor_envs.games.tensor_equilibrium.data import OPERATIONS, TYPES, Act, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import STRIDES, Hexagon
from tensor_envs.games.tensor_equilibrium.legal import effects
from tensor_envs.games.tensor_equilibrium.players import storage_space, wrapped
from tensor_envs.rules import Scalar, int32, minimum, uint32, uint64, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.lists import any_of, has_bit, lookup, put, select, sum_of
from tensor_envs.rules.spec import GameState

FIRST_COUNTER = 16  # chance counter of the first draw from the pile (RULES.md, "Chance")
# phases whose choice is a tweak or may be followed by one
TWEAKED = (Phase.PLACE, Phase.SUB_CELL, Phase.ADD_CELL, Phase.DIV_CELL, Phase.MUL_CELL, Phase.TWEAK)


class DecodedAction:
    """Kind and operands of a legal action. Only TYPE and CELL occur in several phases (see `at`)."""

    def __init__(self, rules: RuleFields, s: GameState, index: Scalar):
        def within(first: int, end: int) -> Scalar:
            return (index >= first) & (index < end)

        self.phase = s.phase
        self.passes = index == Act.PASS
        self.downloads = index == Act.DOWNLOAD
        self.codes = within(Act.CODE, Act.RUN)
        self.runs = within(Act.RUN, Act.LOAD)
        self.loads = within(Act.LOAD, Act.HACK)
        self.hacks = within(Act.HACK, Act.TAKE)
        self.takes = within(Act.TAKE, Act.TWEAK)
        self.tweaks = within(Act.TWEAK, Act.STOP)
        self.stops = index == Act.STOP
        self.types = within(Act.TYPE, Act.CELL)
        self.sends = self.loads | self.hacks
        self.edges = index >= Act.CELL + rules.cells
        # CODE and RUN begin at 2 and 6, which agree modulo 4
        self.operation = index - Act.CODE & len(OPERATIONS) - 1
        # The actions of a kind with types start at a multiple of 5, those of TYPE do not.
        small = where(index < Act.TYPE, index, where(index < Act.CELL, index - Act.TYPE, 0))
        fifth = small * 52 >> 8  # small // 5, for small < 64
        self.type = small - fifth * TYPES
        self.offset = fifth - (Act.HACK // TYPES - 1)  # HACK: seats after the player to move
        cell = index - Act.CELL
        block = sum_of(cell >= rules.cells * i for i in range(1, 1 + len(STRIDES)))
        self.bit = Hexagon(rules.board_radius).bit_of_cell(cell - block * rules.cells)  # CELL and EDGE
        self.direction = block - 1  # EDGE

    def in_phase(self, *phases: int) -> Scalar:
        """Return whether the game is in one of these phases."""
        return any_of(self.phase == phase for phase in phases)


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
    player = where(action.in_phase(Phase.PLACE), s.pend_target, s.current_player)
    tweaks = action.in_phase(*TWEAKED)
    if not rules.op_needs_effect:  # G32
        possible = effects(board_of(rules, s, s.current_player), s.supply)
        tweaks = tweaks | action.runs & ~select(possible, action.operation)
    tiles, kind = move_tiles(rules, s, action, player)
    picks = picks_left(rules, s, action)
    picked = (action.downloads | action.takes) & (picks == 0)
    set_up = action.in_phase(Phase.SETUP_CELL) & (s.pos == rules.players - 1)
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


def move_tiles(rules: RuleFields, s: GameState, action: DecodedAction, player: Scalar) -> tuple[dict[str, Any], Scalar]:
    """Place, remove, flip or copy tiles on a player's board.

    Returns:
        The changed fields, and the type of the tile.
    """
    removes = action.in_phase(Phase.SUB_CELL, Phase.ADD_REMOVE)
    flips = action.in_phase(Phase.FLIP)
    divides = action.in_phase(Phase.DIV_CELL)
    copies = action.in_phase(Phase.MUL_CELL)
    centres = action.in_phase(Phase.SETUP_CENTRE)
    from_supply = action.in_phase(Phase.ADD_CELL)
    from_pile = centres | action.in_phase(Phase.SETUP_CELL)
    adds = from_pile | from_supply | action.in_phase(Phase.PLACE)
    board = board_of(rules, s, player)

    # The tile in question: a copy's comes from the pending pair, a new one's type from the action or the pending
    # draw, and any other tile lies on the chosen cell.
    beyond = select(STRIDES, s.pend_direction)  # bits from a pair's first tile to its second
    source = where(copies, s.pend_bit & 63, action.bit)
    there, face = board.tile_at(source)
    second, second_face = board.tile_at(source + beyond & 63)
    kind = where(adds, where(centres, action.type, s.pend_type), there)

    # The board. Actions exclude each other, so all of them are applied to planes of bits at once, with empty sets
    # for what does not happen: removed cells are cleared, new tiles are set by the bits of their codes, and turned
    # ones change their face.
    cell = uint64(1) << action.bit
    removed = where(removes, cell, 0)
    turned = where(flips | divides, cell, 0)
    new = where(adds | copies, cell, 0)
    new = where(centres, 1 << Hexagon(rules.board_radius).bits[rules.centre], new)
    copy = where(copies, cell << beyond, 0)
    up = adds | copies
    copy_up = copies
    if not rules.mult_copies_face_up:  # G33
        up = adds | copies & face
        copy_up = copies & second_face
    after = [
        plane & ~removed | where(has_bit(kind + 1, i), new, 0) | where(has_bit(second + 1, i), copy, 0)
        for i, plane in enumerate(board.code)
    ]
    shown = board.face_up & ~removed | where(up, new, 0) | where(copy_up, copy, 0)
    after.append(shown ^ turned)

    # The tallies follow the tiles, so that nothing has to count the board.
    tile = tally.one(kind)
    other = tally.one(second)
    appears = up | divides & ~face
    vanishes = flips | (removes | divides) & face
    shown_more = where(appears, tile, 0) - where(vanishes, tile, 0) + where(copy_up, other, 0)
    taken = where(from_supply | copies, tile, 0) + where(copies, other, 0)  # G31
    to_flip = select(s.pend_flip, player)
    changed = {
        "tiles": put(s.tiles, player, after),
        "face_up": put(s.face_up, player, select(s.face_up, player) + shown_more),
        "supply": s.supply + where(removes, tile, 0) - taken,
        "pile": s.pile - where(from_pile, tile, 0),
        "pend_flip": put(s.pend_flip, player, where(flips, to_flip & ~(1 << (kind & 7)), to_flip)),
    }
    return changed, kind


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
    cost = int32(0)
    for chosen, price in prices:
        cost = where(chosen, price, cost)
    gpu = minimum(select(s.gpu, s.current_player) - cost, rules.gpu_max)  # G11
    return {"gpu": put(s.gpu, s.current_player, gpu)}


def take_spot(rules: RuleFields, s: GameState, action: DecodedAction) -> dict[str, Any]:
    """Return the fields of the turn-order track: who passes takes the topmost free spot (F32)."""
    passes = counts_as_pass(rules, s, action)
    player = s.current_player
    return {
        "next_order": put(s.next_order, where(passes, s.n_passed, -1), player),
        "passed": [passed | passes & (player == p) for p, passed in enumerate(s.passed)],
        "n_passed": s.n_passed + passes,
    }


def picks_left(rules: RuleFields, s: GameState, action: DecodedAction) -> Scalar:
    """Return the number of tiles still to be taken (F16), at most the number in the market (G18)."""
    level = select(s.level, s.current_player)
    storage = select(s.storage, s.current_player)
    started = minimum(storage_space(rules, level, storage), tally.total(s.market))
    return where(action.takes, s.picks_left - 1, where(action.downloads, started, s.picks_left))


def update_pending(rules: RuleFields, s: GameState, action: DecodedAction, kind: Scalar) -> dict[str, Any]:
    """Return the fields of storage, market, hand, operation cards and pending choices."""
    player = s.current_player
    tile = tally.one(action.type)
    card = tally.one(action.operation)
    taken = where(action.takes, tile, 0)
    storage = select(s.storage, player) + taken - where(action.sends, tile, 0)
    drawn = where(action.codes, card, 0) - where(action.runs, card, 0)  # F20, F27
    removes = action.in_phase(Phase.ADD_REMOVE)
    edges = action.edges
    has_type = action.sends | action.types & ~action.in_phase(Phase.SETUP_CENTRE)
    return {
        "storage": put(s.storage, player, storage),
        "market": s.market - taken,
        "hand": put(s.hand, player, select(s.hand, player) + drawn),
        "ops": s.ops - drawn,
        "pend_target": where(action.hacks, wrapped(rules, player + action.offset), where(action.loads, player, -1)),
        "pend_type": where(has_type, action.type, where(removes, kind, -1)),
        "pend_bit": where(removes | edges, action.bit, where(action.in_phase(Phase.ADD_TYPE), s.pend_bit, -1)),
        "pend_direction": where(edges, action.direction, 0),
    }


def tweaks_left(rules: RuleFields, s: GameState, action: DecodedAction, player: Scalar, kind: Scalar) -> Scalar:
    """Return the tweaks left: as many as the operation grants (F27), or those for a tile of the top row (F24, F26)."""
    bonus = has_bit(select(s.rows, player), kind & 7)
    if not rules.hack_bonus:  # G25
        bonus = bonus & (player == s.current_player)
    left = where(action.tweaks, s.tweaks_left - 1, where(action.stops, 0, s.tweaks_left))
    left = where(action.runs, lookup(rules.op_tweaks, action.operation), left)
    return where(action.in_phase(Phase.PLACE), where(bonus, rules.load_tweaks, 0), left)


def refill(rules: RuleFields, s: GameState, refills: Scalar, chance: Chance) -> GameState:
    """Draw tiles from the pile until the market is full (F9, F17)."""
    below = list(accumulate(tally.number(s.pile, t) for t in range(TYPES)))  # tiles of types 0..t
    left = below.pop()
    count = where(refills, minimum(left, rules.market_size - tally.total(s.market)), 0)
    drawn = uint32(0)
    for i in range(rules.market_size):
        x = chance.draw(FIRST_COUNTER + rules.pile_start + i - left, left - i)
        reached = [x < upper for upper in below]
        below = [upper - hit for upper, hit in zip(below, reached, strict=True)]
        drawn = drawn + where(count > i, tally.one(TYPES - 1 - sum_of(reached)), 0)
    return s.replace(market=s.market + drawn, pile=s.pile - drawn)
