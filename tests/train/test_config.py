"""Settings: ranges, files, and errors that name the key."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.train.config import read_config, write_config

CONFIGS: tuple[Any, ...] = (te.train.AlphaZeroConfig, te.train.PPOConfig)


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize(
    "env",
    [
        te.make("tic_tac_toe", illegal="raise"),
        te.make("hyper_tic_tac_toe", shape=(3, 4, 5), k=3),
        te.make("tests.games.dice_race:DiceRace", goal=4),
        te.make("go", size=5),
    ],
    ids=repr,
)
def test_a_file_has_all_settings(kind: Any, env: te.Env, tmp_path: Path) -> None:
    config = kind(learning_rate=0.1 + 0.2, num_envs=12)
    write_config(tmp_path / "config.toml", "name", env, config)
    again, same, network = read_config(tmp_path / "config.toml", "name", kind)
    assert (
        network is None
        and same == config
        and again.plays_like(env)
        and again.illegal == env.illegal
        and again.id == env.id
    )


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_setting_has_a_range(kind: Any) -> None:
    for item in fields(kind):
        if isinstance(item.default, bool):
            wrong: list[tuple[Any, type[Exception], str]] = [(1, TypeError, "must be of type bool")]
        else:
            low, high = item.metadata["low"], item.metadata["high"]
            wrong = [(value, ValueError, "must be in") for value in (low - 1, high + 1)]
            wrong += [(value, TypeError, "must be") for value in ("1", True)]
            wrong += [(1.5, TypeError, "must be an int")] if isinstance(item.default, int) else []
            assert getattr(kind(), item.name) == item.default
        for value, error, text in wrong:
            with pytest.raises(error, match=f"^{item.name} {text}"):
                kind(**{item.name: value})
        assert item.metadata["help"]


def test_minibatches_are_equal() -> None:
    with pytest.raises(ValueError, match="minibatches must divide num_envs, got 3 and 256"):
        te.train.PPOConfig(minibatches=3)


TEXT = """algorithm = "ppo"
[env]
id = "tic_tac_toe"
version = 0
illegal = "lose"
[env.rules]
[config]
hidden = 8
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hidden", "hiden", "there is no key 'config.hiden'; the nearest is 'config.hidden'"),
        ("[config]", "[config]\nnum_sims = 3", "no key 'config.num_sims'; the nearest is 'config.num_envs'"),
        ("[config]", "[confg]", "there is no key 'confg'; the nearest is 'config'"),
        ("illegal", "ilegal", "there is no key 'env.ilegal'; the nearest is 'env.illegal'"),
        ('id = "tic_tac_toe"', "", "the key 'env.id' is missing"),
        ("hidden = 8", "hidden = 0", r"hidden must be in 1..\d+, got 0"),
        ("hidden = 8", 'hidden = "8"', "hidden must be an int, got '8'"),
        ("hidden = 8", "hidden = ", "Invalid value"),
        ("version = 0", "version = 7", "it was saved by version 7 of 'tic_tac_toe', this is 0"),
        ("tic_tac_toe", "tic_tac_to", "unknown id 'tic_tac_to'; did you mean 'tic_tac_toe'"),
        ("[env.rules]", "[env.rules]\nk = 3", "'tic_tac_toe' has no rule field 'k'|fixes k=3"),
        ("[env]", "network = 3\n[env]", "network must be of type dict, got 3"),
        ('"ppo"', '"pp"', "algorithm must be 'ppo', got 'pp'"),
    ],
)
def test_wrong_files(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(TEXT)
    assert read_config(path, "ppo", te.train.PPOConfig)[1].hidden == 8
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"config.toml' has no settings that can be used: .*({message})"):
        read_config(path, "ppo", te.train.PPOConfig)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file '.*config.toml'"):
        te.train.PPO.load(tmp_path)
