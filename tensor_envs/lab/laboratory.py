"""Measure a game and variants of it: play all games, and collect the measures."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensor_envs._validate import instance, integer, number, repeated, shown, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.evaluation import agents
from tensor_envs.evaluation.agents import Policy
from tensor_envs.lab import measures
from tensor_envs.lab.estimates import Measurement, estimate
from tensor_envs.lab.measures import ActionUse
from tensor_envs.lab.play import COUNTED, Match, Played, play, play_uniform
from tensor_envs.lab.progress import ProgressBar
from tensor_envs.lab.report import PLAYOUTS_OF, Key, Report, VariantReport
from tensor_envs.lab.similarity import profile
from tensor_envs.search.policies import MAX_SIMULATIONS, checked_exploration

PLAYERS: tuple[str | int, ...] = ("uniform", 16, 64, 256, "trained", "perfect")
NAMED = ("uniform", "trained", "perfect")
UNIFORM = 16  # the uniform policy is fast and plays this many times as many games as other players
REPLICAS = 2  # games of a deal with the stronger player in a seat: six pairs of games then show two players' luck
OPENING = 2  # uniformly random plies of trained players, which play the same game else
LENGTH = 64  # number of games from which the length of all others is estimated
MAX_ROUNDS = 64  # rounds of `games` until a precision is reached
MAX_GAMES = 2**20
MAX_TOGETHER = 16  # rule fields
Estimates = Callable[[NDArray[Any]], Iterator[tuple[str, Measurement]]]  # points of a contest -> measurements


def measure(
    env_or_variants: Env | Mapping[str, Env],
    players: Sequence[str | int] = PLAYERS,
    games: int = 64,
    precision: float | None = None,
    seed: int = 0,
    progress: bool = False,
    exploration: float | None = None,
) -> Report:
    """Measure a game, and compare it with variants of it.

    Each player plays itself. Players of consecutive strength, the uniform one and the searches, also play each other:
    every deal once with the stronger one on each seat. Where something is hidden, the strongest search also plays one
    that sees it. Every number has a 95 % interval.

    Args:
        env_or_variants: an environment, or several by name, the base first, with which the others are compared.
        players: "uniform", numbers of simulations of playout search, "trained" (weights of the package) and "perfect"
            (values by `te.solve`). The last two are left out where there are none.
        games: number of games of every player and of deals of every contest, 32..2^20. The uniform player plays
            sixteen times as many.
        precision: half the width, .001..1, of the intervals of scores, luck and skill that is aimed at. Games are
            added, up to 64 times `games`, until they are as narrow.
        seed: seed of the games.
        progress: show a progress bar on stderr. Its unit is a simulation of a decision; the total is an estimate.
        exploration: weight of the exploration of playout search; None is 4.

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
    games = integer("games", games, 32, MAX_GAMES)
    seed = integer("seed", seed, 0, 2**32 - 1)
    precision = None if precision is None else number("precision", precision, 0.001, 1)
    instance("progress", progress, bool)
    weight = checked_exploration(exploration)
    made = [_Variant(name, env, chosen, games, precision, seed, weight) for name, env in envs.items()]
    reports = list[VariantReport]()
    bar = ProgressBar(progress)
    for k, variant in enumerate(made, 1):
        bar.later = sum(other.work for other in made[k:])
        reports.append(variant.measure(bar))
    bar.close()
    return Report(tuple(reports))


def variants(base: Env, fields: Mapping[str, Sequence[Any]] | None = None, together: int = 1) -> dict[str, Env]:
    """Return an environment and variants of it with other values of rule fields, for `measure`.

    Args:
        base: the environment.
        fields: values by rule field. No values for a field that is a bool stand for its opposite. None is a sweep: all
            fields that are bools.
        together: the largest number of fields that a variant changes.

    Returns:
        Environments by name, such as "loan=False"; the base comes first, under its id. Values of the base are omitted,
        and so are combinations that the rules refuse.

    Raises:
        TypeError, ValueError: an unknown field or value, one that stands twice, or a field without values that is no
            bool.

    Examples:
        >>> list(te.lab.variants(te.make("three_will"), {"loan": [], "to_win": [2, 3]}))
        ['three_will', 'loan=False', 'to_win=2']
        >>> len(te.lab.variants(te.make("three_will"), together=2))  # all pairs of seven switches
        29
    """
    instance("base", base, Env)
    together = integer("together", together, 1, MAX_TOGETHER)
    own = {name: getattr(base.rules, name) for name in base.rules.__dataclass_fields__}
    # An id's preset fields are part of its name, so they are kept and cannot vary.
    preset = base.entry.presets.get(base.id, {})
    changed = {name: value for name, value in own.items() if name not in preset}
    if fields is None:
        fields = {name: [] for name, value in changed.items() if isinstance(value, bool)}
    instance("fields", fields, Mapping)
    choices = dict[str, list[tuple[str, Any]]]()
    for name, values in fields.items():
        if name not in changed:
            raise TypeError(
                f"{base.id!r} has no rule field {name!r} to vary; its fields are {', '.join(changed) or 'none'}"
            )
        others = _other_values(name, values, own[name])
        choices[name] = [(f"{name}={x}" if isinstance(x, (str, int)) else f"{name}={shown(x)}", x) for x in others]
    envs = {base.id: base}
    # Variants with fewer changes come first, so that tables show single switches before combinations.
    for count in range(1, together + 1):
        for names in combinations(choices, count):
            for picked in product(*(choices[name] for name in names)):
                values_of = {name: value for name, (_, value) in zip(names, picked, strict=True)}
                # A single value that the rules refuse is the caller's mistake; a combination may contradict itself.
                with suppress(ValueError) if count > 1 else nullcontext():
                    env = make(base.id, illegal=base.illegal, **{**changed, **values_of})
                    text = ", ".join(text for text, _ in picked)
                    if text in envs:  # long values may look the same
                        text += f" ({sum(name.startswith(text) for name in envs) + 1})"
                    envs[text] = env
    return envs


def _other_values(name: str, values: Sequence[Any], own: Any) -> list[Any]:
    """Return the values of a field but the base's own one; no values stand for the opposite of a bool."""
    if not isinstance(values, (list, tuple)):
        raise wrong_type(f"fields[{name!r}]", "a list of values", values)
    if twice := repeated(values):
        raise ValueError(f"fields[{name!r}] must have each value once, got {shown(twice[0])} twice")
    if not values and not isinstance(own, bool):
        raise ValueError(f"fields[{name!r}] must name values, since {shown(own)} is no bool")
    return [value for value in values or [not own] if value != own]


def _checked(players: Sequence[str | int]) -> list[str | int]:
    """Return the players sorted by strength. ValueError or TypeError for unknown players."""
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


@dataclass(frozen=True)
class _Series:
    """Matches on the same deals: self-play of one player, or a contest in which the stronger player takes each seat.

    Attributes:
        matches: the matches of a round.
        numbers: function from the games to the numbers that must reach a precision; Elo is exempt.
        played: games of each match so far.
    """

    matches: list[Match]
    numbers: Callable[[list[Played]], Iterator[tuple[str, Measurement]]]
    played: list[Played] = field(default_factory=list)

    def add(self, played: Sequence[Played]) -> None:
        """Add more games of each match."""
        self.played[:] = [a + b for a, b in zip(self.played, played, strict=True)] if self.played else played

    @property
    def work(self) -> float:
        """Simulations for one decision in every game of a round."""
        return sum(match.games * match.work for match in self.matches)

    def too_wide(self, precision: float) -> bool:
        """Return whether an interval is wider than a precision."""
        return self._widest > precision

    def more(self, precision: float | None, rounds: int) -> float:
        """Return the number of further rounds needed to reach a precision.

        Args:
            precision: largest half width of an interval; None asks for no more rounds.
            rounds: number of rounds, with the one that is played next.
        """
        if precision is None or not self.played:
            return 0.0
        # a half width falls with the square root of the rounds, and this one is of the rounds before the next
        needed = (rounds - 1) * (self._widest / precision) ** 2
        return max(min(needed, MAX_ROUNDS) - rounds, 0.0)

    @property
    def _widest(self) -> float:
        numbers = self.numbers(self.played)
        return max((number.half_width for what, number in numbers if what != measures.ELO), default=0.0)


class _Variant:
    """Unfinished measurements of one variant.

    Attributes:
        work: simulations for one decision in every game of the first round.
    """

    def __init__(
        self,
        name: str,
        env: Env,
        players: Sequence[str | int],
        games: int,
        precision: float | None,
        seed: int,
        exploration: float | None,
    ):
        """Plan all games."""
        self.exploration = exploration
        self.name = name
        self.env = env
        self.players = players
        self.games = games
        self.precision = precision
        self.seed = seed
        self.numbers = dict[Key, Measurement]()
        self.counts = dict[str, int]()
        self.actions = dict[str, dict[str, ActionUse]]()
        self.unused = dict[str, dict[str, list[str]]]()
        self.profile = dict[str, float]()
        every = {one: player(env, one, seat, exploration) for seat, one in enumerate(players)}
        policies = {one: policy for one, policy in every.items() if policy is not None}
        self.strongest = max((one for one in policies if isinstance(one, int)), default=0)
        self.own = {one: self._own(one, policy) for one, policy in policies.items() if one != "uniform"}
        self.contests = self._contests(policies) if env.num_players > 1 else {}
        self.work = sum(series.work for series in (*self.own.values(), *self.contests.values()))

    def measure(self, bar: ProgressBar) -> VariantReport:
        """Play all games and measure them."""
        start = time.process_time()
        plies = play_uniform(self.env, LENGTH, self.seed).plies.mean() if bar.shown else 1.0
        self._play([*self.own.values(), *self.contests.values()], bar, float(plies))
        for one in self.players:
            if one == "uniform":
                self._measure(one, self._uniform())
            elif one == "perfect":
                self._add(one, measures.perfect(self.env))
            elif one in self.own:
                self._measure(title(one), self.own[one].played[0])
        for who, series in self.contests.items():
            self.counts[who] = sum(map(len, series.played))
            self._add(who, series.numbers(series.played))
        own = self.counts, self.numbers, self.actions, self.unused, self.profile
        return VariantReport(self.name, *own, time.process_time() - start)

    def _own(self, one: str | int, policy: Policy) -> _Series:
        """Return games of a player against itself."""
        opening = OPENING * (one == "trained")
        counted = self.strongest * (one == self.strongest)
        seats = (policy,) * self.env.num_players
        match = Match(seats, self.games, opening=opening, valued=True, counted=counted, work=work(one))
        return _Series([match], lambda played: measures.scores(played[0]))

    def _contests(self, policies: Mapping[str | int, Policy]) -> dict[str, _Series]:
        """Return matches by name: each player against the next stronger one."""
        contests = dict[str, _Series]()
        searches = [one for one in policies if isinstance(one, int)]
        if "uniform" in policies and searches:
            series = self._contest(policies, "uniform", searches[0], measures.contest)
            contests[f"{title(searches[0])} against uniform"] = series
        for weak, strong in pairwise(searches):
            numbers = functools.partial(measures.contest, doublings=math.log2(strong / weak))
            series = self._contest(policies, weak, strong, numbers)
            contests[f"{title(strong)} against {title(weak)}"] = series
        if self.env.engine.game.determinizes and searches:
            strongest = searches[-1]
            informed = agents.playout_search(strongest, len(policies), False, self.exploration)
            series = self._contest(
                {0: policies[strongest], strongest: informed}, 0, strongest, measures.stronger, replicas=1
            )
            contests[f"{title(strongest)} that sees all against {title(strongest)}"] = series
        return contests

    def _contest(
        self,
        policies: Mapping[str | int, Policy],
        weak: str | int,
        strong: str | int,
        numbers: Estimates,
        replicas: int = REPLICAS,
    ) -> _Series:
        """Return games between two players: replicas of each deal, with the stronger one on each seat."""
        seats = range(self.env.num_players)
        deals = self.games // replicas
        orders = [tuple(policies[strong if number == seat else weak] for number in seats) for seat in seats]
        mean = (work(strong) + work(weak) * (len(seats) - 1)) / len(seats)
        matches = [Match(order, deals, replica=replica, work=mean) for order in orders for replica in range(replicas)]

        def measured(played: list[Played]) -> Iterator[tuple[str, Measurement]]:
            if all(games.is_cooperative for games in played):  # both kinds are one team
                return iter([("return", estimate(np.mean([games.returns[:, 0] for games in played], 0)))])
            return numbers(_points(played).reshape(len(seats), replicas, -1, len(seats)))

        return _Series(matches, measured)

    def _play(self, series: Sequence[_Series], bar: ProgressBar, plies: float) -> None:
        """Play all games, then further rounds of the series whose intervals are too wide.

        plies: expected length of a game.
        """
        spent = 0.0
        for turn in range(MAX_ROUNDS):
            matches = [replace(match, first_row=turn * match.games) for one in series for match in one.matches]
            if not matches:
                break
            spent += sum(one.work for one in series)
            more = sum(one.work * one.more(self.precision, turn + 1) for one in series)
            bar.further = plies * (more + bar.later * (spent + more) / self.work)
            played = iter(play(self.env, matches, self.seed, bar, plies))
            for one in series:
                one.add([*islice(played, len(one.matches))])
            series = [one for one in series if self.precision and one.too_wide(self.precision)]

    def _uniform(self) -> Played:
        """Return games of the uniform player."""
        count = UNIFORM * self.games
        played = play_uniform(self.env, count, self.seed)
        while self.precision and len(played) < MAX_ROUNDS * self.games:
            if all(number.half_width <= self.precision for _, number in measures.scores(played)):
                break
            played += play_uniform(self.env, count, self.seed, len(played))
        return played

    def _measure(self, who: str, played: Played) -> None:
        """Measure games of a player against itself."""
        self.counts[who] = len(played)
        self._add(who, measures.outcomes(played))
        self._add(who, measures.choices(played))
        self._add(who, measures.events(self.env, played))
        self._add(who, measures.tension(played))
        if who == "uniform":
            self._add(who, measures.tree_size(self.env, played))
            self.profile = profile(self.env, played)
        self._count_actions(who, measures.action_uses(self.env, played), played.legal, played.taken)
        if searched := measures.searched_uses(self.env, played):
            inside = f"{PLAYOUTS_OF}{who}"
            self.counts[inside] = len(played) * len(COUNTED) * self.strongest
            self._count_actions(inside, searched, played.searched[:, 0], played.searched[:, 1:])

    def _count_actions(self, who: str, uses: dict[str, ActionUse], legal: NDArray[Any], taken: NDArray[Any]) -> None:
        self.actions[who] = uses
        self.unused[who] = measures.unused(self.env, legal, taken)

    def _add(self, who: str, numbers: Iterator[tuple[str, Measurement]]) -> None:
        self.numbers.update({(who, what): number for what, number in numbers})


def _points(played: Sequence[Played]) -> NDArray[Any]:
    """Return the points of matches, float64 [matches, games, P]."""
    return np.array([games.points for games in played])


def player(env: Env, name: str | int, seed: int = 0, exploration: float | None = None) -> Policy | None:
    """Return a policy by its name in `measure`; None for perfect play and for weights that the package lacks."""
    if name == "uniform":
        return agents.uniform
    if isinstance(name, int):
        return agents.playout_search(name, seed, exploration=exploration)
    if name == "perfect":
        return None
    from tensor_envs.train.network import FOLDER, load  # networks and their files are for this player alone

    file = FOLDER / f"{env.id}.safetensors"
    return agents.load(env.id, 0) if file.exists() and load(file).env.plays_like(env) else None


def work(one: str | int) -> float:
    """Return the simulations that a player needs for a decision."""
    return float(one) if isinstance(one, int) else 1.0


def title(one: str | int) -> str:
    """Return the name of a player in a report."""
    return one if isinstance(one, str) else f"search {one}"
