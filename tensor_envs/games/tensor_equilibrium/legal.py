"""What is legal in every phase, as bit words (RULES.md, "Phases")."""

from __future__ import annotations

from functools import reduce
from operator import or_

from tinygrad import UOp, dtypes

from tensor_envs.core.memory import select
from tensor_envs.core.spec import GameState, Scalar
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import EVERY_TYPE, Board, board_of, light_cells
from tensor_envs.games.tensor_equilibrium.data import OPERATIONS, TYPES, Act, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import Hexagon, neighbours
from tensor_envs.games.tensor_equilibrium.players import at_top, by_tier, has_bit, storage_space, wrapped
from tensor_envs.ops.bits import WORD

Part = tuple[int, int, Scalar]  # first action, number of actions, their bits (uint32 or uint64)


def legal_actions(rules: RuleFields, s: GameState) -> list[Scalar]:
    """The mask's words."""
    boards = [board_of(rules, s, p) for p in range(rules.players)]
    seat = s.phase.eq(Phase.PLACE).where(s.pend_target, s.current_player)
    board = board_of(rules, s, seat)  # the mover's, or that on which a tile is to be placed
    sets = [cell_choices(rules, s, board, select(s.partners, seat))]
    sets += [s.phase.eq(Phase.MUL_EDGE).where(edges, 0) for edges in board.mul_edges(s.supply)]
    numbered = Hexagon(rules.board_radius).numbered
    cells = [(Act.CELL + i * rules.cells, rules.cells, numbered(chosen)) for i, chosen in enumerate(sets)]
    return assemble([*main_actions(rules, s, boards, board), *type_choices(rules, s), *cells])


def main_actions(rules: RuleFields, s: GameState, boards: list[Board], mine: Board) -> list[Part]:
    """A turn's choices: PASS to HACK."""
    player, main = s.current_player, s.phase.eq(Phase.MAIN)
    gpu, hand, storage, level = (select(x, player) for x in (s.gpu, s.hand, s.storage, s.level))
    held = tally.squeeze(tally.at_least(storage, 1))
    nothing = held.const_like(0)

    def pays(cost: int) -> Scalar:
        return main & (gpu < cost).logical_not()

    download = pays(rules.cost_download)
    if rules.download_needs_space:  # G17
        download = download & (storage_space(rules, level, storage) > 0) & s.market.ne(0)
    free_hand = tally.total(hand) < by_tier(rules, level, rules.tier_hand)  # F19
    code = [pays(cost) & free_hand for cost in rules.op_cost]
    on_table = tally.squeeze(tally.at_least(s.ops, 1))
    in_hand = tally.squeeze(tally.at_least(hand, 1))
    run = [pays(rules.cost_run)] * len(OPERATIONS)
    if rules.op_needs_effect:  # G32
        run = [pays(rules.cost_run) & possible for possible in effects(rules, s, mine)]
    loadable = [board.loadable(card) & EVERY_TYPE for board, card in zip(boards, s.partners, strict=True)]
    parts = [
        (Act.PASS, 1, main.cast(dtypes.uint32)),  # F12
        (Act.DOWNLOAD, 1, download.cast(dtypes.uint32)),
        (Act.CODE, len(OPERATIONS), flags(code) & on_table),
        (Act.RUN, len(OPERATIONS), flags(run) & in_hand),
        (Act.LOAD, TYPES, pays(rules.cost_load).where(held & select(loadable, player), nothing)),  # G27
    ]
    for k in range(1, rules.players):
        target = wrapped(rules, player + k)
        allowed = pays(rules.cost_hack)
        if not rules.hack_passed_players:  # G25
            allowed = allowed & has_bit(s.passed, target).logical_not()
        choices = allowed.where(held & select(loadable, target), nothing)
        parts.append((Act.HACK + TYPES * (k - 1), TYPES, choices))
    return parts


def effects(rules: RuleFields, s: GameState, mine: Board) -> list[Scalar]:
    """Whether each operation could do something on a board."""
    edges = reduce(or_, mine.mul_edges(s.supply))
    return [cells.ne(0) for cells in (mine.removable, mine.add_removable(s.supply), mine.occupied, edges)]


def type_choices(rules: RuleFields, s: GameState) -> list[Part]:
    """TAKE, TWEAK, STOP and TYPE."""
    rows, level = select(s.rows, s.current_player), select(s.level, s.current_player)
    phase = {p: s.phase.eq(p) for p in (Phase.PICK, Phase.TWEAK, Phase.SETUP_TYPE, Phase.ADD_TYPE)}
    taken = phase[Phase.PICK].where(tally.squeeze(tally.at_least(s.market, 1)), 0)
    below = tally.squeeze(at_top(rules, level)) ^ EVERY_TYPE  # G20
    removed = UOp.const(1, dtypes.uint32) << (s.pend_type & 7).cast(dtypes.uint32)
    others = tally.squeeze(tally.at_least(s.supply, 1)) & ~removed  # F29, G31
    top_row = s.phase.eq(Phase.SETUP_CENTRE).where(rows, 0)  # F5
    setup = phase[Phase.SETUP_TYPE].where(rows >> TYPES, top_row) & EVERY_TYPE
    chosen = phase[Phase.ADD_TYPE].where(others, setup.cast(dtypes.uint32))
    stop = [(Act.STOP, 1, phase[Phase.TWEAK].cast(dtypes.uint32))] if rules.tweak_optional else []  # G22
    return [
        (Act.TAKE, TYPES, taken),
        (Act.TWEAK, TYPES, phase[Phase.TWEAK].where(below, 0)),
        *stop,
        (Act.TYPE, TYPES, chosen),
    ]


def cell_choices(rules: RuleFields, s: GameState, board: Board, partners: Scalar) -> Scalar:
    """CELL, as a set of cells."""
    add_cells = board.open
    if not rules.add_may_reuse_cell:  # G30
        vacated = add_cells.const_like(1) << (s.pend_bit & 63).cast(dtypes.uint64)
        add_cells = add_cells & ~vacated
    pending = select(s.pend_flip, s.current_player)
    ups = [has_bit(pending, t) for t in range(TYPES)]
    flippable = reduce(or_, [up.where(tiles, 0) for up, tiles in zip(ups, board.types, strict=True)])
    choices = {
        Phase.SETUP_CELL: board.occupied.const_like(second_cells(rules)),  # G15
        Phase.PLACE: board.load_cells(partners, s.pend_type),
        Phase.SUB_CELL: board.removable,
        Phase.ADD_REMOVE: board.add_removable(s.supply),
        Phase.ADD_CELL: add_cells,
        Phase.DIV_CELL: board.occupied,
        Phase.MUL_CELL: select(board.mul_cells, s.pend_direction),
        Phase.FLIP: flippable & board.face_up,
    }
    chosen = board.occupied.const_like(0)
    for phase, cells in choices.items():
        chosen = s.phase.eq(phase).where(cells, chosen)
    return chosen


def second_cells(rules: RuleFields) -> int:
    """The light cells round the centre (G15)."""
    return neighbours(1 << Hexagon(rules.board_radius).bits[rules.centre]) & light_cells(rules)


def flags(booleans: list[Scalar]) -> Scalar:
    """Booleans -> bits, uint32."""
    return reduce(or_, [flag.cast(dtypes.uint32) << i for i, flag in enumerate(booleans)])


def assemble(parts: list[Part]) -> list[Scalar]:
    """Parts of the mask -> its words."""
    size = max(first + count for first, count, _ in parts)
    words: list[list[Scalar]] = [[] for _ in range(-(-size // WORD))]
    for first, count, bits in parts:
        for number in range(first // WORD, (first + count - 1) // WORD + 1):
            shift = first - number * WORD
            moved = bits << shift if shift > 0 else bits >> -shift if shift < 0 else bits
            words[number].append(moved.cast(dtypes.uint32))
    zero = UOp.const(0, dtypes.uint32)
    return [reduce(or_, word) if word else zero for word in words]
