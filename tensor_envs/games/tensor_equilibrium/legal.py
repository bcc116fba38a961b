"""Legal actions in every phase, as bit words (RULES.md, "Phases")."""

from __future__ import annotations

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import EVERY_TYPE, PlayerBoard, board_of, light_cells
from tensor_envs.games.tensor_equilibrium.data import OPERATIONS, TYPES, Act, Phase, RuleFields
from tensor_envs.games.tensor_equilibrium.hexagon import Hexagon, neighbours
from tensor_envs.games.tensor_equilibrium.players import at_top, by_tier, storage_space, wrapped
from tensor_envs.rules import WORD_BITS, Scalar, Value, scalar, uint32, uint64, where
from tensor_envs.rules.lists import bit, has_bit, num_words, pack_flags, select, union_of
from tensor_envs.rules.spec import GameState

MaskPart = tuple[int, int, Scalar]  # first action, number of actions, legal ones as a bool, uint32 or uint64


def legal_actions(rules: RuleFields, s: GameState) -> list[Scalar]:
    """Return the words of the legal action mask."""
    player = where(s.phase == Phase.PLACE, s.pend_target, s.current_player)
    board = board_of(rules, s, player)  # board of the player to move, or of the player who gets a tile
    parts = main_actions(rules, s, board) + type_choices(rules, s)
    return assemble(rules, parts + cell_choices(rules, s, board, select(s.partners, player)))


def main_actions(rules: RuleFields, s: GameState, mine: PlayerBoard) -> list[MaskPart]:
    """Return the legal actions of a turn, from PASS to HACK."""
    player = s.current_player
    main = s.phase == Phase.MAIN
    gpu, hand, storage, level = (select(x, player) for x in (s.gpu, s.hand, s.storage, s.level))

    def pays(cost: int) -> Scalar:
        return main & (gpu >= cost)

    download = pays(rules.cost_download)
    if rules.download_needs_space:  # G17
        download = download & (storage_space(rules, level, storage) > 0) & (s.market != 0)
    free_hand = tally.total(hand) < by_tier(rules, level, rules.tier_hand)  # F19
    code = [pays(cost) & free_hand for cost in rules.op_cost]
    on_table = tally.squeeze(tally.at_least(s.ops, 1))
    in_hand = tally.squeeze(tally.at_least(hand, 1))
    run = [pays(rules.cost_run)] * len(OPERATIONS)
    if rules.op_needs_effect:  # G32
        run = [pays(rules.cost_run) & possible for possible in effects(mine, s.supply)]
    held = tally.squeeze(tally.at_least(storage, 1))
    # by player, the held types that fit on the board (G27)
    loadable = [board_of(rules, s, p).loadable(card) & held for p, card in enumerate(s.partners)]
    parts = [
        (Act.PASS, 1, main),  # F12
        (Act.DOWNLOAD, 1, download),
        (Act.CODE, len(OPERATIONS), pack_flags(code)[0] & on_table),
        (Act.RUN, len(OPERATIONS), pack_flags(run)[0] & in_hand),
        (Act.LOAD, TYPES, where(pays(rules.cost_load), select(loadable, player), 0)),
    ]
    for k in range(1, rules.players):
        target = wrapped(rules, player + k)
        allowed = pays(rules.cost_hack)
        if not rules.hack_passed_players:  # G25
            allowed = allowed & ~select(s.passed, target)
        parts.append((Act.HACK + TYPES * (k - 1), TYPES, where(allowed, select(loadable, target), 0)))
    return parts


def effects(mine: PlayerBoard, supply: Scalar) -> list[Scalar]:
    """Return whether each operation could change a board (G32)."""
    edges = union_of(mine.mul_edges(supply))
    return [cells != 0 for cells in (mine.removable, mine.add_removable(supply), mine.occupied, edges)]


def type_choices(rules: RuleFields, s: GameState) -> list[MaskPart]:
    """Return the legal TAKE, TWEAK, STOP and TYPE actions."""
    rows = select(s.rows, s.current_player)
    level = select(s.level, s.current_player)
    in_market = tally.squeeze(tally.at_least(s.market, 1))
    below_top = tally.squeeze(at_top(rules, level)) ^ EVERY_TYPE  # G20
    others = tally.squeeze(tally.at_least(s.supply, 1)) & ~bit(s.pend_type & 7)  # F29, G31
    types = {
        Phase.SETUP_CENTRE: uint32(rows & EVERY_TYPE),  # F5
        Phase.SETUP_TYPE: uint32(rows >> TYPES),
        Phase.ADD_TYPE: others,
    }
    parts = [
        (Act.TAKE, TYPES, by_phase(s, {Phase.PICK: in_market})),
        (Act.TWEAK, TYPES, by_phase(s, {Phase.TWEAK: below_top})),
        (Act.TYPE, TYPES, by_phase(s, types)),
    ]
    return parts + [(Act.STOP, 1, s.phase == Phase.TWEAK)] * rules.tweak_optional  # G22


def cell_choices(rules: RuleFields, s: GameState, board: PlayerBoard, partners: Scalar) -> list[MaskPart]:
    """Return the legal CELL and EDGE actions."""
    add_cells = board.open
    if not rules.add_may_reuse_cell:  # G30
        add_cells = add_cells & ~(uint64(1) << (s.pend_bit & 63))
    to_flip = select(s.pend_flip, s.current_player)
    flippable = union_of(where(has_bit(to_flip, t), tiles, 0) for t, tiles in enumerate(board.types))
    beside_centre = neighbours(1 << Hexagon(rules.board_radius).bits[rules.centre]) & light_cells(rules)
    cells = {
        Phase.SETUP_CELL: uint64(beside_centre),  # G15
        Phase.PLACE: board.load_cells(partners, s.pend_type),
        Phase.SUB_CELL: board.removable,
        Phase.ADD_REMOVE: board.add_removable(s.supply),
        Phase.ADD_CELL: add_cells,
        Phase.DIV_CELL: board.occupied,
        Phase.MUL_CELL: select(board.mul_cells, s.pend_direction),
        Phase.FLIP: flippable & board.face_up,
    }
    sets = [by_phase(s, cells), *(by_phase(s, {Phase.MUL_EDGE: edges}) for edges in board.mul_edges(s.supply))]
    numbered = Hexagon(rules.board_radius).numbered
    return [(Act.CELL + i * rules.cells, rules.cells, numbered(chosen)) for i, chosen in enumerate(sets)]


def by_phase(s: GameState, choices: dict[int, Scalar]) -> Scalar:
    """Return the choices of the current phase, or none."""
    chosen: Value = 0
    for phase, legal in choices.items():
        chosen = where(s.phase == phase, legal, chosen)
    return scalar(chosen)


def assemble(rules: RuleFields, parts: list[MaskPart]) -> list[Scalar]:
    """Combine parts of the mask into its words."""
    words = [uint32(0)] * num_words(rules.num_actions)
    for first, count, chosen in parts:
        for w in range(first // WORD_BITS, (first + count - 1) // WORD_BITS + 1):
            shift = first - w * WORD_BITS
            words[w] = words[w] | uint32(chosen << shift if shift >= 0 else chosen >> -shift)
    return words
