"""Replays of Kaggle's OpenSpiel environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.referee.kaggle import read


def replay_of(game: str, actions: list[int], **info: Any) -> dict[str, Any]:
    """Return the entries of a replay that are read."""
    return {"info": {"openSpielGameStringResolved": game, "actionHistory": [str(a) for a in actions], **info}}


@pytest.mark.parametrize(
    ("game", "actions", "fields", "names"),
    [
        ("tic_tac_toe()", [4, 0], {}, ("(1,1)", "(0,0)")),
        (
            "connect_four_proxy(columns=5,egocentric_obs_tensor=False,rows=4,x_in_row=3)",
            [1, 1],
            {"rows": 4, "columns": 5, "k": 3},
            ("2", "2"),
        ),
        ("chess(chess960=False)", [1258, 4177], {"quiet_plies": 100}, ("c2c4", "h7h6")),
        (
            "go_proxy(board_size=9,handicap=0,komi=7.5,max_game_length=162)",
            [53, 81],
            {"size": 9, "komi": 7.5, "max_plies": 162},
            ("J6", "pass"),
        ),
        (
            "hex(board_size=5,num_cols=5,num_rows=5,plain_obs_tensor=False,string_rep=standard,swap=False)",
            [7],
            {"size": 5, "swap": False},
            ("c2",),
        ),
        ("othello_proxy()", [19], {}, ("d3",)),
    ],
)
def test_replays(game: str, actions: list[int], fields: dict[str, Any], names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(replay_of(game, actions, TeamNames=["one", "other"])))
    found = read(path)
    rules = te.registry.env_of(found.game).rules
    assert found.names == names and {name: getattr(rules, name) for name in fields} == fields
    assert found.notes["players"] == (["other", "one"] if found.game["id"] == "chess" else ["one", "other"])


@pytest.mark.parametrize(
    ("replay", "message"),
    [
        ([], "its entry 'info' is missing"),
        ({"info": {}}, "its entry 'openSpielGameStringResolved' is missing"),
        (replay_of("bridge()", []), "its game must be one of chess, connect_four, go, .*, got 'bridge"),
        (replay_of("go(board_size=9,handicap=2)", []), "handicap of its game must be 0, got 2"),
        (replay_of("tic_tac_toe()", [0, 99]), "action"),
        (replay_of("connect_four(rows=99)", []), "rows must be"),
    ],
)
def test_what_cannot_be_read(replay: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(replay))
    with pytest.raises(ValueError, match=rf"replay.json' holds no replay that can be read: .*{message}"):
        read(path)


@pytest.mark.slow
@pytest.mark.extra("kaggle_environments", "pyspiel")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four", "chess", "go", "hex", "othello"])
def test_files_of_the_package(game: str, tmp_path: Path) -> None:
    """Every game that its package has played takes the same course here, with the same legal actions at its end."""
    kaggle = pytest.importorskip("kaggle_environments")
    pyspiel = pytest.importorskip("pyspiel")

    def agent(seen: Any, _: Any) -> dict[str, int]:
        legal = seen.get("legalActions")
        return {"submission": legal[seen["step"] * 7 % len(legal)] if legal else -1}

    env = kaggle.make(f"open_spiel_{game}", configuration={"includeLegalActions": True, "episodeSteps": 14})
    env.run([agent, agent])
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(env.toJSON()))
    found = read(path)
    assert len(found.actions) > 4 and [str(action) for action in found.actions] == env.info["actionHistory"]
    state = te.replay(found)
    theirs = pyspiel.deserialize_game_and_state(env.steps[-1][0]["observation"]["serializedGameAndState"])[1]
    assert sorted(theirs.legal_actions()) == list(state.env.legal_actions(state)) or theirs.is_terminal()
