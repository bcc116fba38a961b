"""Agents: policies, functions of a State to one action per game, for the arena, rollouts and custom loops.

In a game that is over a policy returns an arbitrary action, which is ignored.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._engine.inputs import int_array
from tensor_envs._engine.random import seed_words, threefry
from tensor_envs._runtime.buffers import upload
from tensor_envs._runtime.capture import ReadInJitError
from tensor_envs._runtime.context import stays_lazy
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.exchange import ExportInJitError, to_numpy
from tensor_envs._runtime.jitted import jit
from tensor_envs._validate import file_path, function, instance, integer, number, shown, wrong_type
from tensor_envs.envs.sampling import FLOOR, masked_logits, sample_action, uniform
from tensor_envs.envs.state import State
from tensor_envs.search.outputs import Evaluate, checked, host_array_of, library_of
from tensor_envs.search.policies import MAX_SIMULATIONS, checked_exploration, gumbel_muzero_policy, playout_policy

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env
    from tensor_envs.equilibria.game_tree import GameTree
    from tensor_envs.equilibria.tabular_policy import TabularPolicy
    from tensor_envs.evaluation.engines import EnginePlayer
    from tensor_envs.solve.enumeration import Solution

__all__ = [
    "Oracle",
    "Policy",
    "engine",
    "equilibrium",
    "greedy",
    "gumbel",
    "league",
    "load",
    "perfect",
    "playout_search",
    "softmax",
    "uniform",
]
Policy = Callable[[State], Any]  # integers [B], a Tensor or what NumPy takes
LEAGUE_COUNTER = 0xFFFFFFFF  # counter of no decision
DRAW_BITS = 24  # random bits that choose the policy of a game in a league
MAX_POSITIONS = 250_000  # upper bound for a game that is solved without an oracle
SAMPLED_GAMES = 2**16  # upper bound
SAMPLED_PLIES = 64
# expected pairs of equal sampled positions; a Poisson variable of this mean is hardly ever below a third of it
EQUAL_PAIRS = 30


class Oracle(Protocol):
    """Exact values of a game, such as a `tensor_envs.Solution` or Shed's `Tablebase`.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> oracle: te.Oracle = te.solve(env)
        >>> oracle.best_actions(env.init(1)).all(), oracle.regret(env.init(1), [4]).tolist()
        (np.True_, [0])
    """

    def best_actions(self, state: State) -> Any:
        """Return the legal actions that keep the position's value, bool [B, A]."""

    def regret(self, state: State, action: Any) -> Any:
        """Return how much of the position's value an action gives away, numbers [B]."""


def greedy(evaluate: Evaluate) -> Policy:
    """Return a policy that plays the action of a network's highest logit.

    Args:
        evaluate: as in `te.search.gumbel_muzero_policy`, of any library there; one of tinygrad is captured, so pass the
            same function every time.

    Returns:
        A policy. It raises ValueError for legal logits that are NaN or infinite, unless a jit captures it.

    Raises:
        TypeError: `evaluate` is no function.

    Examples:
        >>> from tinygrad import Tensor
        >>> policy = te.agents.greedy(lambda state: (Tensor.ones(state.batch, 9), Tensor.zeros(state.batch)))
        >>> env = te.make("tic_tac_toe")
        >>> policy(env.step(env.init(2), [0, 8])).tolist()
        [1, 0]
    """
    function("evaluate", evaluate)

    @jit
    def choose(state: State, logits: Tensor | None) -> Tensor:
        mask = state.legal_action_mask
        logits = _logits(evaluate, state) if logits is None else logits
        return _marked(masked_logits(logits, mask).argmax(1), mask, mask)

    played = _of_network(evaluate, choose)
    return lambda state: _checked(played(state), "evaluate must give finite numbers, got NaN or infinity")


def softmax(evaluate: Evaluate) -> Callable[[State], Tensor]:
    """Return the probabilities of a network's policy, for `te.exploitability` and `te.best_response`.

    Args:
        evaluate: as in `greedy`.

    Returns:
        A function of a State to probabilities float32 [B, A], the softmax of the legal logits; 0 for illegal actions.

    Raises:
        TypeError: `evaluate` is no function.

    Examples:
        >>> from tinygrad import Tensor
        >>> probabilities = te.agents.softmax(lambda state: (Tensor.zeros(state.batch, 2), Tensor.zeros(state.batch)))
        >>> probabilities(te.make("kuhn_poker").init(2)).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    function("evaluate", evaluate)

    @jit
    def probabilities(state: State, logits: Tensor | None) -> Tensor:
        mask = state.legal_action_mask
        logits = _logits(evaluate, state) if logits is None else logits
        return mask.where(masked_logits(logits, mask).float().softmax(1), 0)

    return _of_network(evaluate, probabilities)


def _of_network(evaluate: Evaluate, captured: Callable[[State, Tensor | None], Tensor]) -> Callable[[State], Tensor]:
    """Return a function of a State that evaluates a network of any library.

    captured: a captured function of a state and logits. Without logits, it evaluates a network of tinygrad itself.
    """
    on_host = False

    def call(state: State) -> Tensor:
        nonlocal on_host
        if not on_host:
            try:
                return captured(state, None)
            except (ExportInJitError, ReadInJitError):
                on_host = True
        if stays_lazy():
            raise ExportInJitError("a jit cannot capture a network that computes on the host")
        form, logits, _ = checked(evaluate(state), state)
        values = np.asarray(host_array_of(form.library, logits), np.float32)
        return captured(state, upload(np.ascontiguousarray(values).reshape(-1), state.device).reshape(values.shape))

    return call


def _logits(evaluate: Evaluate, state: State) -> Tensor:
    """Return the logits of a network of tinygrad. ExportInJitError for one of another library."""
    output = evaluate(state)
    if isinstance(output, tuple) and output and library_of(output[0]) not in (None, "tinygrad"):
        raise ExportInJitError("a jit cannot capture a network that computes on the host")
    if not isinstance(output, tuple) or not output or not isinstance(output[0], Tensor):
        raise TypeError(f"evaluate must return two arrays, logits and values, got {shown(output)}")
    return output[0]


def _marked(action: Tensor, allowed: Tensor, mask: Tensor) -> Tensor:
    """Mark actions that are not allowed, in games that are not over, by -1. Returns int32 [B]."""
    chosen = (Tensor.arange(mask.shape[1]).reshape(1, -1) == action.reshape(-1, 1)) & allowed & mask
    return (chosen.any(1) | mask.any(1).logical_not()).where(action, -1).cast(dtypes.int32)


def _checked(action: Tensor, message: str) -> Tensor:
    """Return the actions. ValueError if some are -1, except while a jit captures: then the values are not available."""
    if not stays_lazy() and (wrong := int((to_numpy(action) < 0).sum())):
        raise ValueError(f"{message} in {wrong} games")
    return action


def playout_search(
    num_simulations: int, seed: int = 0, determinize: bool = True, exploration: float | None = None
) -> Policy:
    """Return a policy that plays by `te.search.playout_policy`.

    Args:
        num_simulations: simulations of each decision, 1..2^20.
        seed: seed of the search.
        determinize: as in that search; False for a player that sees what is hidden.
        exploration: weight of that search's exploration term; None is 4.

    Returns:
        A policy.

    Raises:
        ValueError, TypeError: an argument out of range or of another type.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.agents.playout_search(num_simulations=64)(env.init(2)).shape
        (2,)
    """
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    instance("determinize", determinize, bool)
    weight = checked_exploration(exploration)
    seed_words(seed)
    return lambda state: playout_policy(state, count, weight, seed, determinize=determinize).action


def gumbel(
    evaluate: Evaluate, num_simulations: int = 32, gumbel_scale: float = 0.0, seed: int = 0, prove: bool = True
) -> Policy:
    """Return a policy that plays by `te.search.gumbel_muzero_policy`, by default with proofs.

    Args:
        evaluate, num_simulations, gumbel_scale, seed, prove: arguments of that search.

    Returns:
        A policy.

    Raises:
        ValueError, TypeError: a number out of range or of another type; `evaluate` is no function.

    Examples:
        >>> from tinygrad import Tensor
        >>> policy = te.agents.gumbel(lambda state: (Tensor.ones(state.batch, 9), Tensor.zeros(state.batch)), 8)
        >>> policy(te.make("tic_tac_toe").init(2)).shape
        (2,)
    """
    function("evaluate", evaluate)
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    seed_words(seed)
    gumbel_scale = number("gumbel_scale", gumbel_scale, 0.0, 1e6)
    instance("prove", prove, bool)
    search = functools.partial(gumbel_muzero_policy, gumbel_scale=gumbel_scale, seed=seed, prove=prove)
    return lambda state: search(state, evaluate, count).action


def league(policies: Sequence[Policy], weights: Sequence[float] | None = None, seed: int = 0) -> Policy:
    """Return a policy that plays each game as one of several policies, drawn anew in every episode.

    A draw depends on the game's seed, row and episode alone, so a learner that keeps its past selves in a league meets
    one of them in each episode. Every member is called with the whole batch.

    Args:
        policies: the members, one or more.
        weights: a number >= 0 for each member, its relative frequency; None: all are equally frequent.
        seed: 0..2^32-1; another seed draws other members for the same games.

    Returns:
        A policy. It raises ValueError or TypeError if a member does not return an integer for every game.

    Raises:
        ValueError, TypeError: no members, members that are no functions, other weights or another seed.

    Examples:
        >>> first, last = (lambda state: [0] * state.batch), (lambda state: [8] * state.batch)
        >>> mixed = te.agents.league([first, last], weights=[1, 3])
        >>> actions = mixed(te.make("tic_tac_toe").init(1000)).numpy()
        >>> sorted({*actions.tolist()}), bool(700 < (actions == 8).sum() < 800)
        ([0, 8], True)
    """
    if not isinstance(policies, (list, tuple)):
        raise wrong_type("policies", "a list of policies", policies)
    members = tuple(function(f"policies[{i}]", policy) for i, policy in enumerate(policies))
    if not members:
        raise ValueError("policies must have one or more members, got none")
    limits = _limits(len(members), weights)
    seed = integer("seed", seed, 0, 2**32 - 1)

    @jit
    def choose(state: State, actions: tuple[Tensor, ...]) -> Tensor:
        low, high = state.action_key[:, 0], state.action_key[:, 1]
        bits = threefry((low, high), (low.const_like(LEAGUE_COUNTER), low.const_like(seed)))[0]
        drawn = (bits >> 32 - DRAW_BITS).cast(dtypes.int32)
        chosen = actions[-1]
        for limit, action in zip(limits[-2::-1], actions[-2::-1], strict=True):
            chosen = (drawn < limit).where(action, chosen)
        return chosen

    def policy(state: State) -> Tensor:
        instance("state", state, State)
        layout = state.buffers.layout
        named = ((f"the action of policies[{i}]", member(state)) for i, member in enumerate(members))
        return choose(state, tuple(layout.column(int_array(name, action, layout)) for name, action in named))

    return policy


def _limits(count: int, weights: Any) -> list[int]:
    """Return for each member of a league the limit below which, and not below an earlier one, numbers draw it."""
    if weights is None:
        weights = [1] * count
    if not isinstance(weights, (list, tuple, range, np.ndarray)) or np.ndim(weights) == 0:
        raise wrong_type("weights", "a list of numbers", weights)
    weights = [number(f"weights[{i}]", x, 0, float("inf")) for i, x in enumerate(np.asarray(weights).tolist())]
    if len(weights) != count or not 0 < sum(weights) < float("inf"):
        raise ValueError(f"weights must be {count} numbers >= 0 with a positive sum, got {shown(weights)}")
    return [round(2**DRAW_BITS * x / sum(weights)) for x in itertools.accumulate(weights)]


def load(path: str | Path, num_simulations: int = 32, seed: int = 0) -> Policy:
    """Load a trained player: the weights of a run of `te.train`, or weights of the package.

    A file of a network of PyTorch names its class, which is imported: load files of people that you trust.

    Args:
        path: path of the file or of a run's folder, or the id of a game in tensor_envs/weights/README.md.
        num_simulations: simulations of each decision by `te.search.gumbel_muzero_policy` without noise, with proofs; 0
            plays the highest logit.
        seed: seed of the search.

    Returns:
        A policy for the game that the file names, on any device. It raises ValueError for states of other games.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file has no weights, is damaged, or is of another version of the game; its network of PyTorch
            cannot be imported; a number out of range, or simulations in a game that is not zero-sum.
        TypeError: `path` is no path, or a number of another type.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> result = te.evaluate(env, [te.agents.load("tic_tac_toe", 0), te.agents.uniform], games=64)
        >>> bool(result.scores[0] > 0.8)
        True
    """
    from tensor_envs.train.network import load as load_network  # networks and their files are for this player alone
    from tensor_envs.train.network import weights_file

    count = integer("num_simulations", num_simulations, 0, MAX_SIMULATIONS)
    seed_words(seed)
    trained = load_network(weights_file(file_path("path", path)))
    env = trained.env
    if count and env.num_players > 1 and not env.spec.zero_sum:
        raise ValueError(f"num_simulations must be 0 for {env!r}, which is no zero-sum game, got {count}")

    @functools.cache
    def player(device: DeviceName) -> Policy:
        evaluate = trained.evaluator(device)
        return gumbel(evaluate, count, seed=seed) if count else greedy(evaluate)

    def policy(state: State) -> Tensor:
        instance("state", state, State)
        if not state.env.plays_like(env):
            raise ValueError(f"state must be of {env!r}, whose weights these are, got one of {state.env!r}")
        return player(state.device)(state)

    return policy


def engine(name: str, seed: int = 0) -> EnginePlayer:
    """Start an engine of others as a player.

    The player follows the games from their first positions: `te.evaluate` and `te.arena` call its method
    `watch(state, actions)` before each step, and custom loops have to. It is a context manager; else its process ends
    with the player, or with Python.

    Args:
        name: the engine, and after a colon its options, "stockfish:skill=0,depth=1".

            - "stockfish", or "uci:COMMAND" for another engine of chess that speaks UCI. Limits of a move are `depth`,
              `nodes` and `seconds` (default: 0.1); `skill` and other options are the engine's.
            - "gnugo" with `level` (0..10, default 10), or "gtp:COMMAND" for another engine of go that speaks GTP with
              `seconds` for a move.
            - "gnubg", GNU Backgammon, with `plies` (0..3, default 0).
            - "open_spiel:mcts:1000", OpenSpiel's MCTSBot of 1,000 simulations, with `exploration` (default: 1.4), in
              board games without chance.

            All but the last have `deadline`, the seconds for an answer (default: 60).
        seed: seed of OpenSpiel's search; other engines have their own chance.

    Returns:
        A policy. It raises ValueError for other games and for games that it has not followed, and RuntimeError, which
        names the engine, if that hangs, has ended, or answers what is no legal move.

    Raises:
        FileNotFoundError: the program is not installed.
        ImportError: OpenSpiel is not installed.
        ValueError, TypeError: another name or option.

    Examples:
        >>> with te.agents.engine("stockfish:skill=0,depth=1") as stockfish:  # doctest: +SKIP
        ...     print(te.evaluate(te.make("chess"), [te.agents.load("chess"), stockfish], games=20, opening=2))
    """
    from tensor_envs.evaluation.engines import EnginePlayer  # programs of others, only for this player

    return EnginePlayer(name, seed)


def perfect(oracle: Oracle | None = None) -> Policy:
    """Return a policy that draws one of the actions that keep the position's value.

    Of a search it plays an action that is proven first, so that which of several it plays depends on the search.

    Args:
        oracle: exact values of the game. None: `te.solve` solves the game when the policy first meets it, which takes
            at most 250,000 positions. A game with an oracle of its own is solved by that (Shed up to 14 cards), and one
            that comes with a table of openings is searched (connect four).

    Returns:
        A policy. It raises ValueError for a game that the oracle does not cover.

    Raises:
        TypeError: the oracle has no method `best_actions`.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> te.agents.perfect()(env.step(env.init(2), [0, 8])).tolist()  # only the centre does not lose
        [4, 4]
    """
    if oracle is not None:
        function("oracle.best_actions", getattr(oracle, "best_actions", None))

    def policy(state: State) -> Tensor:
        instance("state", state, State)
        judge: Any = oracle_for(state.env) if oracle is None else oracle
        # a search need not prove all of them
        best = getattr(judge, "some_best_actions", judge.best_actions)(state)
        if not isinstance(best, Tensor):
            best = Tensor(np.asarray(best), device=state.device)
        shape = (state.batch, state.env.num_actions)
        if best.shape != shape or best.dtype != dtypes.bool:
            raise ValueError(f"best_actions must give bool {shape}, got {best.dtype} {best.shape}")
        return _checked(_one_of(best, state), "best_actions must name legal actions, which are missing")

    return policy


def equilibrium(policy: TabularPolicy) -> Policy:
    """Return a policy that draws actions with the probabilities of a table, such as an equilibrium.

    It has a memory: where the observation does not tell information states apart, it uses its own earlier actions in
    the same row. So call it at every turn of its player, with games in the same rows. In a game in which other actions
    than its own were played for that player, it may have to play a uniformly random action.

    Args:
        policy: an equilibrium by `te.equilibrium`, or another policy of a game tree.

    Returns:
        A policy for every player. It raises ValueError for a game that is not in the tree.

    Raises:
        TypeError: `policy` is no TabularPolicy.

    Examples:
        >>> env = te.make("kuhn_poker")
        >>> player = te.agents.equilibrium(te.equilibrium(env))
        >>> result = te.evaluate(env, [player, te.agents.uniform], games=1024)
        >>> bool(result.mean_returns[0] > 0)
        True
    """
    from tensor_envs.equilibria.tabular_policy import TabularPolicy

    instance("policy", policy, TabularPolicy)
    tree = policy.tree
    memory = _Memory(policy.tree)
    table = np.concatenate([policy.table, np.zeros((1, tree.env.num_actions))])  # the last row: of no state

    def choose(state: State) -> Tensor:
        instance("state", state, State)
        before = memory.recall(state)
        sequences = tree.find(state, before)
        mask = state.legal_action_mask.numpy()
        if (wrong := mask.any(1) & (sequences == -1)).any():
            raise ValueError(f"state must have games of {tree!r}, row {int(np.argmax(wrong))} is none")
        chances = np.where((sequences >= 0)[:, None], table[np.maximum(sequences, -1)], mask)
        with np.errstate(divide="ignore"):
            logits = Tensor(np.maximum(np.log(chances), FLOOR).astype(np.float32), device=state.device)
        allowed = Tensor(chances > 0, device=state.device)
        action = sample_action(logits, allowed, state.action_key, state.ply)
        memory.record(tree.sequence(sequences, to_numpy(action)))
        return action

    return choose


class _Memory:
    """Last own sequence of every player in each game of a batch that is played on."""

    def __init__(self, tree: GameTree):
        self.players = tree.env.num_players
        self.ply = np.zeros(0, np.int64)

    def recall(self, state: State) -> np.ndarray:
        """Return the last own sequence of the player to move, int64 [B]: 0 for none, -1 if it is not known."""
        values = state.numpy()
        ply = values["ply"].astype(np.int64)
        episode = values["episode"]
        if len(self.ply) != len(ply):
            self.ply = np.full(len(ply), -1)
            self.episode = episode
            self.sequence = np.zeros((len(ply), self.players), np.int64)
            self.chosen = np.zeros(len(ply), np.int64)
            self.player = np.zeros(len(ply), np.int64)
        later = ply > self.ply
        again = (ply < self.ply) | (episode != self.episode)
        rows = np.flatnonzero(later & (self.ply >= 0) & ~again)
        self.sequence[rows, self.player[rows]] = self.chosen[rows]  # the last choice has been played
        self.sequence[again] = 0
        self.ply = ply
        self.episode = episode
        self.player = np.maximum(values["current_player"], 0)
        return np.asarray(self.sequence[np.arange(len(ply)), self.player])

    def record(self, sequence: np.ndarray) -> None:
        """Take the sequences of the player to move after its actions, int64 [B]."""
        self.chosen = sequence


@functools.lru_cache(8)
def oracle_for(env: Env) -> Oracle:
    """Return a game's own oracle if it is quick, the search of a game that has a table of openings, or its solution."""
    from tensor_envs.solve.alpha_beta import opening_table
    from tensor_envs.solve.enumeration import solve

    if (own := env.entry.quick_oracle(env.rules)) is not None:
        solved: Oracle = own.solve(env.rules)
        return solved
    return solution_of(env) if opening_table(env) is None else solve(env, method="search")


@functools.lru_cache(8)
def solution_of(env: Env) -> Solution:
    """Solve a small game once. ValueError for a game that `te.solve` cannot solve within `MAX_POSITIONS`."""
    from tensor_envs.solve.enumeration import solve

    try:
        if env.spec.perfect_information and _is_large(env):
            raise ValueError(f"it has more than {MAX_POSITIONS} positions")
        return solve(env, max_positions=MAX_POSITIONS)
    except ValueError as error:
        raise ValueError(f"perfect play of {env!r} needs an oracle: {error}") from None


def _is_large(env: Env) -> bool:
    """Return whether random games meet so few equal positions that the game has more than `MAX_POSITIONS`.

    Of n positions that are drawn from N, at least n * n / 2N pairs are equal on average (birthday problem).
    """
    limit = MAX_POSITIONS * sum(1 for _ in env.symmetries())  # the solver counts those equal by symmetry once
    games = math.isqrt(2 * EQUAL_PAIRS * limit) + 1
    if games > SAMPLED_GAMES:
        return False
    state = env.init(games)
    names = [field.name for field in env.spec.fields]
    for _ in range(SAMPLED_PLIES):
        state = env.step(state, uniform(state))
        values = state.numpy()
        if (values["terminated"] | values["truncated"]).all():
            break
        rows = np.concatenate([values[name].reshape(games, -1) for name in (*names, "current_player")], axis=1)
        if games - len({row.tobytes() for row in rows}) < EQUAL_PAIRS / 3:
            return True
    return False


@jit
def _one_of(best: Tensor, state: State) -> Tensor:
    """Draw one of the best actions, or -1 if there is none. Returns int32 [B]."""
    action = sample_action(best.float() * 0, best, state.action_key, state.ply)
    return _marked(action, best, state.legal_action_mask)
