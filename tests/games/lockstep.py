"""Random games of the tensor engine beside the reference engine, compared at every ply."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import tensor_envs as te
from tests.games.chance import game_key
from tests.games.shared import observe, reference, shared_env

TRACES = Path(__file__).parents[1] / "data" / "traces"
BLOCK = 64  # games of a whole block, so that all tests of a game launch the same kernels


def play_in_lockstep(
    game: str, batch: int, seed: int = 0, max_steps: int = 10**6, observe_every: int = 0, **config: Any
) -> np.ndarray:
    """Play `batch` games to their ends by the uniform policy in both engines -> their returns [batch, players].

    At every ply masks, players to move, rewards and flags must agree; at every ply of row 0, and at the end of every
    row, the whole state; every `observe_every` plies the observations of all players, too. More games that fill a block
    are not compared.
    """
    env, engine = shared_env(game, **config), reference(game)
    state = env.init(max(batch, BLOCK), seed)
    games = [engine(game_key(seed, row, 0), **config) for row in range(batch)]
    returns = np.zeros((batch, env.num_players))
    for ply in range(max_steps):
        now = state.numpy()
        live = [row for row in range(batch) if not (games[row].terminated or games[row].truncated)]
        for row in range(batch):
            legal = np.flatnonzero(now["legal_action_mask"][row]).tolist()
            assert legal == games[row].legal_actions(), f"row {row}, ply {ply}: legal actions"
        if observe_every and ply % observe_every == 0:
            compare_observations(state, games, f"ply {ply}")
        if not live:
            break
        actions = te.agents.uniform(state).numpy()
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
                written = env.state_to_dict(state, row)  # which may tell the ply, too
                assert written | games[row].to_dict() == written, f"{where}: state"
        returns[live] += after["rewards"][live]
    return returns


def compare_observations(state: te.State, games: list[Any], where: str) -> None:
    for player in range(state.env.num_players):
        seen = observe(state, player)
        for row, game in enumerate(games):
            expected = np.array(game.observation(player))
            assert np.allclose(seen[row], expected), f"row {row}, {where}: observation of player {player}"


def replay_traces(game: str, batch: int = BLOCK) -> int:
    """Replay a game's golden traces in one batch each, larger than the trace -> the number of games replayed.

    Fast tests do so for a few games. Of the others, the references replay traces, and random games are the references'.

    The uniform policy must play them by itself; masks, returns and the last state must be those recorded.
    """
    replayed = 0
    for path in sorted(TRACES.glob(f"{game}[.-]*json")):
        trace = json.loads(path.read_text())
        env, recorded = shared_env(game, **trace["config"]), trace["games"]
        state = env.init(batch, trace["seed"])
        lists: list[list[list[int]]] = [[] for _ in recorded]
        returns = np.zeros((batch, env.num_players))
        for ply in range(max(len(one["actions"]) for one in recorded)):
            mask, actions = state.numpy()["legal_action_mask"], te.agents.uniform(state).numpy()
            for one, legal in zip(recorded, lists, strict=True):
                if ply < len(one["actions"]):
                    assert actions[one["row"]] == one["actions"][ply], f"{path.name}, row {one['row']}, ply {ply}"
                    legal.append(np.flatnonzero(mask[one["row"]]).tolist())
            state = env.step(state, actions)
            returns += state.numpy()["rewards"]
        now = state.numpy()
        for one, legal in zip(recorded, lists, strict=True):
            row, where = one["row"], f"{path.name}, row {one['row']}"
            assert legal[: len(one["first_legal"])] == one["first_legal"], where
            assert [len(actions) for actions in legal] == one["legal_counts"], where
            text = ";".join(",".join(map(str, actions)) for actions in legal)
            assert hashlib.sha256(text.encode()).hexdigest() == one["legal_sha256"], where
            for end, i in ((state, row), (env.state_from_dicts([one["final"]] * batch), 0)):
                written = env.state_to_dict(end, i)
                assert written | one["final"] == written, where  # which may tell the ply, too
            assert np.allclose(returns[row], one["returns"]), where
            assert now["terminated"][row] or now["truncated"][row], where
            assert not now["legal_action_mask"][row].any(), where
            replayed += 1
    return replayed
