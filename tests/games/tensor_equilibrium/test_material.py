"""Rule sets from files, written positions and actions, pictures."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import tensor_envs as te
from tensor_envs.games.tensor_equilibrium.board import LONGEST_WAY
from tensor_envs.games.tensor_equilibrium.data import RuleFields, load_rules
from tensor_envs.games.tensor_equilibrium.hexagon import Hexagon, neighbours
from tensor_envs.games.tensor_equilibrium.notation import action_to_string, from_dict
from tensor_envs.games.tensor_equilibrium.render import draw, to_string
from tensor_envs.games.tensor_equilibrium.rules import TensorEquilibrium
from tests.games.tensor_equilibrium.cases import ALL_DOWN, GAME, edge, hack, position
from tests.games.tensor_equilibrium.rules import ADD, MUL, SUB, Act, Phase, Rules

# *** rule sets ***


def rule_file(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_the_defaults_are_the_references() -> None:
    mine, theirs = RuleFields(), Rules()
    assert {name: getattr(mine, name) for name in vars(theirs)} == vars(theirs)


def test_a_rule_set_from_a_file(tmp_path: Path) -> None:
    cards = "[[[0, 1], [2, 3]], [[1, 2], [3, 4]], [[2, 3], [4, 0]]]"
    text = f"players = 3\nop_cost = [1, 2, 3, 4]\ntensor_cards = {cards}\ntweak_optional = false\n"
    values = load_rules(rule_file(tmp_path, text))
    third = ((2, 3), (4, 0))
    assert values["op_cost"] == (1, 2, 3, 4) and values["tensor_cards"][2] == third
    env = te.make(GAME, **values)
    assert env.num_players == 3 and not env.rules.tweak_optional and env.rules.gpu_start == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu_strat = 7", "no field 'gpu_strat' (did you mean 'gpu_start'"),
        ('gpu_start = "7"', "gpu_start must be an integer"),
        ("tweak_optional = 1", "tweak_optional must be true or false"),
        ("op_cost = [1, 2, 3]", "op_cost must have 4 entries"),
        ("op_cost = [1, 2, 3, 400]", "op_cost must be in 0..127"),
        ("players = 5", "players must be one of 2, 3, 4"),
        ("tensor_cards = [[[0, 1], [1, 2]], [[0, 1], [2, 3]]]", "tensor_cards must be"),
        ("tiebreak_order = [0, 1, 2, 3, 3]", "tiebreak_order must be each type"),
        ("dark_cells = [37]", "dark_cells must be cells of the board of 37"),
        ("dark_cells = [18]", "centre_cell 18 and a cell beside it must be light"),
        ("dark_cells = [11, 12, 17, 19, 24, 25]", "centre_cell 18 and a cell beside it must be light"),
        ("level_start = 11", "level_min, level_start and level_max must ascend"),
        ("tier_level = [0, 8, 5]", "tier_level must ascend"),
        ("tier_hand = [1, 2]", "must have an entry for each tier"),
        ("fixed_cards = [0]", "fixed_cards must be empty or"),
        ("gpu_start = 21", "gpu_start must be in 0..20"),
        ("players = ", "Invalid value"),
    ],
)
def test_wrong_rule_files(tmp_path: Path, text: str, message: str) -> None:
    path = rule_file(tmp_path, text)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as error:
        load_rules(path)
    assert str(path) in str(error.value)


# *** positions ***


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"market": [1, 1, 1, 1, 2]}, "21 tiles of type 4, not 20"),
        ({"ops": [1, 1, 1, 0]}, "every operation card"),
        ({"gpu": [7]}, "gpu must have 2 entries, got 1"),
        ({"gpu": [7, 21]}, r"gpu\[1\] must be in 0\.\.20, got 21"),
        ({"level": [[3] * 5, [3] * 4]}, r"level\[1\] must have 5 entries, got 4"),
        ({"order": [0, 0]}, "order must be each seat once"),
        ({"next_order": [0, -1]}, "next_order must hold"),
        ({"phase": 15}, "done must be 1"),
        ({"actor": -1}, "actor must be a seat"),
        ({"turn": 1}, "turn must be the actor"),
        ({"phase": 10}, "pend_target, pend_type or pend_slot"),
        ({"board": [[0] * 37]}, "board must have 2 entries, got 1"),
    ],
)
def test_wrong_positions(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_dict(TensorEquilibrium(), position() | change)


def test_positions_on_dark_cells() -> None:
    with pytest.raises(ValueError, match="dark cell"):
        from_dict(TensorEquilibrium(dark_cells=(19,)), position())


@pytest.mark.parametrize(
    ("action", "name"),
    [
        (Act.PASS, "PASS"),
        (Act.DOWNLOAD, "DOWNLOAD"),
        (Act.CODE + ADD, "CODE(ADD)"),
        (Act.RUN + MUL, "RUN(MUL)"),
        (Act.LOAD + 1, "LOAD(B)"),
        (hack(1, 2), "HACK(seat+1, C)"),
        (hack(3, 4), "HACK(seat+3, E)"),
        (Act.TAKE, "TAKE(A)"),
        (Act.TWEAK + 4, "TWEAK(E)"),
        (Act.STOP, "STOP"),
        (Act.TYPE + 3, "TYPE(D)"),
        (Act.CELL, "CELL(0,-3)"),
        (Act.CELL + 18, "CELL(0,0)"),
        (edge(2, 18), "EDGE(0,0 -1,1)"),
    ],
)
def test_names_of_actions(action: int, name: str) -> None:
    assert action_to_string(TensorEquilibrium(), action) == name


def test_every_action_has_its_own_name() -> None:
    rules = TensorEquilibrium()
    assert len({action_to_string(rules, action) for action in range(rules.num_actions)}) == 194


# *** the board ***


@pytest.mark.few(2)
@pytest.mark.parametrize("radius", [1, 2, 3])
def test_longest_way_within_a_group(radius: int) -> None:
    """Check that no connected set has a longer induced path, so that a flood of as many steps reaches all of it."""
    cells = Hexagon(radius).set_of(range(len(Hexagon(radius).bits)))
    longest = 0

    def extend(head: int, path: int, banned: int, length: int) -> None:
        nonlocal longest
        longest = max(longest, length)
        reach = ends = neighbours(head) & cells & ~banned
        while (grown := reach | neighbours(reach) & cells & ~banned) != reach:
            reach = grown
        while ends and length + (reach & ~path).bit_count() > longest:
            step = ends & -ends
            ends ^= step
            extend(step, path | step, banned | neighbours(head) | head, length + 1)

    for bit in Hexagon(radius).bits:
        extend(1 << bit, 1 << bit, 1 << bit, 0)
    assert longest == LONGEST_WAY[radius]


# *** pictures ***


def test_text() -> None:
    state = position(
        hand={0: [SUB]}, storage={0: "AC"}, board={0: "18:A↑ 19:C↓"}, passed=[0, 1], next_order=[1, -1], n_passed=1
    )
    text = to_string(TensorEquilibrium(dark_cells=(0,)), state)
    assert text.split("\n")[:11] == [
        "round 0: Player 1 takes an action",
        "action board ABCDE, pile 10, supply A14 B17 C14 D17 E17",
        "cards ADD DIV MUL, turn order 1 2",
        "",
        "   # . . .      Player 1 *",
        "  . . . . .     card AB|CD, GPU 7 (+1)",
        " . . . . . .    tokens A3 B3 C3 D3 E3",
        ". . . A c . .   storage AC of 3",
        " . . . . . .    hand SUB of 1",
        "  . . . . .",
        "   . . . .",
    ]
    assert "Player 2, passed" in text


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ({"phase": 4, "picks_left": 2}, "Player 1 takes tiles from the action board (2 left)"),
        ({"phase": 6, "tweaks_left": 1, "actor": 1}, "Player 2 tweaks a token (1 left)"),
        ({"final": 1, "pile": [0] * 5}, "round 0, final actions (0 left): Player 1 takes an action"),
        ({"phase": 2, "pend_type": 4}, "Player 1 places the second tile: type E"),
        ({"phase": 5, "pend_type": 0, "pend_target": 0}, "Player 1 places a tile: type A"),
        ({"phase": 5, "pend_type": 0, "pend_target": 1}, "a tile: type A on the board of Player 2"),
        ({"phase": 10, "pend_type": 2, "pend_slot": 18}, "Player 1 places the tile: type C"),
        ({"phase": 13, "pend_slot": 55}, "Player 1 places the copies: 0,0 and 0,1"),
        ({"phase": 15, "done": 1, "actor": -1}, "the game is over"),
        ({"phase": 15, "done": 1, "truncated": 1, "actor": -1}, "the game is cut off"),
    ],
)
def test_headlines(changes: dict[str, Any], headline: str) -> None:
    assert headline in to_string(TensorEquilibrium(), position(**changes)).split("\n")[0]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_svg(players: int) -> None:
    board = {0: "18:A↑ 19:C↑", 1: ALL_DOWN}
    state = position(players, board=board, pend_flip=[[1, 0, 0, 0, 0]] + [[0] * 5] * (players - 1), phase=Phase.FLIP)
    root = ElementTree.fromstring(draw(TensorEquilibrium(players=players), state).to_svg())
    kinds = [element.tag.rpartition("}")[2] for element in root]
    assert kinds.count("circle") == 5 * players  # the tokens
    texts = [element.text for element in root if element.text and not element.tag.endswith("title")]
    assert texts[0] == "round 0: Player 1 flips a tile of a type that moved up"
    assert [text for text in texts if text.startswith("Player ")] == [f"Player {p + 1}" for p in range(players)]
