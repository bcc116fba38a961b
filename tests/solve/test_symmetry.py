"""Positions up to symmetry: against dictionaries that `Symmetry.state` maps, and against play without symmetry."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs.games.connect_four import notation as connect_four
from tensor_envs.solve.canonical import permute
from tensor_envs.solve.field_maps import FieldMaps
from tests.games.shared import shared_env
from tests.solve.searched import random_games


def image_of(game: dict[str, Any], symmetry: te.Symmetry) -> dict[str, Any]:
    """Return the image of a dictionary. A cell of amazons that is a number has the number of its action."""
    image: dict[str, Any] = {name: [game[name][k] for k in order] for name, order in symmetry.state.items()}
    if game.get("active", -1) >= 0:
        image["active"] = symmetry.actions.index(game["active"])
    return game | image


def canonical(game: dict[str, Any], symmetries: list[te.Symmetry]) -> str:
    """Return the least image of a dictionary without its ply, as text."""
    game = {name: entry for name, entry in game.items() if name != "ply"}
    return min(json.dumps(image_of(game, symmetry), sort_keys=True) for symmetry in symmetries)


def orbits(env: te.Env, depth: int) -> list[int]:
    """Return the numbers of positions up to symmetry by ply, from dictionaries alone."""
    symmetries, games = list(env.symmetries()), [env.state_to_dict(env.init(1))]
    counts = [1]
    for _ in range(depth):
        state = env.state_from_dicts(games)
        rows, actions = np.nonzero(state.legal_action_mask.numpy())
        after = env.step(state[rows], actions)
        reached = [env.state_to_dict(after, i) for i in range(len(rows))]
        counts.append(len({canonical(game, symmetries) for game in reached}))
        whole = {json.dumps(game, sort_keys=True): game for game in reached}
        games = [game for game in whole.values() if not (game.get("terminated") or game.get("truncated"))]
    return counts


GAMES: list[tuple[str, dict[str, Any], int]] = [
    ("go", {"size": 2, "superko": 8}, 5),
    ("go", {"size": 3}, 3),
    ("hex", {"size": 3, "swap": True}, 4),
    ("y", {"size": 4}, 3),
    ("havannah", {"size": 3}, 3),
    ("quoridor", {"size": 3, "walls": 1}, 3),
    ("othello", {}, 4),
    ("ultimate_tic_tac_toe", {}, 2),
    ("dots_and_boxes", {"rows": 1, "columns": 2}, 4),
    ("amazons", {"size": 6}, 1),
    ("nine_mens_morris", {}, 3),
    ("connect_four", {"rows": 3, "columns": 4}, 5),
    ("breakthrough", {"rows": 5, "columns": 3}, 3),
    ("clobber", {"rows": 4, "columns": 5}, 2),
]


@pytest.mark.few("go-config1-3")
@pytest.mark.parametrize(("game", "config", "depth"), GAMES)
def test_positions_up_to_symmetry_are_the_orbits_of_dictionaries(game: str, config: Any, depth: int) -> None:
    env = shared_env(game, **config)
    assert te.perft(env, depth, symmetry=True).positions == orbits(env, depth)


@pytest.mark.slow
def test_past_boards_tell_positions_of_go_apart() -> None:
    """Boards that must not recur are in no observation, and yet two positions with other ones differ."""
    env = te.make("go", size=2, superko=8, komi=2.5, max_plies=9)
    state = env.init(4)
    for actions in ([4, 4, 4, 4], [0, 1, 2, 3]):
        state = env.step(state, actions)
    merged, whole = te.solve(env), te.solve(env, symmetry=False)
    assert merged.value(state).tolist() == whole.value(state).tolist() == [-1] * 4
    assert merged.counts() == whole.counts() and merged.positions < whole.positions


def test_symmetries_without_field_maps_merge_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Observations alone do not identify positions."""
    env, plain = te.make("connect_four", rows=3, columns=3, k=3), connect_four.symmetries
    monkeypatch.setattr(connect_four, "symmetries", lambda rules: (replace(s, fields=None) for s in plain(rules)))
    assert te.perft(env, 3, symmetry=True).positions == te.perft(env, 3).positions
    assert not te.solve(env, method="search", memory=2**20)._maps.maps


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fields": {"owns": (1, 0)}}, r"must map fields of \['current_player', .*, got 'owns'"),
        ({"fields": {"own": (1, 1)}}, r"must permute the 32 entries of 'own', got \(1, 1\)"),
        ({"fields": {}, "values": {"own": (1, 0)}}, "must permute the values of 'own', an int32"),
    ],
)
def test_wrong_field_maps(change: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env, plain = te.make("connect_four", rows=3, columns=3, k=3), connect_four.symmetries
    monkeypatch.setattr(connect_four, "symmetries", lambda rules: (replace(s, **change) for s in plain(rules)))
    with pytest.raises(ValueError, match=message):
        te.solve(env)


@pytest.mark.parametrize(
    ("game", "config", "count"),
    [
        ("connect_four", {}, 1),
        ("tic_tac_toe", {}, 7),
        ("hyper_tic_tac_toe", {"shape": (3, 4), "k": 3}, 3),
        ("go", {"size": 3}, 0),  # numbers of groups follow from the stones, and are no bits that move
        pytest.param("chess", {}, 0, marks=pytest.mark.slow),
    ],
)
def test_symmetries_are_permutations_of_bits(game: str, config: Any, count: int) -> None:
    """Compare images of positions, and their number, with the observations that `Env.symmetries` maps."""
    env = shared_env(game, **config)
    layout = env.engine.layout
    found = FieldMaps(env.spec, layout, env.symmetries()).bit_maps(list(range(layout.field_words)))
    assert len(found.maps) == count
    state = random_games(env, 6)[-1]
    symmetries, table = list(env.symmetries())[1:], state.buffers.layout.download(state.buffers.words)
    before, plies = (x.numpy() for x in (env.observe(state), state.ply))
    for symmetry, moves in zip(symmetries, found.maps, strict=bool(count)):
        image = table.copy()
        image[:, : layout.field_words] = permute(table[:, : layout.field_words], moves)
        after = te.State(env, env.engine.load(image, np.zeros((len(image), KEY_WORDS), np.uint32), "CPU"))
        assert (after.ply.numpy() == plies).all()
        seen, wanted = (x.reshape(len(plies), -1) for x in (env.observe(after).numpy(), before))
        assert (seen == wanted[:, list(symmetry.observation)]).all()
