"""Random games of the reference engine: invariants, symmetry, statistics; each check can fail."""

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any

import pytest

from tests.games.chance import Key, draw, game_key, policy_key, uniform_action
from tests.games.tensor_equilibrium.cases import PAIR, A, B, position
from tests.games.tensor_equilibrium.reference import Reference
from tests.games.tensor_equilibrium.rules import Act, Hexagon, Phase

# Values that random configurations take their fields from.
CHOICES: dict[str, tuple[Any, ...]] = {
    "players": (2, 3, 4),
    "board_radius": (1, 2, 3),
    "dark_cells": ((), (0, 5)),
    "centre_cell": (-1, 2),
    "tiles_per_type": (16, 20),
    "tiles_per_type_per_player": (2, 3, 4),
    "market_size": (3, 5, 7),
    "op_cost": ((2, 3, 3, 4), (1, 1, 1, 1)),
    "op_tweaks": ((2, 2, 2, 2), (0, 1, 2, 3)),
    "op_copies": ((1, 1, 2, 2), (2, 2, 2, 1)),
    "level_min": (0, 2),
    "level_max": (4, 10),
    "tier_level": ((0, 5, 8), (0, 3, 4)),
    "tiebreak_order": ((0, 1, 2, 3, 4), (3, 0, 4, 2, 1)),
    "gpu_max": (20, 9),
    "pass_reward": ((4, 4, 4, 4), (3, 4, 5, 6)),
    "first_player": (-1, 1),
    "cost_load": (2, 1),
    "setup_order": ("turn", "seat"),
    "load_tweaks": (1, 0, 2),
    "hack_gpu_gain": (0, 1),
    "reward_mode": ("winner", "rank"),
    "min_board_tiles": (1, 0, 3),
    "max_rounds": (40, 5),
    "max_decisions": (2000, 60),
} | dict.fromkeys(
    [
        "tweak_optional",
        "hack_bonus",
        "hack_passed_players",
        "download_needs_space",
        "op_needs_effect",
        "mult_can_copy_face_down",
        "face_down_counts_for_adjacency",
        "mult_copies_face_up",
        "add_may_reuse_cell",
        "require_connected",
        "flip_when_capped",
        "final_includes_passed",
        "final_pass_reward",
        "score_truncated",
        "observe_pile_counts",
    ],
    (True, False),
)


def random_config(number: int) -> dict[str, Any]:
    """Return random rules; half of the fields keep their defaults."""
    key: Key = (number, 0xC0F)
    config = {}
    for i, (name, values) in enumerate(CHOICES.items()):
        if draw(key, 2 * i, 2):
            config[name] = values[draw(key, 2 * i + 1, len(values))]
    return config


def plays(seed: int, **config: Any) -> Iterator[tuple[Reference, list[int], int]]:
    """Yield the game before each decision of a uniformly random run, its legal actions and the one to be applied."""
    game, policy = Reference(game_key(seed, 0, 0), **config), policy_key(seed, 0)
    while legal := game.legal_actions():
        action = uniform_action(policy, game.decisions, legal)
        yield game, legal, action
        game.apply(action)


def checked_run(seed: int, **config: Any) -> Reference:
    """Play a random run, with every invariant checked at every step and those of whole runs at the end."""
    key, final_actions, picked = game_key(seed, 0, 0), 0, False
    game = before = Reference(key, **config)
    game.check(None)
    for game, _, _ in plays(seed, **config):
        game.check(before)
        assert not any(game.rewards), "rewards before the end"
        assert game.phase <= Phase.SETUP_CELL or sum(game.pile) <= sum(before.pile)
        assert sum(game.pile) == sum(before.pile) or before.phase in (Phase.SETUP_CENTRE, Phase.SETUP_CELL, Phase.PICK)
        final_actions += game.final and game.phase == Phase.MAIN
        picked = picked or game.phase == Phase.PICK
        before = Reference.from_dict(game.to_dict(), key, **config)
        assert before.to_dict() == game.to_dict() and before.legal_actions() == game.legal_actions()
        assert before.observation(game.turn) == game.observation(game.turn)
    game.check(before)
    assert game.terminated != game.truncated and game.current_player == -1
    if game.terminated:
        skipped = 0 if game.rules.final_includes_passed else sum(game.passed)
        assert picked and not sum(game.pile) and final_actions >= game.num_players - skipped
        assert final_actions <= game.num_players  # F40
    return game


@pytest.mark.few(1)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_invariants_of_default_games(players: int) -> None:
    assert checked_run(0, players=players).terminated


@pytest.mark.few("3")
@pytest.mark.parametrize("number", range(10))
def test_invariants_of_variants(number: int) -> None:
    checked_run(number, **random_config(number))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(4))
def test_invariants_of_many_games(batch: int) -> None:
    for number in range(40 * batch, 40 * batch + 40):
        checked_run(number, players=2 + number % 3)
        checked_run(number, **random_config(number))


def test_random_configurations_use_every_value() -> None:
    configs = [random_config(number) for number in range(400)]
    for name, values in CHOICES.items():
        assert {config[name] for config in configs if name in config} == set(values)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_round_is_bounded_by_the_gpu(players: int) -> None:
    """Check that every action but PASS costs GPU, which is at most 20 and grows by passing alone."""
    for seed in range(4):
        actions: dict[int, int] = {}
        for game, _, action in plays(seed, players=players):
            if game.phase == Phase.MAIN and action != Act.PASS:
                actions[game.round] = actions.get(game.round, 0) + 1
        assert 0 < max(actions.values()) <= 20 * players


@pytest.mark.few(2)
@pytest.mark.parametrize(("players", "shift"), [(2, 1), (3, 2), (3, 1), (4, 3)])
def test_i20_rotated_seats(players: int, shift: int) -> None:
    def moved(values: list[Any]) -> list[Any]:
        return values[-shift:] + values[:-shift]

    def seat(p: int) -> int:
        return p if p < 0 else (p + shift) % players

    cards = [3, 17, 25, 8][:players]
    twin = Reference(game_key(5, 0, 0), players=players, fixed_cards=tuple(moved(cards)), first_player=seat(0))
    for game, legal, action in plays(5, players=players, fixed_cards=tuple(cards), first_player=0):
        expected = game.to_dict()
        for name in ("board", "level", "storage", "hand", "gpu", "card", "passed", "pend_flip"):
            expected[name] = moved(expected[name])
        for name in ("turn", "actor", "pend_target"):
            expected[name] = seat(expected[name])
        for name in ("order", "next_order"):
            expected[name] = [seat(p) for p in expected[name]]
        assert twin.to_dict() == expected and twin.legal_actions() == legal
        assert twin.observation(seat(1)) == game.observation(1)
        twin.apply(action)
    assert twin.terminated and game.terminated and twin.rewards == moved(game.rewards)


@pytest.mark.parametrize(
    ("radius", "rows", "valid"), [(2, [0, 3, 7, 12, 16], 0x70F1F1E1C), (3, [0, 4, 9, 15, 22, 28, 33], 0xF1F3F7F7E7C78)]
)
def test_cells_of_the_hexagon(radius: int, rows: list[int], valid: int) -> None:
    """Check the row starts and the set of cells as bits, (r + R) * 8 + q + R for the cell (q, r)."""
    hexagon, bits = Hexagon(radius), 0
    found = [h for h in hexagon.cells if hexagon.neighbour[h][3] < 0]
    assert found == rows and hexagon.middle == len(hexagon.cells) // 2
    for row, start in enumerate(rows):
        h, q = start, max(0, radius - row)
        while h >= 0:
            bits, h, q = bits | 1 << row * 8 + q, hexagon.neighbour[h][0], q + 1
    assert bits == valid


def test_from_dict_wants_every_field() -> None:
    state = position()
    del state["market"]
    with pytest.raises(ValueError, match="market"):
        Reference.from_dict(state, (0, 0))


# *** the checks can fail ***


def put(state: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return state | changes


BROKEN: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "a tile too many": ("I1", lambda s: put(s, market=[1, 1, 1, 1, 2])),
    "a card too many": ("I2", lambda s: put(s, ops=[1, 1, 1, 2])),
    "negative market": ("I3", lambda s: put(s, market=[-1, 1, 1, 1, 1], pile=[s["pile"][A] + 2, *s["pile"][1:]])),
    "level above the track": ("I4", lambda s: put(s, level=[[3, 3, 3, 3, 11], [3] * 5])),
    "gpu above the track": ("I5", lambda s: put(s, gpu=[7, 21])),
    "hand above the limit": ("I6", lambda s: put(s, hand=[[0] * 4, [1, 1, 0, 0]], ops=[0, 0, 1, 1])),
    "storage above all limits": (
        "I7",
        lambda s: put(s, storage=[[0] * 5, [6, 0, 0, 0, 0]], supply=[s["supply"][A] - 6, *s["supply"][1:]]),
    ),
    "a tile on a dark cell": ("I8", lambda s: put(position(board={1: "0:A↑"}))),
    "an empty board": ("I9", lambda s: position(board={1: ""})),
    "a large market": ("I10", lambda s: position(market="AABBCC")),
    "a small market": ("I10", lambda s: position(market="AABB")),
    "final with a pile": ("I11", lambda s: put(s, final=1)),
    "a seat twice in the order": ("I12", lambda s: put(s, order=[0, 0])),
    "passed without a spot": ("I12", lambda s: put(s, passed=[0, 1])),
    "a spot without passing": ("I12", lambda s: put(s, next_order=[-1, 0])),
    "done with legal actions": ("I13", lambda s: put(s, done=1)),
    "not the turn player": ("I14", lambda s: put(s, actor=1)),
    "the mover has passed": ("I14", lambda s: put(s, passed=[1, 0], next_order=[0, -1], n_passed=1)),
    "a pending flip in MAIN": ("I18", lambda s: put(s, pend_flip=[[1, 0, 0, 0, 0], [0] * 5])),
    "a pending type in MAIN": ("I19", lambda s: put(s, pend_type=2)),
    "tweaks left in MAIN": ("I19", lambda s: put(s, tweaks_left=1)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_states_are_noticed(name: str) -> None:
    number, change = BROKEN[name]
    config = {"dark_cells": (0,)}
    Reference.from_dict(position(), (0, 0), **config).check(None)
    with pytest.raises(AssertionError, match=f"^{number}\\b"):
        Reference.from_dict(change(position()), (0, 0), **config).check(None)


def test_broken_rewards_are_noticed() -> None:
    game = Reference.from_dict(position(), (0, 0))
    game.rewards = [1.0, -1.0]
    with pytest.raises(AssertionError, match="I15"):
        game.check(None)


PLACING: dict[str, Any] = {"phase": int(Phase.PLACE), "pend_target": 0, "pend_type": B}


@pytest.mark.parametrize(
    ("number", "before", "after"),
    [
        ("I7", {}, {"storage": {0: "AAAA"}}),
        ("I8", {}, {"board": {0: f"{PAIR} 0:A↑ 1:A↑ 2:A↑"}}),
        ("I16", {}, {"level": {1: [3, 4, 3, 3, 3]}}),
        ("I16", {"phase": int(Phase.TWEAK)}, {"level": {0: [3, 5, 3, 3, 3]}}),
        ("I16", {"phase": int(Phase.TWEAK)}, {"level": {1: [3, 4, 3, 3, 3]}}),
        ("I16", {}, {"level": {0: [6, 3, 3, 3, 3]}, "round": 1}),
        ("I16", {"passed": [0, 1], "next_order": [1, -1], "n_passed": 1}, {}),
        ("I17", {"phase": int(Phase.ADD_CELL)}, {"board": {0: f"{PAIR} 0:E↑"}}),
        ("I17", {"phase": int(Phase.MUL_CELL)}, {"board": {0: f"{PAIR} 0:E↑ 1:E↑"}}),
        ("I17", {"phase": int(Phase.MUL_CELL)}, {"board": {0: f"{PAIR} 17:E↑"}}),
        ("I17", PLACING, {"board": {0: f"{PAIR} 20:B↑"}}),
        ("I17", PLACING, {}),
    ],
)
def test_broken_steps_are_noticed(number: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = position(**before), position(**after)
    with pytest.raises(AssertionError, match=f"^{number}\\b"):
        Reference.from_dict(new, (0, 0)).check(Reference.from_dict(old, (0, 0)))


# *** statistics of uniformly random play ***

FIGURES = {  # per game, for 2, 3 and 4 players, to one decimal
    "decisions": (159.1, 242.9, 323.4),
    "PASS": (21.6, 31.0, 39.6),
    "DOWNLOAD": (9.1, 13.2, 17.1),
    "CODE SUB": (5.8, 8.9, 11.1),
    "CODE ADD": (5.3, 7.9, 10.0),
    "CODE DIV": (5.3, 7.9, 10.0),
    "CODE MUL": (4.9, 7.2, 9.2),
    "RUN SUB": (2.0, 2.8, 3.4),
    "RUN ADD": (1.9, 2.4, 3.1),
    "RUN DIV": (1.9, 2.5, 3.1),
    "RUN MUL": (1.7, 2.2, 2.7),
    "LOAD": (8.0, 8.7, 9.0),
    "HACK": (9.5, 21.0, 33.0),
    "TAKE": (22.3, 35.7, 49.2),
    "TWEAK": (16.6, 24.4, 31.6),
    "STOP": (3.4, 4.9, 6.4),
    "TYPE": (5.9, 8.4, 11.1),
    "CELL": (32.4, 51.6, 71.1),
    "EDGE": (1.7, 2.2, 2.7),
    "FLIP": (3.6, 6.5, 9.7),
    "tiles per board": (11.4, 12.5, 13.0),
}
FINE_FIGURES = {  # per game or per decision, to two decimals or more
    "rounds": (10.38, 9.92, 9.47),
    "legal": (5.33, 5.74, 6.00),
    "lowest token": (0.07, 0.10, 0.13),
    "highest token": (3.73, 4.23, 4.64),
    "PASS only": (0.103, 0.114, 0.115),
    "win of seat 0": (0.489, 0.325, 0.245),
    "win of position 0": (0.506, 0.325, 0.255),
    "win of position 1": (0.494, 0.336, 0.249),
}
CARDS = ("SUB", "ADD", "DIV", "MUL")


def action_kind(action: int) -> str:
    for first in (Act.CODE, Act.RUN):
        if first <= action < first + 4:
            return f"{first.name} {CARDS[action - first]}"
    if action >= Act.CELL + 37:
        return "EDGE"
    return max(act for act in Act if act <= action).name


def measure(seed: int, players: int) -> dict[str, float]:
    """Return the figures of one random game; those per decision are still sums."""
    found = dict.fromkeys((*FIGURES, *FINE_FIGURES, "main"), 0.0)
    for game, legal, action in plays(seed, players=players):
        if game.decisions == 0:
            start = list(game.order)
        found[action_kind(action)] += 1
        found["FLIP"] += game.phase == Phase.FLIP
        found["main"] += game.phase == Phase.MAIN
        found["PASS only"] += game.phase == Phase.MAIN and len(legal) == 1
        found["legal"] += len(legal)
    found["decisions"], found["rounds"] = game.decisions, game.round
    found["tiles per board"] = sum(len(game.occupied(p)) for p in range(players)) / players
    found["lowest token"] = sum(min(levels) for levels in game.level) / players
    found["highest token"] = sum(max(levels) for levels in game.level) / players
    winners = [p for p in range(players) if game.rewards[p] == max(game.rewards)]
    for name, seat in (("seat 0", 0), ("position 0", start[0]), ("position 1", start[1])):
        found[f"win of {name}"] = (seat in winners) / len(winners)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3, 4])
def test_statistics_of_random_play(players: int) -> None:
    """Check that means are within 4 standard errors of the recorded ones, which come from 2,000 other games."""
    games = [measure(seed, players) for seed in range(400)]
    per = {"legal": "decisions", "PASS only": "main"}
    for name, values in (FIGURES | FINE_FIGURES).items():
        totals = [game[per[name]] if name in per else 1 for game in games]
        mean = sum(game[name] for game in games) / sum(totals)
        spread = sqrt(sum((game[name] - mean * total) ** 2 for game, total in zip(games, totals, strict=True)))
        error = spread / sum(totals) * sqrt(1 + len(games) / 2000)
        rounding = 0.05 if name in FIGURES else 0.005
        assert mean == pytest.approx(values[players - 2], abs=4 * error + rounding), name
    share = sum(game["main"] for game in games) / sum(game["decisions"] for game in games)
    assert share == pytest.approx(0.48, abs=0.02)
