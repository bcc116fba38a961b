"""Replays of Kaggle's OpenSpiel environments."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tensor_envs.envs.registry import env_of
from tensor_envs.referee import kaggle
from tensor_envs.referee.kaggle import read


def replay_of(game: str, actions: list[int], **info: Any) -> dict[str, Any]:
    """Return the entries of a replay that are read."""
    return {"info": {"openSpielGameStringResolved": game, "actionHistory": [str(a) for a in actions], **info}}


@pytest.mark.few(11)
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
        ("amazons_proxy(board_size=10)", [93, 75, 85], {"size": 10}, ("d1", "f3", "f2")),
        ("breakthrough_proxy(columns=8,rows=8)", [172, 618], {}, ("g2h3", "d7c6")),
        ("checkers_proxy(columns=8,egocentric=False,rows=8)", [354, 156, 297], {}, ("10-14", "23-18", "14x23")),
        ("dark_hex_proxy(board_size=3,gameversion=cdh,obstype=reveal-nothing)", [4, 4], {"size": 3}, ("b2", "b2")),
        ("dots_and_boxes_proxy(num_cols=8,num_rows=7,utility_margin=False)", [0], {"rows": 7}, ("a1b1",)),
        ("lines_of_action_proxy(max_game_length=1000)", [808, 5034], {}, ("g1e3", "h5f3")),
        ("mancala_proxy()", [5, 10], {"houses": 6}, ("5", "3")),
        ("nine_mens_morris_proxy()", [19, 8], {}, ("d2", "e5")),
        ("quoridor_proxy(board_size=9,players=2,wall_count=8)", [2, 70, 7], {"walls": 8}, ("e2", "e8", "d8v")),
        ("ultimate_tic_tac_toe_proxy()", [4, 5, 8], {}, ("f5", "i6")),
        ("ultimate_tic_tac_toe_proxy()", [4], {}, ()),  # a board without a cell
    ],
)
def test_replays(game: str, actions: list[int], fields: dict[str, Any], names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(replay_of(game, actions, TeamNames=["one", "other"])))
    found = read(path)
    rules = env_of(found.game).rules
    assert found.names == names and {name: getattr(rules, name) for name in fields} == fields
    assert found.notes["players"] == (["other", "one"] if found.game["id"] == "chess" else ["one", "other"])


@pytest.mark.parametrize(
    ("replay", "message"),
    [
        ([], "its entry 'info' is missing"),
        ({"info": {}}, "its entry 'openSpielGameStringResolved' is missing"),
        (replay_of("bridge()", []), "its game must be one of amazons, breakthrough, .*, got 'bridge"),
        (replay_of("go(board_size=9,handicap=2)", []), "handicap of its game must be 0, got 2"),
        (replay_of("breakthrough(rows=6,columns=8)", []), "rows of its game must be 8, got 6"),
        (replay_of("hex(board_size=5,num_cols=5,num_rows=4)", [0]), "num_rows of its game must be 5, got 4"),
        (replay_of("dark_hex(num_cols=4)", [0]), "num_cols of its game must be 3, got 4"),
        (replay_of("tic_tac_toe()", [0, 99]), "ply 1: OpenSpiel's action 99 is not legal"),
        (replay_of("lines_of_action()", [1]), "ply 0: OpenSpiel's action 1 is not legal"),
        (replay_of("connect_four(rows=99)", []), "rows must be"),
    ],
)
def test_what_cannot_be_read(replay: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(replay))
    with pytest.raises(ValueError, match=rf"replay.json' holds no replay that can be read: .*{message}"):
        read(path)


@pytest.mark.few("tic_tac_toe", "ultimate_tic_tac_toe", "mancala")
@pytest.mark.extra("pyspiel")
@pytest.mark.filterwarnings("ignore:.*the game is over after")  # draws by our rules alone
@pytest.mark.parametrize("game", sorted(kaggle.IDS))
def test_whole_games_of_openspiel(game: str, tmp_path: Path) -> None:
    """Every random game is legal here to its end, and has the same returns."""
    pyspiel = pytest.importorskip("pyspiel")
    parameters = pyspiel.load_game(game).get_parameters()  # as Kaggle names them all
    parameters |= {"board_size": 9} if game == "go" else {}
    random = Random(1)
    decided = 0
    for number in range(4):
        state = pyspiel.load_game(game, parameters).new_initial_state()
        while not state.is_terminal():
            state.apply_action(random.choice(state.legal_actions()))
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(replay_of(str(state.get_game()), state.history())))
        found = read(path)
        theirs = state.returns()[:: -1 if game == "chess" else 1]
        if found.terminated and not found.notes:
            assert [sum(column) for column in zip(*found.rewards, strict=True)] == theirs
            decided += 1
        else:  # a draw by the rules of one of them
            assert set(theirs) == {0.0} or found.notes["after_end"]
    assert decided > 1 or game == "checkers"  # which OpenSpiel draws early


@pytest.mark.parametrize("action", [3.9, 3.0, True, None, [3], "3.9", "x", " 3", "³", float("nan"), 2**80])
def test_an_action_that_is_no_integer_is_refused(action: Any, tmp_path: Path) -> None:
    """3.9 is not action 3."""
    path = tmp_path / "replay.json"
    info = {"openSpielGameStringResolved": "connect_four()", "actionHistory": ["3", action]}
    path.write_text(json.dumps({"info": info}))
    with pytest.raises(ValueError, match=r"read: actionHistory\[1\] must be "):
        read(path)
    path.write_text(json.dumps({"info": info | {"actionHistory": "33"}}))
    with pytest.raises(ValueError, match="its entry 'actionHistory' must be of type list, got '33'"):
        read(path)
    path.write_text(json.dumps({"info": info | {"actionHistory": ["3", 3]}}))
    assert read(path).actions == (3, 3)


@pytest.mark.parametrize("actions", [[4, 5, 8, 4], [4, 9]])
def test_an_illegal_action_is_named(actions: list[int], tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(replay_of("ultimate_tic_tac_toe()", [*actions[:3], 4, *actions[3:]] * 9)))
    with pytest.raises(ValueError, match=r"read: ply \d: OpenSpiel's action \d is not legal"):
        read(path)


@pytest.mark.parametrize(("game", "count"), [("checkers()", 512), ("quoridor()", 289), ("ultimate_tic_tac_toe()", 9)])
def test_no_number_beyond_those_of_openspiel_is_an_action(game: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    for action in (*range(-count, 0), *range(count, 3 * count)):
        for actions in ([action, 4], *[[4, action]] * game.startswith("ultimate")):  # a board, then a cell
            path.write_text(json.dumps(replay_of(game, actions)))
            with pytest.raises(ValueError, match=rf"ply 0: OpenSpiel's action {actions[0]} is not legal"):
                read(path)


@pytest.mark.slow
@pytest.mark.extra("kaggle_environments")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("game", sorted(kaggle.IDS.keys() - {"oware"}))  # which Kaggle does not have
def test_files_of_the_package(game: str, tmp_path: Path) -> None:
    """Every game that its package has played takes the same course here, with the same result."""
    package = pytest.importorskip("kaggle_environments")

    def agent(seen: Any, _: Any) -> dict[str, int]:
        legal = seen.get("legalActions")
        return {"submission": legal[seen["step"] * 7 % len(legal)] if legal else -1}

    env = package.make(f"open_spiel_{game}", configuration={"includeLegalActions": True})
    env.run([agent, agent])
    path = tmp_path / "replay.json"
    path.write_text(json.dumps(env.toJSON()))
    found = read(path)
    rewards = [side["reward"] for side in env.steps[-1]][:: -1 if game == "chess" else 1]
    returns = [sum(column) for column in zip(*found.rewards, strict=True)]
    assert len(found.actions) > 4 and (returns == rewards if found.terminated and not found.notes else 0 in rewards)
