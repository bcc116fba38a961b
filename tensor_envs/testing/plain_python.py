"""Checks of the rules in plain Python: frequent mistakes, and kernels against the same rules."""

from __future__ import annotations

import copy
import functools
import sys
from collections import Counter
from typing import Any

import numpy as np

from tensor_envs._engine.layout import FLAGS
from tensor_envs._runtime.devices import DeviceName
from tensor_envs.envs.env import Env
from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.envs.vector import VectorEnv
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.scalar import Scalar, Value, int32, uint32
from tensor_envs.rules.spec import GameState
from tensor_envs.testing.conditions import BATCH, SEED, line_of, playing_at, require, short, shown_values, waiting

RULES_PLIES = 100  # plies that are played in plain Python before a kernel is compiled
MAX_USES = 4  # plies of an episode at which no random value of `step` should matter


def place_of(game: ScalarGame) -> str:
    """Return the row, episode and ply of a game."""
    row, episode, ply = (int(x.value) for x in (game.row_keys[2], game.state.episode, game.state.ply))
    return f"row {row}, episode {episode}, ply {ply}"


class Draws:
    """Chance events of a game's `step` in plain Python, to find values that repeat.

    Attributes:
        counters: the counters that each line of the rules has drawn with at the last ply.
        altered: the line whose values are replaced by others, if any.
        uses: the number of plies of this episode at which the values of a line and its counters mattered.
    """

    def __init__(self, game: ScalarGame):
        self.game, self.chance = game, game.game.chance
        self.counters: dict[str, tuple[int, ...]] = {}
        self.altered: str | None = None
        self.uses = Counter[tuple[str, tuple[int, ...]]]()
        game.game.chance = self._watched  # type: ignore[method-assign]

    def _watched(self, s: GameState) -> Chance:
        self.counters = {}
        return _WatchedChance(self, self.chance(s))

    def step(self, action: int) -> None:
        """Play an action. ConformanceError if the rules draw one random value for several plies."""
        if not self.game.state.ply.value:
            self.uses.clear()
        before = copy.copy(self.game)
        self.game.step(action)
        for line, counters in self.counters.copy().items():
            self.uses[line, counters] += self._matters(line, copy.copy(before), action)
            require(
                self.uses[line, counters] < MAX_USES,
                f"{line}: step draws with the counter {counters[0]} at several plies of an episode, and each time gets "
                "the same value: add s.ply to the counter, or draw in init and keep the value in a field",
            )

    def _matters(self, line: str, game: ScalarGame, action: int) -> bool:
        """Return whether an action has another result under other values from this line."""
        self.altered = line
        try:
            game.step(action)
        finally:
            self.altered = None
        played = self.game
        return (game.fields(), game.rewards, game.over) != (played.fields(), played.rewards, played.over)


class _WatchedChance:
    """Chance that reports the line and counter of every draw."""

    def __init__(self, draws: Draws, chance: Chance):
        self.draws, self.chance = draws, chance

    def bits(self, counter: Value) -> Scalar:
        value = self.chance.bits(counter)
        return ~value if self._altered(counter) else value

    def draw(self, counter: Value, n: Value) -> Scalar:
        value = self.chance.draw(counter, n)
        return (value + 1) % int32(n) if self._altered(counter) else value

    def _altered(self, counter: Value) -> bool:
        """Note a draw and return whether its value is to be another one."""
        frame = sys._getframe(2)
        line = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.draws.counters[line] = (*self.draws.counters.get(line, ()), int(uint32(counter).value))
        return line == self.draws.altered


def check_rules(env: Env, steps: int, device: DeviceName | None) -> str:
    """Find the most frequent mistakes in plain Python, before a kernel is compiled."""
    env = short(env)
    with playing_at("a new game"):
        draws = Draws(ScalarGame(env.rules, SEED))
    game = draws.game
    plies = max(steps, RULES_PLIES)
    for ply in range(plies):
        legal_actions(env, game)
        for player in range(env.num_players if ply < steps else 0):  # a game without an end is for check_ends to name
            observed(env, game, player)
        with playing_at(f"{place_of(game)}: {line_of(env, 'step')}"):
            draws.step(game.uniform_action())
        if game.over:
            game.reset()
    return f"{plies} plies"


def legal_actions(env: Env, game: ScalarGame) -> list[int]:
    """Return the legal actions of a game in progress in plain Python. ConformanceError if there are none."""
    place = f"{place_of(game)}: {line_of(env, 'legal_action_mask')}"
    with playing_at(place):
        actions = game.legal_actions()
    require(
        actions,
        f"{place}: there is no legal action, but the game goes on. step must set terminated or truncated, or the mask "
        "must have an action to pass",
    )
    return actions


def observed(env: Env, game: ScalarGame, player: int) -> np.ndarray:
    """Return a player's observation in plain Python."""
    with playing_at(f"{place_of(game)}: {line_of(env, 'observe')}"):
        return game.observe(player)


def check_plain_python(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check kernels against the rules in plain Python, across the end of an episode."""
    env = short(env)
    vector = VectorEnv(env, BATCH, SEED, device)
    games = [ScalarGame(env.rules, SEED, row) for row in range(2)]
    plies = ended = 0
    for _ in waiting(steps, "no game ended"):
        # The kernels go first, and Python takes the actions of their uniform policy once it has made the same choice.
        before = vector.state
        kernel_observed = [env.observe(before, p).numpy() for p in range(env.num_players)]
        transition = vector.step_uniform()
        reported = transition.numpy()
        actions = transition.numpy()["actions"]
        events = {name: x.numpy() for name, x in env.events(before, actions).items()}
        # Compare the old state's mask, choice and observations, and what the step reports.
        for row, game in enumerate(games):
            same = functools.partial(_require_same, env, place_of(game))
            legal_actions(env, game)
            same("legal_action_mask", "the uniform policy's action", actions[row], game.uniform_action())
            for p in range(env.num_players):
                same("observe", f"player {p}'s observation", kernel_observed[p][row], observed(env, game, p))
            with playing_at(f"{place_of(game)}: {line_of(env, 'step')}"):
                game.step(int(actions[row]))
            plies += 1
            same("step", "rewards", reported["rewards"][row], np.array(game.rewards, np.float32))
            for name in FLAGS:
                same("step", name, reported[name][row], getattr(game, name))
            for name, event in game.events.items():
                same("step", f"the event {name!r}", events[name][row], event)
            # A VectorEnv resets finished games within the step.
            if game.over:
                ended += 1
                game.reset()
        # Compare all fields of the next state, or of a new game's first one.
        values = vector.state.numpy()
        for row, game in enumerate(games):
            same = functools.partial(_require_same, env, place_of(game))
            for name, value in game.fields().items():
                same("step" if game.state.ply.value else "init", name, values[name][row], value)
            same(
                "legal_action_mask", "mask", np.flatnonzero(values["legal_action_mask"][row]), legal_actions(env, game)
            )
        if ended and plies >= steps:
            break
    if env.illegal == "lose":
        _check_illegal(env, device)
    return f"{plies} plies, {ended} games ended"


def _check_illegal(env: Env, device: DeviceName | None) -> None:
    """Check that an illegal action ends a game in Python as in a kernel."""
    illegal = ScalarGame(env.rules, SEED)
    illegal.step(env.num_actions)
    state = env.step(env.init(BATCH, SEED, device), [env.num_actions] * BATCH).numpy()
    alike = illegal.rewards == state["rewards"][0].tolist() and illegal.terminated == bool(state["terminated"][0])
    require(alike, "an illegal action ends the game otherwise in Python")


def _require_same(env: Env, place: str, method: str, name: str, kernel: Any, plain: Any) -> None:
    """Require equal values in the kernel and in plain Python."""
    a = np.asarray(kernel)
    b = np.asarray(plain)
    require(
        a.shape == b.shape and (a == b).all(),
        f"{place}: {name} differs: {shown_values(a)} in the kernel, {shown_values(b)} in plain Python. "
        f"{line_of(env, method)}: {method} must depend on its arguments alone",
    )
