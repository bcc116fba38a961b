"""The `start` fixture: worked cases are written once and played on every engine of a game."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.chance import game_key
from tests.games.shared import observe, reference, shared_env

Start = Callable[..., Any]


def written(env: te.Env, values: dict[str, Any]) -> dict[str, Any]:
    """What the game itself writes of its fields and flags, as references do."""
    game: dict[str, Any] = env.entry.load("notation").to_dict(env.rules, values)
    return game


class EnvGame:
    """One game of an environment by its kernels, with the interface of a reference engine."""

    def __init__(self, env: te.Env, state: te.State):
        self.env = env
        self._go_to(state)

    def _go_to(self, state: te.State) -> None:
        self.state, self.now = state, state.numpy()

    def legal_actions(self) -> list[int]:
        return [int(a) for a in np.flatnonzero(self.now["legal_action_mask"][0])]

    def apply(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is illegal")
        self._go_to(self.env.step(self.state, [action]))

    def to_dict(self) -> dict[str, Any]:
        return written(self.env, {name: column[0].tolist() for name, column in self.now.items()})

    def observation(self, player: int) -> Any:
        return observe(self.state, player)[0].tolist()

    @property
    def current_player(self) -> int:
        return int(self.now["current_player"][0])

    @property
    def rewards(self) -> list[float]:
        rewards: list[float] = self.now["rewards"][0].tolist()
        return rewards

    @property
    def terminated(self) -> bool:
        return bool(self.now["terminated"][0])

    @property
    def truncated(self) -> bool:
        return bool(self.now["truncated"][0])


class RulesGame:
    """One game of an environment by its rules in plain Python, with the same interface."""

    def __init__(self, env: te.Env, plain: te.ScalarGame):
        self.env, self.plain = env, plain
        self.legal_actions = plain.legal_actions

    def apply(self, action: int) -> None:
        if action not in self.plain.legal_actions():
            raise ValueError(f"action {action} is illegal")
        self.plain.step(action)

    def to_dict(self) -> dict[str, Any]:
        fields = {field.name: field.shape for field in self.env.spec.all_fields}
        values = {name: np.reshape(x, fields[name]).tolist() for name, x in self.plain.fields().items()}
        return written(self.env, values | {"terminated": self.terminated, "truncated": self.truncated})

    def observation(self, player: int) -> Any:
        return self.plain.observe(player).tolist()

    @property
    def current_player(self) -> int:
        return int(self.plain.state.current_player.value)

    @property
    def rewards(self) -> list[float]:
        return self.plain.rewards

    @property
    def terminated(self) -> bool:
        return self.plain.terminated

    @property
    def truncated(self) -> bool:
        return self.plain.truncated


def start_reference(game: str, state: dict[str, Any] | None = None, seed: int = 0, **config: Any) -> Any:
    engine, key = reference(game), game_key(seed, 0, 0)
    return engine(key, **config) if state is None else engine.from_dict(state, key, **config)


def start_env(game: str, state: dict[str, Any] | None = None, seed: int = 0, **config: Any) -> EnvGame:
    env = shared_env(game, **config)
    return EnvGame(env, env.init(1, seed) if state is None else env.state_from_dicts([state], seed))


def start_rules(game: str, state: dict[str, Any] | None = None, seed: int = 0, **config: Any) -> RulesGame:
    env = shared_env(game, **config)
    return RulesGame(env, te.debug(env, seed, game=state))


ENGINES: dict[str, Start] = {"reference": start_reference, "rules": start_rules, "env": start_env}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "start" in metafunc.fixturenames:
        # kernels are the rules' in every position that random games meet (test_conformance.py, each game's
        # test_reference.py): compiling those of every case's own rules takes minutes
        slow = {"env": pytest.mark.slow}
        engines = [pytest.param(start, marks=slow.get(name, ()), id=name) for name, start in ENGINES.items()]
        metafunc.parametrize("start", engines)
