"""Measure a game and variants of it: play all games, and collect the measures."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from tinygrad.helpers import tqdm

from tensor_envs import agents
from tensor_envs._validate import instance, integer, number, shown, wrong_type
from tensor_envs.agents import Policy
from tensor_envs.env import Env
from tensor_envs.lab import measures
from tensor_envs.lab.estimates import Array, Measurement
from tensor_envs.lab.measures import ActionUse
from tensor_envs.lab.play import Played, Tick, play, play_uniform
from tensor_envs.lab.report import Key, Report, VariantReport
from tensor_envs.registry import make

PLAYERS: tuple[str | int, ...] = ("uniform", 16, 64, 256, "trained", "perfect")
NAMED = ("uniform", "trained", "perfect")
UNIFORM = 16  # games by the uniform policy for each game by another player
OPENING = 2  # uniformly random plies of trained players, which play the same game else
MAX_ROUNDS = 64  # of `games` with a precision
MAX_GAMES = 2**20
MAX_SIMULATIONS = 2**20


def measure(
    env_or_variants: Env | Mapping[str, Env],
    players: Sequence[str | int] = PLAYERS,
    games: int = 64,
    precision: float | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Report:
    """Measure a game, and compare it with variants of it.

    Each player plays itself. Players of consecutive strength, the uniform one and the searches, also play each other:
    every deal once with the stronger one on each seat. Every number has a 95 % interval.

    Args:
        env_or_variants: an environment, or several by name, the base first, with which the others are compared.
        players: "uniform", numbers of simulations of playout search, "trained" (weights of the package) and "perfect"
            (values by `te.solve`). The last two are left out where there are none.
        games: number of games of every player and of deals of every contest, 32..2^20. The uniform player plays
            sixteen times as many.
        precision: half the width, .001..1, of the intervals of scores, luck and skill that is aimed at. Games are
            added, up to 64 times `games`, until they are as narrow.
        seed: seed of the games.
        progress: show a progress bar on stderr.

    Returns:
        A report with tables, as text, Markdown, HTML and JSON.

    Raises:
        ValueError, TypeError: an argument out of range or of another type.
        NotImplementedError: a game with memory fields.

    Examples:
        >>> envs = {"base": te.make("hyper_tic_tac_toe", shape=(3, 3), k=3)}
        >>> envs["misere"] = te.make("hyper_tic_tac_toe", shape=(3, 3), k=3, misere=True)
        >>> report = te.lab.measure(envs, players=["uniform"], games=64)
        >>> ("misere", ("uniform", "score of player 0")) in report.differences
        True
    """
    envs = {env_or_variants.id: env_or_variants} if isinstance(env_or_variants, Env) else env_or_variants
    if not isinstance(envs, Mapping):
        raise wrong_type("env_or_variants", "an Env, or a dict of them by name", envs)
    if not envs:
        raise ValueError("env_or_variants must have one environment or more, got none")
    for name, env in envs.items():
        instance("a variant's name", name, str)
        instance(f"env_or_variants[{name!r}]", env, Env)
        if env.engine.game.has_memory:
            raise NotImplementedError(f"{env!r} has memory fields, which rollouts and searches do not support")
    chosen = _checked(players)
    games, seed = integer("games", games, 32, MAX_GAMES), integer("seed", seed, 0, 2**32 - 1)
    precision = None if precision is None else number("precision", precision, 0.001, 1)
    instance("progress", progress, bool)
    bar: Any = tqdm(desc="games", unit=" games", unit_scale=True, disable=not progress)
    reports = [_Variant(name, env, chosen, games, precision, seed, bar.update).report for name, env in envs.items()]
    bar.update(0, close=True)
    return Report(tuple(reports))


def variants(base: Env, fields: Mapping[str, Sequence[Any]]) -> dict[str, Env]:
    """Return an environment and variants of it, each with another value of one rule field, for `measure`.

    Args:
        base: the environment.
        fields: values by rule field. No values for a field that is a bool stand for its opposite.

    Returns:
        Environments by name, such as "loan=False"; the base comes first, under its id. Values of the base are omitted.

    Raises:
        TypeError, ValueError: an unknown field or value, or a field without values that is no bool.

    Examples:
        >>> list(te.lab.variants(te.make("three_will"), {"loan": [], "to_win": [2, 3]}))
        ['three_will', 'loan=False', 'to_win=2']
    """
    instance("base", base, Env)
    instance("fields", fields, Mapping)
    own = {name: getattr(base.rules, name) for name in base.rules.__dataclass_fields__}
    preset = base.entry.presets.get(base.id, {})
    changed = {name: value for name, value in own.items() if name not in preset}
    envs = {base.id: base}
    for field, values in fields.items():
        if field not in changed:
            raise TypeError(f"{base.id!r} has no rule field {field!r} to vary; its fields are {', '.join(changed)}")
        if not values and not isinstance(own[field], bool):
            raise ValueError(f"fields[{field!r}] must name values, since {shown(own[field])} is no bool")
        for value in values or [not own[field]]:
            if value != own[field]:
                text = f"{field}={value}" if isinstance(value, (str, int)) else f"{field}={shown(value)}"
                envs[text] = make(base.id, illegal=base.illegal, **{**changed, field: value})
    return envs


def _checked(players: Sequence[str | int]) -> list[str | int]:
    """Return the players in the order of their strength. ValueError or TypeError for others."""
    if not isinstance(players, (list, tuple)):
        raise wrong_type("players", "a list of names and numbers of simulations", players)
    for one in players:
        if isinstance(one, str) and one not in NAMED:
            raise ValueError(f"players must be {', '.join(map(repr, NAMED))} or simulations, got {shown(one)}")
        if not isinstance(one, str):
            integer("players, in simulations,", one, 1, MAX_SIMULATIONS)
    if not players or len(set(players)) < len(players):
        raise ValueError(f"players must be one or more, none of them twice, got {shown(players)}")
    searches = sorted(one for one in players if not isinstance(one, str))
    order: list[str | int] = [NAMED[0], *searches, *NAMED[1:]]
    return [one for one in order if one in players]


class _Variant:
    """Measurements of one variant while they are made."""

    def __init__(
        self,
        name: str,
        env: Env,
        players: Sequence[str | int],
        games: int,
        precision: float | None,
        seed: int,
        tick: Tick,
    ):
        """Play all games and measure them."""
        self.env, self.games, self.precision, self.seed, self.tick = env, games, precision, seed, tick
        self.numbers, self.counts = dict[Key, Measurement](), dict[str, int]()
        self.actions, self.unused = dict[str, dict[str, ActionUse]](), dict[str, dict[str, list[str]]]()
        start = time.process_time()
        for one in players:
            self._player(one)
        rivals = [one for one in players if one == "uniform" or not isinstance(one, str)]
        for weak, strong in pairwise(rivals):
            if env.num_players > 1:
                self._contest(weak, strong)
        seconds = time.process_time() - start
        self.report = VariantReport(name, self.counts, self.numbers, self.actions, self.unused, seconds)

    def _player(self, one: str | int) -> None:
        """Measure games of a player against itself."""
        who = title(one)
        if one == "perfect":
            self._add(who, measures.perfect(self.env))
            return
        policy = player(self.env, one)
        if policy is None:
            return
        policies, opening = [policy] * self.env.num_players, OPENING * (one == "trained")

        def more(first_row: int) -> Played:
            if one == "uniform":
                return play_uniform(self.env, UNIFORM * self.games, self.seed, first_row)
            return play(self.env, policies, self.games, self.seed, first_row, opening, True, self.tick)

        played = more(0)
        while self._too_wide(measures.scores(played)) and len(played) < MAX_ROUNDS * self.games:
            played += more(len(played))
        self.counts[who] = len(played)
        self._add(who, measures.outcomes(played))
        self._add(who, measures.choices(played))
        self._add(who, measures.tension(played))
        if one == "uniform":
            self._add(who, measures.tree_size(self.env, played))
        self.actions[who] = measures.action_uses(self.env, played)
        self.unused[who] = measures.unused(self.env, played)

    def _contest(self, weak: str | int, strong: str | int) -> None:
        """Measure games between two players, on common deals."""
        who, count = f"{title(strong)} against {title(weak)}", self.env.num_players
        players = [player(self.env, one, seed) for seed, one in enumerate((weak, strong), 1)]
        doublings = None if weak == "uniform" else math.log2(strong / weak)  # type: ignore[operator]

        def more(first_row: int) -> Array:
            return np.array([
                play(
                    self.env,
                    [players[number == seat] for number in range(count)],  # type: ignore[misc]
                    self.games,
                    self.seed,
                    first_row,
                    tick=self.tick,
                ).points
                for seat in range(count)
            ])  # fmt: skip

        points = more(0)
        while self._too_wide(measures.contest(points, None)) and points.shape[1] < MAX_ROUNDS * self.games:
            points = np.concatenate([points, more(points.shape[1])], 1)
        self.counts[who] = count * points.shape[1]
        self._add(who, measures.contest(points, doublings))

    def _too_wide(self, numbers: Iterator[tuple[str, Measurement]]) -> bool:
        """Return whether an interval is wider than the precision."""
        return self.precision is not None and any(number.half_width > self.precision for _, number in numbers)

    def _add(self, who: str, numbers: Iterator[tuple[str, Measurement]]) -> None:
        self.numbers.update({(who, what): number for what, number in numbers})


def player(env: Env, name: str | int, seed: int = 0) -> Policy | None:
    """Return a policy by its name in `measure`; None for trained weights that the package lacks."""
    if name == "uniform":
        return agents.uniform
    if isinstance(name, int):
        return agents.playout_search(name, seed)
    from tensor_envs.train.network import FOLDER, load  # with its files, only for this player

    file = FOLDER / f"{env.id}.safetensors"
    return agents.load(env.id, 0) if file.exists() and load(file).env.plays_like(env) else None


def title(one: str | int) -> str:
    """Return the name of a player in a report."""
    return one if isinstance(one, str) else f"search {one}"
