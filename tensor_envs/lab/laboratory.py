"""Measurement of a game and variants of it: planning and playing all games, and collecting the measures."""

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
from tensor_envs.lab.play import COUNTED, Match, PlayedGames, play, play_uniform
from tensor_envs.lab.progress import ProgressBar
from tensor_envs.lab.report import PLAYOUTS_OF, Key, Report, VariantReport
from tensor_envs.lab.similarity import profile
from tensor_envs.search.policies import MAX_SIMULATIONS, checked_exploration

PLAYERS: tuple[str | int, ...] = ("uniform", 16, 64, 256, "trained", "perfect")
NAMED = ("uniform", "trained", "perfect")
UNIFORM = 16  # games of the uniform policy, which is fast, as a multiple of those of other players
REPLICAS = 2  # games of a deal with the stronger player in a seat; with two players, six pairs of games show luck
OPENING = 2  # uniformly random plies before trained players, which would always play the same game without them
LENGTH = 64  # number of games from which the length of all others is estimated
MAX_ROUNDS = 64  # maximum number of rounds of `games` games to reach a precision
MAX_GAMES = 2**20
MAX_CHANGES = 16  # maximum number of rule fields that a variant changes
Estimates = Callable[[NDArray[Any]], Iterator[tuple[str, Measurement]]]  # function of the points of a contest


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

    Each player plays itself. Players of consecutive strength, among the uniform player and the searches, also play each
    other: every deal once with the stronger one in each seat. In games with hidden information, the strongest search
    also plays a search that uses it. Every number has a 95 % interval.

    Args:
        env_or_variants: an environment, or several by name: first the base, with which the others are compared.
        players: "uniform", numbers of simulations of playout search, "trained" (weights of the package) and "perfect"
            (values by `te.solve`). The last two are left out in games that have no weights or values.
        games: number of games of every player and of deals of every contest, 32..2^20. The uniform player plays
            sixteen times as many.
        precision: wanted half width, .001..1, of the intervals of scores, luck and skill. Games are added, up to 64
            times `games`, until it is reached. None adds no games.
        seed: seed of the games.
        progress: show a progress bar on stderr. Its unit is a simulation of a decision, and its total is an estimate.
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
    ordered = _sorted_players(players)
    games = integer("games", games, 32, MAX_GAMES)
    seed = integer("seed", seed, 0, 2**32 - 1)
    precision = None if precision is None else number("precision", precision, 0.001, 1)
    instance("progress", progress, bool)
    weight = checked_exploration(exploration)
    planned = [_Variant(name, env, ordered, games, precision, seed, weight) for name, env in envs.items()]
    reports = list[VariantReport]()
    bar = ProgressBar(progress)
    for k, variant in enumerate(planned, 1):
        bar.later = sum(other.work for other in planned[k:])
        reports.append(variant.measure(bar))
    bar.close()
    return Report(tuple(reports))


def variants(base: Env, fields: Mapping[str, Sequence[Any]] | None = None, together: int = 1) -> dict[str, Env]:
    """Return an environment and variants of it with other values of rule fields, for `measure`.

    Args:
        base: the environment.
        fields: values of each rule field. An empty list for a bool stands for its other value. None stands for all
            fields that are bools, each with its other value.
        together: the largest number of fields that a variant changes.

    Returns:
        Environments by name, such as "loan=False"; the base comes first, under its id. Values of the base are omitted,
        and so are combinations that the rules refuse.

    Raises:
        TypeError, ValueError: an unknown field, an invalid or repeated value, or an empty list for a field that is no
            bool.

    Examples:
        >>> list(te.lab.variants(te.make("three_will"), {"loan": [], "to_win": [2, 3]}))
        ['three_will', 'loan=False', 'to_win=2']
        >>> len(te.lab.variants(te.make("three_will"), together=2))  # all pairs of seven switches
        29
    """
    instance("base", base, Env)
    together = integer("together", together, 1, MAX_CHANGES)
    base_values = {name: getattr(base.rules, name) for name in base.rules.__dataclass_fields__}
    # An id's preset fields are part of its name, so they cannot vary.
    preset = base.entry.presets.get(base.id, {})
    variable = {name: value for name, value in base_values.items() if name not in preset}
    if fields is None:
        fields = {name: [] for name, value in variable.items() if isinstance(value, bool)}
    instance("fields", fields, Mapping)
    choices = dict[str, list[tuple[str, Any]]]()  # label and value of each choice, by field
    for name, values in fields.items():
        if name not in variable:
            raise TypeError(
                f"{base.id!r} has no rule field {name!r} to vary; its fields are {', '.join(variable) or 'none'}"
            )
        others = _other_values(name, values, base_values[name])
        choices[name] = [(f"{name}={x}" if isinstance(x, (str, int)) else f"{name}={shown(x)}", x) for x in others]
    envs = {base.id: base}
    # Variants with fewer changes come first, so that tables show single switches before combinations.
    for count in range(1, together + 1):
        for names in combinations(choices, count):
            for changes in product(*(choices[name] for name in names)):
                new_values = {name: value for name, (_, value) in zip(names, changes, strict=True)}
                # A single value that the rules refuse is the caller's mistake; a combination may contradict itself.
                with suppress(ValueError) if count > 1 else nullcontext():
                    env = make(base.id, illegal=base.illegal, **{**variable, **new_values})
                    label = ", ".join(label for label, _ in changes)
                    if label in envs:  # long values may be shortened to the same label
                        label += f" ({sum(name.startswith(label) for name in envs) + 1})"
                    envs[label] = env
    return envs


def _other_values(name: str, values: Sequence[Any], base_value: Any) -> list[Any]:
    """Return the values of a field except that of the base; without values, the other value of a bool."""
    if not isinstance(values, (list, tuple)):
        raise wrong_type(f"fields[{name!r}]", "a list of values", values)
    if twice := repeated(values):
        raise ValueError(f"fields[{name!r}] must have each value once, got {shown(twice[0])} twice")
    if not values and not isinstance(base_value, bool):
        raise ValueError(f"fields[{name!r}] must name values, since {shown(base_value)} is no bool")
    return [value for value in values or [not base_value] if value != base_value]


def _sorted_players(players: Sequence[str | int]) -> list[str | int]:
    """Return the players sorted by strength. ValueError or TypeError for unknown players."""
    if not isinstance(players, (list, tuple)):
        raise wrong_type("players", "a list of names and numbers of simulations", players)
    for name in players:
        if isinstance(name, str) and name not in NAMED:
            raise ValueError(f"players must be {', '.join(map(repr, NAMED))} or simulations, got {shown(name)}")
        if not isinstance(name, str):
            integer("players, in simulations,", name, 1, MAX_SIMULATIONS)
    if not players or len(set(players)) < len(players):
        raise ValueError(f"players must be one or more, none of them twice, got {shown(players)}")
    searches = sorted(name for name in players if not isinstance(name, str))
    order: list[str | int] = [NAMED[0], *searches, *NAMED[1:]]
    return [name for name in order if name in players]


@dataclass(frozen=True)
class _Series:
    """Matches on the same deals: self-play of a player, or a contest with the stronger player in each seat in turn.

    Attributes:
        matches: the matches of a round.
        numbers: function from the games of all matches to measurements, which must reach the precision; Elo is exempt.
        played: games of each match so far.
    """

    matches: list[Match]
    numbers: Callable[[list[PlayedGames]], Iterator[tuple[str, Measurement]]]
    played: list[PlayedGames] = field(default_factory=list)

    def add(self, played: Sequence[PlayedGames]) -> None:
        """Add more games of each match."""
        self.played[:] = [a + b for a, b in zip(self.played, played, strict=True)] if self.played else played

    @property
    def work(self) -> float:
        """Simulations for one decision in every game of a round."""
        return sum(match.games * match.work for match in self.matches)

    def too_wide(self, precision: float) -> bool:
        """Return whether an interval is wider than a precision."""
        return self._max_half_width > precision

    def more(self, precision: float | None, rounds: int) -> float:
        """Return the number of further rounds needed to reach a precision.

        Args:
            precision: largest half width of an interval; None asks for no more rounds.
            rounds: number of rounds, with the one that is played next.
        """
        if precision is None or not self.played:
            return 0.0
        # The half width of the rounds so far falls with the square root of their number.
        needed = (rounds - 1) * (self._max_half_width / precision) ** 2
        return max(min(needed, MAX_ROUNDS) - rounds, 0.0)

    @property
    def _max_half_width(self) -> float:
        """Half the width of the widest interval."""
        numbers = self.numbers(self.played)
        return max((number.half_width for what, number in numbers if what != measures.ELO), default=0.0)


class _Variant:
    """Measurements in progress of one variant.

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
        """Plan all games; the arguments are those of `measure`."""
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
        policies = dict[str | int, Policy]()
        for seed_of_player, one in enumerate(players):
            if (policy := player(env, one, seed_of_player, exploration)) is not None:
                policies[one] = policy
        self.strongest = max((one for one in policies if isinstance(one, int)), default=0)  # the strongest search
        self.self_play = {one: self._self_play(one, policy) for one, policy in policies.items() if one != "uniform"}
        self.contests = self._contests(policies) if env.num_players > 1 else {}
        self.work = sum(series.work for series in (*self.self_play.values(), *self.contests.values()))

    def measure(self, bar: ProgressBar) -> VariantReport:
        """Play all games and measure them."""
        start = time.process_time()
        plies = play_uniform(self.env, LENGTH, self.seed).plies.mean() if bar.shown else 1.0
        self._play([*self.self_play.values(), *self.contests.values()], bar, float(plies))
        for one in self.players:
            if one == "uniform":
                self._measure(one, self._play_uniform())
            elif one == "perfect":
                self._add(one, measures.perfect(self.env))
            elif one in self.self_play:
                self._measure(title(one), self.self_play[one].played[0])
        for contest, series in self.contests.items():
            self.counts[contest] = sum(map(len, series.played))
            self._add(contest, series.numbers(series.played))
        results = self.counts, self.numbers, self.actions, self.unused, self.profile
        return VariantReport(self.name, *results, time.process_time() - start)

    def _self_play(self, one: str | int, policy: Policy) -> _Series:
        """Plan games of a player against itself."""
        opening = OPENING * (one == "trained")
        counted = self.strongest * (one == self.strongest)
        seats = (policy,) * self.env.num_players
        match = Match(seats, self.games, opening=opening, valued=True, counted=counted, work=work(one))
        return _Series([match], lambda played: measures.scores(played[0]))

    def _contests(self, policies: Mapping[str | int, Policy]) -> dict[str, _Series]:
        """Plan contests by name: each player against the next stronger one."""
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
        """Plan games between two players: replicas of each deal, with the stronger player in each seat."""
        seats = range(self.env.num_players)
        deals = self.games // replicas
        seatings = [tuple(policies[strong if number == seat else weak] for number in seats) for seat in seats]
        mean_work = (work(strong) + work(weak) * (len(seats) - 1)) / len(seats)
        matches = [
            Match(seating, deals, replica=replica, work=mean_work)
            for seating in seatings
            for replica in range(replicas)
        ]

        def measured(played: list[PlayedGames]) -> Iterator[tuple[str, Measurement]]:
            """Yield the measurements, in cooperative games the return of the team of both players."""
            if all(games.is_cooperative for games in played):
                return iter([("return", estimate(np.mean([games.returns[:, 0] for games in played], 0)))])
            return numbers(_points(played).reshape(len(seats), replicas, -1, len(seats)))

        return _Series(matches, measured)

    def _play(self, series: Sequence[_Series], bar: ProgressBar, plies: float) -> None:
        """Play all games, then further rounds of the series whose intervals are too wide.

        Args:
            series: the series of the first round.
            bar: the progress bar.
            plies: expected length of a game, for the bar.
        """
        total_work = 0.0
        for round_number in range(MAX_ROUNDS):
            matches = [replace(match, first_row=round_number * match.games) for one in series for match in one.matches]
            if not matches:
                break
            # Estimate the work that follows: further rounds, and later variants in the same proportion.
            total_work += sum(one.work for one in series)
            further = sum(one.work * one.more(self.precision, round_number + 1) for one in series)
            bar.further = plies * (further + bar.later * (total_work + further) / self.work)
            played = iter(play(self.env, matches, self.seed, bar, plies))
            for one in series:
                one.add([*islice(played, len(one.matches))])
            series = [one for one in series if self.precision and one.too_wide(self.precision)]

    def _play_uniform(self) -> PlayedGames:
        """Return games of the uniform player, as many as the precision needs."""
        count = UNIFORM * self.games
        played = play_uniform(self.env, count, self.seed)
        while self.precision and len(played) < MAX_ROUNDS * self.games:
            if all(number.half_width <= self.precision for _, number in measures.scores(played)):
                break
            played += play_uniform(self.env, count, self.seed, len(played))
        return played

    def _measure(self, who: str, played: PlayedGames) -> None:
        """Measure games of a player against itself."""
        self.counts[who] = len(played)
        self._add(who, measures.outcomes(played))
        self._add(who, measures.choices(played))
        self._add(who, measures.events(self.env, played))
        self._add(who, measures.tension(played))
        if who == "uniform":
            self._add(who, measures.tree_size(self.env, played))
            self.profile = profile(self.env, played)
        self._count_actions(who, measures.action_uses(self.env, played), played.legal_counts, played.action_counts)
        if searched := measures.searched_uses(self.env, played):
            inside = f"{PLAYOUTS_OF}{who}"
            self.counts[inside] = len(played) * len(COUNTED) * self.strongest
            self._count_actions(inside, searched, played.searched[:, 0], played.searched[:, 1:])

    def _count_actions(self, who: str, uses: dict[str, ActionUse], legal: NDArray[Any], taken: NDArray[Any]) -> None:
        """Store the use of actions of a player, and its unused actions, given counts of legal and taken ones."""
        self.actions[who] = uses
        self.unused[who] = measures.unused(self.env, legal, taken)

    def _add(self, who: str, numbers: Iterator[tuple[str, Measurement]]) -> None:
        """Store measurements of a player or contest."""
        self.numbers.update({(who, measure): number for measure, number in numbers})


def _points(played: Sequence[PlayedGames]) -> NDArray[Any]:
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
    from tensor_envs.train.network import FOLDER, load  # imported late, since only this player needs networks

    file = FOLDER / f"{env.id}.safetensors"
    return agents.load(env.id, 0) if file.exists() and load(file).env.plays_like(env) else None


def work(one: str | int) -> float:
    """Return the simulations that a player needs for a decision."""
    return float(one) if isinstance(one, int) else 1.0


def title(one: str | int) -> str:
    """Return the name of a player in a report."""
    return one if isinstance(one, str) else f"search {one}"
