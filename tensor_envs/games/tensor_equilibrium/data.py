"""Components, costs, tracks and rulings of Tensor, a game of equilibrium.

The rulebook's pictures are lost, so this project chose figures that agree with its text (RULES.md, whose numbers the
comments cite). Tile types A B C D E are 0..4, operation cards SUB ADD DIV MUL are 0..3. `load_rules` reads a rule set
from a TOML file:

    players = 3
    op_cost = [2, 2, 4, 4]
    tier_level = [0, 4, 8]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

from tensor_envs._validate import shown
from tensor_envs.games._kit.rule_files import read_rules

TYPES = 5
TYPE_NAMES = "ABCDE"
OPERATIONS = ("SUB", "ADD", "DIV", "MUL")
SUB, ADD, DIV, MUL = range(4)
DIRECTIONS = ((1, 0), (0, 1), (-1, 1))  # axial (q, r); a negative step is the opposite direction

Card = tuple[tuple[int, int], tuple[int, int]]  # top pair, bottom pair
TENSOR_CARDS: tuple[Card, ...] = tuple(
    (top, bottom)
    for top in combinations(range(TYPES), 2)
    for bottom in combinations([t for t in range(TYPES) if t not in top], 2)
)

MAX_COUNT = 31  # tiles of a type, cards, or steps of the confidence track: the largest count of a tally
MAX_INT8 = 127


class Act:
    """First action of each kind; the EDGE actions follow the last CELL."""

    PASS = 0
    DOWNLOAD = 1
    CODE = 2  # one for each operation
    RUN = 6
    LOAD = 10  # one for each type, as for every kind up to TYPE
    HACK = 15  # one for each type and each of three other seats
    TAKE = 30
    TWEAK = 35
    STOP = 40
    TYPE = 41
    CELL = 46  # one for each cell


class Phase:
    """Decision of the player to move."""

    SETUP_CENTRE, SETUP_TYPE, SETUP_CELL, MAIN, PICK, PLACE, TWEAK, SUB_CELL = range(8)
    ADD_REMOVE, ADD_TYPE, ADD_CELL, DIV_CELL, MUL_EDGE, MUL_CELL, FLIP, OVER = range(8, 16)


PHASES = 16


@dataclass(frozen=True)
class RuleFields:
    """Components and rulings that may vary.

    Raises:
        ValueError: a value that makes no game; the message names the field.
    """

    players: int = 2
    # components
    board_radius: int = 3  # G1
    dark_cells: tuple[int, ...] = ()  # G2: cells that never hold a tile
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
    storage_over_limit: str = "keep"  # G16: the only value
    op_needs_effect: bool = True  # G32; False: an impossible effect is skipped, the tweaks stay
    face_down_counts_for_adjacency: bool = True  # G24
    mult_can_copy_face_down: bool = True  # G33
    mult_copies_face_up: bool = True  # G33; False: each copy has the face of its original
    add_may_reuse_cell: bool = True  # G30
    min_board_tiles: int = 1  # G28
    require_connected: bool = False  # G29
    flip_when_capped: bool = True  # G21
    final_includes_passed: bool = True  # G39
    final_pass_reward: bool = False  # G40; True: a first pass earns spot and GPU in final actions too
    # ends
    reward_mode: str = "winner"  # G42: or "rank"
    score_truncated: bool = True  # G43
    max_rounds: int = 40
    max_decisions: int = 2000
    # observation
    observe_pile_counts: bool = False  # G44

    def __post_init__(self) -> None:
        for f in fields(self):
            object.__setattr__(self, f.name, _as_tuple(getattr(self, f.name)))
            _check_kind(f.name, getattr(self, f.name), f.default)
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                options = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} must be one of {options}, got {shown(getattr(self, name))}")
        for (low, high), names in RANGES.items():
            for name in names:
                value = getattr(self, name)
                if not all(low <= entry <= high for entry in (value if isinstance(value, tuple) else (value,))):
                    raise ValueError(f"{name} must be in {low}..{high}, got {shown(value)}")
        for name, size in SIZES.items():
            if len(getattr(self, name)) != size:
                raise ValueError(f"{name} must have {size} entries, got {shown(getattr(self, name))}")
        for message in _contradictions(self):
            raise ValueError(message)

    @property
    def cells(self) -> int:
        """Number of cells H of a player board."""
        return 3 * self.board_radius * (self.board_radius + 1) + 1

    @property
    def num_actions(self) -> int:
        """Number of actions. The EDGE actions are the last: three directions from every cell."""
        return Act.CELL + (1 + len(DIRECTIONS)) * self.cells

    @property
    def centre(self) -> int:
        """Cell of the first tile (G3)."""
        return self.cells // 2 if self.centre_cell < 0 else self.centre_cell

    @property
    def pile_start(self) -> int:
        """Number of tiles in the pile before the market is laid out (F6)."""
        return (TYPES * self.tiles_per_type_per_player - 2) * self.players


def axial_cells(radius: int) -> list[tuple[int, int]]:
    """Return the axial coordinates (q, r) of the cells of a hexagon, in the order of their numbers."""
    span = range(-radius, radius + 1)
    return [(q, r) for r in span for q in span if abs(q + r) <= radius]


CHOICES: dict[str, tuple[Any, ...]] = {
    "players": (2, 3, 4),
    "board_radius": (1, 2, 3),
    "setup_order": ("turn", "seat"),
    "storage_over_limit": ("keep",),
    "reward_mode": ("winner", "rank"),
}
RANGES: dict[tuple[int, int], tuple[str, ...]] = {  # limits of a value, or of every entry
    (1, MAX_COUNT): ("tiles_per_type", "tiles_per_type_per_player", "market_size"),
    (0, MAX_COUNT): ("op_copies", "tier_hand", "tier_storage"),
    (-MAX_INT8, MAX_INT8): ("level_min", "level_max", "tier_level"),
    (0, MAX_INT8): (
        *("op_cost", "op_tweaks", "tier_income", "gpu_max", "pass_reward", "cost_download", "cost_load"),
        *("cost_hack", "cost_run", "load_tweaks", "hack_gpu_gain", "min_board_tiles"),
    ),
    (1, 2**15 - 1): ("max_rounds",),
    (1, 2**31 - 1): ("max_decisions",),
}
SIZES = {"op_cost": 4, "op_tweaks": 4, "op_copies": 4, "tiebreak_order": TYPES, "pass_reward": 4}


def _is_card(card: Any) -> bool:
    """Return whether a card is two rows of two types, all different."""
    rows = card if isinstance(card, tuple) and all(isinstance(row, tuple) for row in card) else ()
    return [len(row) for row in rows] == [2, 2] and len({*rows[0], *rows[1]} & set(range(TYPES))) == 4


def _contradictions(r: RuleFields) -> Iterator[str]:
    """Yield a message for each pair of rule fields that contradict each other."""
    # The board
    if not all(0 <= h < r.cells for h in r.dark_cells):
        yield f"dark_cells must be cells of the board of {r.cells}, got {r.dark_cells}"
    if not -1 <= r.centre_cell < r.cells:
        yield f"centre_cell must be -1 or one of the {r.cells} cells, got {r.centre_cell}"
    cells = axial_cells(r.board_radius)
    light = {cell for h, cell in enumerate(cells) if h not in r.dark_cells}
    q, s = cells[r.centre]
    if (q, s) not in light or not any({(q + dq, s + ds), (q - dq, s - ds)} & light for dq, ds in DIRECTIONS):
        yield f"centre_cell {r.centre} and a cell beside it must be light"
    # Cards: every player needs one, and indices are stored as int8.
    if not all(map(_is_card, r.tensor_cards)) or not r.players <= len(r.tensor_cards) <= MAX_INT8:
        yield (
            f"tensor_cards must be {r.players}..{MAX_INT8} cards of two rows of two, each of four different types"
            f" 0..4, got {r.tensor_cards}"
        )
    are_cards = all(0 <= card < len(r.tensor_cards) for card in r.fixed_cards)
    if len(r.fixed_cards) not in (0, r.players) or not are_cards:
        yield (
            f"fixed_cards must be empty or an index into tensor_cards for each of {r.players} players,"
            f" got {r.fixed_cards}"
        )
    # Tiles: the set-up must not exhaust the pile.
    if r.tiles_per_type < r.tiles_per_type_per_player * r.players:
        yield f"tiles_per_type {r.tiles_per_type} are too few for {r.players} players"
    if r.pile_start <= r.market_size:
        yield f"market_size {r.market_size} leaves no draw pile of {r.pile_start} tiles"
    # Levels are counts in a packed word; each level has the last tier that begins at or below it.
    if not r.level_min <= r.level_start <= r.level_max <= r.level_min + MAX_COUNT:
        yield (
            f"level_min, level_start and level_max must ascend and span at most {MAX_COUNT} steps,"
            f" got {r.level_min}, {r.level_start}, {r.level_max}"
        )
    if not r.tier_level or r.tier_level[0] > r.level_min:
        yield f"tier_level {r.tier_level} has no tier for level {r.level_min}"
    if list(r.tier_level) != sorted(set(r.tier_level)):
        yield f"tier_level must ascend, got {r.tier_level}"
    if {len(r.tier_hand), len(r.tier_storage), len(r.tier_income)} != {len(r.tier_level)}:
        yield f"tier_hand, tier_storage and tier_income must have an entry for each tier of tier_level {r.tier_level}"
    if sorted(r.tiebreak_order) != list(range(TYPES)):
        yield f"tiebreak_order must be each type 0..4 once, got {r.tiebreak_order}"
    for name in ("gpu_start", "gpu_start_first"):
        if not 0 <= getattr(r, name) <= r.gpu_max:
            yield f"{name} must be in 0..{r.gpu_max} (gpu_max), got {getattr(r, name)}"
    if not -1 <= r.first_player < r.players:
        yield f"first_player must be -1 or a seat of {r.players}, got {r.first_player}"


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, (list, tuple)) else value


def _check_kind(name: str, value: Any, default: Any) -> None:
    """Raise ValueError for a value of another type than the default, or a list of other things than integers."""
    wanted = type(default)
    if type(value) is not wanted:
        kind = {bool: "true or false", int: "an integer", str: "a string", tuple: "a list"}[wanted]
        raise ValueError(f"{name} must be {kind}, got {shown(value)}")
    if wanted is tuple and name != "tensor_cards" and not all(type(entry) is int for entry in value):
        raise ValueError(f"{name} must be a list of integers, got {shown(value)}")


def load_rules(path: str | Path) -> dict[str, Any]:
    """Read a rule set from a TOML file, for `make("tensor_equilibrium", **load_rules(path))`.

    Args:
        path: file with a line for each rule field that differs from its default.

    Returns:
        Values by rule field.

    Raises:
        ValueError: an unknown field, a value of another kind, or values that make no game; the message names the file.
        OSError: the file cannot be read.

    Examples:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rules.toml"
        >>> _ = path.write_text("players = 3")
        >>> load_rules(path)
        {'players': 3}
    """
    return read_rules(path, RuleFields)
