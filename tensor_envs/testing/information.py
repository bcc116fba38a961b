"""Checks of what players see: observations, and what the rules hide."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tensor_envs._runtime.devices import DeviceName
from tensor_envs.envs.env import Env
from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.vector import VectorEnv
from tensor_envs.rules.chance import KeyedChance
from tensor_envs.rules.scalar import int32, uint32
from tensor_envs.rules.spec import GameState
from tensor_envs.testing.conditions import (
    BATCH,
    MANY,
    SEED,
    ConformanceError,
    line_of,
    over,
    playing,
    require,
    short,
    shown_values,
    waiting,
)
from tensor_envs.text import prompt

HIDDEN_PLIES = 8


def check_observations(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check what learners read from a VectorEnv against its states and transitions, across resets."""
    env = short(env)
    ended = 0
    for mode in ("same_step", "next_step"):
        vector = VectorEnv(env, BATCH, SEED, device, mode, observe=True)  # type: ignore[arg-type]
        for step in waiting(steps, "no game ended"):
            state = vector.state
            values = state.numpy()
            observed = vector.numpy()
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
        mover = env.observe(state).numpy()
        each = env.observe(state, players).numpy()
        for row, p in enumerate(players):
            same = (mover[row] == by_number[p][row]).all() and (each[row] == mover[row]).all()
            require(same, f"row {row}: observe gives the player to move something else")
    return f"{ended} games ended"


def check_determinize(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that `determinize` resamples what is hidden from a player and keeps the observation."""
    env = short(env)
    rows = range(4)
    if not env.engine.game.determinizes:
        return "nothing is hidden, or the rules have no determinize"
    changed, decisions = 0, 0
    for row in rows:
        plain = ScalarGame(env.rules, SEED, row)
        for _ in range(steps):
            if plain.over:
                plain.reset()
            for player in range(env.num_players):
                s = plain.state
                observed = plain.observe(player)
                mask = plain.legal_actions()
                for sample in range(3):
                    chance = KeyedChance([uint32(SEED), uint32(sample)])
                    sampled = plain.game.determinize(s, int32(player), chance)
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


def check_perfect_information(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that what a player has observed so far determines all fields, if the Spec says so.

    An observation may leave out the past, such as earlier boards of go, which the earlier observations have shown.
    """
    if not env.spec.perfect_information:
        return "the Spec says that something is hidden"
    state = env.init(MANY, SEED, device)
    compared = 0
    seen = np.zeros((env.num_players, MANY), np.int64)  # number of what each player has observed so far
    for _ in range(HIDDEN_PLIES):
        values = state.numpy()
        live = np.flatnonzero(~over(values))
        if not live.size:
            break
        for player in range(env.num_players):
            observed = env.observe(state, player).numpy().reshape(MANY, -1)
            past = seen[player].copy()
            first = dict[tuple[int, bytes], int]()
            for i in live.tolist():
                seen[player, i] = first.setdefault((past[i], observed[i].tobytes()), i)
            alike = seen[player, live]
            compared += len(live) - len(first)
            for name in env.spec_fields:
                differs = (values[name][live] != values[name][alike]).reshape(len(live), -1).any(1)
                if name not in ("key", "episode") and differs.any():
                    a, b = alike[differs][0], live[differs][0]
                    raise ConformanceError(
                        f"games {a} and {b} have looked the same to player {player}, but field {name!r} is "
                        f"{shown_values(values[name][a])} and {shown_values(values[name][b])}: "
                        f"{line_of(env, 'observe')}: observe must show the field, or "
                        "the Spec must say perfect_information=False"
                    )
        state = env.step(state, uniform(state))
    return f"{compared} pairs of games with the same observations"


def check_hidden_information(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that games with equal `seen_by` for a player have the same observation, mask and prompt for that player."""
    if env.spec.perfect_information:
        if hasattr(env.entry.load("render"), "seen_by"):
            raise ConformanceError("render has seen_by, so the Spec must say perfect_information=False")
        return "nothing is hidden"
    if not hasattr(env.entry.load("render"), "seen_by"):
        raise ConformanceError("the Spec says perfect_information=False, so render must have seen_by")
    # Games are grouped by what render says a player sees; within a group only hidden information differs.
    state = env.init(MANY, SEED, device)
    compared = 0
    for _ in range(HIDDEN_PLIES):
        values = state.numpy()
        games = [env.state_to_dict(state, i) for i in range(MANY)]
        for player in range(env.num_players):
            observed = env.observe(state, player).numpy()
            groups: dict[str, list[int]] = {}
            for i, game in enumerate(games):
                visible = env.entry.load("render").seen_by(env.rules, game, player)
                groups.setdefault(json.dumps(visible, sort_keys=True), []).append(i)
            for rows in groups.values():
                first = rows[0]
                prompts = set[str]()
                # All games of a group are compared with its first one: equality is transitive.
                for i in rows[1:]:
                    if games[i] == games[first]:
                        continue
                    compared += 1
                    what = f"games {first} and {i} have the same seen_by for player {player}"
                    require((observed[i] == observed[first]).all(), f"{what}, but other observations")
                    if not prompts:  # one pair in each group, since prompts are slow
                        prompts = {prompt(state, row, player) for row in (first, i)}
                    require(len(prompts) == 1, f"{what}, but other prompts")
                    # Other players' masks may depend on what they hold; this player may not read them.
                    if values["current_player"][i] == player:
                        same = (values["legal_action_mask"][i] == values["legal_action_mask"][first]).all()
                        require(same, f"{what}, but other masks")
        state = env.step(state, uniform(state))
    # Hardly two games look alike where players see much, so games are compared with copies that hide other things.
    if compared < BATCH and env.engine.game.determinizes:
        compared += compare_resampled(env, device)
    # A check without a single pair has tested nothing.
    require(compared, "no two games differed only in what is hidden")
    return f"{compared} pairs of games that differ in what is hidden alone"


def compare_resampled(env: Env, device: DeviceName | None) -> int:
    """Compare what players see of games with copies that `determinize` resampled for them; return the pairs' number."""
    to_dict = env.entry.load("notation").to_dict
    layout = env.engine.layout
    compared = 0
    for row in range(BATCH):
        plain = ScalarGame(env.rules, SEED, row)
        for _ in range(row):
            plain.step(plain.uniform_action())
        before = plain.state
        for player in range(0 if plain.over else env.num_players):
            chance = KeyedChance([uint32(SEED), uint32(row)])
            games = list[dict[str, Any]]()
            for s in (before, plain.game.determinize(before, int32(player), chance)):
                fields = _fields(plain, s) | {"terminated": False, "truncated": False}
                games.append(to_dict(env.rules, layout.game(layout.pack([fields])[0])))
            if games[0] == games[1]:
                continue
            compared += 1
            state = env.state_from_dicts(games, SEED, device)
            what = f"player {player} of row {row}, ply {row}"
            shown = [env.state_to_dict(state, i, player) for i in (0, 1)]
            require(shown[0] == shown[1], f"determinize must not change what seen_by shows to {what}")
            observed = env.observe(state, player).numpy()
            require((observed[0] == observed[1]).all(), f"observe shows what seen_by hides from {what}")
            same = prompt(state, 0, player) == prompt(state, 1, player)
            require(same, f"the prompt shows what is hidden from {what}")
        plain.state = before
    return compared
