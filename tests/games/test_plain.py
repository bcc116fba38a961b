"""Large games' kernels beside the same rules in plain Python, at every ply of whole games.

`te.debug` runs the rule file with plain numbers: no tracer, printer or compiler has a part in it. The smaller games are
compared by `tensor_envs.testing.check_plain_python`, see test_conformance.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.chess.rules import Chess
from tensor_envs.games.tensor_equilibrium.data import Phase
from tests.games.shared import observe, shared_env

BATCH, SEED = 512, 11

Fields = dict[str, Any]
Event = Callable[[Fields, int, Fields], bool]  # fields before an action, the action, and fields after it


def pieces(fields: Fields) -> int:
    return int(fields["own"] | fields["other"]).bit_count()


def pawns(fields: Fields) -> int:
    return int(fields["pawns"]).bit_count()


EVENTS: dict[str, dict[str, Event]] = {
    "chess": {
        "capture": lambda b, a, x: pieces(x) < pieces(b),
        "pawn open to capture in passing": lambda b, a, x: x["en_passant"] != 0,
        "rights to castle lost": lambda b, a, x: x["castling"].bit_count() < b["castling"].bit_count(),
        "promotion": lambda b, a, x: pieces(x) == pieces(b) and pawns(x) < pawns(b),
        "castling": lambda b, a, x: a in Chess().board.castles,
        "position repeated": lambda b, a, x: x["repeats"] > 0,
    },
    "backgammon": {
        "throw": lambda b, a, x: sum(x["dice"]) >= sum(b["dice"]),
        "double": lambda b, a, x: sum(x["dice"]) == 4,
        "man hit": lambda b, a, x: sum(men[24] for men in x["men"]) > sum(men[24] for men in b["men"]),
        "man borne off": lambda b, a, x: sum(map(sum, x["men"])) < sum(map(sum, b["men"])),
        "no move": lambda b, a, x: a == 0,
    },
    "tensor_stars": {
        "turn ended": lambda b, a, x: x["turn"] != b["turn"],
        "point": lambda b, a, x: sum(x["points"]) > sum(b["points"]),
        "hand ended": lambda b, a, x: x["hands"] > b["hands"],
        "question of order": lambda b, a, x: x["cursor"] > 0,
    },
    "tensor_equilibrium": {
        "tile placed": lambda b, a, x: x["tiles"] != b["tiles"],
        "hand changed": lambda b, a, x: x["hand"] != b["hand"],
        "tile drawn from the pile": lambda b, a, x: x["pile"] != b["pile"] and b["phase"] >= Phase.MAIN,
        "round": lambda b, a, x: x["round"] > b["round"],
        "addition": lambda b, a, x: x["phase"] == Phase.ADD_CELL,
        "multiplication": lambda b, a, x: x["phase"] == Phase.MUL_CELL,
    },
    "qubic": {},
    "gomoku": {},
}
# complete games of the batch that are over soon: the fast set has little time
SHORT_GAMES = {
    "chess": (346, 282),
    "backgammon": (107, 185),
    "tensor_stars": (361, 3, 1),
    "tensor_equilibrium": (131, 475),
    "qubic": (44, 16, 188, 0, 1, 2),
    "gomoku": (101, 431, 483, 36),
}
RARE = {
    "pawn open to capture in passing",
    "promotion",
    "castling",
    "position repeated",
    "multiplication",
}  # seen in the slow set alone
MANY_GAMES = {name: 40 if name in ("chess", "tensor_equilibrium") else 100 for name in EVENTS}


def play_beside_plain_python(name: str, rows: tuple[int, ...]) -> Counter[str]:
    """Play some rows of a batch to their ends in both engines; return how often every event happened."""
    env = shared_env(name)
    state, games = env.take(env.init(BATCH, SEED), rows), [te.debug(env, SEED, row) for row in rows]
    seen: Counter[str] = Counter()
    live, seats = list(range(len(rows))), (None, *range(env.num_players))
    while live:
        now, actions = state.numpy(), te.agents.uniform(state).numpy()
        views = {seat: observe(state, seat) for seat in seats}
        for row in live:
            game, where = games[row], f"row {rows[row]}, ply {now['ply'][row]}"
            compare_fields(game, now, row, where)
            for seat in seats:
                view = game.observe(seat)
                assert view.dtype == views[seat].dtype and view.shape == views[seat][row].shape
                np.testing.assert_array_equal(views[seat][row], view, err_msg=f"{where}: seen by {seat}")
            assert game.uniform_action() == actions[row], f"{where}: the uniform policy's action"
            before = game.fields()
            game.step(int(actions[row]))
            seen.update(event for event, has in EVENTS[name].items() if has(before, actions[row], game.fields()))
        state, finished = env.step(state, actions), [row for row in live if games[row].over]
        seen.update(plies=len(live), ended=len(finished))
        if finished:
            after = state.numpy()
            views = {seat: observe(state, seat) for seat in range(env.num_players)}
        for row in finished:
            compare_fields(games[row], after, row, f"row {rows[row]}, at its end")
            for seat, view in views.items():
                np.testing.assert_array_equal(view[row], games[row].observe(seat), err_msg=f"row {rows[row]}")
            seen[f"player 0 gets {games[row].rewards[0]:+g}"] += 1
        live = [row for row in live if not games[row].over]
    return seen


def compare_fields(game: te.ScalarGame, now: dict[str, np.ndarray], row: int, where: str) -> None:
    """Compare all fields, the mask, rewards and flags."""
    for name, value in game.fields().items():
        np.testing.assert_array_equal(np.ravel(now[name][row]), np.ravel(value), err_msg=f"{where}: {name}")
    assert game.legal_actions() == np.flatnonzero(now["legal_action_mask"][row]).tolist(), where
    assert now["rewards"][row].tolist() == game.rewards, where
    assert (now["terminated"][row], now["truncated"][row]) == (game.terminated, game.truncated), where


@pytest.mark.slow
@pytest.mark.parametrize("name", EVENTS)
def test_short_games(name: str) -> None:
    rows = SHORT_GAMES[name]
    seen = play_beside_plain_python(name, rows)
    assert seen["ended"] == len(rows) and seen["plies"] > 40
    assert all(seen[event] for event in EVENTS[name].keys() - RARE), seen
    assert seen["player 0 gets +0"] < len(rows), seen


@pytest.mark.slow
@pytest.mark.parametrize("name", EVENTS)
def test_many_games(name: str) -> None:
    count = MANY_GAMES[name]
    seen = play_beside_plain_python(name, tuple(range(count)))
    assert seen["ended"] == count and seen["plies"] > 30 * count
    assert all(seen[event] for event in EVENTS[name]), seen
    results = {"+1", "-1"}
    results |= {"chess": {"+0"}, "backgammon": {"+2", "-2", "+3", "-3"}}.get(name, set())
    assert {f"player 0 gets {result}" for result in results} <= set(seen), seen


@pytest.mark.few("gomoku")
@pytest.mark.parametrize("name", ["backgammon", "gomoku"])
def test_later_episodes_and_illegal_actions(name: str) -> None:
    """A reset begins the next episode in both; an illegal action ends the game in both."""
    env = shared_env(name)
    state, game = env.init(BATCH, SEED), te.debug(env, SEED, 7)
    for episode in range(3):
        assert game.fields()["episode"] == episode
        for _ in range(5):
            compare_fields(game, state.numpy(), 7, f"episode {episode}")
            actions = te.agents.uniform(state).numpy()
            game.step(int(actions[7]))
            state = env.step(state, actions)
        illegal = np.flatnonzero(~state.numpy()["legal_action_mask"][7])[episode]
        mover = game.fields()["current_player"]
        game.step(int(illegal))
        actions = te.agents.uniform(state).numpy()
        actions[7] = illegal
        state = env.step(state, actions)
        compare_fields(game, state.numpy(), 7, f"episode {episode}, illegal action")
        assert game.terminated and game.rewards[mover] == -1
        game.reset()
        state = env.reset(state, np.ones(BATCH, bool))
