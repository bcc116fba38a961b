"""How positions and actions of Tensor, a game of equilibrium, are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import CODE_BITS, light_cells
from tensor_envs.games.tensor_equilibrium.cards import partner_word, row_bits
from tensor_envs.games.tensor_equilibrium.data import (
    DIRECTIONS,
    OPERATIONS,
    TYPE_NAMES,
    TYPES,
    Act,
    Phase,
)
from tensor_envs.games.tensor_equilibrium.hexagon import Hexagon
from tensor_envs.games.tensor_equilibrium.rules import TensorEquilibrium
from tensor_envs.rules import Symmetry

FACE_DOWN = TYPES  # added to the code of a face-down tile


def to_dict(rules: TensorEquilibrium, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> the state table of RULES.md."""
    hexagon = Hexagon(rules.board_radius)
    over = s["terminated"] or s["truncated"]
    actor = -1 if over else s["current_player"]
    return {
        "board": [_codes(hexagon, planes) for planes in s["tiles"]],
        "level": [[rules.level_min + n for n in tally.unpack(level)] for level in s["level"]],
        "storage": [tally.unpack(storage) for storage in s["storage"]],
        "hand": [tally.unpack(hand, len(OPERATIONS)) for hand in s["hand"]],
        **{name: list(s[name]) for name in ("gpu", "card", "order", "next_order")},
        "passed": [int(passed) for passed in s["passed"]],
        **{name: tally.unpack(s[name]) for name in ("pile", "supply", "market")},
        "ops": tally.unpack(s["ops"], len(OPERATIONS)),
        **{name: s[name] for name in SAME},
        "turn": _turn(s, actor),
        "actor": actor,
        "pend_slot": _slot(rules, s),
        "pend_flip": [[types >> t & 1 for t in range(TYPES)] for types in s["pend_flip"]],
        "final": int(s["final"]),
        "decisions": s["ply"],
        "done": int(over),
        "truncated": int(s["truncated"]),
    }


def _turn(s: dict[str, Any], actor: int) -> int:
    """Whose turn it is: only a hacked player decides in another's."""
    return int(s["order"][s["pos"]]) if s["phase"] == Phase.TWEAK and actor >= 0 else actor


def _codes(hexagon: Hexagon, planes: list[int]) -> list[int]:
    """Planes of a board -> a code a cell: 0 empty, 1 + t face-up, 6 + t face-down."""
    found = []
    for bit in hexagon.bits:
        code = sum((planes[i] >> bit & 1) << i for i in range(CODE_BITS))
        face_up = planes[CODE_BITS] >> bit & 1
        found.append(code + FACE_DOWN if code and not face_up else code)
    return found


def _slot(rules: TensorEquilibrium, s: dict[str, Any]) -> int:
    if s["pend_bit"] < 0:
        return -1
    cell = Hexagon(rules.board_radius).cell_of_bit[s["pend_bit"]]
    return int(s["pend_direction"]) * rules.cells + cell


def from_dict(rules: TensorEquilibrium, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`. ValueError for a state that no rules of the game could show."""
    game = _checked(rules, game)
    hexagon, cards = Hexagon(rules.board_radius), [rules.tensor_cards[card] for card in game["card"]]
    slot, over = game["pend_slot"], bool(game["done"])
    return {
        "tiles": [_planes(hexagon, board) for board in game["board"]],
        "face_up": [tally.pack([board.count(1 + t) for t in range(TYPES)]) for board in game["board"]],
        "level": [tally.pack([n - rules.level_min for n in level]) for level in game["level"]],
        **{name: [tally.pack(row) for row in game[name]] for name in ("storage", "hand")},
        **{name: tally.pack(game[name]) for name in ("pile", "market", "supply", "ops")},
        "partners": [partner_word(card) for card in cards],
        "rows": [row_bits(card) for card in cards],
        **{name: list(game[name]) for name in ("card", "gpu", "order", "next_order")},
        "pend_flip": [sum(flip << t for t, flip in enumerate(flips)) for flips in game["pend_flip"]],
        "passed": [bool(passed) for passed in game["passed"]],
        **{name: game[name] for name in SAME},
        "pend_bit": hexagon.bits[slot % rules.cells] if slot >= 0 else -1,
        "pend_direction": slot // rules.cells if slot >= 0 else 0,
        "final": bool(game["final"]),
        "current_player": game["actor"],
        "ply": game["decisions"],
        "terminated": over and not game["truncated"],
        "truncated": bool(game["truncated"]),
    }


SAME = (
    "n_passed",
    "phase",
    "pos",
    "pend_target",
    "pend_type",
    "picks_left",
    "tweaks_left",
    "final_left",
    "round",
)


def _planes(hexagon: Hexagon, board: list[int]) -> list[int]:
    types = [(code - 1) % TYPES + 1 if code else 0 for code in board]
    planes = [
        hexagon.set_of(cell for cell, kind in enumerate(types) if kind >> i & 1) for i in range(CODE_BITS)
    ]
    return [*planes, hexagon.set_of(cell for cell, code in enumerate(board) if 1 <= code <= TYPES)]


# *** what a state must keep to ***

Shape = tuple[int, ...]


def _shapes(rules: TensorEquilibrium) -> dict[str, tuple[Shape, int, int]]:
    """Every entry's lengths, least and greatest value."""
    players, most = rules.players, rules.tiles_per_type
    tiles, seats, flag = ((TYPES,), 0, most), (players,), (0, 1)
    copies = rules.op_copies[players - 1]
    return {
        "board": ((players, rules.cells), 0, 2 * TYPES),
        "level": ((players, TYPES), rules.level_min, rules.level_max),
        "storage": ((players, TYPES), 0, most),
        "hand": ((players, len(OPERATIONS)), 0, copies),
        "gpu": (seats, 0, rules.gpu_max),
        "card": (seats, 0, len(rules.tensor_cards) - 1),
        "order": (seats, 0, players - 1),
        "next_order": (seats, -1, players - 1),
        "passed": (seats, *flag),
        "n_passed": ((), 0, players),
        "pile": tiles,
        "supply": tiles,
        "market": tiles,
        "ops": ((len(OPERATIONS),), 0, copies),
        "phase": ((), 0, Phase.OVER),
        "pos": ((), 0, players - 1),
        "turn": ((), -1, players - 1),
        "actor": ((), -1, players - 1),
        "pend_target": ((), -1, players - 1),
        "pend_type": ((), -1, TYPES - 1),
        "pend_slot": ((), -1, len(DIRECTIONS) * rules.cells - 1),
        "picks_left": ((), 0, rules.market_size),
        "tweaks_left": ((), 0, max(rules.load_tweaks, *rules.op_tweaks)),
        "pend_flip": ((players, TYPES), *flag),
        "final": ((), *flag),
        "final_left": ((), 0, players),
        "round": ((), 0, rules.max_rounds),
        "decisions": ((), 0, 2**31 - 1),
        "done": ((), *flag),
        "truncated": ((), *flag),
    }


def _checked(rules: TensorEquilibrium, told: dict[str, Any]) -> dict[str, Any]:
    game = {name: nested(name, told[name], *limits) for name, limits in _shapes(rules).items()}
    for holds, message in STATE_CHECKS:
        if not holds(rules, game):
            raise ValueError(message)
    for t in range(TYPES):
        found = _tiles(game, t)
        if found != rules.tiles_per_type:
            raise ValueError(f"there are {found} tiles of type {t}, not {rules.tiles_per_type}")
    return game


def _tiles(game: dict[str, Any], t: int) -> int:
    """All tiles of a type (I1)."""
    boards = sum(board.count(1 + t) + board.count(1 + FACE_DOWN + t) for board in game["board"])
    held = game["pile"][t] + game["market"][t] + game["supply"][t] + sum(row[t] for row in game["storage"])
    return int(boards + held + (game["phase"] == Phase.PLACE and game["pend_type"] == t))


def _no_tile_on_dark_cells(rules: TensorEquilibrium, game: dict[str, Any]) -> bool:
    light = Hexagon(rules.board_radius).cells_of(light_cells(rules))
    return all(not code or cell in light for board in game["board"] for cell, code in enumerate(board))


def _passed_in_order(rules: TensorEquilibrium, game: dict[str, Any]) -> bool:
    n, spots = game["n_passed"], game["next_order"]
    seats = [p for p, passed in enumerate(game["passed"]) if passed]
    return sorted(spots[:n]) == seats and set(spots[n:]) <= {-1}


def _is_on_its_way(rules: TensorEquilibrium, game: dict[str, Any]) -> bool:
    """What a phase needs to know is there."""
    needs = {
        Phase.SETUP_CELL: ("pend_type",),
        Phase.PLACE: ("pend_target", "pend_type"),
        Phase.ADD_TYPE: ("pend_type", "pend_slot"),
        Phase.ADD_CELL: ("pend_type", "pend_slot"),
        Phase.MUL_CELL: ("pend_slot",),
    }
    return all(game[name] >= 0 for name in needs.get(game["phase"], ()))


StateCheck = Callable[[TensorEquilibrium, dict[str, Any]], bool]
STATE_CHECKS: tuple[tuple[StateCheck, str], ...] = (
    (lambda rules, g: sorted(g["order"]) == list(range(rules.players)), "order must be each seat once"),
    (_passed_in_order, "next_order must hold the seats that have passed, then -1"),
    (_no_tile_on_dark_cells, "board has a tile on a dark cell"),
    (
        lambda rules, g: all(
            g["ops"][o] + sum(hand[o] for hand in g["hand"]) == rules.op_copies[rules.players - 1]
            for o in range(len(OPERATIONS))
        ),
        "ops and hand together must hold every operation card",
    ),
    (
        lambda rules, g: (g["phase"] == Phase.OVER) <= bool(g["done"]) and g["truncated"] <= g["done"],
        "done must be 1 when phase is OVER or truncated is 1",
    ),
    (lambda rules, g: bool(g["done"]) or g["actor"] >= 0, "actor must be a seat while the game goes on"),
    (
        lambda rules, g: g["turn"] == _turn(g, -1 if g["done"] else g["actor"]),
        "turn must be the actor, or in phase TWEAK the seat at pos of the order, or -1 in a game that is over",
    ),
    (_is_on_its_way, "pend_target, pend_type or pend_slot is missing for this phase"),
)


# *** actions ***


def action_to_string(rules: TensorEquilibrium, action: int) -> str:
    """PASS, DOWNLOAD, STOP, CODE(ADD), RUN(MUL), LOAD(B), HACK(seat+1, C), TAKE(A), TWEAK(E), TYPE(D); cells by their
    axial coordinates: CELL(2,-1), and a pair of cells by both: EDGE(0,0 1,0)."""
    axial = Hexagon(rules.board_radius).axial
    if action >= Act.CELL:
        block, cell = divmod(action - Act.CELL, rules.cells)
        q, r = axial[cell]
        if block == 0:
            return f"CELL({q},{r})"
        dq, dr = DIRECTIONS[block - 1]
        return f"EDGE({q},{r} {q + dq},{r + dr})"
    name, first = max(
        ((name, first) for name, first in KINDS.items() if first <= action), key=lambda kind: kind[1]
    )
    number = action - first
    if name in ("PASS", "DOWNLOAD", "STOP"):
        return name
    if name in ("CODE", "RUN"):
        return f"{name}({OPERATIONS[number]})"
    if name == "HACK":
        return f"HACK(seat+{number // TYPES + 1}, {TYPE_NAMES[number % TYPES]})"
    return f"{name}({TYPE_NAMES[number]})"


KINDS = {name: first for name, first in vars(Act).items() if name.isupper() and name != "CELL"}


def symmetries(rules: TensorEquilibrium) -> Iterator[Symmetry]:
    """The identity: turning a board would exchange which tile of a pair MUL names first, and what CELL means then."""
    size = prod(rules.spec.observation_shape)
    yield Symmetry(tuple(range(rules.num_actions)), tuple(range(size)), {})
