"""What a table shows of a position: names, scores, reasons, phrases, and the mark of the last move."""

from __future__ import annotations

import importlib
import math
import re
import sys
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.backgammon.render import MAN
from tensor_envs.games.chess.render import CELL, MARGIN
from tensor_envs.games.tensor_equilibrium.data import Phase
from tensor_envs.render.drawing import Circle, Drawing, Text
from tensor_envs.render.scene import BRIGHT, names_of, scene
from tests.games.shared import shared_env
from tests.render.test_drawing import elements

NAMES = {
    "tic_tac_toe": ["X", "O"],
    "hyper_tic_tac_toe": ["Orange", "Blue"],
    "qubic": ["Orange", "Blue"],
    "gomoku": ["X", "O"],
    "connect_four": ["Yellow", "Red"],
    "othello": ["Black", "White"],
    "ultimate_tic_tac_toe": ["X", "O"],
    "kalah": ["South", "North"],
    "oware": ["South", "North"],
    "breakthrough": ["White", "Black"],
    "clobber": ["White", "Black"],
    "lines_of_action": ["Black", "White"],
    "kuhn_poker": ["Player 1", "Player 2"],
    "leduc_poker": ["Player 1", "Player 2"],
    "texas_holdem": ["Player 1", "Player 2"],
    "hanabi": ["Player 1", "Player 2"],
    "gin_rummy": ["Player 1", "Player 2"],
    "barrage_stratego": ["Red", "Blue"],
    "2048": ["Player"],
    "backgammon": ["White", "Black"],
    "chess": ["White", "Black"],
    "gardner_chess": ["White", "Black"],
    "shogi": ["Black", "White"],
    "minishogi": ["Black", "White"],
    "animal_shogi": ["Black", "White"],
    "xiangqi": ["Red", "Black"],
    "checkers": ["Black", "White"],
    "chinese_checkers": ["Red", "Blue"],
    "dots_and_boxes": ["A", "B"],
    "amazons": ["White", "Black"],
    "nine_mens_morris": ["White", "Black"],
    "quoridor": ["White", "Black"],
    "hex": ["Red", "Blue"],
    "y": ["Red", "Blue"],
    "havannah": ["Red", "Blue"],
    "yahtzee": ["Player"],
    "liars_dice": ["Player 1", "Player 2"],
    "dark_hex": ["Red", "Blue"],
    "phantom_tic_tac_toe": ["X", "O"],
    "go": ["Black", "White"],
    "shed": ["Player 1", "Player 2"],
    "tensor_stars": ["Black", "White"],
    "tensor_equilibrium": ["Player 1", "Player 2"],
    "three_will": ["White", "Black"],
}


# other names of players than those above
OTHER = re.compile(r"\b(white|black|south|north|[Ss]eat \d|player \d|(first|second) player)\b")


def show(env: te.Env, actions: list[int], viewer: int | None = None, seed: int = 0) -> dict[str, Any]:
    """Return the scene after some actions, with phrases for the legal ones."""
    state, past, moves = env.init(1, seed), list[tuple[dict[str, Any], int]](), list[str]()
    for action in actions:
        past.append((env.state_to_dict(state), action))
        moves.append(env.action_names[action])
        state = env.step(state, [action])
    legal = np.flatnonzero(state.numpy()["legal_action_mask"][0]).tolist()
    over, game = not legal, env.state_to_dict(state)
    return scene(env.rules, env.entry.load("render"), game, viewer, moves, legal, past, over)


def marked(svg: str) -> list[list[tuple[float, float]]]:
    """Return the corners of the marks of the last move."""
    outlines = (element.get("points") for element in elements(svg) if element.get("stroke") == BRIGHT)
    return [[(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", points or "")] for points in outlines]


def test_every_game_has_names() -> None:
    assert NAMES.keys() == set(te.registered())
    for name, names in NAMES.items():
        env = te.make(name)
        assert names_of(env.rules, env.entry.load("render")) == names
    drawn = te.make("tensor_stars", random_colours=True)
    assert names_of(drawn.rules, drawn.entry.load("render")) == ["Player 1", "Player 2"]
    assert names_of(te.make("shed").rules, None) == ["Player 1", "Player 2"]


@pytest.mark.few("tic_tac_toe", "kuhn_poker")
@pytest.mark.parametrize("name", NAMES)
def test_whole_games(name: str) -> None:
    """Without a mark a scene is the picture of the environment, with its title."""
    env = te.make(name)
    state, actions = env.init(1, 3), list[int]()
    while (legal := np.flatnonzero(state.numpy()["legal_action_mask"][0])).size and len(actions) < 60:
        actions.append(int(te.agents.uniform(state).item()))
        assert actions[-1] in legal
        state = env.step(state, actions[-1:])
    found = show(env, actions, seed=3)
    assert len(found["players"]) == len(found["scores"]) == env.num_players and found["moves"][-1]
    svg = env.render(state)
    assert re.search(r"^<svg[^>]*>\n<title>[^<]+</title>", svg)
    unmarked = [e.attrib for e in elements(found["svg"])]
    assert [e.attrib for e in elements(svg)] == [a for k, a in enumerate(unmarked) if not is_mark(unmarked, k)]
    assert bool(found["reason"]) == (not legal.size and not state.truncated.item())
    assert all(isinstance(phrase, str) for phrase in found["phrases"].values())


def is_mark(attributes: list[dict[str, str]], k: int) -> bool:
    """Return whether an element is one of a mark's two strokes."""
    following = attributes[k + 1] if k + 1 < len(attributes) else {}
    return BRIGHT in (attributes[k].get("stroke"), following.get("stroke"))


@pytest.mark.parametrize(
    ("name", "fields", "actions", "reason"),
    [
        ("tic_tac_toe", {}, [0, 3, 1, 4, 2], "3 in a row"),
        ("tic_tac_toe", {}, [0, 1, 2, 4, 3, 5, 7, 6, 8], "the board is full"),
        ("hyper_tic_tac_toe", {"shape": (3, 3), "k": 3, "misere": True}, [0, 3, 1, 4, 2], "3 in a row, which lose"),
        ("connect_four", {}, [0, 1, 0, 1, 0, 1, 0], "4 in a row"),
        ("hex", {"size": 2, "swap": False}, [0, 1, 2], "top and bottom are connected"),
        ("y", {"size": 2}, [0, 1, 2], "all sides are connected"),
        ("havannah", {"size": 2}, [0, 8, 1], "a bridge"),
        ("go", {"size": 2, "komi": 0.5}, [0, 4, 4], "an area of 4 to 0 + 0.5 of komi"),
    ],
)
def test_reasons(name: str, fields: dict[str, Any], actions: list[int], reason: str) -> None:
    assert show(shared_env(name, **fields), actions)["reason"] == reason


@pytest.mark.parametrize(
    ("fen", "reason"),
    [
        ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", "checkmate"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "stalemate"),
        ("7k/8/6K1/8/8/8/8/8 b - - 0 1", "neither side has the men to mate"),
        ("7k/8/6K1/8/8/8/8/R7 b - - 100 80", "100 plies without a capture or a pawn's move"),
    ],
)
def test_how_chess_ends(fen: str, reason: str) -> None:
    env = shared_env("chess")
    found = scene(env.rules, env.entry.load("render"), {"fen": fen, "moves": []}, 0, over=True)
    assert found["reason"] == reason


EQUAL = "the {} are equal, and the {}"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("levels", "gpu", "reason"),
    [
        ([[3, 9, 9, 9, 9], [4, 4, 4, 4, 4]], [0, 9], "the lowest token decides, 4 to 3"),
        ([[5, 4, 5, 6, 7], [4, 9, 9, 6, 9]], [9, 0], EQUAL.format("lowest tokens", "second lowest decides, 6 to 5")),
        ([[5, 5, 6, 6, 7], [8, 5, 5, 6, 6]], [9, 0], EQUAL.format("4 lowest tokens", "highest decides, 8 to 7")),
        ([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]], [2, 7], "all tokens are equal, and the GPU decides, 7 to 2"),
        ([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]], [7, 7], "all tokens and the GPU are equal"),
        (
            [[4] * 5, [3, 6, 6, 6, 6], [4] * 4 + [5]],
            [0] * 3,
            EQUAL.format("4 lowest tokens", "highest decides, 5 to 4"),
        ),
        ([[4] * 5, [3, 6, 6, 6, 6], [4] * 5], [1] * 3, "the lowest token decides, 4 to 4 to 3"),
    ],
)
def test_how_equilibrium_ends(levels: list[list[int]], gpu: list[int], reason: str) -> None:
    """The lowest tokens are compared, then the next ones, at last the GPU (F42); equal seats share the win (G42)."""
    env = shared_env("tensor_equilibrium", players=len(gpu))
    game = env.state_to_dict(env.init(1)) | {"phase": Phase.OVER, "level": levels, "gpu": gpu, "done": True}
    found = scene(env.rules, env.entry.load("render"), game, over=True)
    assert found["reason"] == reason and found["players"] == [f"Player {seat + 1}" for seat in range(len(gpu))]


@pytest.mark.few("0-tic_tac_toe", "0-kuhn_poker", "1-kuhn_poker", "1-shed", "0-three_will")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("plies", (0, 1))
def test_pictures_and_texts_use_the_names(plies: int, name: str) -> None:
    """At the start and after a ply, the text and the picture name the players as the table does."""
    env = shared_env(name)
    state = env.init(1)
    for _ in range(plies):
        state = env.step(state, te.agents.uniform(state))
    game = env.state_to_dict(state)
    names = names_of(env.rules, env.entry.load("render"), game)
    drawn = " ".join(e.text for e in elements(env.render(state)) if e.text)
    for text in (env.to_string(state), drawn):
        assert any(player in text for player in names) or env.num_players == 1, text
        assert not OTHER.search(text), text


@pytest.mark.slow
def test_chess_is_turned_for_black() -> None:
    """The second player's board has a1 at the upper right, usual ranks, and phrases by the usual names."""
    env = shared_env("chess")
    e2e4 = next(a for a in range(env.num_actions) if env.action_names[a] == "e2e4")
    black = show(env, [e2e4], viewer=1)
    labels = [e.text for e in elements(black["svg"]) if e.text and len(e.text.strip()) == 1]
    assert labels == [label for both in zip("12345678", "hgfedcba", strict=True) for label in both]
    assert black["phrases"][str(e2e4)] == "pawn e7 to e5"
    places = [sorted(marked(show(env, [e2e4], viewer)["svg"])) for viewer in (0, 1)]
    side = 2 * MARGIN + 8 * CELL  # both marks are turned by half a turn around the board's middle
    turned = [sorted((side - x, side - y) for x, y in place) for place in places[1]]
    assert len(turned) == 2 and sorted(map(sorted, places[0])) == sorted(turned)
    state = env.step(env.init(1), [e2e4])
    assert env.render(state) == env.render(state, 0, 0) != env.render(state, 0, 1)


def test_labels_of_chess_stay_when_the_move_changes() -> None:
    """White's pawn on e4 and Black's on d5 stand on rows with these numbers, and in columns with these letters."""
    env = shared_env("chess")
    state = te.replay(te.record(env, ["e4", "d5"]))
    for rows in (slice(None), slice(None, None, -1)):
        player = None if rows.step is None else 1
        lines = env.to_string(state, 0, player).splitlines()
        ranks, files = dict(line.split(" ", 1) for line in lines[:8]), lines[8].split()
        assert list(ranks) == [*"87654321"[rows]] and files == [*"abcdefgh"[rows]]
        assert ranks["4"].split()[files.index("e")] == "P" and ranks["5"].split()[files.index("d")] == "p"
    moves = [te.record(env, ["e4", "d5"][:k]) for k in range(3)]
    drawn = [[e.text for e in elements(env.render(te.replay(game))) if e.text] for game in moves]
    assert drawn[0][:17] == drawn[1][:17] == drawn[2][:17] and sorted(drawn[0][1:17]) == [*"12345678abcdefgh"]


@pytest.mark.slow
def test_a_promotion_names_the_piece() -> None:
    env = shared_env("chess")
    state = env.state_from_dicts([{"fen": "7k/P7/8/8/8/8/8/7K w - - 0 1", "moves": []}])
    legal = np.flatnonzero(state.numpy()["legal_action_mask"][0]).tolist()
    found = scene(env.rules, env.entry.load("render"), env.state_to_dict(state), 0, (), legal)
    pieces = {phrase.rpartition(" ")[2] for phrase in found["phrases"].values() if "becomes" in phrase}
    assert pieces == {"queen", "rook", "bishop", "knight"}
    ends = [e for e in elements(found["svg"]) if len((e.get("data-targets") or "").split()) == 4]
    assert len(ends) == 1  # a8


def test_captures_in_chess() -> None:
    env = shared_env("chess")
    game = {"fen": "rnb1kbnr/pppp1ppp/8/8/8/8/PPPP1PPP/RNBQKBN1 w Qkq - 0 4", "moves": []}
    assert scene(env.rules, env.entry.load("render"), game, 0)["scores"] == ["♛♟", "♖♙"]


def test_backgammon_is_turned_for_black() -> None:
    """Either player sees its own home at the lower right: pictures of a mirrored start differ in colours alone."""
    env = shared_env("backgammon")
    draw, game = env.entry.load("render").draw, env.state_to_dict(env.init(1))

    def men(viewer: int) -> set[tuple[Any, str]]:
        drawing: Drawing = draw(env.rules, {**game, "viewer": viewer})
        circles = (shape for shape in drawing.shapes if isinstance(shape, Circle))
        return {(circle.centre, circle.fill) for circle in circles if circle.radius == MAN}

    white, black = men(0), men(1)
    assert {place for place, _ in white} == {place for place, _ in black}
    assert all((place, fill) not in black for place, fill in white)


def test_marks_of_last_moves() -> None:
    """Connect four marks the stone, not its column; a pass in Othello, which is the whole board, marks nothing."""
    low, high = (marked(show(shared_env("connect_four"), actions)["svg"]) for actions in ([3], [3, 3]))
    assert len(low) == len(high) == 1
    assert max(y for _, y in high[0]) == min(y for _, y in low[0])  # the second stone lies on the first one
    othello = shared_env("othello")
    before = {"board": [1] * 62 + [-1, 0], "current_player": 1}
    found = scene(
        othello.rules, othello.entry.load("render"), {**before, "current_player": 0}, 0, ["pass"], (), [(before, 64)]
    )
    assert marked(found["svg"]) == []
    backgammon = shared_env("backgammon")
    moved = next(a for a in np.flatnonzero(backgammon.init(1).numpy()["legal_action_mask"][0]))
    assert len(marked(show(backgammon, [int(moved)])["svg"])) == 2
    go = show(shared_env("go", size=5), [12])
    (x0, y0), _, (x1, y1), _ = marked(go["svg"])[0]
    assert (x1 - x0, y1 - y0) == (32, 32)


def test_a_hidden_move_is_not_marked() -> None:
    """The opponent sees neither the name nor the place of a card that lies face down; its owner does."""
    stars = shared_env("tensor_stars")
    owner, opponent = (show(stars, [3], viewer) for viewer in (0, 1))
    assert owner["moves"][0].startswith("card 3 for red") and len(marked(owner["svg"])) == 1
    assert opponent["moves"] == ["a card, face down"] and marked(opponent["svg"]) == []


def test_moves_of_three_will_have_ends() -> None:
    """Every legal move has a place to start and another one to end; a Free card's area stands for both decisions."""
    env = shared_env("three_will")
    rules, render = env.rules, env.entry.load("render")
    seen, state = set(), env.init(1, 1)
    for _ in range(400):
        values = state.numpy()
        legal = np.flatnonzero(values["legal_action_mask"][0]).tolist()
        if not legal:
            break
        game = env.state_to_dict(state)
        found = scene(rules, render, game, game["player"], (), legal)
        areas = [e for e in elements(found["svg"]) if e.get("data-actions")]
        ends = {int(a) for e in areas for a in (e.get("data-targets") or "").split()}
        starts = {int(a) for e in areas for a in e.get("data-actions", "").split()} - {24}
        assert {a for a in legal if a < 24} <= ends & starts
        if 25 in legal:
            assert any(e.get("data-actions") == "25 24" for e in areas)
            assert found["phrases"] == {"24": "keep the card and end the turn", "25": "pay a Free card and roll again"}
        seen |= {phrase.split()[2] for action, phrase in found["phrases"].items() if int(action) < 24}
        state = env.step(state, te.agents.uniform(state))
    assert seen == {"steps", "tries", "leaps"}


def test_directions_of_three_will_are_those_of_the_picture() -> None:
    """Left and right are the same in a phrase and on the board, whoever looks at it."""
    env, render = shared_env("three_will"), importlib.import_module("tensor_envs.games.three_will.render")
    state, seen = env.init(1, 3), set()
    for _ in range(40):
        game = env.state_to_dict(state)
        legal = [a for a in np.flatnonzero(state.legal_action_mask.numpy()[0]).tolist() if a < 24]
        for viewer in (0, 1):
            phrases = scene(env.rules, render, game, viewer, (), legal)["phrases"]
            columns = {square: x for row in render.squares_seen(viewer) for x, square in enumerate(row)}
            for action in legal:
                start = game["pos"][8 * game["player"] + action // 3]
                row, column = render.end_of(env.rules, game, action)
                if column not in range(8):
                    continue
                way = columns[8 * row + column] - columns[start]
                words = {-1: {"left"}, 0: set(), 1: {"right"}}[way]
                assert set(re.findall("left|right", phrases[str(action)])) == words
                seen.add((viewer == game["player"], way))
        state = env.step(state, te.agents.uniform(state))
    assert len(seen) == 6


def test_moves_are_told_in_words_where_their_names_are_codes() -> None:
    env = shared_env("tensor_stars")
    placed = show(env, [3, 2], viewer=0)["moves"]
    assert placed == [
        "card 3 for red: 1 toward you and, in the order you choose, 1 to your left",
        "card 2 for blue: 1 toward you and, in the order you choose, 1 to your right",
    ]
    assert show(env, [3, 2], viewer=1)["moves"] == ["a card, face down"] * 2
    assert show(shared_env("tic_tac_toe"), [4], viewer=0)["moves"] == ["(1,1)"]


@pytest.mark.slow
def test_cells_of_tensor_equilibrium_are_told_apart() -> None:
    """Each legal action has a phrase of its own, and says where its cell is."""
    env, render = (
        shared_env("tensor_equilibrium"),
        importlib.import_module("tensor_envs.games.tensor_equilibrium.render"),
    )
    state, places = env.init(1, 1), set[str]()
    for _ in range(120):
        legal = np.flatnonzero(state.legal_action_mask.numpy()[0]).tolist()
        phrases = scene(env.rules, render, env.state_to_dict(state), 0, (), legal)["phrases"]
        assert len(set(phrases.values())) == len(legal)
        places |= {phrase.partition(": ")[2] for action, phrase in phrases.items() if int(action) >= 46}
        state = env.step(state, te.agents.uniform(state))
    assert {"1 to the left", "1 row up, ½ to the right"} <= places


def test_territory_of_go() -> None:
    env = shared_env("go", size=5)
    played = [env.action_names.index(name) for name in ("B1", "D1", "B2", "D2", "B3", "D3", "B4", "D4", "B5", "D5")]
    over = show(env, [*played, 25, 25])
    assert over["scores"] == ["area 10", "area 10 + 7.5"] and marked(over["svg"]) == []  # by the pass
    squares = [e for e in elements(over["svg"]) if e.tag.endswith("polygon") and len(e.get("points", "").split()) == 4]
    points = (re.findall(r"([\d.]+),([\d.]+)", e.get("points", "")) for e in squares)
    assert sum(float(p[1][0]) - float(p[0][0]) == 10 for p in points) == 10  # five points of either colour


def test_hex_and_stars_without_colour() -> None:
    """Stones and sides of Hex have bars, upright for the first player; the pieces of Tensor (stars) have letters."""
    game = shared_env("hex", size=3)
    svg = show(game, [0, 1])["svg"]
    bars = [re.findall(r"([\d.]+),([\d.]+)", e.get("points", "")) for e in elements(svg) if e.tag.endswith("polyline")]
    upright = sum(a[0] == b[0] for a, b in bars)
    assert len(bars) == 12 + 2 and upright == 6 + 1
    texts = [e.text for e in elements(show(shared_env("tensor_stars"), [])["svg"]) if e.text]
    assert all(texts.count(letter) >= 2 for letter in "RBY")


def test_labels_of_dots_and_of_draughts() -> None:
    """Dots have the letters and numbers of the lines' names, and no piece of draughts covers a square's number."""
    texts = {e.text for e in elements(show(shared_env("dots_and_boxes"), [])["svg"]) if e.text}
    assert {*"abcdef", *"123456"} <= texts
    env = shared_env("checkers")
    drawing: Drawing = env.entry.load("render").draw(env.rules, env.state_to_dict(env.init(1)))
    pieces = [shape for shape in drawing.shapes if isinstance(shape, Circle)]
    numbers = [shape for shape in drawing.shapes if isinstance(shape, Text) and shape.text.isdecimal()]
    assert len(pieces) == 24 and len(numbers) == 32
    for piece in pieces:
        for number in numbers:
            # the end of two digits that is next to the piece
            x = number.at[0] + 0.3 * number.size * len(number.text)
            y = number.at[1] + 0.35 * number.size
            assert math.dist((x, y), piece.centre) > piece.radius - 1


@pytest.mark.slow
def test_actions_of_equilibrium_are_called_as_in_its_rulebook() -> None:
    """A game of random actions meets the names of all actions of the rulebook."""
    env = shared_env("tensor_equilibrium")
    render, state, phrases = env.entry.load("render"), env.init(1, 1), set[str]()
    while not state.terminated.item():
        game = env.state_to_dict(state)
        phrases |= {
            render.explain(env.rules, game, action).partition(" for ")[0] for action in env.legal_actions(state)
        }
        state = env.step(state, te.agents.uniform(state))
    starts = {" ".join(phrase.split()[:2]) for phrase in phrases}
    assert {"Download Data", "Load Data", "Ethical Hack", "Code SUB", "Run MUL", "pass: no", "tweak: token"} <= starts


@pytest.mark.parametrize("game", NAMES)
def test_texts_of_actions_do_not_read_the_position_again(game: str) -> None:
    env = shared_env(game)
    state = env.init(1)
    for _ in range(4):
        state = env.step(state, te.agents.uniform(state))
    legal = np.flatnonzero(te.to_numpy(state.legal_action_mask)[0]).tolist()
    position = env.state_to_dict(state)

    def readings(actions: list[int]) -> int:
        """Return how often positions are read for a scene with some actions."""
        count = 0

        def note(frame: Any, event: str, _: Any) -> None:
            nonlocal count
            count += event == "call" and frame.f_code.co_name == "from_dict"

        sys.setprofile(note)
        try:
            scene(env.rules, env.entry.load("render"), position, actions=actions)
        finally:
            sys.setprofile(None)
        return count

    assert readings(legal) == readings(legal[:1])
