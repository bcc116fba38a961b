"""Poker hand histories (T13): round trips, files of others, errors, and pokerkit as a judge."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.texas_holdem import phh
from tensor_envs.games.texas_holdem.rules import TexasHoldem
from tests.games import test_sgf as files
from tests.games.shared import shared_env
from tests.games.test_sgf import random_games
from tests.games.texas_holdem.test_rulebook import cards

GAME = "texas_holdem"
CONFIGS: list[dict[str, Any]] = [
    {},
    {"limit": (2, 2, 4, 4), "max_raises": (4, 4, 4, 4)},
    {"stacks": (150, 41), "raises": (50, 60, 70, 300)},  # raises of equal chips
    {"stacks": (23, 60), "small_blind": 2, "big_blind": 5, "raises": (33, 75, 150), "max_raises": (2, 3, 1, 1)},
    {"small_blind": 0, "raises": ()},
    {"limit": (4, 4, 8, 8), "max_raises": (4, 4, 4, 4), "stacks": (37, 90)},
]


saved = partial(files.saved, ending="phh")
loaded = partial(files.loaded, ending="phh")


def is_same(one: te.Record, other: te.Record) -> bool:
    """Return whether two records have the same rules, cards, actions and rewards."""
    last, again = (env_state(game) for game in (one, other))
    return one.game == other.game and last == again and (one.names, one.rewards) == (other.names, other.rewards)


def env_state(game: te.Record) -> dict[str, Any]:
    state = te.replay(game)
    return state.env.state_to_dict(state)


@pytest.mark.few(2)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_games_are_loaded_as_they_were_saved(config: dict[str, Any], tmp_path: Path) -> None:
    """The file names stacks, blinds and limits, and all cards, those that were not dealt included."""
    env = shared_env(GAME, **config)
    for game in random_games(env, 4, 5):
        text = saved(game, tmp_path)
        assert is_same(loaded(text, tmp_path), game) and is_same(loaded(text, tmp_path, env), game)
        begun = te.record(env, game.actions[:1], seed=game.seed, row=game.row)
        assert is_same(loaded(saved(begun, tmp_path), tmp_path), begun)
        # a file has the whole hand, also that of a record that starts in its middle
        ended = te.record(env, game.actions[1:], start=env_state(begun))
        assert loaded(saved(ended, tmp_path), tmp_path).actions == game.actions


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.slow
def test_pokerkit_replays_our_hands(config: dict[str, Any], tmp_path: Path) -> None:
    """It applies every action of our files, and ends with our stacks; we read what it writes."""
    pokerkit = pytest.importorskip("pokerkit")
    ends: Counter[str] = Counter()
    env = shared_env(GAME, **config)
    for game in random_games(env, 200, 7):
        text = saved(game, tmp_path)
        judged = pokerkit.HandHistory.loads(text)
        played = list(judged.state_actions)
        assert [action for _, action in played if action is not None] == judged.actions
        last = played[-1][0]
        stacks = [stack + won for stack, won in zip(env.rules.stacks, game.rewards[-1], strict=True)]
        assert not last.status and last.stacks == stacks == judged.finishing_stacks, text
        ends["fold" if game.names[-1] == "fold" else "showdown" if "all-in" not in game.names else "all-in"] += 1
        again = pokerkit.HandHistory.from_game_state(judged.create_game(), last).dumps()
        theirs = loaded(again, tmp_path, env)
        amounts = [line.partition(" #")[0] for line in pokerkit.HandHistory.loads(saved(theirs, tmp_path)).actions]
        assert amounts == [line.partition(" #")[0] for line in judged.actions] and theirs.rewards == game.rewards
    assert ends["fold"] > 20 and ends["showdown"] + ends["all-in"] > 20, ends


HAND = """# Two players
variant = 'NT'
ante_trimming_status = true
antes = [0, 0]
blinds_or_straddles = [1.0, 2.0]
min_bet = 2
starting_stacks = [200, 200]
actions = [
  'd dh p1 KhAs', 'd dh p2 Qs', 'd dh p2 Qc',  # the hole cards
  'p2 cbr 6 # the pot', '', '# a pause', 'p1  cc ',
  'd db 9h2c3d', 'p1 cc', 'p2 cbr 12', 'p1 cbr 194 # all he has', 'p2 cc', 'p2 sm QcQs', 'p1 sm',
  'd db 4s', 'd db Qh',
]
players = ['A. "B" C', 'Ünal']
event = 'A final'
year = 2024
time = 21:30:00
"""


def test_a_hand_of_another_program(tmp_path: Path) -> None:
    """The button is p2 and acts first before the flop; chips are those of a street; tags and names are kept."""
    game = loaded(HAND, tmp_path)
    assert game.names == ("raise 100%", "call", "call", "raise 100%", "all-in", "call")
    assert game.players == (1, 0, 0, 1, 0, 1) and game.rewards[-1] == (-200, 200)
    assert game.start == {
        "hands": [sorted(cards("Kh As")), sorted(cards("Qs Qc"))],
        "board": [*sorted(cards("9h 2c 3d")), *cards("4s Qh")],
        "history": [],
    }
    assert game.notes == {"players": ['A. "B" C', "Ünal"], "tags": {"event": "A final", "year": 2024}}
    text = saved(game, tmp_path)
    assert 'players = ["A. \\"B\\" C", "Ünal"]\nevent = "A final"\nyear = 2024\n' in text
    assert '"p2 cc",\n  "p1 sm KhAs",\n  "p2 sm QcQs",\n  "d db 4s",\n  "d db Qh",\n]' in text
    assert "finishing_stacks = [0, 400]\n" in text and loaded(text, tmp_path) == game


def test_cards_that_no_file_names_are_the_lowest_ones(tmp_path: Path) -> None:
    text = HAND[: HAND.index("'d db 9h")] + "'d db 9h3d2c', 'p1 cc', 'p2 cbr 12', 'p1 f']"
    game = loaded(text, tmp_path)
    assert game.start is not None and game.start["board"] == cards("2c 3d 9h 2d 2h")
    assert game.rewards[-1] == (-6, 6)


WRONG = [
    ("variant = 'NT'", "variant = 'PO'", "variant must be NT or FT, got 'PO'"),
    ("variant = 'NT'", "variant = NT", "Invalid value"),
    ("[0, 0]", "[1, 1]", r"antes must be \[0, 0\], got \[1, 1\]"),
    ("[0, 0]", "[0, 0, 0]", r"antes must be a list of 2 numbers, those of 2 players, got \[0, 0, 0\]"),
    ("antes = [0, 0]\n", "", "antes must be a list of 2 numbers, those of 2 players, got None"),
    ("min_bet = 2", "min_bet = 4", "min_bet must be the big blind, 2, got 4"),
    ("[200, 200]", "[200, inf]", r"starting_stacks\[1\] must be a whole number of chips, got inf"),
    ("[200, 200]", "[200, 2]", r"stacks\[1\] must be in 3\.\.100000, got 2"),
    ("[1.0, 2.0]", "[0.5, 2]", r"blinds_or_straddles\[0\] must be a whole number of chips, got 0\.5"),
    ("'NT'", "'FT'\nsmall_bet = 2", "big_bet must be a whole number of chips, got None"),
    ("actions = [", "actions = [1, ", "actions must be a list of strings, got "),
    ("p1 KhAs", "p1 ????", r"action 1, d dh p1 \?\?\?\?: cards must be known, such as AsKd, got '\?\?\?\?'"),
    ("p1 KhAs", "p3 KhAs", "action 1, d dh p3 KhAs: the dealer's action must be dh p1, dh p2 or db, and cards"),
    ("p1 KhAs", "p1 Kh", "p1 must have 2 cards, got Kh"),
    ("p1 KhAs", "p1 KhQs", "cards must be different, got KhQsQsQc"),
    ("'d db 4s', 'd db Qh'", "'d db 4s', 'd db Qh5c'", "the board must have at most 5 cards, got 9h2c3d4sQh5c"),
    ("'d db 4s', 'd db Qh',", "", "actions must deal 5 cards of the board where hands are shown, got 3"),
    ("'d db 9h2c3d',", "", "action 8, p1 cc: the board must have 3 cards, got 0"),
    ("p2 cbr 6 ", "p2 cbr 5 ", "action 4, p2 cbr 5 # the pot: .* one of f, cc, cbr 4, cbr 6, cbr 200"),
    ("p2 cbr 6 ", "p1 cbr 6 ", "action 4, p1 cbr 6 # the pot: p2 is to act"),
    ("'p1 cc'", "'p1 f'", "action 9, p1 f: the action must be one of cc, cbr 6, cbr 12, cbr 194"),
    ("'d db 4s'", "'p1 cc', 'd db 4s'", "action 15, p1 cc: the hand is over"),
    ("'p2 cbr 12'", "'p2 sm'", "action 10, p2 sm: hands are shown when the betting is over"),
    ("p2 sm QcQs", "p2 sm -", "action 13, p2 sm -: p2 must show the hand, which is not beaten"),
    ("p2 sm QcQs", "p2 sm QcQd", "action 13, p2 sm QcQd: p2 must show QcQs"),
    ("p2 sm QcQs", "p3 sm", "action 13, p3 sm: the player must be p1 or p2"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_errors_name_the_entry_or_the_action(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in HAND
    with pytest.raises(ValueError, match=f"holds no game that can be read: .*{message}"):
        loaded(HAND.replace(old, new, 1), tmp_path)


def test_nested_text_is_no_hand(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="it must be TOML, got too many brackets"):
        loaded("x = " + "[" * 100_000, tmp_path)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"stacks": (200, 100)}, r"stacks is \(200, 200\), and that of the environment is \(200, 100\)"),
    ({"limit": (2, 2, 4, 4)}, r"limit is \(\), and that of the environment is \(2, 2, 4, 4\)"),
    ({"ranks": 12}, "ranks must be 13 in PHH, got 12"),
    ({"streets": (0, 3, 1)}, r"streets must be \(0, 3, 1, 1\) in PHH, got \(0, 3, 1\)"),
    ({"limit": (2, 2, 3, 4)}, "limit must have a small bet twice and a big bet twice in PHH"),
]


@pytest.mark.parametrize(("config", "message"), REFUSED, ids=str)
def test_the_file_must_fit_the_environment(config: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        loaded(HAND, tmp_path, te.make(GAME, **config))


def test_games_of_another_shape_are_not_written() -> None:
    game = te.record(shared_env(GAME), [])
    for config, message in REFUSED[2:]:
        with pytest.raises(ValueError, match=message):
            phh.write(TexasHoldem(**config), game, [])
