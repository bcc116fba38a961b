"""Three Will: the tensor engine against the reference, golden games, statistics of random play, and budgets."""

from itertools import repeat
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.three_will.data import CHART
from tests.games.lockstep import play_in_lockstep, replay_traces
from tests.games.shared import observe, shared_env
from tests.games.three_will.position import CHALLENGE, FMOVE, FREE, MOVE, OVER, position
from tests.games.three_will.test_reference import DEFAULT_MEANS, VARIANTS, mirrored

# Every field of the rules away from its default, in few environments.
OTHER_RULES: tuple[dict[str, Any], ...] = (
    {
        "fail_ends_turn": False,
        "held_under_locked": "held",
        "challenge_ends_turn": False,
        "first_player": 1,
        "to_win": 2,
    },
    {"loan": False, "challenge": False, "leap_diagonals": False, "ids_visible": True, "supplementary": False},
    {"chart": CHART[::-1], "cards_each": 1, "cards_total": 5, "max_turns": 60, "first_player": 0},
)


def made(ids_visible: bool = False) -> te.Env:
    return shared_env("three_will", **({"ids_visible": True} if ids_visible else {}))


def test_random_games_agree_with_the_reference() -> None:
    returns = play_in_lockstep("three_will", batch=6, seed=4, observe_every=50)
    assert (returns.sum(1) == 0).all() and (abs(returns) == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("config", OTHER_RULES, ids=lambda config: next(iter(config)))
def test_random_games_under_other_rules(config: dict[str, Any]) -> None:
    play_in_lockstep("three_will", batch=3, seed=5, max_steps=150, observe_every=50, **config)


@pytest.mark.slow
@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_many_random_games_agree_with_the_reference(config: dict[str, Any]) -> None:
    """Play ten thousand games of the default rules, with some 2.3 million decisions."""
    play_in_lockstep("three_will", batch=100 if config else 10_000, seed=8, observe_every=40, **config)


@pytest.mark.slow
def test_golden_games() -> None:
    assert replay_traces("three_will") == 4


@pytest.mark.slow
def test_statistics_of_random_play() -> None:
    """Check that means are within four standard errors of the known answers and these games together."""
    games, recorded = 4096, 2000
    vector = te.VectorEnv(made(), games, seed=1, autoreset="disabled")
    starters = vector.state.current_player.numpy()
    for _ in range(500):
        vector.step_uniform()
    now = vector.state.numpy()
    winners = now["winner"]
    assert (winners >= 0).all()
    measured: dict[str, np.ndarray] = {
        "steps": now["ply"],
        "turns": now["turns"],
        "white": winners == 0,
        "starter wins": winners == starters,
        "truncated": now["truncated"],
    }
    for name, values in measured.items():
        error = 4 * values.std() * np.sqrt(1 / games + 1 / recorded) + 1e-3 * DEFAULT_MEANS[name]
        assert values.mean() == pytest.approx(DEFAULT_MEANS[name], rel=0, abs=error), name


def test_few_bytes() -> None:
    # agents 16, numbers 8, ply, episode and key 16, counters and flags 8, rewards and mask 16
    assert made().state_bytes == 64


# What the players see.


@pytest.fixture(scope="module")
def middle_games() -> list[dict[str, Any]]:
    """Return positions of every phase from random games."""
    env = made()
    state = env.init(48, seed=7)
    found: list[dict[str, Any]] = []
    for ply in range(240):
        state = env.step(state, te.agents.uniform(state))
        rows = range(48) if ply % 60 == 59 else np.flatnonzero(state.numpy()["phase"] == CHALLENGE).tolist()
        found += [env.state_to_dict(state, row) for row in rows]
    assert {game["phase"] for game in found} == {MOVE, FREE, FMOVE, CHALLENGE, OVER}
    return found


def seen(ids_visible: bool, games: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    env = made(ids_visible)
    state = env.state_from_dicts(games)
    views = {f"player {p}": observe(state, p) for p in (0, 1)}
    return views | {"current player": observe(state, None), "mask": state.numpy()["legal_action_mask"]}


@pytest.mark.slow
def test_numbers_and_card_stay_hidden(middle_games: list[dict[str, Any]]) -> None:
    rng = np.random.default_rng(0)
    others = []
    for game in middle_games:
        ids = [*(1 + rng.permutation(8)).tolist(), *(1 + rng.permutation(8)).tolist()]
        others.append(game | {"ids": ids, "ces": int(rng.integers(9))})
    one, other = seen(False, middle_games), seen(False, others)
    for name in one:
        assert (one[name] == other[name]).all(), name
    one, other = seen(True, middle_games), seen(True, others)
    for player in (0, 1):
        a, b = one[f"player {player}"], other[f"player {player}"]
        assert (a[:, :322] == b[:, :322]).all() and (a[:, 322:] != b[:, 322:]).any(1).all()
        expected = np.array([game["ids"][8 * player :] + game["ids"][: 8 * player] for game in others])
        assert np.allclose(b[:, 322:] * 8, expected)


@pytest.mark.slow
def test_both_sides_are_symmetric(middle_games: list[dict[str, Any]]) -> None:
    """Check that after a half turn with exchanged colours, observations and actions are exchanged (I12)."""
    here, there = seen(True, middle_games), seen(True, [mirrored(game) for game in middle_games])
    assert (here["player 0"] == there["player 1"]).all() and (here["player 1"] == there["player 0"]).all()
    assert (here["current player"] == there["current player"]).all() and (here["mask"] == there["mask"]).all()


@pytest.mark.slow
def test_dictionaries_lead_back(middle_games: list[dict[str, Any]]) -> None:
    env = made()
    state = env.state_from_dicts(middle_games)
    terminated = state.numpy()["terminated"]
    for row in range(0, len(middle_games), 7):
        assert env.state_to_dict(state, row) == middle_games[row]
        assert terminated[row] == (middle_games[row]["phase"] == OVER)


# Refusals, names, pictures.


@pytest.mark.parametrize(
    "config",
    (
        {"chart": CHART[:5]},
        {"chart": (*CHART[:5], ())},
        {"chart": (*CHART[:5], ((0, 0),))},
        {"chart": (*CHART[:5], ((2, 0),))},
        {"chart": (*CHART[:5], ((1, 0), (1, 0)))},
        {"first_player": 2},
        {"loan": 1},
        {"cards_each": 5},
        {"cards_each": -1},
        {"cards_total": 128},
        {"held_under_locked": "maybe"},
        {"max_turns": 0},
        {"to_win": 9},
        # of another type, which a search through the allowed values would not end at, or would take
        {"max_turns": 1.5},
        {"max_turns": 10**20},
        {"max_turns": "600"},
        {"to_win": True},
        {"to_win": 3.0},
        {"first_player": False},
        {"cards_total": 8.0},
        {"cards_total": None},
        {"challenge": 0},
        {"ids_visible": "no"},
        {"held_under_locked": True},
        {"held_under_locked": ["held"]},
        {"chart": None},
        {"chart": 6},
        {"chart": repeat(CHART[0])},
        {"chart": (*CHART[:5], ((-1.0, 0),))},
        {"chart": (*CHART[:5], ((True, 0),))},
        {"chart": (*CHART[:5], ((1, 0, 0),))},
        {"chart": (*CHART[:5], "up")},
    ),
    ids=str,
)
def test_impossible_rules(config: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(config))):
        te.make("three_will", **config)


def test_a_chart_may_be_given_in_lists() -> None:
    chart = [[list(step) for step in steps] for steps in CHART]
    assert te.make("three_will", chart=chart).rules == te.make("three_will").rules


IMPOSSIBLE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("agents", {"W0": (1, 1), "W1": (1, 1)}),
    ("agents", {"W0": (3, 3, 1)}),
    ("agents", {"W0": (1, 1), "W2": (1, 1, 1)}),
    ("under agent", {"W0": (7, 3), "B0": (7, 3, 1)}),
    ("pos", {"pos": [*range(15), 64]}),
    ("lvl", {"lvl": [0] * 15}),
    ("ids", {"ids": [*range(1, 9), *range(1, 8), 7]}),
    ("cards", {"free": [1, 0]}),
    ("dr", {"dr": [-1, 4]}),
    ("die", {"die": 0}),
    ("player", {"player": 2}),
    ("turns", {"turns": 601}),
    ("phase", {"phase": OVER}),
    ("phase", {"winner": 0}),
    ("truncated", {"phase": OVER, "winner": 0, "truncated": 1}),
    ("Free card", {"phase": FREE}),
    ("challenge", {"phase": CHALLENGE, "declarer": 0, "turn_owner": 0}),
    ("challenge", {"phase": CHALLENGE, "declarer": 1, "turn_owner": -1}),
)


@pytest.mark.parametrize(("what", "changes"), IMPOSSIBLE, ids=str)
def test_impossible_positions(what: str, changes: dict[str, Any]) -> None:
    env = made()
    with pytest.raises(ValueError, match=f"game 1 .*{what}"):
        env.state_from_dicts([position(), position(**changes)])


def test_names_of_actions() -> None:
    env = made()
    names = [env.action_to_string(action) for action in range(env.num_actions)]
    assert [names[a] for a in (0, 5, 23, 24, 25, 26, 33)] == [
        "0a", "1c", "7c", "pass", "free card", "examine 0", "examine 7"
    ]  # fmt: skip
    assert [env.string_to_action(name) for name in names] == list(range(34))
    assert [symmetry.actions for symmetry in env.symmetries()] == [tuple(range(34))]


@pytest.mark.slow
def test_pictures() -> None:
    env = made()
    state = env.state_from_dicts([position(W3=(4, 0), B5=(4, 0, 1), W6=(7, 7), die=6)])
    lines = env.to_string(state).splitlines()
    assert lines[3].split() == ["4", "W3/B5", *"......."] and lines[0].split()[-1] == "W6="
    assert lines[6].split() == ["1", "W0", "W1", "W2", ".", "W4", "W5", ".", "W7"]
    assert lines[-1] == "White rolled 6" and lines[9] == "White: Double Risk 4, Free 0"
    svg = env.render(state)
    assert svg.startswith("<svg") and svg.count("<circle") == 16 + 2 + 6 + 1  # agents, players, pips, compass


def test_pictures_of_an_end_show_what_was_hidden() -> None:
    env = made()
    over = {"phase": OVER, "winner": 0, "ces": 8, "ids": [*range(8, 0, -1), *range(1, 9)]}
    state = env.state_from_dicts([position(**over)])
    text = env.to_string(state)
    assert "W0(8)" in text and "top card 8" in text and text.endswith("White wins")
    assert "top card 8" in env.render(state)
