"""What an owner of the physical game would type in: components, costs, tracks, and the rulings that may be varied.

The rulebook's pictures are lost, so the figures are this project's, chosen to agree with every figure of its text (see
RULES.md, whose numbers the comments cite). Tile types A B C D E are 0..4, operation cards SUB ADD DIV MUL are 0..3.
`load_rules` reads a whole rule set from a TOML file:

    players = 3
    op_cost = [2, 2, 4, 4]
    tier_level = [0, 4, 8]
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

from tensor_envs._validate import file_path, shown

TYPES = 5
TYPE_NAMES = "ABCDE"
OPERATIONS = ("SUB", "ADD", "DIV", "MUL")
SUB, ADD, DIV, MUL = range(4)
DIRECTIONS = ((1, 0), (0, 1), (-1, 1))  # axial (q, r); the opposite ones need no name of their own

Card = tuple[tuple[int, int], tuple[int, int]]  # top pair, bottom pair
TENSOR_CARDS: tuple[Card, ...] = tuple(
    (top, bottom)
    for top in combinations(range(TYPES), 2)
    for bottom in combinations([t for t in range(TYPES) if t not in top], 2)
)

MAX_COUNT = 31  # of tiles of a type, of cards, of steps on the confidence track: what a packed count holds
MAX_INT8 = 127


class Act:
    """First action of each kind; the EDGE actions follow the last CELL."""

    PASS = 0
    DOWNLOAD = 1
    CODE = 2  # one for each operation
    RUN = 6
    LOAD = 10  # one for each type, as everything up to TYPE
    HACK = 15  # for each of up to three other seats
    TAKE = 30
    TWEAK = 35
    STOP = 40
    TYPE = 41
    CELL = 46  # one for each cell


class Phase:
    """What the player to move is deciding."""

    SETUP_CENTRE, SETUP_TYPE, SETUP_CELL, MAIN, PICK, PLACE, TWEAK, SUB_CELL = range(8)
    ADD_REMOVE, ADD_TYPE, ADD_CELL, DIV_CELL, MUL_EDGE, MUL_CELL, FLIP, OVER = range(8, 16)


PHASES = 16


@dataclass(frozen=True)
class RuleFields:
    """Every component and ruling that may be varied. ValueError, naming the field, for values that make no game."""

    players: int = 2
    # components
    board_radius: int = 3  # G1
    dark_cells: tuple[int, ...] = ()  # G2: cells on which nothing may ever be placed
    centre_cell: int = -1  # G3; -1: the cell with axial coordinates (0, 0)
    tensor_cards: tuple[Card, ...] = TENSOR_CARDS  # G4
    tiles_per_type: int = 20  # G5: in the whole box
    tiles_per_type_per_player: int = 3  # F4
    market_size: int = 5  # F9
    op_cost: tuple[int, ...] = (2, 3, 3, 4)  # G8
    op_tweaks: tuple[int, ...] = (2, 2, 2, 2)  # G9
    op_copies: tuple[int, ...] = (1, 1, 2, 2)  # F3: by player count, index players - 1
    level_min: int = 0  # G6
    level_max: int = 10
    level_start: int = 3
    tier_level: tuple[int, ...] = (0, 5, 8)  # G7: a tier holds from this level of the highest token on
    tier_hand: tuple[int, ...] = (1, 2, 3)
    tier_storage: tuple[int, ...] = (3, 4, 5)
    tier_income: tuple[int, ...] = (1, 2, 3)
    tiebreak_order: tuple[int, ...] = (0, 1, 2, 3, 4)  # G12: the first wins a tie at backpropagation
    gpu_max: int = 20  # G11
    gpu_start: int = 7  # F7
    gpu_start_first: int = 6
    pass_reward: tuple[int, ...] = (4, 4, 4, 4)  # G10: by order of passing
    first_player: int = -1  # G13; -1: drawn
    # costs in GPU
    cost_download: int = 2
    cost_load: int = 2
    cost_hack: int = 1
    cost_run: int = 1
    # rulings
    setup_order: str = "turn"  # G14: "turn": from the first player on; "seat": from seat 0 on
    fixed_cards: tuple[int, ...] = ()  # G4: a card index for each seat instead of a deal
    load_tweaks: int = 1  # F24
    tweak_optional: bool = True  # G22
    hack_bonus: bool = True  # G25: the hacked player's tweak
    hack_gpu_gain: int = 0  # G26
    hack_passed_players: bool = True  # G25
    download_needs_space: bool = True  # G17
    storage_over_limit: str = "keep"  # G16: the only value so far
    op_needs_effect: bool = True  # G32; False: an impossible effect is skipped, the tweaks stay
    face_down_counts_for_adjacency: bool = True  # G24
    mult_can_copy_face_down: bool = True  # G33
    mult_copies_face_up: bool = True  # G33; False: each copy has the face of its original
    add_may_reuse_cell: bool = True  # G30
    min_board_tiles: int = 1  # G28
    require_connected: bool = False  # G29
    flip_when_capped: bool = True  # G21
    final_includes_passed: bool = True  # G39
    final_pass_reward: bool = (
        False  # G40; True: who has not passed yet does so as in any round, for spot and GPU
    )
    # ends
    reward_mode: str = "winner"  # G42: or "rank"
    score_truncated: bool = True  # G43
    max_rounds: int = 40
    max_decisions: int = 2000
    # what players see
    observe_pile_counts: bool = False  # G44

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, (list, tuple)):
                object.__setattr__(self, f.name, _as_tuple(value))
        for f in fields(self):
            _check_kind(f.name, getattr(self, f.name), f.default)
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(getattr(self, name))}"
                )
        for name, (low, high) in RANGES.items():
            _check_range(name, getattr(self, name), low, high)
        for name, size in SIZES.items():
            if len(getattr(self, name)) != size:
                raise ValueError(f"{name} must have {size} entries, got {shown(getattr(self, name))}")
        for holds, message in CONSISTENCY:
            if not holds(self):
                raise ValueError(message.format(self))

    @property
    def cells(self) -> int:
        """H, the number of cells of a player board."""
        return 3 * self.board_radius * (self.board_radius + 1) + 1

    @property
    def num_actions(self) -> int:
        """The EDGE actions are the last: three directions from every cell."""
        return Act.CELL + (1 + len(DIRECTIONS)) * self.cells

    @property
    def centre(self) -> int:
        """The cell of the first tile (G3)."""
        return self.cells // 2 if self.centre_cell < 0 else self.centre_cell

    @property
    def pile_start(self) -> int:
        """Tiles shuffled into the pile (F6), before the market is laid out."""
        return (TYPES * self.tiles_per_type_per_player - 2) * self.players


def axial_cells(radius: int) -> list[tuple[int, int]]:
    """(q, r) of every cell of a hexagon, in the order of their numbers."""
    span = range(-radius, radius + 1)
    return [(q, r) for r in span for q in span if abs(q + r) <= radius]


CHOICES: dict[str, tuple[Any, ...]] = {
    "players": (2, 3, 4),
    "board_radius": (1, 2, 3),
    "setup_order": ("turn", "seat"),
    "storage_over_limit": ("keep",),
    "reward_mode": ("winner", "rank"),
}
RANGES = {  # of the value, or of every entry
    "tiles_per_type": (1, MAX_COUNT),
    "tiles_per_type_per_player": (1, MAX_COUNT),
    "market_size": (1, MAX_COUNT),
    "op_cost": (0, MAX_INT8),
    "op_tweaks": (0, MAX_INT8),
    "op_copies": (0, MAX_COUNT),
    "level_min": (-MAX_INT8, MAX_INT8),
    "level_max": (-MAX_INT8, MAX_INT8),
    "tier_level": (-MAX_INT8, MAX_INT8),
    "tier_hand": (0, MAX_COUNT),
    "tier_storage": (0, MAX_COUNT),
    "tier_income": (0, MAX_INT8),
    "gpu_max": (0, MAX_INT8),
    "pass_reward": (0, MAX_INT8),
    "cost_download": (0, MAX_INT8),
    "cost_load": (0, MAX_INT8),
    "cost_hack": (0, MAX_INT8),
    "cost_run": (0, MAX_INT8),
    "load_tweaks": (0, MAX_INT8),
    "hack_gpu_gain": (0, MAX_INT8),
    "min_board_tiles": (0, MAX_INT8),
    "max_rounds": (1, 2**15 - 1),
    "max_decisions": (1, 2**31 - 1),
}
SIZES = {"op_cost": 4, "op_tweaks": 4, "op_copies": 4, "tiebreak_order": TYPES, "pass_reward": 4}


def _is_card(card: Any) -> bool:
    """Two rows of two, four different types."""
    rows = card if isinstance(card, tuple) and all(isinstance(row, tuple) for row in card) else ()
    return [len(row) for row in rows] == [2, 2] and len({*rows[0], *rows[1]} & set(range(TYPES))) == 4


def _centre_and_a_neighbour_are_light(rules: RuleFields) -> bool:
    cells = axial_cells(rules.board_radius)
    q, r = cells[rules.centre]
    steps = [*DIRECTIONS, *((-dq, -dr) for dq, dr in DIRECTIONS)]
    light = [cell for h, cell in enumerate(cells) if h not in rules.dark_cells]
    return (q, r) in light and any((q + dq, r + dr) in light for dq, dr in steps)


CONSISTENCY: tuple[tuple[Callable[[RuleFields], bool], str], ...] = (
    (
        lambda r: all(0 <= h < r.cells for h in r.dark_cells),
        "dark_cells must be cells of the board of {0.cells}, got {0.dark_cells}",
    ),
    (
        lambda r: -1 <= r.centre_cell < r.cells,
        "centre_cell must be -1 or one of the {0.cells} cells, got {0.centre_cell}",
    ),
    (_centre_and_a_neighbour_are_light, "centre_cell {0.centre} and a cell beside it must be light"),
    (
        lambda r: all(map(_is_card, r.tensor_cards)) and r.players <= len(r.tensor_cards) <= MAX_INT8,
        f"tensor_cards must be {{0.players}}..{MAX_INT8} cards of two rows of two, each of four different types"
        " 0..4, got {0.tensor_cards}",
    ),
    (
        lambda r: (
            len(r.fixed_cards) in (0, r.players)
            and all(0 <= card < len(r.tensor_cards) for card in r.fixed_cards)
        ),
        "fixed_cards must be empty or an index into tensor_cards for each of {0.players} players, got {0.fixed_cards}",
    ),
    (
        lambda r: r.tiles_per_type >= r.tiles_per_type_per_player * r.players,
        "tiles_per_type {0.tiles_per_type} are too few for {0.players} players",
    ),
    (
        lambda r: r.pile_start > r.market_size,
        "market_size {0.market_size} leaves no draw pile of {0.pile_start} tiles",
    ),
    (
        lambda r: r.level_min <= r.level_start <= r.level_max <= r.level_min + MAX_COUNT,
        f"level_min, level_start and level_max must ascend and span at most {MAX_COUNT} steps,"
        " got {0.level_min}, {0.level_start}, {0.level_max}",
    ),
    (
        lambda r: r.tier_level != () and r.tier_level[0] <= r.level_min,
        "tier_level {0.tier_level} has no tier for level {0.level_min}",
    ),
    (
        lambda r: list(r.tier_level) == sorted(set(r.tier_level)),
        "tier_level must ascend, got {0.tier_level}",
    ),
    (
        lambda r: len(r.tier_hand) == len(r.tier_storage) == len(r.tier_income) == len(r.tier_level),
        "tier_hand, tier_storage and tier_income must have an entry for each tier of tier_level {0.tier_level}",
    ),
    (
        lambda r: sorted(r.tiebreak_order) == list(range(TYPES)),
        "tiebreak_order must be each type 0..4 once, got {0.tiebreak_order}",
    ),
    (
        lambda r: 0 <= r.gpu_start <= r.gpu_max,
        "gpu_start must be in 0..{0.gpu_max} (gpu_max), got {0.gpu_start}",
    ),
    (
        lambda r: 0 <= r.gpu_start_first <= r.gpu_max,
        "gpu_start_first must be in 0..{0.gpu_max} (gpu_max), got {0.gpu_start_first}",
    ),
    (
        lambda r: -1 <= r.first_player < r.players,
        "first_player must be -1 or a seat of {0.players}, got {0.first_player}",
    ),
)


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, (list, tuple)) else value


def _check_kind(name: str, value: Any, default: Any) -> None:
    """A field has the type of its default; a tuple holds integers, cards in `tensor_cards`."""
    wanted = type(default)
    if type(value) is not wanted:
        kind = {bool: "true or false", int: "an integer", str: "a string", tuple: "a list"}[wanted]
        raise ValueError(f"{name} must be {kind}, got {shown(value)}")
    if wanted is tuple and name != "tensor_cards" and not all(type(entry) is int for entry in value):
        raise ValueError(f"{name} must be a list of integers, got {shown(value)}")


def _check_range(name: str, value: Any, low: int, high: int) -> None:
    entries: Sequence[int] = value if isinstance(value, tuple) else (value,)
    if not all(low <= entry <= high for entry in entries):
        raise ValueError(f"{name} must be in {low}..{high}, got {shown(value)}")


def load_rules(path: str | Path) -> dict[str, Any]:
    """A rule set from a TOML file, for `make("tensor_equilibrium", **load_rules(path))`.

    Fields that the file lacks keep their defaults. ValueError, naming the file and the field, for a field that does not
    exist, for a value of another kind, and for values that make no game.
    """
    path = file_path("path", path)
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: no TOML: {error}") from None
    known = [f.name for f in fields(RuleFields)]
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or known
            raise ValueError(f"{path}: unknown field {shown(name)}; did you mean {' or '.join(near)}?")
    try:
        rules = RuleFields(**values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return {name: getattr(rules, name) for name in values}
