"""Self-play with a search: positions, and the targets that a network learns from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tensor_envs._runtime.exchange import to_numpy
from tensor_envs.envs.state import State
from tensor_envs.search.outputs import Evaluate
from tensor_envs.search.tree import SearchOutput
from tensor_envs.train.replay import Samples

if TYPE_CHECKING:
    from tensor_envs.train.league import League

GOLDEN_RATIO = (1 + math.sqrt(5)) / 2


class Decision(NamedTuple):
    """One decision of every game of a batch, with its outcome.

    Attributes:
        player: player to move, int [B].
        settled: whether `settled_value` is the target instead of a return: the action was random instead of the
            search's, or the value is exact, bool [B].
        settled_value: the search's value of its own action, or the exact value, for the player to move, [B].
        value: the search's value of the position, for the player to move, [B].
        rewards: rewards of the step for every player, [B, P].
        ended: whether the step ended the game, bool [B].
    """

    player: np.ndarray
    settled: np.ndarray
    settled_value: np.ndarray
    value: np.ndarray
    rewards: np.ndarray
    ended: np.ndarray


def for_all_players(value: np.ndarray, player: np.ndarray, num_players: int) -> np.ndarray:
    """Return values of all players, [B, P], from those of one player, [B]: the others share the negative value."""
    shared = np.repeat(-value[:, None] / max(1, num_players - 1), num_players, axis=1)
    shared[np.arange(len(value)), player] = value
    return shared


def value_targets(
    decisions: Sequence[Decision], last_value: np.ndarray, last_player: np.ndarray, search_value_weight: float
) -> list[np.ndarray]:
    """Compute the value target of every decision.

    The target is the player's return to the end of the game or, where the decisions stop before, to the value of the
    last position. At every decision the return moves towards the search's value of the position by
    `search_value_weight`. The value of a position does not depend on a random action, so the search's value of its own
    action takes the place of that action's return. Where a value is exact, it is the target, and the returns of earlier
    decisions continue from it.

    Args:
        decisions: decisions in order.
        last_value: value of the position after them, by search or exact, for its player to move, [B].
        last_player: player to move there, int [B].
        search_value_weight: 0..1.

    Returns:
        Targets of each decision, for the player to move, float32 [B].
    """
    rows = np.arange(len(last_player))
    num_players = decisions[0].rewards.shape[1]
    returns = for_all_players(last_value, last_player, num_players)
    targets = []
    for step in reversed(decisions):
        returns = step.rewards + np.where(step.ended[:, None], 0, returns)
        returns += search_value_weight * (for_all_players(step.value, step.player, num_players) - returns)
        value = for_all_players(step.settled_value, step.player, num_players)
        returns = np.where(step.settled[:, None], value, returns)
        targets.append(returns[rows, step.player].astype(np.float32))
    return targets[::-1]


def exploration(episode: np.ndarray) -> np.ndarray:
    """Return the probability of a random action in the exploring plies of every game of a batch, [B].

    Multiples of an irrational number spread evenly over 0..1, so that a game keeps its probability without memory.
    """
    return (np.arange(len(episode)) * GOLDEN_RATIO + episode * math.sqrt(2)) % 1


def repeat_learners(samples: Samples, is_learners: np.ndarray) -> Samples:
    """Replace the samples of past selves' decisions by repeated samples of the learner's.

    A past self decides otherwise than the learner would, so its decisions are no targets; they only take part in the
    returns of the learner's earlier decisions. All steps in a replay buffer have equal sizes.

    Args:
        samples: samples of n decisions.
        is_learners: whether the learner decided, bool [n], not False everywhere.
    """
    rows = np.flatnonzero(is_learners)
    # repeated evenly
    rows = rows[np.arange(len(is_learners)) * len(rows) // len(is_learners)]
    return Samples(*(part[rows] for part in samples))


def self_play(
    state: State,
    search: Callable[[State, int], SearchOutput],
    length: int,
    random: np.random.Generator,
    *,
    explore_plies: int = 8,
    search_value_weight: float = 0.2,
    exact_values: Callable[[State], np.ndarray] | None = None,
    exact_ply: int = 0,
    league: League | None = None,
    past_search: Callable[[State, Evaluate, int], SearchOutput] | None = None,
) -> tuple[State, Samples]:
    """Play decisions by a search in every game of a batch, and return them with the targets of a network.

    Args:
        state: the games, none of which is over.
        search: function of a state and a seed, such as `te.search.gumbel_muzero_policy` with a network.
        length: number of decisions in every game. Finished games are reset.
        random: generator of the exploring actions and of the seeds of the search.
        explore_plies: first plies of a game that explore: actions are random with a probability that differs between
            games, from 0 to 1. So games begin with good play, with random play, and with everything between them.
        search_value_weight: as in `value_targets`.
        exact_values: function from a state to exact values for the players to move, such as `SearchSolution.value`.
        exact_ply: first ply whose value targets these are; ignored without `exact_values`.
        league: past selves that play in some of the games, and the record of these games.
        past_search: search of the league's members, a function of a state, their evaluation and a seed.

    Returns:
        The next state, and `length` x B samples. The policy's target is the search's action weights. With a league,
        `repeat_learners` replaces the samples of past selves.
    """
    every_row = np.arange(state.batch)
    positions = list[tuple[np.ndarray, ...]]()
    decisions = list[Decision]()
    is_learners = list[np.ndarray]()

    def exact(state: State, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each game has an exact value, and the values with the exact ones filled in."""
        if exact_values is None:
            return np.zeros(state.batch, bool), values
        # Earlier positions take too long to search.
        known = state.numpy()["ply"] >= exact_ply
        if known.any():
            values[known] = exact_values(state[known])
        return known, values

    for _ in range(length):
        # The learner searches every game: values are those of its network even where a past self decides.
        output = search(state, int(random.integers(2**31)))
        before = state.numpy()
        summary = output.search_tree.summary()
        mask = before["legal_action_mask"]
        observation = to_numpy(state.env.observe(state)).reshape(state.batch, -1)
        positions.append((observation, mask, summary["action_weights"]))
        action = to_numpy(output.action)
        # In some games a random action takes the place of the search's.
        explored = (before["ply"] < explore_plies) & (random.random(state.batch) < exploration(before["episode"]))
        drawn = np.where(mask, random.random(mask.shape), -1).argmax(1)
        played = action
        if league is not None:
            assert past_search is not None
            learner_decides = league.decides(before["current_player"], before["episode"])
            past_action = league.actions(state, past_search, int(random.integers(2**31)))
            played = np.where(learner_decides, action, past_action)
            is_learners.append(learner_decides)
        stepped = state.env.step(state, np.where(explored, drawn, played))
        after = stepped.numpy()
        ended = after["terminated"] | after["truncated"]
        if league is not None:
            league.record(before["episode"], after["rewards"], ended)
        # A random action's return is not that of the search's play: the value of the search's action replaces it.
        known, settled_value = exact(state, summary["qvalues"][every_row, action])
        decisions.append(
            Decision(
                before["current_player"], explored | known, settled_value, summary["value"], after["rewards"], ended
            )
        )
        state = state.env.reset(stepped)
    # The value of the position after the last decision completes unfinished games.
    _, last = exact(state, search(state, int(random.integers(2**31))).search_tree.summary()["value"].copy())
    # Targets need all later steps, so they come last.
    values = value_targets(decisions, last, state.numpy()["current_player"], search_value_weight)
    observation, mask, policy = (np.concatenate(part) for part in zip(*positions, strict=True))
    samples = Samples(observation, mask, policy, np.concatenate(values))
    return state, samples if league is None else repeat_learners(samples, np.concatenate(is_learners))
