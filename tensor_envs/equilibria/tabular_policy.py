"""Policies as tables over the information states of a game tree."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._engine.inputs import host_array
from tensor_envs._validate import function, instance, shown
from tensor_envs.envs.state import State
from tensor_envs.solve.packed import Array

if TYPE_CHECKING:
    from tensor_envs.equilibria.game_tree import GameTree
    from tensor_envs.equilibria.sequence_form import SequenceForm

Probabilities = Callable[[State], Any]  # float [B, A], a Tensor or what NumPy takes
GAMES_AT_ONCE = 4096  # batch size for which policies and networks are called
TOLERANCE = 1e-3  # allowed deviation of a policy's probabilities from a sum of 1, and from 0 for illegal actions


class TabularPolicy:
    """Probabilities of every action in every information state of a game tree, for all players.

    Attributes:
        tree: the game tree.
        strategies: every player's strategy, float64 [sequences].

    Examples:
        >>> tree = te.game_tree(te.make("kuhn_poker"))
        >>> response = te.best_response(tree, lambda state: state.legal_action_mask.numpy() / 2, player=0)
        >>> response.values.round(6).tolist(), response.table.shape
        ([0.5, -0.5], (12, 2))
    """

    def __init__(self, tree: GameTree, strategies: Sequence[Array]):
        self.tree = tree
        self.strategies = list(strategies)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.tree!r}>"

    @property
    def table(self) -> Array:
        """Probability of each action in each information state, float64 [I, tree.width]."""
        return self.tree.table(self.strategies)

    @functools.cached_property
    def values(self) -> Array:
        """Expected return of every player, float64 [P]."""
        plans = plans_of(self.tree.forms, self.strategies)
        pairs = zip(self.tree.forms, plans, strict=True)
        return np.array([form.payoffs(plans) @ plan for form, plan in pairs])

    @functools.cached_property
    def exploitability(self) -> float:
        """Mean over the players of what each can gain by a best response to the others."""
        return exploitability_of(self.tree.forms, plans_of(self.tree.forms, self.strategies))

    def probabilities(self, state: State) -> Array:
        """Return the probabilities of the player to move, float64 [B, A]; 0 for a game that is over.

        Args:
            state: games of the tree.

        Raises:
            TypeError, ValueError: another state; a game whose information state depends on what was observed before.
        """
        return self._rows(self.table, state)

    def _rows(self, table: Array, state: State) -> Array:
        """Return the rows of a table [I, A] for the games of a state; 0 for games that are over."""
        instance("state", state, State)
        number = self.tree.find(state)
        live = np.asarray(state.legal_action_mask.numpy().any(1))
        if (wrong := live & (number < 0)).any():
            row = int(np.argmax(wrong))
            why = "is not in the tree" if number[row] == -1 else "may be in several information states"
            raise ValueError(f"state must have games that show their information state, row {row} {why}")
        return np.where(live[:, None], table[number, : self.tree.env.num_actions], 0)


def plans_of(forms: Sequence[SequenceForm], strategies: Sequence[Array]) -> list[Array]:
    """Return the plans of all players."""
    return [form.plan(strategy) for form, strategy in zip(forms, strategies, strict=True)]


def exploitability_of(forms: Sequence[SequenceForm], plans: Sequence[Array]) -> float:
    """Return the exploitability of plans of all players."""
    gains = []
    for form, plan in zip(forms, plans, strict=True):
        payoffs = form.payoffs(plans)
        gains.append(form.best_response(payoffs)[0] - payoffs @ plan)
    return float(sum(gains)) / len(gains)


def strategies_of(tree: GameTree, policy: TabularPolicy | Probabilities, name: str = "policy") -> list[Array]:
    """Return every player's strategy under a policy, the argument `name`. ValueError for a policy of another tree."""
    if isinstance(policy, TabularPolicy):
        if not tree.is_like(policy.tree):
            raise ValueError(f"{name} must be of {tree!r}, got one of {policy.tree!r}")
        return list(policy.strategies)
    function(name, policy)
    table = np.zeros((len(tree), tree.width))
    choices = tree.choices
    # A policy is undefined for choices before the games and at leaves: action 0 is taken there.
    in_game = np.flatnonzero(~choices)
    states = tree.states[in_game] if choices.any() else tree.states
    table[in_game, : tree.env.num_actions] = policy_table(policy, states, name)
    table[choices, 0] = 1
    return tree.strategies(table)


def batches(states: State) -> Iterator[tuple[State, int]]:
    """Yield all games in parts, and the number of games of each part, which is padded by repeated games.

    All parts have one batch size, so that a policy or network is compiled and captured once.
    """
    count = states.batch
    for begin in range(0, count, GAMES_AT_ONCE):
        rows = np.arange(begin, min(begin + GAMES_AT_ONCE, count))
        yield states[np.resize(rows, min(GAMES_AT_ONCE, count))], len(rows)


def policy_table(policy: Probabilities, states: State, name: str = "policy") -> Array:
    """Return a policy's probabilities in all games of a State, float64 [B, A].

    ValueError with the argument's `name` for anything but probabilities.
    """
    tables = list[Array]()
    for state, count in batches(states):
        probabilities = host_array(f"the probabilities of {name}", policy(state))
        shape = (state.batch, states.env.num_actions)
        if probabilities.shape != shape or probabilities.dtype.kind not in "biuf":
            raise ValueError(f"{name} must give probabilities {shape}, got {probabilities.dtype} {probabilities.shape}")
        tables.append(probabilities[:count].astype(np.float64))
    return check_probabilities(np.concatenate(tables), states.legal_action_mask.numpy(), f"the probabilities of {name}")


def check_probabilities(table: Array, legal: Array, name: str) -> Array:
    """Normalize a table of probabilities, float64 [I, A]. ValueError unless they are of legal actions and sum to 1.

    Deviations up to `TOLERANCE` are allowed.
    """
    wrong = ~np.isfinite(table).all(1) | (table < 0).any(1) | (np.where(legal, 0, table) > TOLERANCE).any(1)
    table = np.where(legal, table, 0)
    with np.errstate(invalid="ignore"):
        total = table.sum(1, keepdims=True)
        wrong |= ~(np.abs(total[:, 0] - 1) <= TOLERANCE)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must be those of legal actions, with a sum of 1, got {shown(table[row].tolist())}")
    return table / total
