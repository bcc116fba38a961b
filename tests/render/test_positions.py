"""Pictures of whole games have one size, cut nothing off, and show the true result at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.hyper_tic_tac_toe.cube import Projection
from tests.render.test_drawing import elements

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("tic_tac_toe", {}),
    ("hyper_tic_tac_toe", {"shape": (2, 3, 4), "k": 3}),
    ("hyper_tic_tac_toe", {"shape": (2, 2, 2, 2, 2), "k": 2}),
    ("connect_four", {}),
    ("connect_four", {"rows": 3, "columns": 2, "k": 3}),
    ("othello", {}),
    ("ultimate_tic_tac_toe", {}),
    ("kalah", {}),
    ("kalah", {"houses": 1, "seeds": 64}),
    ("kalah", {"houses": 16}),
    ("oware", {}),
    ("breakthrough", {}),
    ("breakthrough", {"rows": 4, "columns": 2}),
    ("clobber", {}),
    ("clobber", {"rows": 1, "columns": 16}),
    ("lines_of_action", {"quiet_plies": 8}),
    ("kuhn_poker", {}),
    ("leduc_poker", {}),
    ("texas_holdem", {}),
    ("hanabi", {}),
    ("hanabi", {"players": 5, "life_tokens": 31}),
    ("gin_rummy", {}),
    ("barrage_stratego", {}),
    ("2048", {}),
    ("backgammon", {}),
    ("chess", {"quiet_plies": 6}),
    ("gardner_chess", {}),
    ("shogi", {}),
    ("minishogi", {}),
    ("animal_shogi", {}),
    ("xiangqi", {}),
    ("checkers", {"quiet_plies": 8}),
    ("chinese_checkers", {"max_turns": 60}),
    ("chinese_checkers", {"players": 6, "max_turns": 90}),
    ("dots_and_boxes", {"rows": 1, "columns": 2}),
    ("amazons", {"size": 6}),
    ("nine_mens_morris", {"max_turns": 24}),
    ("quoridor", {"size": 3, "walls": 1}),
    ("hex", {}),
    ("y", {}),
    ("havannah", {}),
    ("havannah", {"size": 3, "swap": True}),
    ("yahtzee", {}),
    ("liars_dice", {}),
    ("dark_hex", {}),
    ("phantom_tic_tac_toe", {}),
    ("go", {"size": 5}),
    ("shed", {"cards": 4}),
    ("tensor_stars", {"random_colours": True}),
    ("tensor_equilibrium", {}),
    ("tensor_equilibrium", {"players": 3, "board_radius": 2}),
    ("three_will", {"max_turns": 40}),
]


def positions(env: te.Env, seed: int, every: int = 1) -> Iterator[te.State]:
    """Yield some states of a random game, among them the first and the last."""
    state = env.init(1, seed)
    while (mask := state.numpy()["legal_action_mask"]).any():
        if state.ply.item() % every == 0:
            yield state
        state = env.step(state, te.agents.uniform(state))
    assert not mask.any()
    yield state


@pytest.mark.few("tic_tac_toe", "kuhn_poker")
@pytest.mark.parametrize(("name", "fields"), GAMES, ids=str)
def test_pictures_of_a_game_have_one_size_and_nothing_outside(name: str, fields: dict[str, Any]) -> None:
    env, sizes = te.make(name, **fields), set()
    for state in positions(env, 2, every=3):
        svg = env.render(state)
        width, height = (float(x) for x in re.findall(r'(?:width|height)="([\d.]+)"', svg)[:2])
        sizes.add((width, height))
        for element in elements(svg):
            numbers = re.findall(r"-?[\d.]+", element.get("points") or element.get("d") or "")
            points = list(zip(*[iter(map(float, numbers))] * 2, strict=True))
            if element.get("cx"):
                x, y, r = (float(element.attrib[key]) for key in ("cx", "cy", "r"))
                points = [(x - r, y - r), (x + r, y + r)]
            if element.text and element.get("font-size"):  # letters are about half as wide as high
                x, y, size = (float(element.attrib[key]) for key in ("x", "y", "font-size"))
                length = 0.5 * size * len(element.text)
                left = {None: 0.0, "middle": length / 2, "end": length}[element.get("text-anchor")]
                points = [(x - left, y - size / 2), (x - left + length, y + size / 2)]
            for x, y in points:
                assert 0 <= x <= width and 0 <= y <= height, (element.text, element.attrib)
    assert len(sizes) == 1


@pytest.mark.parametrize("shape", [(3, 3, 3), (4, 4, 4), (2, 12, 3), (2, 3, 12), (5, 1, 1)])
def test_layers_of_a_cube_do_not_cover_each_other(shape: tuple[int, ...]) -> None:
    at = Projection(shape)
    for column in np.linspace(0, shape[2], 40):
        for row in np.linspace(
            0, shape[1], 40
        ):  # below a layer's point lies no point of the next layer, except further
            x, y = at(0, row, column)
            for other in np.linspace(0, shape[2], 40):
                back = (other * 62 + at.left - x) / 34  # the row of the next layer at the same x
                if 0 <= back <= shape[1]:
                    assert y < at(1, back, other)[1]


@pytest.mark.slow
def test_the_winner_of_an_equilibrium_is_named() -> None:
    env = te.make("tensor_equilibrium", players=3)
    state, best = env.init(24, seed=1), np.zeros((24, 3))
    while (now := state.numpy())["legal_action_mask"].any():
        state = env.step(state, te.agents.uniform(state))
        best += state.numpy()["rewards"]
    assert now["terminated"].all()
    for i in range(24):
        winners = [str(seat) for seat in range(3) if best[i, seat] == best[i].max()]
        headline = env.to_string(state, i).splitlines()[0]
        assert re.findall(r"\d+", headline.partition("over, ")[2]) == winners and len(winners) == 1
    shared = env.state_to_dict(state, 0)
    for field in ("level", "gpu"):
        shared[field][1] = shared[field][2]
    shared["level"][0] = [0] * 5
    text = env.to_string(env.state_from_dicts([shared]))
    assert text.splitlines()[0].endswith("the game is over, seats 1 and 2 share the win")


def test_the_loser_of_shed_is_named() -> None:
    env, losers = te.make("shed", cards=4), set()
    for seed in range(8):
        *_, state = positions(env, seed)
        loser = int(state.rewards.numpy()[0].argmin())
        assert env.to_string(state).count("lost") == env.render(state).count("lost") == 1
        assert f"Player {loser + 1} lost" in env.render(state) and f"Player {loser + 1} lost" in env.to_string(state)
        assert "*" not in env.to_string(state)
        losers.add(loser)
    assert losers == {0, 1}


@pytest.mark.slow
def test_a_choice_of_directions_is_lettered() -> None:
    env = te.make("three_will")
    state = env.init(64)
    for i, die in enumerate(state.die.numpy()):
        letters = [text for text in re.findall(r">([^<]+)</text>", env.render(state, i)) if text in "abc"]
        assert letters == (["a", "b", "c"] if die == 6 else [])
