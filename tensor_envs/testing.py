"""Conformance test of environments, for custom games as well.

`check_env(env)` raises `ConformanceError` for the first check that fails. A check also fails if what it needs, such as
the end of a game, never occurs. A game with long episodes needs `short` rule fields in its entry.

The first checks find the most frequent mistakes in rules. They name a field or a line of the rules.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Tensor
from tinygrad.helpers import GlobalCounters

from tensor_envs._compiler.devices import DeviceName, resolve
from tensor_envs._engine.kernels.observe import DTYPES
from tensor_envs._engine.layout import FLAGS
from tensor_envs._validate import instance, integer
from tensor_envs.env import Env
from tensor_envs.interpreter import ScalarGame
from tensor_envs.io import load_state, save_state
from tensor_envs.jit import jit
from tensor_envs.rollout import rollout
from tensor_envs.rules import spec as rules_spec
from tensor_envs.rules.chance import Chance, KeyedChance
from tensor_envs.rules.scalar import Scalar, Value, word
from tensor_envs.rules.scalar import integer as as_int
from tensor_envs.rules.spec import GameState
from tensor_envs.sampling import uniform
from tensor_envs.state import State
from tensor_envs.text import prompt
from tensor_envs.vector import VectorEnv

BATCH, SEED = 6, 11
MAX_STEPS = 20_000  # steps after which a check stops waiting for an event
HIDDEN_BATCH, HIDDEN_PLIES = 512, 8
RULES_PLIES = 100  # plies that are played in plain Python before a kernel is compiled
MAX_ROUNDS = 10  # episodes of every game after which a player who has not moved never will
MAX_USES = 4  # plies of an episode at which no random value of `step` should matter
Values = dict[str, np.ndarray]
Check = Callable[[Env, int, Any], str]


class ConformanceError(AssertionError):
    """A property that an environment lacks, or that a check could not observe."""


class Skipped(Exception):
    """A check that does not apply to a game."""


def check_env(env: Env, steps: int = 40, device: DeviceName | None = None) -> dict[str, str]:
    """Run every check below on a few games of the uniform policy.

    Args:
        env: any environment, with notation and render or without; it is checked with illegal="lose".
        steps: number of actions for checks of every ply. Checks of ends and resets run until these occur.
        device: as in `Env.init`.

    Returns:
        A summary of each check by its name, or why it was skipped.

    Raises:
        ConformanceError: names the check that fails and where.
        ValueError, TypeError: other arguments.

    Examples:
        >>> te.testing.check_env(te.make("kuhn_poker"))["check_one_kernel"]  # doctest: +SKIP
        '1 kernel a step'
    """
    instance("env", env, Env)
    integer("steps", steps, 1, MAX_STEPS)
    resolve(device)
    env = env if env.illegal == "lose" else Env(env.entry, env.rules, env.id)
    report = {}
    for number, check in enumerate(CHECKS, 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{number}/{len(CHECKS)} {check.__name__}", end="", file=sys.stderr, flush=True)
        try:
            report[check.__name__] = check(env, steps, device)
        except Skipped as skipped:
            report[check.__name__] = f"skipped: {skipped}"
        finally:
            if sys.stderr.isatty():
                print(end="\r\033[K", file=sys.stderr, flush=True)
    return report


def require(condition: Any, what: str) -> None:
    """Raise ConformanceError unless the condition holds."""
    if not condition:
        raise ConformanceError(what)


def require_equal(a: Values, b: Values, what: str, rows: Any = slice(None)) -> None:
    """Raise ConformanceError unless the values of these rows are equal."""
    for name in a:
        differs = np.zeros(len(a[name]), bool)
        differs[rows] = (a[name] != b[name]).reshape(len(differs), -1).any(1)[rows]
        for row in np.flatnonzero(differs):
            raise ConformanceError(
                f"{what}: {name} differs in row {row}: {_shown(a[name][row])}, {_shown(b[name][row])}"
            )


def _shown(values: Any) -> str:
    """Return values as text of one line."""
    return np.array2string(np.ravel(values), threshold=40, separator=", ", max_line_width=10_000)


def line_of(env: Env, method: str) -> str:
    """Return the file and line where the author of a game defines a method of the rules."""
    for kind in type(env.rules).__mro__:
        code = getattr(vars(kind).get(method), "__code__", None)
        if code is not None and code.co_filename != rules_spec.__file__:  # where `max_plies` wraps `step`
            return f"{code.co_filename}:{code.co_firstlineno}"
    return method


@contextmanager
def playing_at(place: str) -> Iterator[None]:
    """Name the place in a game at which rules raise an error."""
    try:
        yield
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConformanceError(f"{place}: {error}") from error


def over(values: Values) -> np.ndarray:
    """Return which games are over, bool [B]."""
    return np.asarray(values["terminated"] | values["truncated"])


@functools.lru_cache(4)
def short(env: Env) -> Env:
    """Return the environment with the `short` rule fields. It is cached, so that checks share its kernels."""
    if not env.entry.short:
        return env
    rules = dataclasses.replace(env.rules, **env.entry.short)
    return Env(env.entry, rules, env.id, env.illegal)


def part(env: Env, name: str) -> Any:
    """Return the game's module of that name, or raise Skipped."""
    try:
        return env.entry.load(name)
    except NotImplementedError:
        raise Skipped(f"the game has no {name}") from None


def waiting(steps: int, what: str) -> Iterator[int]:
    """Count steps. Raise ConformanceError if there are too many."""
    yield from range(max(steps, MAX_STEPS))
    raise ConformanceError(f"{what} in {max(steps, MAX_STEPS)} steps: give the GameEntry `short` rule fields")


def playing(env: Env, steps: int, device: Any) -> State:
    """Return games after some uniformly random actions."""
    state = env.init(BATCH, SEED, device)
    for _ in range(steps):
        state = env.step(state, uniform(state))
    return state


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
        return (value + 1) % as_int(n) if self._altered(counter) else value

    def _altered(self, counter: Value) -> bool:
        """Note a draw and return whether its value is to be another one."""
        frame = sys._getframe(2)
        line = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.draws.counters[line] = (*self.draws.counters.get(line, ()), int(word(counter).value))
        return line == self.draws.altered


def check_rules(env: Env, steps: int, device: Any) -> str:
    """Find the most frequent mistakes in plain Python, before a kernel is compiled."""
    env = short(env)
    with playing_at("a new game"):
        draws = Draws(ScalarGame(env.rules, SEED))
    game, plies = draws.game, max(steps, RULES_PLIES)
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


def check_shapes(env: Env, steps: int, device: Any) -> str:
    """Check shapes and dtypes against the Spec."""
    state, spec = env.init(BATCH, SEED, device), env.spec
    expected: dict[str, tuple[Tensor, tuple[int, ...], Any]] = {
        "legal_action_mask": (state.legal_action_mask, (BATCH, spec.num_actions), DTYPES["bool"]),
        "rewards": (state.rewards, (BATCH, spec.num_players), DTYPES["float32"]),
        "terminated": (state.terminated, (BATCH,), DTYPES["bool"]),
        "truncated": (state.truncated, (BATCH,), DTYPES["bool"]),
        "observation": (env.observe(state), (BATCH, *spec.observation_shape), DTYPES[spec.observation_dtype]),
    }
    for field in spec.all_fields:
        expected[field.name] = (getattr(state, field.name), (BATCH, *field.shape), field.dtype)
    for name, (view, shape, dtype) in expected.items():
        require(tuple(view.shape) == shape, f"{name} has shape {view.shape}, not {shape}")
        require(view.dtype is dtype, f"{name} has dtype {view.dtype}, not {dtype}")
    stepped = env.step(state, uniform(state))
    for name, column in stepped.numpy().items():
        require((getattr(stepped, name).numpy() == column).all(), f"{name} reads otherwise from state.numpy()")
    values = state.numpy()
    require(not over(values).any() and not values["rewards"].any(), "a new game is over or has paid")
    return f"{len(expected)} properties"


def check_ends(env: Env, steps: int, device: Any) -> str:
    """Check that games end."""
    env = short(env)
    for plies in (500, MAX_STEPS):
        ended = int(rollout(env, "uniform", BATCH, plies, SEED, device).episodes.numpy().sum())
        if ended:
            return f"{ended} games ended in {plies} steps of {BATCH} games"
    game = ScalarGame(env.rules, SEED)  # a value out of bounds may be the reason, which plain Python finds
    for _ in range(MAX_STEPS // 20):
        with playing_at(place_of(game)):
            game.step(game.uniform_action())
    raise ConformanceError(
        f"no game ended in {MAX_STEPS} plies: {line_of(env, 'step')}: step must set terminated or truncated, or the "
        "Spec max_plies. A game with long episodes needs `short` rule fields in its GameEntry"
    )


def check_play(env: Env, steps: int, device: Any) -> str:
    """Check legal actions, rewards and bounds at every ply, and that finished games do not change."""
    env = short(env)
    state, ended, rounds = env.init(BATCH, SEED, device), 0, 1
    moved = set[int]()
    for step in waiting(steps, "no game ended, or a player never moved,"):
        if over(state.numpy()).all() and len(moved) < env.num_players:
            still = sorted({*range(env.num_players)} - moved)
            require(
                rounds < MAX_ROUNDS,
                f"player {still[0]} never moved in {rounds * BATCH} games: {line_of(env, 'step')}: step must set "
                "current_player in s.replace(...)",
            )
            state, rounds = env.reset(state), rounds + 1
        before = state.numpy()
        mask, was_over = before["legal_action_mask"], over(before)
        require(
            (mask.any(1) == ~was_over).all(),
            f"{line_of(env, 'legal_action_mask')}: legal actions must exist exactly while a game goes on",
        )
        players = before["current_player"][~was_over]
        require(((players >= 0) & (players < env.num_players)).all(), "current_player is no player")
        moved |= set(players.tolist())
        actions = uniform(state).numpy()
        require(mask[np.arange(BATCH), actions][~was_over].all(), "the uniform policy chose an illegal action")
        stepped = env.step(state, actions)
        require_equal(before, state.numpy(), "a step must leave the state it starts from as it was")
        after, rewards = stepped.numpy(), stepped.numpy()["rewards"]
        games = stepped.buffers
        try:
            env.engine.layout.check(games.layout.table(games.words))
        except ValueError as error:
            raise ConformanceError(f"after {step + 1} steps: {error}") from None
        require(not rewards[was_over].any(), "a finished game paid")
        if env.spec.zero_sum:
            require(np.allclose(rewards.sum(1), 0, atol=1e-5), "the rewards of a step do not sum to 0")
        require_equal({**before, "rewards": np.zeros_like(rewards)}, after, "a finished game", rows=was_over)
        require((after["ply"] - before["ply"] == ~was_over).all(), "ply must count the decisions")
        state, ended = stepped, int(over(after).sum())
        if step + 1 >= steps and ended and len(moved) == env.num_players:
            break
    values = state.numpy()
    limit = env.spec.max_plies
    require(limit is None or (values["ply"] <= limit).all(), "a game went on beyond max_plies")
    return f"{step + 1} steps, {int(values['terminated'].sum())} terminated, {int(values['truncated'].sum())} truncated"


def check_illegal_actions(env: Env, steps: int, device: Any) -> str:
    """Check that an illegal action ends the game with -1 for its player and changes no field."""
    if env.illegal == "raise":
        raise Skipped('illegal="raise"')
    state = playing(env, 1, device)
    before = state.numpy()
    mask, live = before["legal_action_mask"], ~over(before)
    require(live.any(), "every game is over after one step")
    illegal = np.array([np.flatnonzero(~row)[0] if not row.all() else env.num_actions for row in mask])
    for actions in (illegal, np.full(BATCH, -1), np.full(BATCH, env.num_actions)):
        changed = env.step(state, actions).numpy()
        for name in env.spec_fields:
            require((changed[name] == before[name]).all(), f"an illegal action changed {name}")
        require(changed["terminated"][live].all(), "an illegal action did not end the game")
        require(not changed["legal_action_mask"].any(), "there are legal actions after an illegal one")
        mover = np.arange(env.num_players) == before["current_player"][:, None]
        expected = np.where(mover, -1.0, 1 / max(env.num_players - 1, 1)) * live[:, None]
        require(np.allclose(changed["rewards"], expected), "wrong rewards for an illegal action")
    return f"{3 * int(live.sum())} illegal actions"


def check_rows(env: Env, steps: int, device: Any) -> str:
    """Check that a row depends on the seed, its number and its actions alone."""
    large, small = env.init(2 * BATCH + 1, SEED, device), env.init(BATCH, SEED, device)
    head = slice(0, BATCH)
    for step in range(min(steps, 12)):
        require_equal(small.numpy(), {k: v[head] for k, v in large.numpy().items()}, "another batch size")
        actions = uniform(large).numpy()
        small = env.step(small, actions[head])
        actions[BATCH:] = -1 if step == 2 else actions[BATCH:]  # the other rows all lose
        large = env.step(large, actions)
    same, other = env.init(BATCH, SEED, device), env.init(BATCH, SEED + 1, device)
    require_equal(same.numpy(), env.init(BATCH, SEED, device).numpy(), "one seed, two games")
    if env.spec.chance:
        require((same.key.numpy() != other.key.numpy()).any(), "two seeds, one game")
    return f"{min(steps, 12)} steps of {2 * BATCH + 1} and of {BATCH} games"


def check_jit(env: Env, steps: int, device: Any) -> str:
    """Check that a step captured by a jit equals a step outside."""

    @jit
    def captured(state: State) -> State:
        return env.step(state, uniform(state))

    for seed in (SEED, SEED + 1):
        inside = outside = env.init(BATCH, seed, device)
        for _ in range(min(steps, 8)):
            inside, outside = captured(inside), env.step(outside, uniform(outside))
            require_equal(inside.numpy(), outside.numpy(), "a captured step")
    return f"{2 * min(steps, 8)} captured steps"


def check_plain_python(env: Env, steps: int, device: Any) -> str:
    """Check kernels against the rules in plain Python, across the end of an episode."""
    env = short(env)
    vector = VectorEnv(env, BATCH, SEED, device)
    games = [ScalarGame(env.rules, SEED, row) for row in range(2)]
    plies = ended = 0
    for _ in waiting(steps, "no game ended"):
        before = vector.state
        kernel_observed = [env.observe(before, p).numpy() for p in range(env.num_players)]
        transition = vector.step_uniform()
        reported, actions = transition.numpy(), transition.numpy()["actions"]
        events = {name: x.numpy() for name, x in env.events(before, actions).items()}
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
            if game.over:
                ended += 1
                game.reset()
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
        illegal = ScalarGame(env.rules, SEED)
        illegal.step(env.num_actions)
        state = env.step(env.init(BATCH, SEED, device), [env.num_actions] * BATCH).numpy()
        alike = illegal.rewards == state["rewards"][0].tolist() and illegal.terminated == bool(state["terminated"][0])
        require(alike, "an illegal action ends the game otherwise in Python")
    return f"{plies} plies, {ended} games ended"


def _require_same(env: Env, place: str, method: str, name: str, kernel: Any, plain: Any) -> None:
    """Require equal values in the kernel and in plain Python."""
    a, b = np.asarray(kernel), np.asarray(plain)
    require(
        a.shape == b.shape and (a == b).all(),
        f"{place}: {name} differs: {_shown(a)} in the kernel, {_shown(b)} in plain Python. {line_of(env, method)}: "
        f"{method} must depend on its arguments alone",
    )


def check_observations(env: Env, steps: int, device: Any) -> str:
    """Check what learners read from a VectorEnv against its states and transitions, across resets."""
    env, ended = short(env), 0
    for mode in ("same_step", "next_step"):
        vector = VectorEnv(env, BATCH, SEED, device, mode, observe=True)  # type: ignore[arg-type]
        for step in waiting(steps, "no game ended"):
            state = vector.state
            values, observed = state.numpy(), vector.numpy()
            same = (observed["legal_action_mask"] == values["legal_action_mask"]).all()
            require(same, f"{mode}: the mask differs")
            live = ~over(values)  # a finished game has no player to move
            same = (observed["observation"][live] == env.observe(state).numpy()[live]).all()
            require(same, f"{mode}: the observation differs")
            same = (observed["current_player"] == values["current_player"])[live].all()
            require(same, f"{mode}: the current player differs")
            transition = vector.step_uniform()
            observed = vector.numpy()
            for name in ("rewards", "terminated", "truncated"):
                same = (observed[name] == getattr(transition, name).numpy()).all()
                require(same, f"{mode}: {name} differs")
            ended += int(over(observed).sum())
            if ended and step >= min(steps, 12):
                break
        for name in ("observation", "legal_action_mask"):
            same = (getattr(vector, name).numpy() == vector.numpy()[name]).all()
            require(same, f"{mode}: the tensor {name} differs from the array")
    state = playing(env, min(steps, 5), device)
    players = state.current_player.numpy()
    if not over(state.numpy()).any():
        by_number = [env.observe(state, p).numpy() for p in range(env.num_players)]
        mover, each = env.observe(state).numpy(), env.observe(state, players).numpy()
        for row, p in enumerate(players):
            same = (mover[row] == by_number[p][row]).all() and (each[row] == mover[row]).all()
            require(same, f"row {row}: observe gives the player to move something else")
    return f"{ended} games ended"


def check_determinize(env: Env, steps: int, device: Any) -> str:
    """Check that `determinize` resamples what is hidden from a player and keeps the observation."""
    env, rows = short(env), range(4)
    if not env.engine.game.determinizes:
        return "nothing is hidden, or the rules have no determinize"
    changed, decisions = 0, 0
    for row in rows:
        plain = ScalarGame(env.rules, SEED, row)
        for _ in range(steps):
            if plain.over:
                plain.reset()
            for player in range(env.num_players):
                s, observed, mask = plain.state, plain.observe(player), plain.legal_actions()
                for sample in range(3):
                    chance = KeyedChance([word(SEED), word(sample)])
                    sampled = plain.game.determinize(s, as_int(player), chance)
                    plain.state = sampled
                    context = f"player {player} of row {row}, ply {int(s.ply.value)}"
                    require(
                        (plain.observe(player) == observed).all(),
                        f"determinize must not change the observation of {context}",
                    )
                    if int(s.current_player.value) == player:
                        require(plain.legal_actions() == mask, f"determinize must not change the mask of {context}")
                    before, after = (
                        {k: v for k, v in values.items() if k != "key"}
                        for values in (_fields(plain, s), _fields(plain, sampled))
                    )
                    changed += before != after
                    plain.state = s
                decisions += 1
            plain.step(plain.uniform_action())
    require(changed, "determinize must resample something")
    return f"{changed} of {3 * decisions} samples differ, and none changes an observation"


def _fields(plain: ScalarGame, s: GameState) -> dict[str, Any]:
    """Set the state of a game and return its fields."""
    plain.state = s
    return plain.fields()


def check_autoreset(env: Env, steps: int, device: Any) -> str:
    """Check each autoreset mode against steps and resets, and the final states of finished games."""
    env = short(env)
    same_step = VectorEnv(env, BATCH, SEED, device, "same_step", final_states=True)
    next_step, disabled = (VectorEnv(env, BATCH, SEED, device, m) for m in ("next_step", "disabled"))  # type: ignore[arg-type]
    resets = [0, 0, 0]
    for step in waiting(steps, "a mode saw no game end"):
        before, transition = same_step.state, same_step.step_uniform()
        stepped = env.step(before, transition.actions)
        final, values = stepped.numpy(), same_step.state.numpy()
        require_equal(final, transition.final_state.numpy(), "final_state")
        reported = {name: getattr(transition, name).numpy() for name in ("rewards", "terminated", "truncated")}
        require_equal(reported, final, "same_step: the transition")
        require_equal(values, {**env.reset(stepped).numpy(), "rewards": final["rewards"]}, "same_step")
        require((values["ply"][over(final)] == 0).all(), "a new episode does not start at ply 0")
        resets[0] += int(over(final).sum())

        before = next_step.state
        ended = over(before.numpy())
        transition = next_step.step_uniform()
        after = transition.final_state.numpy()
        require_equal(after, env.step(before, transition.actions).numpy(), "next_step", rows=~ended)
        require_equal(after, env.reset(before).numpy(), "next_step: a finished game", rows=ended)
        resets[1] += int(ended.sum())

        before, transition = disabled.state, disabled.step_uniform()
        require_equal(disabled.state.numpy(), env.step(before, transition.actions).numpy(), "disabled")
        resets[2] += int(over(disabled.state.numpy()).sum())
        if step % 4 == 3:
            restarted = env.reset(disabled.state).numpy()
            require_equal(disabled.reset().numpy(), restarted, "reset")
        if step + 1 >= steps and all(resets):
            break
    transition = same_step.step_uniform()
    observed = (transition.final_observation(0).numpy(), env.observe(transition.final_state, 0).numpy())
    require((observed[0] == observed[1]).all(), "final_observation differs")
    return f"{step + 1} steps, resets by mode {resets}"


def check_rollout(env: Env, steps: int, device: Any) -> str:
    """Check a rollout in one kernel against single steps, bit for bit."""
    env = short(env)
    vector = VectorEnv(env, BATCH, SEED, device)
    returns = np.zeros((BATCH, env.num_players), np.float32)
    wins, ended = np.zeros_like(returns), 0
    events = {name: np.zeros(BATCH, np.int32) for name in env.spec.events}
    for step in waiting(steps, "no game ended"):
        before = vector.state
        reported = vector.step_uniform().numpy()
        for name, event in env.events(before, reported["actions"]).items():
            events[name] += event.numpy()
        returns += reported["rewards"]
        wins += (reported["rewards"] > 0) & over(reported)[:, None]
        ended += int(over(reported).sum())
        if step + 1 >= steps and ended:
            break
    for policy in ("uniform", uniform):
        result = rollout(env, policy, BATCH, step + 1, SEED, device)  # type: ignore[arg-type]
        require_equal(result.state.numpy(), vector.state.numpy(), f"a rollout ({policy})")
        require(np.allclose(result.returns.numpy(), returns), "a rollout's returns")
        require((result.wins.numpy() == wins).all(), "a rollout's wins")
        require((result.episodes.numpy() == vector.state.episode.numpy()).all(), "a rollout's episodes")
    if not events:
        return f"{step + 1} steps, {ended} games ended"
    counts = rollout(env, "uniform", BATCH, step + 1, SEED, device, count_actions=True).event_counts
    require_equal({name: count.numpy() for name, count in counts.items()}, events, "counts of events in a rollout")
    met = ", ".join(name for name, count in events.items() if count.any()) or "none"
    return f"{step + 1} steps, {ended} games ended, events: {met}"


def check_dictionaries(env: Env, steps: int, device: Any) -> str:
    """Check that states survive conversion to dictionaries, that wrong dictionaries raise, and the names of actions."""
    part(env, "notation")
    start = env.init(1, SEED, device)
    names = env.legal_actions(start)
    if not env.names_depend_on_position:
        names |= {a: env.action_to_string(a) for a in (0, env.num_actions // 2, env.num_actions - 1)}
    for action, name in names.items():
        state = start if env.names_depend_on_position else None
        found = env.string_to_action(name, state)
        require(found == action, f"the name {name!r} does not lead back to action {action}")
    env = short(env)
    state, compared = env.init(BATCH, SEED, device), 0
    for step in waiting(steps, "no game ended"):
        ended = bool(over(state.numpy()).any())
        if ended or step == min(steps, 5):
            states = [state, env.step(state, np.full(BATCH, -1))] if env.illegal == "lose" else [state]
            for played in states:
                games = [env.state_to_dict(played, i) for i in range(BATCH)]
                reloaded = env.state_from_dicts(games, SEED, device)
                restored, before = reloaded.numpy(), played.numpy()
                for name in ("key", "episode", "rewards"):  # a dictionary has none of them
                    restored.pop(name, None)
                require_equal(restored, before, "from a dictionary")
                same = (env.observe(reloaded, 0).numpy() == env.observe(played, 0).numpy()).all()
                require(same, "another observation from a dictionary")
                compared += BATCH
        if ended and step >= min(steps, 5):
            break
        state = env.step(state, uniform(state))
    for foreign in ({}, {"no such field": 0}):
        try:
            env.state_from_dicts([foreign], SEED, device)
        except ValueError:
            continue
        raise ConformanceError(f"the dictionary {foreign} was taken for a state")
    return f"{compared} games"


def check_pictures(env: Env, steps: int, device: Any) -> str:
    """Check that a game has a text and an SVG."""
    part(env, "render")
    state = playing(env, min(steps, 5), device)
    require(env.to_string(state).strip(), "no text")
    require(env.render(state).startswith("<svg"), "no SVG")
    return "1 game"


def check_saving(env: Env, steps: int, device: Any) -> str:
    """Check that a saved state loads bit for bit and plays on equally."""
    state = playing(env, 1, device)
    with tempfile.TemporaryDirectory() as folder:
        save_state(state, Path(folder) / "state.safetensors")
        loaded = load_state(Path(folder) / "state.safetensors", device)
    for _ in range(2):
        require_equal(state.numpy(), loaded.numpy(), "a loaded state")
        state, loaded = env.step(state, uniform(state)), loaded.env.step(loaded, uniform(loaded))
    return f"{BATCH} games"


def check_symmetries(env: Env, steps: int, device: Any) -> str:
    """Check that symmetries map masks, rewards, ends and player 0's observations."""
    part(env, "notation")
    symmetries = list(islice(env.symmetries(), 9))
    size = math.prod(env.observation_shape)
    identity = tuple(range(env.num_actions)), tuple(range(size))
    require(
        symmetries and (symmetries[0].actions, symmetries[0].observation) == identity,
        f"{env.entry.notation}.symmetries must yield the identity first: "
        f"Symmetry(tuple(range({env.num_actions})), tuple(range({size})), {{}})",
    )
    for symmetry in symmetries[1:]:
        actions = np.array(symmetry.actions)
        # new[i] = old[map[i]]: the action that old action a becomes is the i with map[i] = a
        back = np.argsort(actions)
        plain = image = env.init(BATCH, SEED, device)
        for _ in range(min(steps, 8)):
            one, two = plain.numpy(), image.numpy()
            mapped = one["legal_action_mask"][:, actions]
            require((two["legal_action_mask"] == mapped).all(), "a symmetry maps the mask otherwise")
            require((two["rewards"] == one["rewards"]).all(), "a symmetry changes the rewards")
            require((over(two) == over(one)).all(), "a symmetry changes the end")
            chosen = uniform(plain).numpy()
            plain, image = env.step(plain, chosen), env.step(image, back[chosen])
        observed = env.observe(plain, 0).numpy().reshape(BATCH, -1)[:, np.array(symmetry.observation)]
        same = (env.observe(image, 0).numpy().reshape(BATCH, -1) == observed).all()
        require(same, "a symmetry maps observations otherwise")
    return f"{len(symmetries) - 1} beside the identity"


def check_hidden_information(env: Env, steps: int, device: Any) -> str:
    """Check that games with equal `seen_by` for a player have the same observation, mask and prompt for that player."""
    if env.spec.perfect_information:
        if hasattr(part(env, "render"), "seen_by"):
            raise ConformanceError("render has seen_by, so the Spec must say perfect_information=False")
        return "nothing is hidden"
    if not hasattr(part(env, "render"), "seen_by"):
        raise ConformanceError("the Spec says perfect_information=False, so render must have seen_by")
    state, compared = env.init(HIDDEN_BATCH, SEED, device), 0
    for _ in range(HIDDEN_PLIES):
        values = state.numpy()
        games = [env.state_to_dict(state, i) for i in range(HIDDEN_BATCH)]
        for player in range(env.num_players):
            observed = env.observe(state, player).numpy()
            groups: dict[str, list[int]] = {}
            for i, game in enumerate(games):
                visible = env.entry.load("render").seen_by(env.rules, game, player)
                groups.setdefault(json.dumps(visible, sort_keys=True), []).append(i)
            for rows in groups.values():
                first, prompts = rows[0], set[str]()
                for i in rows[1:]:
                    if games[i] == games[first]:
                        continue
                    compared += 1
                    what = f"games {first} and {i} have the same seen_by for player {player}"
                    require((observed[i] == observed[first]).all(), f"{what}, but other observations")
                    if not prompts:  # one pair in each group, since prompts are slow
                        prompts = {prompt(state, row, player) for row in (first, i)}
                    require(len(prompts) == 1, f"{what}, but other prompts")
                    if values["current_player"][i] == player:
                        same = (values["legal_action_mask"][i] == values["legal_action_mask"][first]).all()
                        require(same, f"{what}, but other masks")
        state = env.step(state, uniform(state))
    require(compared, "no two games differed only in what is hidden")
    return f"{compared} pairs of games that differ in what is hidden alone"


def check_perfect_information(env: Env, steps: int, device: Any) -> str:
    """Check that games with equal observations for a player are equal in all fields, if the Spec says so."""
    if not env.spec.perfect_information:
        return "the Spec says that something is hidden"
    state, compared = env.init(HIDDEN_BATCH, SEED, device), 0
    for _ in range(HIDDEN_PLIES):
        values = state.numpy()
        live = np.flatnonzero(~over(values))
        if not live.size:
            break
        for player in range(env.num_players):
            observed = env.observe(state, player).numpy().reshape(HIDDEN_BATCH, -1)
            first: dict[bytes, int] = {}
            alike = np.array([first.setdefault(observed[i].tobytes(), i) for i in live.tolist()], np.int64)
            compared += len(live) - len(first)
            for name in env.spec_fields:
                differs = (values[name][live] != values[name][alike]).reshape(len(live), -1).any(1)
                if name not in ("key", "episode") and differs.any():
                    a, b = alike[differs][0], live[differs][0]
                    raise ConformanceError(
                        f"games {a} and {b} look the same to player {player}, but field {name!r} is "
                        f"{_shown(values[name][a])} and {_shown(values[name][b])}: {line_of(env, 'observe')}: observe "
                        "must show the field, or the Spec must say perfect_information=False"
                    )
        state = env.step(state, uniform(state))
    return f"{compared} pairs of games with the same observation"


def check_one_kernel(env: Env, steps: int, device: Any) -> str:
    """Check that a step is one kernel, with sampling, reset, mask and observation."""
    env, actions = short(env), np.zeros(BATCH, np.int32)
    bare, observing = (VectorEnv(env, BATCH, SEED, device, observe=observe) for observe in (False, True))
    for step in (bare.step_uniform, lambda: bare.step(actions), observing.step_uniform):
        step()
        before = GlobalCounters.kernel_count
        step()
        require(GlobalCounters.kernel_count - before == 1, "a step is more than one kernel")
    return "1 kernel a step"


CHECKS: tuple[Check, ...] = (
    check_rules,
    check_shapes,
    check_ends,
    check_plain_python,  # before check_play: in a kernel a value beyond its bounds overwrites bits of other fields
    check_play,
    check_perfect_information,
    check_illegal_actions,
    check_rows,
    check_jit,
    check_determinize,
    check_observations,
    check_autoreset,
    check_rollout,
    check_dictionaries,
    check_pictures,
    check_saving,
    check_symmetries,
    check_hidden_information,
    check_one_kernel,
)
