"""Positions for tests, given by differences from a start, and a notation for boards: "18:A↑" has cell, type, face."""

from collections.abc import Callable
from typing import Any

from tests.games.chance import draw, game_key
from tests.games.tensor_equilibrium.rules import Act, Phase

GAME = "tensor_equilibrium"
A, B, C, D, E = range(5)
ALL_DOWN = "18:A↓ 19:C↓"
PAIR = "18:A↑ 19:C↑"
CELLS = 37
# The mover's action ends the game:
LAST_ACTION: dict[str, Any] = {"final": 1, "final_left": 0, "pile": [0] * 5}
Start = Callable[..., Any]

# Rules away from the defaults. Kernels for a rule set take seconds, so rulings that do not meet share one; of fields
# that are false here, no two are in one set as well as in one of the `VARIANTS` of test_env.py: a mix-up shows.
LAX: dict[str, Any] = {
    **{"tiebreak_order": (4, 3, 2, 1, 0), "op_tweaks": (0, 2, 3, 2), "load_tweaks": 2, "gpu_max": 10},
    **{"hack_gpu_gain": 2, "tweak_optional": False, "flip_when_capped": False},
}
DEAR: dict[str, Any] = {
    **{"cost_download": 3, "cost_load": 3, "cost_hack": 2, "cost_run": 2, "op_cost": (4, 4, 4, 4)},
    **{"tier_level": (0, 3, 8), "tier_hand": (0, 2, 3), "tier_storage": (1, 2, 4), "tier_income": (0, 5, 6)},
    **{"load_tweaks": 0, "face_down_counts_for_adjacency": False},
}
FLAT: dict[str, Any] = {"level_min": 3, "level_max": 3, "mult_copies_face_up": False}
TIGHT: dict[str, Any] = {"min_board_tiles": 0, "require_connected": True, "add_may_reuse_cell": False}
SCARCE: dict[str, Any] = {"tiles_per_type": 12, "op_needs_effect": False}
GUARDED: dict[str, Any] = {"min_board_tiles": 2, "mult_can_copy_face_down": False}
SHORT: dict[str, Any] = {
    **{"max_rounds": 3, "max_decisions": 9, "score_truncated": False, "download_needs_space": False},
    **{"final_pass_reward": True, "pass_reward": (3, 5, 6, 6)},
}
THREE: dict[str, Any] = {
    **{"final_includes_passed": False, "hack_passed_players": False, "hack_bonus": False},
    **{"reward_mode": "rank"},
}
COMPONENTS: dict[str, Any] = {
    **{"tiles_per_type": 14, "tiles_per_type_per_player": 4, "market_size": 3, "op_copies": (1, 3, 2, 2)},
    **{"level_start": 4, "gpu_start": 9, "gpu_start_first": 5, "first_player": 0, "fixed_cards": (7, 3)},
}


def tiles(text: str, cells: int = CELLS) -> list[int]:
    board = [0] * cells
    for tile in text.split():
        cell, letter_and_face = tile.split(":")
        board[int(cell)] = 1 + "ABCDE".index(letter_and_face[0]) + (5 if letter_and_face[1] == "↓" else 0)
    return board


def show(game: Any, seat: int) -> str:
    """Return the board of a seat in the notation of `tiles`."""
    board = game.to_dict()["board"][seat]
    return " ".join(f"{h}:{'ABCDE'[(code - 1) % 5]}{'↑' if code <= 5 else '↓'}" for h, code in enumerate(board) if code)


def counts(letters: str) -> list[int]:
    return [letters.count(letter) for letter in "ABCDE"]


def position(players: int = 2, tiles_per_type: int = 20, **changes: Any) -> dict[str, Any]:
    """Player 1 to move, 7 GPU each, tokens on 3, PAIR on every board, the card AB|CD for all.

    `board`, `storage`, `hand`, `level` and `gpu` are given as {seat: value}, boards and tiles in letters, hands as
    cards; any other field of a state by its value. Tiles that lie nowhere else are supply, or pile if `supply` is
    given.
    """
    seats = range(players)
    named = {name: changes.pop(name, {}) for name in ("board", "storage", "hand", "level", "gpu")}
    copies = 1 if players == 2 else 2
    hand = [[list(named["hand"].get(p, ())).count(o) for o in range(4)] for p in seats]
    state: dict[str, Any] = {
        "board": [tiles(named["board"].get(p, PAIR)) for p in seats],
        "level": [list(named["level"].get(p, [3] * 5)) for p in seats],
        "storage": [counts(named["storage"].get(p, "")) for p in seats],
        "hand": hand,
        "gpu": [named["gpu"].get(p, 7) for p in seats],
        "card": [0] * players,
        "order": list(seats),
        "next_order": [-1] * players,
        "passed": [0] * players,
        "n_passed": 0,
        "pile": [2] * 5,
        "supply": [0] * 5,
        "market": counts(changes.pop("market", "ABCDE")),
        "ops": [copies - sum(cards[o] for cards in hand) for o in range(4)],
        "phase": int(Phase.MAIN),
        "pos": 0,
        "turn": 0,
        "actor": 0,
        "pend_target": -1,
        "pend_type": -1,
        "pend_slot": -1,
        "picks_left": 0,
        "tweaks_left": 0,
        "pend_flip": [[0] * 5 for _ in seats],
        "final": 0,
        "final_left": 0,
        "round": 0,
        "decisions": 3 * players,
        "done": 0,
        "truncated": 0,
    }
    if unknown := set(changes) - set(state):
        raise TypeError(f"no such fields: {sorted(unknown)}")
    rest = "pile" if "supply" in changes else "supply"
    state.update(changes)
    for t in range(5):
        boards = sum(board.count(1 + t) + board.count(6 + t) for board in state["board"])
        elsewhere = boards + state["market"][t] + sum(storage[t] for storage in state["storage"])
        state[rest][t] = tiles_per_type - elsewhere - state["supply" if rest == "pile" else "pile"][t]
        assert state[rest][t] >= 0, f"too many tiles of type {t}"
    assert sum(state["pile"]) <= 13 * players - 5, "more tiles than the set-up leaves in the pile"
    return state


def begin(start: Start, players: int = 2, *, seed: int = 0, rules: dict[str, Any] | None = None, **changes: Any) -> Any:
    """Start a game from `position`, under rules with the given differences from the defaults."""
    rules = rules or {}
    state = position(players, rules.get("tiles_per_type", 20), **changes)
    return start(GAME, state, seed=seed, players=players, **rules)


def first_seed(players: int, seat: int) -> int:
    """Return a seed whose first game starts with this seat."""
    return next(seed for seed in range(100) if draw(game_key(seed, 0, 0), 0, players) == seat)


def play(game: Any, *actions: int) -> Any:
    for action in actions:
        game.apply(int(action))
    return game


def acts(action: Act, *choices: int) -> list[int]:
    """Return an action for several types (LOAD, TAKE, TWEAK, TYPE), cards (CODE, RUN) or cells (CELL)."""
    return [int(action) + choice for choice in choices]


def hack(k: int, t: int) -> int:
    """Return HACK of the k-th seat after the actor."""
    return int(Act.HACK) + 5 * (k - 1) + t


def edge(d: int, h: int, cells: int = CELLS) -> int:
    return int(Act.CELL) + cells + d * cells + h


def cells(game: Any) -> list[int]:
    """Return the legal cells, and assert that nothing else is legal."""
    found = [action - Act.CELL for action in game.legal_actions()]
    assert all(0 <= h < CELLS for h in found)
    return found


def kinds(game: Any, action: Act, count: int) -> list[int]:
    """Return the legal ones of the `count` actions from `action` on, as types or operation cards."""
    return [i for i in range(count) if action + i in game.legal_actions()]


def parts(game: Any, observer: int, players: int) -> dict[str, list[int]]:
    """Split an observation into its parts."""
    left, found = list(game.observation(observer)), {}
    sizes = {"cells": players * 10 * CELLS, "players": players * 37, "table": 26, "phase": 16, "target": players}
    for name, size in (sizes | {"type": 5, "slot": CELLS, "direction": 3, "mask": 46 + 4 * CELLS}).items():
        found[name], left = [int(number) for number in left[:size]], left[size:]
    assert left == []
    return found


def numbers(game: Any, seat: int, players: int = 2, observer: int | None = None) -> dict[str, Any]:
    """Return the entries of a seat in the part `players`; the seat is its own observer by default."""
    observer = seat if observer is None else observer
    start = (seat - observer) % players * 37
    row = parts(game, observer, players)["players"][start : start + 37]
    many = {"level": 5, "storage": 5, "hand": 4, "gpu": 1, "top": 5, "bottom": 5, "pend_flip": 5}
    single = ("passed", "place", "next_place", "hand_limit", "storage_limit", "income", "is_turn")
    found: dict[str, Any] = {}
    for name, size in (many | dict.fromkeys(single, 1)).items():
        found[name], row = row[0] if size == 1 else row[:size], row[size:]
    return found


def phase(game: Any) -> int:
    return int(game.to_dict()["phase"])


def to_move(game: Any) -> int:
    """Return the seat whose ordinary turn it is."""
    state = game.to_dict()
    assert state["phase"] == Phase.MAIN and state["turn"] == state["actor"] == game.current_player
    return int(game.current_player)


def levels(game: Any, seat: int = 0) -> list[int]:
    return list(game.to_dict()["level"][seat])


def gpu(game: Any) -> list[int]:
    return list(game.to_dict()["gpu"])


def load_cells(start: Start, board: str, t: int, **rules: Any) -> list[int]:
    """Return the cells where seat 0 may load a tile of type t."""
    game = begin(start, storage={0: "ABCDE"}, board={0: board}, level={0: [8] * 5}, rules=rules)
    return cells(play(game, Act.LOAD + t)) if Act.LOAD + t in game.legal_actions() else []


def last_pass(start: Start, *, board: str = ALL_DOWN, **changes: Any) -> Any:
    """Return a game after its last action, a pass; with ALL_DOWN every token falls by one."""
    players = len(changes["level"])
    changes = LAST_ACTION | {"board": {p: board for p in range(players)}} | changes
    return play(begin(start, players, **changes), Act.PASS)
