"""Backgammon: turns as text, match files, and a plain-Python check of what the text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tensor_envs as te
from tensor_envs.games.backgammon import mat
from tensor_envs.games.backgammon.turns import Side, turn_to_actions, turn_to_string
from tests.games.shared import shared_env
from tests.games.test_sgf import random_games

START = Side(*[tuple({24: 2, 13: 5, 8: 3, 6: 5}.get(pip, 0) for pip in range(1, 26))] * 2)


def side(own: dict[int, int], other: dict[int, int]) -> Side:
    """Return a position; both players' men by the points of the player to move, the opponent's bar as 0."""
    theirs = {25 - point: men for point, men in other.items()}
    return Side(*(tuple(men.get(pip, 0) for pip in range(1, 26)) for men in (own, theirs)))


SHORT = 3, 35  # seed and row of a short random game
# position, dice, text, and another text of the same turn
TURNS = [
    (START, [1, 3], "8/5 6/5", "6/5 8/5"),
    (START, [6, 5], "24/13", "24/18/13"),
    (START, [3, 3, 3, 3], "24/21(2) 13/10(2)", "13/10 13/10 24/21 24/21"),
    (START, [1, 1, 1, 1], "8/7(2) 6/5(2)", "8/7(2) 6/5 6/5"),
    (side({13: 2, 6: 2}, {5: 1, 7: 2}), [6, 2], "13/5*", "13/11/5"),
    (side({13: 2, 6: 2}, {7: 1, 5: 2}), [6, 2], "13/7*", "13/7"),
    (side({13: 1, 24: 1}, {11: 1, 7: 1, 20: 1}), [2, 4], "13/11*/7*", "13/11/7*"),
    (side({25: 2, 24: 1}, {22: 1, 20: 2}), [3, 1], "bar/24 bar/22*", "bar/22 BAR/24"),
    (side({6: 1, 4: 2}, {20: 3}), [6, 6, 6, 6], "6/off 4/off(2)", "4/off 4/off 6/off"),
    (side({6: 1, 3: 1}, {20: 3}), [5, 1], "6/5 5/off", "6/5/off"),
    (side({25: 1}, {24: 2, 23: 2, 22: 2, 21: 2, 20: 2, 19: 2}), [5, 4], "", "Cannot Move"),
    (side({8: 1, 6: 1}, {3: 1, 20: 2}), [5, 3], "8/3* 6/3", "6/3 8/3*"),
]  # fmt: skip


def plainly(before: Side, text: str) -> Side:
    """Return the position after the moves of a text, by the meaning of the notation alone."""
    own, other = list(before.own), list(before.other)
    for word in text.split():
        path, times = re.fullmatch(r"([^(]+)(?:\((\d)\))?", word).groups()  # type: ignore[union-attr]
        points = [int({"bar": "25", "off": "0"}.get(point, point)) for point in path.replace("*", "").split("/")]
        for _ in range(int(times or 1)):
            own[points[0] - 1] -= 1
            for point in points[1:]:
                if point and other[24 - point] == 1:
                    other[24 - point], other[24] = 0, other[24] + 1
            if points[-1]:
                own[points[-1] - 1] += 1
    return Side(tuple(own), tuple(other))


@pytest.mark.parametrize(("before", "dice", "text", "other"), TURNS)
def test_turns_are_written_and_read(before: Side, dice: list[int], text: str, other: str) -> None:
    expected = plainly(before, text)
    for words in (text, other):
        actions, after = turn_to_actions(before, dice, words), before
        for action in filter(None, actions):
            start, die = 26 - action // 6, action % 6 + 1
            after = after.moved(start, max(0, start - die))
        assert after == expected
    written = turn_to_string(before, turn_to_actions(before, dice, text))
    assert plainly(before, written) == expected
    assert text == written or text == "6/5 5/off"


WRONG = [
    (START, [1, 3], "8/4 6/5", "'8/4 6/5' is no legal turn by the dice 1 3"),
    (START, [1, 3], "8/5", "'8/5' is no legal turn"),
    (START, [1, 3], "8-5", "a move must be such as 13/7, bar/22*, 6/off or 8/5(2), got '8-5'"),
    (START, [1, 3], "5/8", "a man moves from a higher to a lower point of 24..1, got '5/8'"),
    (START, [1, 3], "8/5* 6/5", "no man is hit by 8/5*"),
]


@pytest.mark.parametrize(("before", "dice", "text", "message"), WRONG[:1] + WRONG[2:])
def test_wrong_turns(before: Side, dice: list[int], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        turn_to_actions(before, dice, text)


def test_a_part_of_a_turn_is_read(tmp_path: Path) -> None:
    """A record may end within a turn, but no other turn may follow."""
    assert len(turn_to_actions(*WRONG[1][:3])) == 1
    env = shared_env("backgammon")
    game = random_games(env, 1, *SHORT)[0]
    te.save_game(te.record(env, game.actions[:3], seed=game.seed, row=game.row), tmp_path / "game.mat")
    again = te.load_game(tmp_path / "game.mat")
    men = [
        te.replay(part).numpy()["men"].tolist()
        for part in (again, te.record(env, game.actions[:3], seed=game.seed, row=game.row))
    ]
    assert len(again.actions) == 3 and men[0] == men[1]


@pytest.mark.slow
def test_match_files_lead_to_the_same_game(tmp_path: Path) -> None:
    """Men are the same after every turn, though a turn's moves may come in another order."""
    env = shared_env("backgammon")
    game = random_games(env, 1, *SHORT)[0]
    te.save_game(game, tmp_path / "game.mat")
    text = (tmp_path / "game.mat").read_text()
    again = te.load_game(tmp_path / "game.mat")
    assert (again.seed, again.row, again.players) == (*SHORT, game.players)
    assert again.rewards == game.rewards and again.terminated
    assert env.state_to_dict(te.replay(game)) == env.state_to_dict(te.replay(again))
    points = int(abs(game.rewards[-1][0]))
    assert f"Wins {points} point" in text and " 0 point match" in text and "*" in text and "off" in text
    te.save_game(again, tmp_path / "again.mat")
    assert (tmp_path / "again.mat").read_text() == text
    (tmp_path / "wrong.mat").write_text(re.sub(r"\d\d: [^ ]+", "11: 8/7", text, count=1))
    with pytest.raises(ValueError, match=r"turn 1, 11: .*: the dice left are \d\d by seed 3, row 35"):
        te.load_game(tmp_path / "wrong.mat")


def test_match_files_that_break_off(tmp_path: Path) -> None:
    """A file says how many moves it has; line ends of every system are read."""
    turns = "  1) 65: 24/13                            43: 24/21 24/20\n  2) 52: 24/22 13/8\n"
    text = f'; [Seed "0"]\n; [Row "0"]\n; [Plies "6"]\n\n 0 point match\n\n Game 1\n White : 0   Black : 0\n{turns}'
    rules = shared_env("backgammon").rules
    assert len([*mat.read(rules, text)[1]]) == 6
    with pytest.raises(ValueError, match="it breaks off: it has 5 of 6 moves"):
        [*mat.read(rules, text.rstrip().removesuffix("13/8"))[1]]
    path = tmp_path / "game.mat"
    for end in ("\r", "\r\n"):
        path.write_bytes(text.replace("43:", "44:").replace("\n", end).encode())
        with pytest.raises(ValueError, match="turn 1, 44: 24/21 24/20: the dice left are 34 by seed 0, row 0"):
            te.load_game(path)


@pytest.mark.slow
def test_names_with_hits() -> None:
    env = shared_env("backgammon")
    men = [[0] * 25 for _ in range(2)]
    men[0][12], men[0][5], men[1][25 - 7 - 1], men[1][0] = 2, 2, 1, 2
    state = env.state_from_dicts([{"men": men, "dice": [2, 6], "current_player": 0}])
    assert env.string_to_action("13/7*", state) == env.string_to_action("13/7", state)
    with pytest.raises(ValueError, match=r"is called '13/11\*'"):
        env.string_to_action("13/11*", state)
    men = [[0, 0, 0, 2, *[0] * 21], [2, *[0] * 24]]
    for dice, name in (([6, 4], "4/off"), ([6, 6], "4/off (6)")):
        state = env.state_from_dicts([{"men": men, "dice": dice, "current_player": 0}])
        assert env.action_to_string(env.string_to_action("4/off", state)) == name
    state = env.state_from_dicts([{"men": men, "dice": [6, 5], "current_player": 0}])
    with pytest.raises(ValueError, match=r"legal actions are called 4/off \(5\), 4/off \(6\)"):
        env.string_to_action("4/off", state)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("\n", "it has neither a match nor turns"),
        ("hello world", "it has neither a match nor turns"),
        ("  1) 93: 8/5 6/5", "turn 1: two dice such as 31: must follow, got '93: 8/5 6/5'"),
        ("  1) garbage 31: 8/5", "turn 1: two dice such as 31: must follow"),
        ("  1)\n  2) 31: 8/5", "turn 1: two dice such as 31: must follow, got ''"),
    ],
)
def test_files_without_turns_are_no_games(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.mat").write_text(text)
    with pytest.raises(ValueError, match=f"holds no game that can be read: {message}"):
        te.load_game(tmp_path / "wrong.mat")
    te.save_game(te.record(shared_env("backgammon"), []), tmp_path / "begun.mat")
    assert te.load_game(tmp_path / "begun.mat").actions == ()
