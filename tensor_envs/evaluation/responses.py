"""Lower bounds of the exploitability of a policy, by responses to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tensor_envs._runtime.devices import DeviceName
from tensor_envs._validate import function, instance, integer, shown
from tensor_envs.envs.env import Env
from tensor_envs.evaluation.matches import LIMIT, MAX_GAMES, Z, play_games

if TYPE_CHECKING:
    from tensor_envs.evaluation.agents import Policy


@dataclass(frozen=True, repr=False)
class ExploitabilityBound:
    """Result of `te.exploitability_bound`: what responses gain against a policy, in games of a sample.

    Attributes:
        gains: what each player gains by its response, in returns, float64 [games, P].
        responses: number of each player's response among those given; None for the policy itself, which gains 0.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> bound = te.exploitability_bound(env, te.agents.uniform, [te.agents.playout_search(64)], games=2048)
        >>> bound.responses, bool(0.1 < bound.lower < bound.value < 0.5)
        ((0, 0), True)
        >>> te.exploitability_bound(env, te.agents.uniform, [te.agents.uniform], games=16)
        <ExploitabilityBound 0.000 +- 0.000, by player: 0.000 (itself), 0.000 (itself)>
    """

    gains: np.ndarray
    responses: tuple[int | None, ...]

    def __repr__(self) -> str:
        """Return the bound, and what each player gains and by which response, in one line."""
        names = ("itself" if number is None else f"response {number}" for number in self.responses)
        players = (f"{gain:.3f} ({name})" for gain, name in zip(self.gains.mean(0), names, strict=True))
        return f"<ExploitabilityBound {self.value:.3f} +- {self.interval:.3f}, by player: {', '.join(players)}>"

    @property
    def value(self) -> float:
        """Mean gain over the games and players, an estimate of a lower bound of the exploitability, at least 0."""
        return max(float(self.gains.mean()), 0.0)

    @property
    def interval(self) -> float:
        """Half the width of the 95 % interval of the value."""
        return float(Z * self.gains.mean(1).std() / np.sqrt(len(self.gains)))

    @property
    def lower(self) -> float:
        """Lower end of the 95 % interval, at least 0."""
        return max(self.value - self.interval, 0.0)


def exploitability_bound(
    env: Env,
    policy: Policy,
    responses: Sequence[Policy],
    games: int = 1024,
    seed: int = 0,
    device: DeviceName | None = None,
) -> ExploitabilityBound:
    """Estimate a lower bound of the exploitability of a policy, in a game of any size, by given responses.

    No response gains more than a best one, so what any of them gains is a lower bound of what `te.exploitability`
    computes from a game's tree. Each player's best response among those given and the policy itself, which gains 0, is
    chosen in games that do not count, so that the interval stays honest.

    Args:
        env: the environment.
        policy: the policy of all other players.
        responses: policies that respond, such as searches, or networks that `te.train.response` trains against the
            policy.
        games: number of games that count, for each player, and of those in which its response is chosen.
        seed, device: as in `Env.init`.

    Returns:
        The gains, with their mean and a 95 % interval.

    Raises:
        ValueError, TypeError: an argument out of range or of another type, or a policy that returns no actions.

    Examples:
        >>> env = te.make("tensor_stars")
        >>> bound = te.exploitability_bound(env, te.agents.uniform, [te.agents.playout_search(32)], games=64)
        >>> bool(bound.lower > 0.4)
        True
    """
    instance("env", env, Env)
    function("policy", policy)
    instance("responses", responses, Sequence)
    if not responses:
        raise ValueError(f"responses must be one policy or more, got {shown(responses)}")
    chosen = [function(f"responses[{k}]", response) for k, response in enumerate(responses)]
    games = integer("games", games, 2, MAX_GAMES)

    def gains(first_row: int, player: int, response: Policy, returns: np.ndarray) -> np.ndarray:
        order = [response if p == player else policy for p in range(env.num_players)]
        state = env.init(games, seed, device, first_row)
        return np.asarray(play_games(state, order, 0, LIMIT)[0][:, player].astype(np.float64) - returns[:, player])

    baselines = [
        play_games(env.init(games, seed, device, first_row), [policy] * env.num_players, 0, LIMIT)[0]
        for first_row in (0, games)
    ]
    best = list[int | None]()
    columns = list[np.ndarray]()
    for player in range(env.num_players):
        means = [gains(0, player, response, baselines[0]).mean() for response in chosen]
        number = int(np.argmax(means)) if max(means) > 0 else None
        best.append(number)
        fresh = np.zeros(games) if number is None else gains(games, player, chosen[number], baselines[1])
        columns.append(fresh)
    return ExploitabilityBound(np.stack(columns, axis=1), tuple(best))
