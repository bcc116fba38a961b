"""The `start` fixture: worked cases are written once and played on every engine of a game."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.chance import game_key
from tests.games.shared import observe, reference, shared_env

Start = Callable[..., Any]


class EnvGame:
    """One game of the tensor engine, with the interface of a reference engine."""

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
        """What the game itself writes, as references do."""
        values = {name: column[0].tolist() for name, column in self.now.items()}
        game: dict[str, Any] = self.env._entry.load("notation").to_dict(self.env.rules, values)
        return game

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


def start_reference(game: str, state: dict[str, Any] | None = None, seed: int = 0, **config: Any) -> Any:
    engine, key = reference(game), game_key(seed, 0, 0)
    return engine(key, **config) if state is None else engine.from_dict(state, key, **config)


def start_env(game: str, state: dict[str, Any] | None = None, seed: int = 0, **config: Any) -> EnvGame:
    env = shared_env(game, **config)
    return EnvGame(env, env.init(1, seed) if state is None else env.state_from_dicts([state], seed))


ENGINES: dict[str, Start] = {"reference": start_reference, "env": start_env}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "start" in metafunc.fixturenames:
        metafunc.parametrize("start", ENGINES.values(), ids=ENGINES)
