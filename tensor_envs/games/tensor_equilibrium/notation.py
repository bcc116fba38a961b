"""Dictionaries and action names of Tensor, a game of equilibrium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensor_envs.games.tensor_equilibrium import tally
from tensor_envs.games.tensor_equilibrium.board import CODE_BITS, light_cells
from tensor_envs.games.tensor_equilibrium.cards import partner_word, row_bits
from tensor_envs.games.tensor_equilibrium.data import DIRECTIONS, OPERATIONS, TYPE_NAMES, TYPES, Act, Phase
from tensor_envs.games.tensor_equilibrium.hexagon import Hexagon
from tensor_envs.games.tensor_equilibrium.rules import TensorEquilibrium
from tensor_envs.rules.plain import Limits, checked, field_limits

# no symmetries but the identity: a turned board would change the first tile of a MUL pair, and so the meaning of CELL
FACE_DOWN = TYPES  # added to the code of a face-down tile
# entries that are fields: numbers, and lists of numbers by seat
SAME = ("n_passed", "phase", "pos", "pend_target", "pend_type", "picks_left", "tweaks_left", "final_left", "round")
LISTS = ("card", "gpu", "order", "next_order")


def to_dict(rules: TensorEquilibrium, s: dict[str, Any]) -> dict[str, Any]:
    """Convert the fields of a game to the state table of RULES.md."""
    hexagon = Hexagon(rules.board_radius)
    over = s["terminated"] or s["truncated"]
    actor = -1 if over else s["current_player"]
    # Counts of five types or of operations lie packed in one word; the dictionary lists them.
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
        # The table of RULES.md has 0 and 1, where the fields are bools.
        "final": int(s["final"]),
        "decisions": s["ply"],
        "done": int(over),
        "truncated": int(s["truncated"]),
    }


def _turn(s: dict[str, Any], actor: int) -> int:
    """Return the seat whose turn it is, or -1. In phase TWEAK a hacked player decides in another's turn."""
    return int(s["order"][s["pos"]]) if s["phase"] == Phase.TWEAK and actor >= 0 else actor


def _codes(hexagon: Hexagon, planes: list[int]) -> list[int]:
    """Return the codes of a board's cells: 0 empty, 1 + t face-up, 6 + t face-down."""
    codes = []
    for bit in hexagon.bits:
        code = sum((planes[i] >> bit & 1) << i for i in range(CODE_BITS))
        face_up = planes[CODE_BITS] >> bit & 1
        codes.append(code + FACE_DOWN if code and not face_up else code)
    return codes


def _slot(rules: TensorEquilibrium, s: dict[str, Any]) -> int:
    """Return the pending cell or pair as a slot number, or -1."""
    if s["pend_bit"] < 0:
        return -1
    cell = Hexagon(rules.board_radius).cell_of_bit[s["pend_bit"]]
    return int(s["pend_direction"]) * rules.cells + cell


def from_dict(rules: TensorEquilibrium, game: dict[str, Any]) -> dict[str, Any]:
    """Convert the state table of RULES.md to fields.

    Raises:
        ValueError, TypeError: an entry of another shape, type or range, or a state that no rules of the game allow.
    """
    # All entries are valid after this, so nothing below refuses one.
    game = _checked(rules, game)
    hexagon = Hexagon(rules.board_radius)
    cards = [rules.tensor_cards[card] for card in game["card"]]
    slot = game["pend_slot"]
    over = bool(game["done"])
    # Some fields follow from others: tallies of face-up tiles, and what the cards say.
    return {
        "tiles": [_planes(hexagon, board) for board in game["board"]],
        "face_up": [tally.pack([board.count(1 + t) for t in range(TYPES)]) for board in game["board"]],
        "level": [tally.pack([n - rules.level_min for n in level]) for level in game["level"]],
        **{name: [tally.pack(row) for row in game[name]] for name in ("storage", "hand")},
        **{name: tally.pack(game[name]) for name in ("pile", "market", "supply", "ops")},
        "partners": [partner_word(card) for card in cards],
        "rows": [row_bits(card) for card in cards],
        **{name: list(game[name]) for name in LISTS},
        "pend_flip": [sum(flip << t for t, flip in enumerate(flips)) for flips in game["pend_flip"]],
        "passed": [bool(passed) for passed in game["passed"]],
        **{name: game[name] for name in SAME},
        # A slot names a cell, or a pair of cells by the first one and a direction.
        "pend_bit": hexagon.bits[slot % rules.cells] if slot >= 0 else -1,
        "pend_direction": slot // rules.cells if slot >= 0 else 0,
        "final": bool(game["final"]),
        "current_player": game["actor"],
        "ply": game["decisions"],
        "terminated": over and not game["truncated"],
        "truncated": bool(game["truncated"]),
    }


def _planes(hexagon: Hexagon, board: list[int]) -> list[int]:
    """Return the planes of a board from the codes of its cells."""
    types = [(code - 1) % TYPES + 1 if code else 0 for code in board]
    planes = [hexagon.set_of(cell for cell, kind in enumerate(types) if kind >> i & 1) for i in range(CODE_BITS)]
    return [*planes, hexagon.set_of(cell for cell, code in enumerate(board) if 1 <= code <= TYPES)]


# *** checks of a state ***


def _checked(rules: TensorEquilibrium, entries: dict[str, Any]) -> dict[str, Any]:
    """Return the entries as lists of ints. Raise ValueError or TypeError for a state that the rules exclude."""
    players = rules.players
    copies = rules.op_copies[rules.players - 1]
    seats = (players,)
    operations = (len(OPERATIONS),)
    tiles = (0, rules.tiles_per_type)
    limits: dict[str, Limits] = {
        "board": ((players, rules.cells), 0, 2 * TYPES),
        "level": ((players, TYPES), rules.level_min, rules.level_max),
        "storage": ((players, TYPES), *tiles),
        "hand": (seats + operations, 0, copies),
        **field_limits(rules, *LISTS, *SAME),
        "passed": (seats, 0, 1),
        **dict.fromkeys(("pile", "supply", "market"), ((TYPES,), *tiles)),
        "ops": (operations, 0, copies),
        **dict.fromkeys(("turn", "actor"), ((), -1, players - 1)),
        "pend_slot": ((), -1, len(DIRECTIONS) * rules.cells - 1),
        "pend_flip": ((players, TYPES), 0, 1),
        "decisions": ((), 0, 2**31 - 1),
        **dict.fromkeys(("final", "done", "truncated"), ((), 0, 1)),
    }
    game = checked(entries, limits)
    for message in _faults(rules, game):
        raise ValueError(message)
    return game


def _faults(rules: TensorEquilibrium, game: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each rule of the game that a state breaks."""
    # Seats, in the order of the turn and of those that have passed.
    if sorted(game["order"]) != list(range(rules.players)):
        yield "order must be each seat once"
    n = game["n_passed"]
    spots = game["next_order"]
    seats = [p for p, passed in enumerate(game["passed"]) if passed]
    if sorted(spots[:n]) != seats or any(seat >= 0 for seat in spots[n:]):
        yield "next_order must hold the seats that have passed, then -1"
    # Tiles lie on light cells, and every operation card is in the open row or in a hand.
    light = Hexagon(rules.board_radius).cells_of(light_cells(rules))
    if any(code and cell not in light for board in game["board"] for cell, code in enumerate(board)):
        yield "board has a tile on a dark cell"
    cards = zip(game["ops"], *game["hand"], strict=True)
    if any(sum(places) != rules.op_copies[rules.players - 1] for places in cards):
        yield "ops and hand together must hold every operation card"
    # The phase decides who acts, and which entries of a pending action must be set.
    done, phase = game["done"], game["phase"]
    if not done and (phase == Phase.OVER or game["truncated"]):
        yield "done must be 1 when phase is OVER or truncated is 1"
    if not done and game["actor"] < 0:
        yield "actor must be a seat while the game goes on"
    if game["turn"] != _turn(game, -1 if done else game["actor"]):
        yield "turn must be the actor, or in phase TWEAK the seat at pos of the order, or -1 in a game that is over"
    pending = {
        Phase.SETUP_CELL: ("pend_type",),
        Phase.PLACE: ("pend_target", "pend_type"),
        Phase.ADD_TYPE: ("pend_type", "pend_slot"),
        Phase.ADD_CELL: ("pend_type", "pend_slot"),
        Phase.MUL_CELL: ("pend_slot",),
    }
    if any(game[name] < 0 for name in pending.get(phase, ())):
        yield "pend_target, pend_type or pend_slot is missing for this phase"
    # Tiles are neither lost nor made; a tile in hand during PLACE lies nowhere else.
    for t in range(TYPES):  # I1
        count = sum(board.count(1 + t) + board.count(1 + FACE_DOWN + t) for board in game["board"])
        count += sum(tiles[t] for tiles in (game["pile"], game["market"], game["supply"], *game["storage"]))
        count += phase == Phase.PLACE and game["pend_type"] == t
        if count != rules.tiles_per_type:
            yield f"there are {count} tiles of type {t}, not {rules.tiles_per_type}"


# *** actions ***


def action_to_string(rules: TensorEquilibrium, action: int) -> str:
    """Return an action's name.

    Names are PASS, DOWNLOAD, STOP, CODE(ADD), RUN(MUL), LOAD(B), HACK(seat+1, C), TAKE(A), TWEAK(E) and TYPE(D). A cell
    is named by its axial coordinates, CELL(2,-1), and a pair by both: EDGE(0,0 1,0).
    """
    axial = Hexagon(rules.board_radius).axial
    if action >= Act.CELL:
        block, cell = divmod(action - Act.CELL, rules.cells)
        q, r = axial[cell]
        if block == 0:
            return f"CELL({q},{r})"
        dq, dr = DIRECTIONS[block - 1]
        return f"EDGE({q},{r} {q + dq},{r + dr})"
    name, first = max(((name, first) for name, first in KINDS.items() if first <= action), key=lambda kind: kind[1])
    number = action - first
    if name in ("PASS", "DOWNLOAD", "STOP"):
        return name
    if name in ("CODE", "RUN"):
        return f"{name}({OPERATIONS[number]})"
    if name == "HACK":
        return f"HACK(seat+{number // TYPES + 1}, {TYPE_NAMES[number % TYPES]})"
    return f"{name}({TYPE_NAMES[number]})"


KINDS = {name: first for name, first in vars(Act).items() if name.isupper() and name != "CELL"}
