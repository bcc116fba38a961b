"""Ratings of trained players: a score against a rival, exact regret and exact exploitability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tinygrad import Tensor

from tensor_envs._runtime.exchange import to_numpy
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.evaluation.agents import Oracle, Policy, playout_search, uniform
from tensor_envs.evaluation.matches import evaluate
from tensor_envs.evaluation.oracles import regret
from tensor_envs.train.config import TrainingConfig

if TYPE_CHECKING:
    from tensor_envs.equilibria.tabular_policy import Probabilities

RIVAL_SEED = 1


def exact_oracle(env: Env, device: str | None = None) -> Oracle:
    """Solve a game and return its exact values.

    Raises:
        ValueError: the game cannot be solved.
    """
    # a game imports the package's public names, and is itself imported with its first environment
    from tensor_envs.solve.enumeration import solve

    own = env.entry.find("oracle")
    solved: Oracle = solve(env) if own is None else own.solve(env.rules, device)
    return solved


class Judges(NamedTuple):
    """Exact judges of a game: those that the settings of a run ask for.

    Attributes:
        oracle: exact values; None for no regret.
        exploitability: whether to compute the exact exploitability.
    """

    oracle: Oracle | None = None
    exploitability: bool = False

    @classmethod
    def of(cls, env: Env, config: TrainingConfig, device: str | None) -> Judges:
        """Solve the game, where the settings say so. ValueError for a game without exact values or countable chance."""
        if config.exploitability:
            from tensor_envs.solve.branches import Branches  # only for the runs that want it

            Branches(env, "env")
        return cls(exact_oracle(env, device) if config.regret else None, config.exploitability)


class CriticalPositions:
    """Oracle that counts the critical positions among those it judges: their legal actions differ in value.

    Attributes:
        oracle: exact values.
        count: number of critical positions so far.
        kept: number of those whose value the player's action keeps.
    """

    def __init__(self, oracle: Oracle):
        self.oracle = oracle
        self.count = 0
        self.kept = 0

    def best_actions(self, state: State) -> Any:
        """Return the actions that keep a position's value, as the oracle does."""
        return self.oracle.best_actions(state)

    def regret(self, state: State, action: Any) -> Any:
        """Return the regret of actions by the oracle, and count the critical positions."""
        best = self.best_actions(state)
        legal = to_numpy(state.legal_action_mask)
        best = to_numpy(best) if isinstance(best, Tensor) else best
        critical = np.flatnonzero((legal & ~best).any(1))
        self.count += len(critical)
        self.kept += int(best[critical, action[critical]].sum())
        return self.oracle.regret(state, action)


def rate(
    env: Env,
    player: Policy,
    probabilities: Probabilities,
    config: TrainingConfig,
    judges: Judges,
    device: str | None,
    prefix: str = "",
) -> dict[str, float]:
    """Rate a player in every seat against copies of the rival of the settings.

    In a game for one player it plays alone, and in a cooperative game, whose players have equal returns, with itself.

    Args:
        env: the environment.
        player: the player.
        probabilities: its probabilities, as in `te.exploitability`.
        config: settings of the rating.
        judges: exact judges.
        device: as in `Env.init`.
        prefix: prefix of the names of the metrics.

    Returns:
        "score", 1 for a win and a half for a draw, with "score_interval", half the width of its 95 % interval, both in
        games for several players that are not cooperative; the mean return, "mean_return"; with an oracle "regret", the
        mean exact regret of a decision; and "exploitability" if the judges want it.
    """
    rival = playout_search(config.rival_simulations, RIVAL_SEED) if config.rival_simulations else uniform
    games = config.rating_games - config.rating_games % env.num_players
    common: dict[str, Any] = {"seed": config.seed + 1, "device": device, "opening": config.rating_opening}
    result = evaluate(env, [player, *[rival] * (env.num_players - 1)], games, **common)
    metrics = dict[str, float]()
    if result.is_cooperative:  # a score would be the same for every player
        result = evaluate(env, [player] * env.num_players, games, **common)
    elif env.num_players > 1:
        metrics |= {"score": float(result.scores[0]), "score_interval": float(result.interval()[0])}
    metrics["mean_return"] = float(result.mean_returns[0])
    if judges.oracle is not None:
        metrics["regret"] = float(regret(env, player, judges.oracle, config.rating_games, **common))
    if judges.exploitability:
        from tensor_envs.equilibria.exploitability import exploitability  # only for the runs that want it

        metrics["exploitability"] = exploitability(env, probabilities)
    return {prefix + name: value for name, value in metrics.items()}
