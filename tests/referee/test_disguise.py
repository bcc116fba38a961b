"""Disguises: a player that reasons scores the same under every one of them."""

from __future__ import annotations

import functools
import re

import pytest

import tensor_envs as te
from tensor_envs.files.records import Record, begin
from tensor_envs.referee import KINDS, Disguise, Participant, Settings, packaged, scores, tournament
from tensor_envs.referee.disguise import LABEL, RESERVED
from tests.games.shared import shared_env
from tests.referee.players import TTT, labels_of, legal, reader, translated

DISGUISES = [(), *((kind,) for kind in KINDS), ("symmetry", "renamed", "retold"), ("symmetry", "permuted", "retold")]


def canonical(text: str) -> str:
    """Answer the first legal move in the order of the meant names."""
    labels = labels_of(text)
    return min(legal(text), key=lambda name: translated(name, labels))


@functools.cache
def games_of_a_reader(kinds: tuple[str, ...]) -> list[Record]:
    players = [Participant("reader", ask=reader), packaged("perfect", TTT)]
    return list(tournament(TTT, players, games=6, seed=7, settings=Settings(disguise=kinds)))


@pytest.mark.few(1)
@pytest.mark.parametrize("kinds", DISGUISES, ids=" ".join)
def test_a_player_that_reads_the_board_scores_the_same(kinds: tuple[str, ...]) -> None:
    """It plays perfectly in every disguise, and only the answers are spelled otherwise."""
    records = games_of_a_reader(kinds)
    score = scores(records)[0]
    assert (score.regret, score.illegal, score.unparsable) == (0, 0, 0)
    plain = scores(games_of_a_reader(()))[0]
    assert (score.won, score.drawn, score.lost, score.mean_return) == (
        plain.won,
        plain.drawn,
        plain.lost,
        plain.mean_return,
    )
    assert all(game.notes["disguise"]["kinds"] == [*kinds] for game in records)
    assert all(te.replay(game).ply.item() == len(game.actions) for game in records)


@pytest.mark.few("kuhn_poker")
@pytest.mark.parametrize("name", te.registered())
@pytest.mark.parametrize("kind", ["renamed", "permuted", "retold"])
def test_a_player_that_translates_plays_the_same_games(kind: str, name: str) -> None:
    """The same actions follow where a disguise only spells otherwise, also in games of hidden information."""
    env = shared_env(name)
    players = [Participant("canonical", ask=canonical), packaged("uniform", env)]
    settings, games = Settings(limit=30), 1 if env.num_players == 1 else 2
    oracle = te.PlayoutOracle(4)
    plain = list(tournament(env, players, games, settings=settings, oracle=oracle))
    disguised = tournament(env, players, games, settings=Settings(limit=30, disguise=(kind,)), oracle=oracle)
    assert [game.actions for game in disguised] == [game.actions for game in plain]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["tic_tac_toe", "hex", "go", "connect_four", "othello"])
def test_a_symmetry_maps_positions_and_answers(name: str) -> None:
    """The image of a game has the images of its legal actions, and an answer stands for what it is the image of."""
    env = shared_env(name)
    skins = [Disguise(env, ["symmetry"], seed) for seed in range(20)]
    assert len({skin.actions for skin in skins}) > 1 or name in ("hex", "connect_four")
    skin = skins[0]
    state = image = env.init(1, 1)
    for _ in range(4):
        action = int(te.agents.uniform(state).item())
        state, image = env.step(state, [action]), env.step(image, [skin.shown(action)])
    shown = env.legal_actions(image)
    assert {skin.parse(f"move: {name}", image) for name in shown.values()} == {*env.legal_actions(state)}
    assert all(skin.shown(skin.parse(f"move: {name}", image)) == action for action, name in shown.items())
    assert skin.notes["actions"] == [*skin.actions] != [*range(env.num_actions)]
    assert "actions" not in Disguise(env).notes


def test_labels_that_are_not_shown_name_nothing() -> None:
    skin, state = Disguise(TTT, ["renamed"], 5), TTT.init(1)
    words = skin.notes["labels"]
    assert list(words) == ["0", "1", "2"] and len({*words.values()}) == 3
    assert skin.parse(f"Move: ({words['0'].upper()}, {words['2']})", state) == 2
    with pytest.raises(ValueError, match="must name a move"):
        skin.parse("Move: (0,2)", state)
    chess = shared_env("chess")
    skin, state = Disguise(chess, ["renamed"], 5), chess.init(1)
    words = skin.notes["labels"]
    assert {*words} == {*"abcdefgh", *"12345678"}
    assert chess.action_to_string(skin.parse("".join(words[label] for label in "g1f3"), state), state) == "g1f3"
    with pytest.raises(ValueError, match="must name a move"):
        skin.parse("move: g1f3", state)


@pytest.mark.parametrize("kind", ["renamed", "permuted"])
def test_pieces_of_drops_are_no_ranks(kind: str) -> None:
    """A chick in hand is dropped as "C", beside the rank "c"."""
    env = te.make("animal_shogi")
    state = te.replay(te.record(env, ["2c2b", "2a2b"]))
    skin = Disguise(env, [kind], 1)
    names = env.legal_actions(state)
    assert sum(name.startswith("C*") for name in names.values()) == 6
    assert [skin.parse(f"move: {skin.spell(name)}", state) for name in names.values()] == [*names]


@pytest.mark.few("shogi")
@pytest.mark.parametrize("name", te.registered())
def test_every_legal_move_has_a_name_of_its_own(name: str) -> None:
    """A name in a disguise is no other action's, is read as its action, and has the labels of the disguise alone."""
    env = shared_env(name)
    skins = [Disguise(env, [kind], 3) for kind in ("renamed", "permuted")]
    state = env.init(1, 3)
    for ply in range(24):
        legal = env.legal_actions(state)
        for skin in skins:
            shown = {action: skin.spell(called) for action, called in legal.items()}
            assert len({*shown.values()}) == len(shown)
            for action in [*shown][ply % 5 :: 5]:
                assert skin.parse(f"move: {shown[action]}", state) == action, (legal[action], shown[action])
                # letters of pieces, as in drops and promotions, stay
                kept = {*re.findall(LABEL, legal[action])} - skin.labels.keys() - RESERVED
                assert not kept or (env.names_depend_on_position and kept <= {*"PLNSGRBCEqrn"}), legal[action]
        state = env.step(state, te.agents.uniform(state))


@pytest.mark.parametrize("kind", ["renamed", "permuted"])
@pytest.mark.parametrize("name", ["chess", "shogi"])
def test_algebraic_notation_in_a_disguise(name: str, kind: str) -> None:
    """ "Nf3" and "exd5" are read with the shown labels of their squares; a bishop is no file "b"."""
    env = shared_env(name)
    skin = Disguise(env, [kind], 3)
    moves = ["e4", "d5", "Nc3", "Nf6", "Bb5"] if name == "chess" else ["7g7f", "3c3d", "2g2f", "4a3b"]
    state = te.replay(te.record(env, moves[:-1]))
    read = 0
    for called, action in env.spellings(state).items():
        if "O" not in called:
            read += 1
            shown = re.sub(r"[a-i]|\d", lambda label: skin.labels[label[0]], called)
            assert skin.parse(f"move: {shown}", state) == action, (called, shown)
    assert read > 60


@pytest.mark.parametrize("seed", [906, 1232])
def test_made_up_words_are_none_of_an_answer(seed: int) -> None:
    """By these seeds "move" and "take" had been labels."""
    env = shared_env("connect_four")
    skin, state = Disguise(env, ["renamed"], seed), env.init(1)
    label = skin.spell(env.action_names[3])
    assert skin.read("move: I take the more likely side") == "move: I take the more likely side"
    assert skin.parse(f"move: I take {label}", state) == skin.parse(f"I make: {label}.", state) == 3


@pytest.mark.few("tic_tac_toe", "hex", "kuhn_poker", "connect_four")
@pytest.mark.parametrize("name", te.registered())
def test_retold_rules_do_not_name_the_game(name: str) -> None:
    env = shared_env(name)
    text, plain = Disguise(env, ["retold"]).rules(), Disguise(env).rules()
    title = plain.splitlines()[0].strip("# ")
    for known in (title, name, name.replace("_", " ")):
        assert not re.search(rf"\b{known}\b", text, re.IGNORECASE)
    assert "Source: " not in text and "Sources:" not in text
    assert plain == te.text.describe(env) and text.startswith("# A game\n") and len(text) > len(plain) / 4
    prose = re.sub(r"`[^`]*`", "", text.rpartition("\nThis game is played")[0])
    assert not re.search(r"\b(board|stone|pawn|poker)s?\b", prose, re.IGNORECASE)
    assert "bet" in text or name != "kuhn_poker"  # a label, with which moves are written
    game, state = begin(env)
    others = "; the players" if env.num_players > 1 else "."
    assert f"in this game{others}" in Disguise(env, ["retold"]).prompt(state, game, True)


def test_wrong_disguises() -> None:
    with pytest.raises(ValueError, match="kinds must be one of"):
        Disguise(TTT, ["invisible"])
    with pytest.raises(ValueError, match="kinds must have one of renamed and permuted, got both"):
        Disguise(TTT, ["permuted", "renamed"])
    for name in ("chess", "kuhn_poker"):
        with pytest.raises(ValueError, match=f"kinds must not have symmetry, since <Env {name}"):
            Disguise(shared_env(name), ["symmetry"])
