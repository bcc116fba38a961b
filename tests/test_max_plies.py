"""`max_plies` of `te.make`: games are truncated after so many plies, and nothing else changes."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs import registry
from tests.export.test_export import test_c_plays_as_python as play_in_c
from tests.games import dice_race
from tests.games.chance import game_key
from tests.games.lockstep import compare_observations
from tests.games.shared import reference, shared_env
from tests.test_scalar_game import test_a_row_of_a_batch as compare_with_python

TTT = shared_env("tic_tac_toe")
SHORT = shared_env("tic_tac_toe", max_plies=5)
# id, rule fields, max_plies
GAMES: list[tuple[str, dict[str, Any], int]] = [
    ("hyper_tic_tac_toe", {"shape": (3, 3), "k": 3}, 5),  # the first player may win in the last ply
    ("connect_four", {"k": 3}, 12),
    ("hex", {"size": 5}, 1),
    ("leduc_poker", {}, 3),
    ("2048", {}, 40),
    ("three_will", {"max_turns": 70, "to_win": 1}, 69),
    ("tensor_stars", {}, 25),
    ("chess", {}, 60),
    ("backgammon", {}, 30),
    ("tensor_equilibrium", {}, 60),
]


@pytest.mark.few("leduc_poker")
@pytest.mark.parametrize(("name", "config", "limit"), GAMES, ids=[name for name, *_ in GAMES])
def test_games_are_those_of_plain_python_until_the_limit(name: str, config: dict[str, Any], limit: int) -> None:
    """Compare every ply with the reference engine, which has no limit."""
    env, batch, seed = shared_env(name, max_plies=limit, **config), 40, 3
    state = env.init(batch, seed)
    games = [reference(name)(game_key(seed, row, 0), **config) for row in range(batch)]
    live, cut = np.ones(batch, bool), np.zeros(batch, bool)
    for ply in range(1, limit + 1):
        legal = state.legal_action_mask.numpy()
        for row, game in enumerate(games):
            assert np.flatnonzero(legal[row]).tolist() == (game.legal_actions() if live[row] else [])
        actions = te.agents.uniform(state).numpy()
        state = env.step(state, actions)
        after = state.numpy()
        for row in np.flatnonzero(live).tolist():
            games[row].apply(int(actions[row]))
            assert np.allclose(after["rewards"][row], games[row].rewards)
            assert after["terminated"][row] == games[row].terminated
            over = games[row].terminated or games[row].truncated
            cut[row] = ply == limit and not over
            assert after["truncated"][row] == games[row].truncated | cut[row]
            if not over:
                assert after["current_player"][row] == games[row].current_player
        live &= ~(after["terminated"] | after["truncated"])
    assert not live.any() and cut.any() and not state.legal_action_mask.numpy().any()
    if name != "tensor_equilibrium":  # it shows the mask, which is empty now
        compare_observations(state[np.flatnonzero(cut)], [games[row] for row in np.flatnonzero(cut)], "at the limit")
    # dictionaries
    again = env.state_from_dicts([env.state_to_dict(state, row) for row in range(batch)]).numpy()
    for field, values in state.numpy().items():
        assert field in ("key", "episode", "rewards") or (again[field] == values).all(), field
    assert all(env.to_string(state, row) and env.render(state, row) for row in range(4))


def test_a_game_that_ends_in_the_last_ply_is_terminated() -> None:
    state = SHORT.init(2)
    for actions in ([0, 0], [3, 3], [1, 1], [4, 4], [2, 8]):
        state = SHORT.step(state, actions)
    assert state.terminated.tolist() == [True, False] and state.truncated.tolist() == [False, True]
    assert state.rewards.tolist() == [[1, -1], [0, 0]] and not state.legal_action_mask.numpy().any()
    lost = SHORT.step(
        SHORT.state_from_dicts([{"board": [1, -1, 1, -1, 0, 0, 0, 0, 0], "ply": 4, "current_player": 0}]), [0]
    )
    assert lost.terminated.item() and not lost.truncated.item() and lost.rewards.tolist() == [[-1, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [4, 5])
def test_dictionaries_of_a_game_that_truncates_as_well(limit: int) -> None:
    """At ply 5 the rules of the game truncate it, too, and its dictionary has an entry `truncated` of its own."""
    env = shared_env("three_will", max_turns=5, max_plies=limit)
    state = env.init(4, 1)
    for _ in range(limit):
        state = env.step(state, te.agents.uniform(state))
    games = [env.state_to_dict(state, row) for row in range(4)]
    assert state.truncated.numpy().all() and [game["truncated"] for game in games] == [int(limit == 5)] * 4
    again = env.state_from_dicts(games)
    assert again.truncated.numpy().all() and again.phase.tolist() == state.phase.tolist()


@pytest.mark.slow
def test_a_limit_that_the_rules_reach_first_changes_no_game() -> None:
    race = te.make(f"{dice_race.HERE}:GAME", max_plies=50)
    assert race.spec.max_plies == 30
    far, near = (te.rollout(env, "uniform", 64, 100, seed=2).state.numpy() for env in (race, dice_race.shared()))
    assert all((far[name] == near[name]).all() for name in near)


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize(
    "env", [SHORT, shared_env("hyper_tic_tac_toe", shape=(24, 24), k=2, max_plies=3)], ids=lambda env: env.id
)
def test_the_interpreter(env: te.Env) -> None:
    compare_with_python(env)


@pytest.mark.slow
def test_conformance() -> None:
    te.testing.check_env(shared_env("leduc_poker", max_plies=3), steps=16)


def test_identity(tmp_path: Path) -> None:
    """Environments with other limits differ; repr, pickle, copies and files keep the limit."""
    assert repr(SHORT) == "<Env tic_tac_toe-v0 shape=(3, 3), max_plies=5>" and "max_plies=5" in te.text.describe(SHORT)
    assert SHORT.rules.max_plies == SHORT.spec.max_plies == 5 and SHORT.rules.shape == (3, 3)
    assert isinstance(SHORT.rules, type(TTT.rules)) and te.make("tic_tac_toe", max_plies=None).plays_like(TTT)
    assert not SHORT.plays_like(TTT) and not SHORT.plays_like(te.make("tic_tac_toe", max_plies=6))
    for other in (te.make("tic_tac_toe", max_plies=5), pickle.loads(pickle.dumps(SHORT)), copy.deepcopy(SHORT)):
        assert other.plays_like(SHORT) and hash(other.rules) == hash(SHORT.rules)
    state = te.rollout(SHORT, "uniform", 8, 4).state
    te.save_state(state, tmp_path / "state")
    loaded = te.load_state(tmp_path / "state")
    assert loaded.env.plays_like(SHORT) and loaded.ply.tolist() == state.ply.tolist()
    with pytest.raises(ValueError, match=r"the state belongs to <Env tic_tac_toe-v0 .*>, not to .* max_plies=5>"):
        SHORT.step(TTT.init(1), [0])


@pytest.mark.parametrize("name", ["tic_tac_toe", "tensor_equilibrium", "three_will", "go", "shed", "backgammon"])
@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "3", 2**31])
def test_wrong_limits(name: str, limit: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"max_plies must be .*, got"):
        te.make(name, max_plies=limit)


def test_games_with_a_field_of_this_name_have_that() -> None:
    """Go counts its board at its limit, so the game is terminated."""
    go = te.make("go", size=3, max_plies=2)
    assert type(go.rules) is type(te.make("go").rules)
    state = go.step(go.step(go.init(1), [0]), [1])
    assert state.terminated.item() and not state.truncated.item()


def test_custom_games_and_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", {})
    hex_entry = registry.entries()["hex"]
    te.register(te.GameEntry("my_hex", hex_entry.rules, presets={"brief_hex": {"size": 5, "max_plies": 3}}))
    assert repr(te.make("my_hex", size=5, max_plies=3)) == "<Env my_hex-v0 size=5, max_plies=3>"
    assert te.make("my_hex", size=5, max_plies=3).rules == te.make("brief_hex").rules
    with pytest.raises(TypeError, match="the preset 'brief_hex' fixes max_plies=3"):
        te.make("brief_hex", max_plies=4)
    assert te.make("tensor_envs.games.hex.rules:Hex", max_plies=3, size=5).rules == te.make("brief_hex").rules


@cache
def value(board: tuple[int, ...], player: int, plies: int) -> int:
    """Return the value of tic-tac-toe for the player to move, drawn after so many plies, by plain minimax."""
    best = -1
    for cell in (cell for cell in range(9) if not board[cell]):
        after = (*board[:cell], 1 - 2 * player, *board[cell + 1 :])
        lines = [after[3 * k : 3 * k + 3] for k in range(3)] + [after[k::3] for k in range(3)]
        if any(set(line) == {1 - 2 * player} for line in (*lines, after[::4], after[2:8:2])):
            return 1
        best = max(best, 0 if plies == 1 or all(after) else -value(after, 1 - player, plies - 1))
    return best


@pytest.mark.slow
def test_solutions_are_exact() -> None:
    """Some positions that are won without a limit are drawn with it."""
    env = te.make("tic_tac_toe", max_plies=7)
    limited, whole = te.solve(env), te.solve(TTT)
    assert len(limited.counts()) == 8
    state, met, drawn = env.init(300, 5), set[tuple[int, int]](), 0
    for ply in range(7):
        known = limited.value(state)
        boards = [env.state_to_dict(state, row) for row in range(300)]
        unlimited = whole.value(TTT.state_from_dicts(boards))
        for row in np.flatnonzero(~state.terminated.numpy()):
            assert known[row] == value(tuple(boards[row]["board"]), ply % 2, 7 - ply)
            met.add((ply, int(known[row])))
            drawn += known[row] != unlimited[row]
        state = env.step(state, te.agents.uniform(state))
    assert {(6, 0), (6, 1), (5, -1), (4, 1), (2, 1), (0, 0)} <= met and drawn


def test_perft() -> None:
    counts = te.perft(SHORT, 9)
    assert counts.sequences == [1, 9, 72, 504, 3024, 15120] == te.perft(TTT, 5).sequences
    assert counts.games == {(1.0, -1.0): 1440, (0.0, 0.0): 15120 - 1440}


@pytest.mark.slow
def test_searches_and_playouts_end_at_the_limit() -> None:
    """A search wins in the last ply if it can; where nobody can win by the limit, every value is 0."""
    state = SHORT.state_from_dicts([{"board": [1, 1, 0, -1, -1, 0, 0, 0, 0], "current_player": 0, "ply": 4}])
    found = te.search.playout_policy(state, num_simulations=64)
    assert found.action.item() == 2 and found.search_tree.qvalues.tolist() == [[0, 0, 1, 0, 0, 0, 0, 0, 0]]
    brief = shared_env("connect_four", k=3, max_plies=4)  # nobody has three discs in a row before ply 5
    state = brief.init(8)
    assert not te.playout(state, num_playouts=16).numpy().any()
    assert not te.search.playout_policy(state, 32).search_tree.qvalues.numpy().any()
    result = te.rollout(brief, "uniform", batch=64, steps=10)
    assert not result.wins.numpy().any() and result.state.episode.tolist() == [2] * 64


def test_learners_see_a_truncation() -> None:
    vector = te.VectorEnv(SHORT, 64, final_states=True)
    for _ in range(5):
        transition = vector.step_uniform()
    flags = transition.numpy()
    assert (flags["terminated"] ^ flags["truncated"] | (vector.state.ply.numpy() > 0)).all() and flags[
        "truncated"
    ].any()
    assert (transition.final_state.ply.numpy()[flags["truncated"]] == 5).all()


@pytest.mark.slow
def test_exported_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", {})
    entry = registry.entries()["tic_tac_toe"]
    te.register(te.GameEntry("brief", entry.rules, entry.notation, entry.render, presets={"brief_5": {"max_plies": 5}}))
    play_in_c("brief_5", tmp_path)
