"""Games as text: rules, prompts without hidden information, and free-form answers."""

import io
import json
import re
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs import registry
from tensor_envs.evaluation.oracles import oracle_of
from tensor_envs.games.kuhn_poker.rules import KuhnPoker
from tensor_envs.render import Drawing
from tensor_envs.render.scene import names_of, scene
from tests.games.dice_race import DiceRace
from tests.games.shared import shared_env
from tests.render.test_default import Secret
from tests.types.program import Nim

GAMES = Path(te.__file__).parent / "games"
TTT = shared_env("tic_tac_toe")
CARDS = te.GameEntry("cards", KuhnPoker, "tensor_envs.games.kuhn_poker.notation", "tests.test_text")


@pytest.mark.few("tic_tac_toe", "kuhn_poker", "shed", "tensor_stars", "connect_four")
@pytest.mark.parametrize("name", te.registered())
def test_rules_prompts_and_answers_of_every_game(name: str) -> None:
    """Each legal move is listed for the player to move alone, and is parsed in many phrasings."""
    env = shared_env(name)
    folder = registry.entries()[name].load_rules().__module__.split(".")[2]
    assert (GAMES / folder / "RULES.md").read_text().strip() in te.text.describe(env)
    state = env.init(3, seed=4)
    for _ in range(7):
        state = env.step(state, te.agents.uniform(state))
    now = state.numpy()
    for row in range(3):
        mover, over = now["current_player"][row], now["terminated"][row] | now["truncated"][row]
        for player in range(env.num_players):
            text = te.text.prompt(state, row, player)
            assert env.to_string(state, row, player).rstrip() in text
            assert ("Legal moves: " in text) == (player == mover and not over)
        legal = now["legal_action_mask"][row].nonzero()[0].tolist()
        listed = te.text.prompt(state, row).partition("Legal moves: ")[2].partition("\n")[0].split("; ")
        names = env.legal_actions(state, row)
        assert over or (list(names) == legal and listed == list(names.values()))
        for action, called in names.items():
            for answer in (called, called.lower(), f"I see.\nMove: **{called}**", f"My move is {called}.\n"):
                assert te.text.parse(env, answer, state, row) == action
                assert env.names_depend_on_position or te.text.parse(env, answer) == action


@pytest.mark.few("tic_tac_toe", "three_will")
@pytest.mark.parametrize("name", te.registered())
def test_how_to_play_comes_first_in_every_rulebook(name: str) -> None:
    """Goal, turn and end take ten lines at most, each variant four, and only rule fields are named as code."""
    env = te.make(name)
    short = te.text.how_to_play(env)
    labels = re.findall(r"^- \*\*(.*?):\*\*", short, re.MULTILINE)
    assert labels == ["Goal", "Your turn", "The end"]
    main, *variants = (part.splitlines() for part in re.split(r"^(?=- \*\*[^*:]+\*\* \()", short, flags=re.MULTILINE))
    assert 3 <= len(main) <= 10 and all(len(variant) <= 4 for variant in variants)
    assert max(map(len, short.splitlines())) <= 120
    assert set(re.findall(r"`(.*?)(?:=\d+)?`", short)) <= {field.name for field in fields(env.rules)}
    title, _, text = te.text.describe(env).partition("\n\n## How to play\n")
    assert title.startswith("# ") and "\n" not in title and text.startswith(short)


def test_prompts_say_how_to_play() -> None:
    state = TTT.init(1)
    assert te.text.prompt(state, rules=True) == te.text.how_to_play(TTT) + "\n" + te.text.prompt(state)
    nim = te.Env(te.GameEntry("nim", Nim), Nim(heap=7), "nim").init(1)  # rules without the section
    assert te.text.prompt(nim, rules=True) == te.text.prompt(nim)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (" ( 1 , 1 ) ", 4),
        ("The centre, (1,1)!", 4),
        ("X holds (0,0), so I must not wait.\n\n(2,2)", 8),
        ("If my move was (0,1), X would win.\nAnswer: (0,2)\nThis blocks (0,0).", 2),
        ("Thinking about (0,1) and (0,2) ... \\boxed{(1,2)} as (2,2) loses", 5),
        ("(0,0) is taken, so (1,0)", 3),  # only one of the two is legal
        ("Actions are hard. (2,0) is a strong move", 6),
    ],
)
def test_answers(answer: str, action: int) -> None:
    assert te.text.parse(TTT, answer, TTT.step(TTT.init(1), [0])) == action


@pytest.mark.slow
def test_usual_decorations_of_names() -> None:
    """Names are read in the spellings of their games' players, and what has two readings is an error."""
    noughts, chess, backgammon = (shared_env(name) for name in ("tic_tac_toe", "chess", "backgammon"))
    fen = [{"fen": "r3k2r/8/8/8/8/8/8/4K2R w K - 0 1"}]
    men = [[0, 0, 0, 2, *[0] * 21], [2, *[0] * 24]]
    two_men_off = backgammon.state_from_dicts([{"men": men, "dice": [5, 6], "current_player": 0}])
    hit = backgammon.state_from_dicts(
        [{"men": [[0] * 12 + [2] + [0] * 12, [0] * 17 + [1] + [0] * 7], "dice": [6, 1], "current_player": 0}]
    )
    for state, answer, name in (
        (noughts.init(1), "move: B2 (the centre)", "(1,1)"),
        (chess.state_from_dicts(fen), "0-0", "e1g1"),
        (chess.state_from_dicts(fen), "Move: H1 x H8", "h1h8"),
        (two_men_off, "4/off(6)", "4/off (6)"),
        (hit, "move: 13/7*", "13/7"),
    ):
        assert state.env.legal_actions(state)[te.text.parse(state.env, answer, state)] == name
    for state, answer in ((chess.state_from_dicts(fen), "O-O-O"), (two_men_off, "4/off"), (hit, "13/7 or 13/12")):
        with pytest.raises(ValueError, match=r"must name|not legal"):
            te.text.parse(state.env, answer, state)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("I resign", r"answer must name a move, got 'I resign'; legal moves are \(0,1\); \(0,2\); .*; \(2,2\)$"),
        ("(0,0)", r"\(0,0\) is not legal; legal moves are \(0,1\); .*"),
        ("(0,1) or (0,2)", r"answer must name one move, got '\(0,1\) or \(0,2\)', which names \(0,1\), \(0,2\)"),
        ("(0,10)", "answer must name a move, got"),
    ],
)
def test_invalid_answers(answer: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.text.parse(TTT, answer, TTT.step(TTT.init(1), [0]))
    with pytest.raises(ValueError, match=r"\(0,0\) is not legal; no move is legal, the game is over"):
        te.text.parse(TTT, "(0,0)", TTT.step(TTT.init(1), [99]))


def test_numbers_are_no_parts_of_others() -> None:
    four = shared_env("connect_four")
    assert te.text.parse(four, "Column 4 of 7.\nmove: 4") == 3 and te.text.parse(four, "In 10 moves I win with 7!") == 6
    for answer in ("14", "4.5", "x4", "0.4"):
        with pytest.raises(ValueError, match="must name a move"):
            te.text.parse(four, answer)


def test_a_game_without_notation_and_render() -> None:
    """A prompt lists fields and action numbers, but raises an error if the game has hidden information."""
    env = te.Env(te.GameEntry("nim", Nim), Nim(heap=7), "nim")
    state = env.step(env.init(1), [2])
    assert "left: 4\n" in te.text.prompt(state) and "Legal moves: 0; 1; 2\n" in te.text.prompt(state)
    assert "key" not in te.text.prompt(state) and te.text.parse(env, "2", state) == 2
    assert te.text.describe(env).startswith("Take 1 to 3 of a heap") and "nim with heap=7" in te.text.describe(env)
    race = te.Env(te.GameEntry("dice_race", DiceRace), DiceRace(), "dice_race")
    assert "key" not in te.text.prompt(race.init(1))  # the key would reveal future dice
    secret = te.Env(te.GameEntry("secret", Secret), Secret(), "secret")
    with pytest.raises(NotImplementedError, match=r"have seen_by\(rules, game, player\)"):
        te.text.prompt(secret.init(1))


def test_a_render_module_of_a_game_with_secrets_must_hide_them() -> None:
    """Without `seen_by` nobody's view is shown, which would have the opponent's card."""
    env = te.make("tests.test_text:CARDS")
    state = env.init(1)
    assert env.to_string(state) == str(env.state_to_dict(state)) and "<svg" in env.render(state)
    for show in (te.text.prompt, lambda state: env.state_to_dict(state, 0, 0), lambda state: env.render(state, 0, 0)):
        with pytest.raises(NotImplementedError, match="perfect_information is False, so render must have seen_by"):
            show(state)
    with pytest.raises(NotImplementedError, match="must have seen_by"):
        scene(env.rules, env.entry.load("render"), env.state_to_dict(state), 0)


def to_string(rules: KuhnPoker, game: dict[str, Any]) -> str:
    return str(game)


def draw(rules: KuhnPoker, game: dict[str, Any]) -> Drawing:
    return Drawing(1, 1)


def test_prompts_contain_no_hidden_information() -> None:
    """The opponent's prompt is the same for every card laid face down, and lists no moves."""
    env = shared_env("tensor_stars")
    first = env.init(10, seed=1)
    state = env.step(first, list(range(10)))  # another card in every game
    mover, other = (int(p) for p in (first.current_player.numpy()[0], 1 - first.current_player.numpy()[0]))
    assert len({te.text.prompt(state, row, mover) for row in range(10)}) == 10
    assert len({te.text.prompt(state, row, other) for row in range(10)}) == 1
    assert len({json.dumps(env.state_to_dict(state, row)) for row in range(10)}) == 10


def test_histories_in_prompts() -> None:
    env = shared_env("chess")
    game = te.record(env, ["e4", "e5", "Nf3"])
    text = te.text.prompt(te.replay(game), history=game)
    assert "Moves so far, each after its player: White e2e4; Black e7e5; White g1f3\n" in text
    bare = te.text.prompt(te.replay(game), history=game, legal=False)
    assert bare.endswith("in this form: move: NAME\n") and "b8c6" in text and "b8c6" not in bare
    assert "so far, each after its player: none\n" in te.text.prompt(TTT.init(1), history=te.record(TTT, []))
    with pytest.raises(ValueError, match=r"history must be of <Env tic_tac_toe-v0 shape=\(3, 3\)>, got {'id': 'chess'"):
        te.text.prompt(TTT.init(1), history=game)
    with pytest.raises(ValueError, match="history must lead to the position, which is at ply 0, got 1 moves"):
        te.text.prompt(TTT.init(1), history=te.record(TTT, [0]))


def test_histories_from_a_start() -> None:
    env = shared_env("tic_tac_toe")
    start = env.step(env.init(1), [0])
    longer = te.record(env, [1, 2, 3], start=env.state_to_dict(start))
    assert "Moves so far" in te.text.prompt(te.replay(longer), history=longer)
    with pytest.raises(ValueError, match="is at ply 1, got 3 moves from ply 1 on"):
        te.text.prompt(start, history=longer)


def test_histories_contain_no_hidden_moves() -> None:
    """A card that lies face down is named to its owner alone, until it is revealed."""
    env = shared_env("tensor_stars")
    games = [te.record(env, [first, 7], seed=1) for first in (2, 3)]
    texts = [[te.text.prompt(te.replay(game), 0, player, game) for game in games] for player in (0, 1)]
    assert games[0].players == (0, 0) and "player: Black PLACE(2); Black PLACE(7)\n" in texts[0][0]
    assert texts[1][0] == texts[1][1] and "player: Black a hidden move; Black a hidden move\n" in texts[1][0]


@pytest.mark.few("dark_hex")
@pytest.mark.parametrize("name", ["dark_hex", "phantom_tic_tac_toe"])
def test_histories_name_no_stones_that_are_hidden(name: str) -> None:
    """Two games that differ in a hidden attempt of the opponent alone have the same prompt."""
    games = [te.record(shared_env(name), [first, 0]) for first in ("b2", "c2")]
    mine, theirs = ([te.text.prompt(te.replay(game), 0, player, game) for game in games] for player in (0, 1))
    first, second = names_of(shared_env(name).rules, shared_env(name).entry.load("render"))
    assert theirs[0] == theirs[1] and f": {first} a hidden move; {second} a1\n" in theirs[0]
    assert mine[0] != mine[1] and f": {first} b2; {second} a hidden move\n" in mine[0]


def test_in_custom_games_all_moves_of_others_are_hidden() -> None:
    """The package cannot know which moves of a user's game lie open."""
    kuhn = registry.entries()["kuhn_poker"]
    for entry, name in ((kuhn, "bet"), (replace(kuhn, id="secret"), "a hidden move")):
        env = te.Env(entry, shared_env("kuhn_poker").rules, entry.id)
        game, state = te.record(env, ["bet"], seed=1), env.step(env.init(1, 1), [1])
        mover = int(game.players[0])
        assert f": Player {mover + 1} {name}\n" in te.text.prompt(state, player=1 - mover, history=game)
        assert f": Player {mover + 1} bet\n" in te.text.prompt(state, player=mover, history=game)


def test_a_history_may_end_with_an_illegal_action() -> None:
    """It is no move, and no ply."""
    game = te.record(TTT, [4, 4])
    assert "Moves so far, each after its player: X (1,1)\n" in te.text.prompt(te.replay(game), history=game)
    with pytest.raises(ValueError, match="the position, which is at ply 0, got 1 moves from ply 0"):
        te.text.prompt(TTT.init(1), history=te.record(TTT, [4]))


def test_rewards_are_minus_what_is_given_away() -> None:
    """The oracle is exact where a game is small; an illegal action, or none, is worth -1."""
    lost = te.record(TTT, [0, 1, 4, 2, 8])
    assert te.text.reward(lost) == [0, -1, 0, 0, 0]
    assert te.text.reward(te.record(TTT, [0, 1, 0])) == te.text.reward(te.record(TTT, [0, 1, -1])) == [0, -1, -2]
    assert te.text.reward(te.record(TTT, [-1])) == [-1] and te.text.reward(te.record(TTT, [])) == []
    kuhn = shared_env("kuhn_poker")
    folded = next(
        game for game in (te.record(kuhn, ["bet", "pass"], row=row) for row in range(50)) if "K" in last(game)
    )
    assert folded.rewards[-1] == (1, -1) and te.text.reward(folded)[1] == pytest.approx(-3)  # the king wins 2
    assert te.text.reward(te.record(kuhn, ["bet", -1], row=folded.row))[1] == pytest.approx(-3)
    shed = shared_env("shed", cards=5)
    state = shed.init(1)
    best = int(te.agents.perfect(oracle_of(shed))(state).item())
    assert te.text.reward(te.record(shed, [best, -1])) in ([0, 0], [0, -2]) and "Tablebase" in repr(oracle_of(shed))
    with pytest.raises(ValueError, match="another course: rewards of action 4 were"):
        te.text.reward(replace(lost, rewards=(*lost.rewards[:4], (0.0, 0.0))))


@pytest.mark.slow
def test_rewards_of_a_group_of_answers_to_one_position() -> None:
    """Rewards are those of the record of each answer; what names no legal move is worth an illegal one."""
    state = TTT.init(3)
    state = te.concat([state, TTT.step(TTT.init(1), [0])])
    answers = ["(1,1)", "move: (0,1)", "I think ... (1,1)!", "move: (0,0)", "(0,1) or (0,2)", "", "pass"]
    assert te.text.rewards(TTT, state, answers, row=3) == [0, -1, 0, -1, -1, -1, -1]
    assert te.text.rewards(TTT, state, answers[:2]) == [0, 0] and te.text.rewards(TTT, state, []) == []
    for action, name in TTT.legal_actions(state, 3).items():
        record = te.record(TTT, [0, action])
        assert te.text.rewards(TTT, state, [name], row=3) == te.text.reward(record)[1:]
    kuhn = shared_env("kuhn_poker")
    deals = kuhn.init(20)
    king = next(i for i in range(20) if "K" in kuhn.to_string(deals, i, 0))
    assert te.text.rewards(kuhn, deals, ["pass"], king, te.PlayoutOracle(64))[0] <= 0


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether a value is one of a schema, as far as `te.text.schema` uses JSON Schema."""
    kinds = {"integer": int, "boolean": bool, "string": str, "array": list, "object": dict}
    if "type" in schema and type(value) is not kinds[schema["type"]]:
        return False
    if type(value) is list:
        return all(fits(item, schema.get("items", {})) for item in value)
    if type(value) is dict:
        entries = schema["properties"]
        return {*schema["required"]} <= {*value} <= {*entries} and all(
            fits(value[name], entries[name]) for name in value
        )
    return True


@pytest.mark.few("tic_tac_toe", "kuhn_poker", "shed")
@pytest.mark.parametrize("name", te.registered())
def test_states_are_json_of_the_schema(name: str) -> None:
    """Positions of other games than those of the schema have its entries and types, and JSON gives them back."""
    env = shared_env(name)
    schema = te.text.schema(env)
    assert not fits({}, schema) and not fits({"board": 1, "cards": 1, "hands": 1}, schema)
    state = env.init(4, seed=9)
    for _ in range(20):
        for i in range(4):
            game = env.state_to_dict(state, i)
            assert json.loads(json.dumps(game)) == game and fits(game, schema)
        state = env.step(state, te.agents.uniform(state))
    assert fits(env.state_to_dict(env.step(env.init(1), [-1])), schema)


def test_states_of_a_notation_with_numpy_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    notation = TTT.entry.load("notation")
    numpy = SimpleNamespace(**vars(notation))
    numpy.to_dict = lambda rules, row: {name: np.array(value) for name, value in notation.to_dict(rules, row).items()}
    game = TTT.state_to_dict(TTT.init(1))
    monkeypatch.setattr(te.GameEntry, "load", lambda *_: numpy)
    assert json.loads(json.dumps(TTT.state_to_dict(TTT.init(1)))) == game


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"answers": "(1,1)"}, TypeError, "answers must be a sequence of texts"),
        ({"answers": ["(1,1)", 4]}, TypeError, r"answers\[1\] must be"),
        ({"row": 1}, ValueError, "row must be"),
        ({"state": TTT.step(TTT.init(1), [-1])}, ValueError, "in row 0, and it is over"),
        ({"oracle": "perfect"}, TypeError, "oracle.regret must be"),
        ({"env": shared_env("kuhn_poker")}, ValueError, "the state belongs to"),
    ],
)
def test_wrong_arguments_of_rewards(change: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments: dict[str, Any] = {"env": TTT, "state": TTT.init(1), "answers": ["(1,1)"]}
    with pytest.raises(error, match=message):
        te.text.rewards(**arguments | change)


@pytest.mark.slow
def test_a_prompt_with_a_picture() -> None:
    """The text is the same, and the picture that of `render` without what is hidden."""
    pillow = pytest.importorskip("PIL.Image")
    env = shared_env("kuhn_poker")
    state = env.init(24, seed=1)
    cards = [env.state_to_dict(state, row)["cards"] for row in range(24)]
    pictures = dict[int, set[bytes]]()
    for row, (own, _) in enumerate(cards):
        text, png = te.text.prompt(state, row, image=True)
        assert text == te.text.prompt(state, row)
        pictures.setdefault(own, set()).add(png)
    assert len({*map(tuple, cards)}) == 6 and [len(pictures[card]) for card in (0, 1, 2)] == [1, 1, 1]
    assert len(set.union(*pictures.values())) == 3 and te.text.prompt(state, player=1, image=True)[1] not in pictures[0]
    image = pillow.open(io.BytesIO(te.text.prompt(TTT.init(1), image=True)[1]))
    drawn = TTT.entry.load("render").draw(TTT.rules, TTT.state_to_dict(TTT.init(1), 0, 0) | {"viewer": 0})
    assert image.format == "PNG" and image.size == (round(drawn.width), round(drawn.height))
    with pytest.raises(TypeError, match="image must be of type bool, got 1"):
        te.text.prompt(state, image=1)  # type: ignore[call-overload]


def last(game: te.Record) -> str:
    """Return what player 1 saw of the last position but one."""
    state = te.replay(te.record(shared_env("kuhn_poker"), game.actions[:-1], row=game.row))
    return shared_env("kuhn_poker").to_string(state, 0, 1)


@pytest.mark.slow
def test_rewards_by_playout_search() -> None:
    env = shared_env("connect_four", rows=4, columns=4, k=4)
    wins = te.record(env, [0, 1, 0, 1, 0, 1, 2])  # the first player could have won in column 0
    oracle = te.PlayoutOracle(256)
    rewards = te.text.reward(wins, oracle)
    assert rewards == te.text.reward(wins, te.PlayoutOracle(256)) and rewards[-1] < -0.5 and -0.1 < max(rewards) <= 0
    assert repr(oracle_of(shared_env("2048"), 32)) == "<PlayoutOracle of 32 simulations>"
    assert oracle.best_actions(env.init(3)).sum(1).tolist() == [1, 1, 1]
    assert te.regret(env, te.agents.playout_search(256), oracle, games=4) == 0
    assert te.regret(env, te.agents.uniform, oracle, games=4) > 0.05


MOVES = {"chess": "g1f3 g8f6 f3g1 f6g8", "xiangqi": "h0g2 h9g7 g2h0 g7h9"}
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 4 3"
XIANGQI = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR w - - 4 3"
EARLIER = ["lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -",
           "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B1G3R1/LNS1KGSNL w -",
           "lnsgk1snl/1r3g1b1/ppppppppp/9/9/9/PPPPPPPPP/1B1G3R1/LNS1KGSNL b -",
           "lnsgk1snl/1r3g1b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w -"]  # fmt: skip
AGAIN = "earlier occurrences of this position: 1"
HANABI = {
    "hands": [["Y1 || XX|RY12"] * 2, ["R2 || XX|RY12"] * 2], "discards": [], "fireworks": [2, 0], "life_tokens": 3,
    "information_tokens": 8, "turns": 2, "current_player": 0, "last_action": 3, "last_card": "R2", "scored": True,
    "regained": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rules", "game", "line"),
    [
        ("chess", {}, {"fen": START, "moves": MOVES["chess"].split()}, AGAIN),
        ("xiangqi", {}, {"fen": XIANGQI, "moves": MOVES["xiangqi"].split()}, AGAIN),
        ("shogi", {}, {"sfen": EARLIER[0] + " 5", "earlier": EARLIER[::-1]}, AGAIN),
        (
            "texas_holdem",
            {"stacks": (100, 50)},
            {"hands": [[0, 1], [2, 3]], "board": [-1] * 5, "history": [1]},
            "in the pot: 2 and 2; stacks: 98 and 48",
        ),
        (
            "checkers",
            {},
            {"board": [0] * 15 + [2] + [0] * 15 + [-2], "current_player": 0, "jumper": 0, "quiet": 7},
            "plies without a capture or a man's step: 7 of 80",
        ),
        (
            "oware",
            {"houses": 2, "seeds": 2, "quiet_plies": 9},
            {"houses": [2, 2, 2, 2], "stores": [0, 0], "current_player": 0, "history": []},
            "plies without a capture: 0 of 9",
        ),
        (
            "nine_mens_morris",
            {},
            {"board": [1, -1, 1] + [0] * 21, "turns": 3, "removes": False},
            "men in hand: White 7, Black 8; turns: 3 of 200",
        ),
        (
            "hanabi",
            {"colors": 2, "ranks": 2, "hand_size": 2},
            HANABI,
            "last action: Player 2, Play 1, R2, which scored, and gave an information token back\n",
        ),
        (
            "backgammon",
            {},
            {"men": [[0] * 5 + [15] + [0] * 19, [0] * 3 + [15] + [0] * 21], "dice": [1, 2], "current_player": 1},
            "  12  11  10   9   8   7 |   6   5   4   3   2   1\n",
        ),
    ],
)
def test_a_position_as_text_has_what_observations_have(
    name: str, rules: dict[str, Any], game: dict[str, Any], line: str
) -> None:
    """Besides the board: repetitions, counts of plies, chips behind, men in hand, and numbers that moves name."""
    env = te.make(name, **rules)
    assert line in env.entry.load("render").to_string(env.rules, game)


@pytest.mark.parametrize(
    ("name", "seats"),
    [("breakthrough", "White Black"), ("clobber", "White Black"), ("havannah", "Red Blue"), ("y", "Red Blue")],
)
def test_seats_have_the_names_of_rules_without_a_render_module(name: str, seats: str) -> None:
    """They are those of the status, such as "White to move"."""
    first, second = seats.split()
    assert te.text.describe(te.make(name)).endswith(f"; player 0 is {first}, player 1 is {second}.\n")
