"""Vocabulary of the reference engine: action and phase numbers, the configuration, the hexagonal board.

G numbers are the rulings of the game's rules file.
"""

from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations

SUB, ADD, DIV, MUL = range(4)  # operation cards


class Act(IntEnum):
    """First action of each kind; the EDGE actions follow the last CELL."""

    PASS = 0
    DOWNLOAD = 1
    CODE = 2
    RUN = 6
    LOAD = 10
    HACK = 15
    TAKE = 30
    TWEAK = 35
    STOP = 40
    TYPE = 41
    CELL = 46


class Phase(IntEnum):
    SETUP_CENTRE = 0
    SETUP_TYPE = 1
    SETUP_CELL = 2
    MAIN = 3
    PICK = 4
    PLACE = 5
    TWEAK = 6
    SUB_CELL = 7
    ADD_REMOVE = 8
    ADD_TYPE = 9
    ADD_CELL = 10
    DIV_CELL = 11
    MUL_EDGE = 12
    MUL_CELL = 13
    FLIP = 14
    OVER = 15


DIRECTIONS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))  # axial (q, r); d and d + 3 are opposite
Pair = tuple[int, int]
ALL_CARDS = tuple(
    (top, bottom)
    for top in combinations(range(5), 2)
    for bottom in combinations([t for t in range(5) if t not in top], 2)
)


@dataclass(frozen=True)
class Rules:
    """Components and rulings that may vary, under the names of the rules file."""

    players: int = 2
    board_radius: int = 3  # G1
    dark_cells: tuple[int, ...] = ()  # G2
    centre_cell: int = -1  # G3; -1: axial (0, 0)
    tensor_cards: tuple[tuple[Pair, Pair], ...] = ALL_CARDS  # G4
    tiles_per_type: int = 20  # G5
    tiles_per_type_per_player: int = 3
    market_size: int = 5
    op_cost: tuple[int, ...] = (2, 3, 3, 4)  # G8
    op_tweaks: tuple[int, ...] = (2, 2, 2, 2)  # G9
    op_copies: tuple[int, ...] = (1, 1, 2, 2)  # F3, by players - 1
    level_min: int = 0  # G6
    level_max: int = 10
    level_start: int = 3
    tier_level: tuple[int, ...] = (0, 5, 8)  # G7
    tier_hand: tuple[int, ...] = (1, 2, 3)
    tier_storage: tuple[int, ...] = (3, 4, 5)
    tier_income: tuple[int, ...] = (1, 2, 3)
    tiebreak_order: tuple[int, ...] = (0, 1, 2, 3, 4)  # G12
    gpu_max: int = 20  # G11
    gpu_start: int = 7
    gpu_start_first: int = 6
    pass_reward: tuple[int, ...] = (4, 4, 4, 4)  # G10
    first_player: int = -1  # G13; -1: drawn
    cost_download: int = 2
    cost_load: int = 2
    cost_hack: int = 1
    cost_run: int = 1
    setup_order: str = "turn"  # G14
    fixed_cards: tuple[int, ...] = ()  # G4
    load_tweaks: int = 1
    tweak_optional: bool = True  # G22
    hack_bonus: bool = True  # G25
    hack_gpu_gain: int = 0  # G26
    hack_passed_players: bool = True  # G25
    download_needs_space: bool = True  # G17
    storage_over_limit: str = "keep"  # G16
    op_needs_effect: bool = True  # G32
    face_down_counts_for_adjacency: bool = True  # G24
    mult_can_copy_face_down: bool = True  # G33
    mult_copies_face_up: bool = True  # G33; False: each copy has the face of its original
    add_may_reuse_cell: bool = True  # G30
    min_board_tiles: int = 1  # G28
    require_connected: bool = False  # G29
    flip_when_capped: bool = True  # G21
    final_includes_passed: bool = True  # G39
    final_pass_reward: bool = False  # G40; True: who has not passed yet does so as in any round
    reward_mode: str = "winner"  # G42
    score_truncated: bool = True  # G43
    max_rounds: int = 40
    max_decisions: int = 2000
    observe_pile_counts: bool = False  # G44

    def __post_init__(self) -> None:
        for name, allowed in (
            ("players", (2, 3, 4)),
            ("setup_order", ("turn", "seat")),
            ("storage_over_limit", ("keep",)),
            ("reward_mode", ("winner", "rank")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        if self.tiles_per_type < self.tiles_per_type_per_player * self.players:
            raise ValueError(f"tiles_per_type {self.tiles_per_type} are too few for {self.players} players")
        if self.tier_level[0] > self.level_min:
            raise ValueError(f"tier_level {self.tier_level} has no tier for level {self.level_min}")
        if self.pile_start <= self.market_size:
            raise ValueError(f"market_size {self.market_size} leaves no draw pile of {self.pile_start} tiles")

    @property
    def pile_start(self) -> int:
        """Tiles shuffled into the pile (F6), before the market is laid out."""
        return (5 * self.tiles_per_type_per_player - 2) * self.players


class Hexagon:
    """Cells numbered row by row, and the neighbours of each in the six directions."""

    def __init__(self, radius: int) -> None:
        span = range(-radius, radius + 1)
        axial = [(q, r) for r in span for q in span if abs(q + r) <= radius]
        index = {cell: h for h, cell in enumerate(axial)}
        self.cells = range(len(axial))
        self.middle = index[0, 0]
        self.neighbour = [[index.get((q + dq, r + dr), -1) for dq, dr in DIRECTIONS] for q, r in axial]
        self.around = [[n for n in row if n >= 0] for row in self.neighbour]


def kind(code: int) -> int:
    """Return the type of the tile with a board code, of either face."""
    return (code - 1) % 5
