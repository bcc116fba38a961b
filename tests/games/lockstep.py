"""Random games of the tensor engine beside the reference engine, compared at every ply."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import tensor_envs as te
from tests.games.chance import game_key

TRACES = Path(__file__).parents[1] / "data" / "traces"


def play_in_lockstep(
    game: str, rows: int, seed: int = 0, max_steps: int = 10**6, observe_every: int = 0, **config: Any
) -> np.ndarray:
    """Play `rows` games to their ends by the uniform policy in both engines -> their returns [rows, players].

    At every ply masks, players to move, rewards and flags must agree; at every ply of row 0, and at the end of every
    row, the whole state; every `observe_every` plies the observations of all players, too.
    """
    reference = importlib.import_module(f"tests.games.{game}.reference").Reference
    env = te.make(game, **config)
    state = env.init(rows, seed)
    games = [reference(game_key(seed, row, 0), **config) for row in range(rows)]
    returns = np.zeros((rows, env.num_players))
    for ply in range(max_steps):
        now = state.numpy()
        live = [row for row in range(rows) if not (games[row].terminated or games[row].truncated)]
        for row in range(rows):
            legal = np.flatnonzero(now["legal_action_mask"][row]).tolist()
            assert legal == games[row].legal_actions(), f"row {row}, ply {ply}: legal actions"
        if observe_every and ply % observe_every == 0:
            compare_observations(env, state, games, f"ply {ply}")
        if not live:
            break
        actions = te.random_policy(state).numpy()
        state = env.step(state, actions)
        after = state.numpy()
        for row in live:
            games[row].apply(int(actions[row]))
            where = f"row {row}, ply {ply}"
            assert np.allclose(after["rewards"][row], games[row].rewards), f"{where}: rewards"
            assert after["terminated"][row] == games[row].terminated, f"{where}: terminated"
            assert after["truncated"][row] == games[row].truncated, f"{where}: truncated"
            over = games[row].terminated or games[row].truncated
            if not over:
                assert after["current_player"][row] == games[row].current_player, f"{where}: current_player"
            if over or row == 0:
                assert env.state_to_dict(state, row) == games[row].to_dict(), f"{where}: state"
        returns[live] += after["rewards"][live]
    return returns


def compare_observations(env: te.Env, state: te.State, games: list[Any], where: str) -> None:
    for player in range(env.num_players):
        seen = env.observe(state, player).numpy()
        for row, game in enumerate(games):
            expected = np.array(game.observation(player))
            assert np.allclose(seen[row], expected), f"row {row}, {where}: observation of player {player}"


def replay_traces(game: str) -> int:
    """Replay a game's golden traces in one batch each, larger than the trace -> the number of games replayed."""
    replayed = 0
    for path in sorted(TRACES.glob(f"{game}[.-]*json")):
        trace = json.loads(path.read_text())
        config: dict[str, Any] = trace["config"]
        env = te.make(game, **config)
        state = env.init(7, trace["seed"])
        rows = [recorded["row"] for recorded in trace["games"]]
        returns = np.zeros((len(rows), env.num_players))
        for ply in range(max(len(recorded["actions"]) for recorded in trace["games"])):
            counts = state.numpy()["legal_action_mask"].sum(1)
            actions = te.random_policy(state).numpy()
            for row, recorded in zip(rows, trace["games"], strict=True):
                if ply < len(recorded["actions"]):
                    assert actions[row] == recorded["actions"][ply], f"{path.name}, row {row}, ply {ply}"
                    assert counts[row] == recorded["legal_counts"][ply], f"{path.name}, row {row}, ply {ply}"
            state = env.step(state, actions)
            returns += state.numpy()["rewards"][rows]
        for i, (row, recorded) in enumerate(zip(rows, trace["games"], strict=True)):
            assert env.state_to_dict(state, row) == recorded["final"], f"{path.name}, row {row}"
            assert np.allclose(returns[i], recorded["returns"]), f"{path.name}, row {row}"
            replayed += 1
    return replayed
