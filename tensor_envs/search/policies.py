"""Policies by tree search, for all games of a batch at once: with playouts, or with a network as in mctx."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from tinygrad import Tensor

from tensor_envs._validate import function, instance, integer, number, one_of, shown
from tensor_envs.envs.state import State
from tensor_envs.search.memory import VECTOR, SearchConfig, SearchSize
from tensor_envs.search.noise import gumbel_noise, muzero_noise
from tensor_envs.search.outputs import Evaluate
from tensor_envs.search.records import Node
from tensor_envs.search.runners import run_search
from tensor_envs.search.selection import ActionSelection, GumbelMuZero, MuZero, ProgressiveHistory
from tensor_envs.search.tree import SearchOutput, SearchTree

if TYPE_CHECKING:
    from tensor_envs.envs.env import Env

MAX_SIMULATIONS = 2**20
EXPLORATION = 4.0  # weight of the exploration term of playout search
MAX_EXPLORATION = 1e6


def playout_policy(
    state: State,
    num_simulations: int,
    exploration: float | None = None,
    seed: int = 0,
    limit: int = 2**31 - 1,
    chance: Literal["open", "sampled"] = "open",
    keep_tree: bool = False,
    tree: SearchTree | None = None,
    determinize: bool = True,
    count_actions: bool = False,
    prove: bool = True,
) -> SearchOutput:
    """Run Monte Carlo tree search with uniformly random playouts, as one kernel for all games.

    A simulation selects actions by the highest sum of three terms, and evaluates a new position by one random game:

        mean return
        exploration * sqrt(visits of the position) / (legal actions * (1 + visits of the action))
        3 * history / (1 + losses)

    The history of an action is the mean return of all simulations in which the player took it, at any time. An untried
    action has the mean return 0. Returns are divided by the largest absolute return so far, if that is above 1. Ties go
    to the action of the lowest number. The policy plays the most visited action.

    Args:
        state: the games.
        num_simulations: simulations of each game, 1..2^20.
        exploration: weight of the exploration term; None is 4. `tensor_envs/search/STRENGTH.md` compares weights.
        seed: seed of playouts and chance. The random numbers of a game at a ply do not depend on the batch.
        limit: maximum number of actions of a playout.
        chance: in games with chance, "open" replays every simulation from the root with its own chance, so that nodes
            are sequences of actions; "sampled" draws the chance of each position in the tree once, which is faster but
            lets the search exploit the draws.
        keep_tree: copy the whole trees to the host, for `subtree` and pictures.
        tree: trees of these positions to resume: the `subtree` of a search of the same kind. In games with chance their
            values are means over all outcomes. Positions that were roots of the earlier search need another seed, since
            the same one repeats its playouts.
        determinize: resample in every simulation what is hidden from the player to move, if the rules have
            `determinize`. If False, the search knows everything: a player that cheats, to measure the value of hidden
            information.
        count_actions: count in `search_tree.playouts` how often each action is legal and taken in the playouts, by
            which player and at which ply, and the events of the rules. The counts are int32 and wrap beyond 2^31.
        prove: back up proven outcomes (MCTS-Solver), in games for one player, or zero-sum games for two, without chance
            or hidden information. Proven actions are not searched again, and the search of a proven position ends.
            Values of proven actions are exact. Outcomes are returns of -1, 0 and 1; other returns prove nothing.

    Returns:
        Actions, weights (shares of visits; what loses the proven value has none), and visits and values of the roots.

    Raises:
        ValueError, TypeError: an argument out of range or of another type; a game too large to unroll; trees that take
            more than 8 GiB.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(2)
        >>> for actions in ([0, 8], [3, 5], [1, 7], [4, 4]):
        ...     state = env.step(state, actions)
        >>> te.search.playout_policy(state, num_simulations=64).action.tolist()  # X to move wins at once
        [2, 6]
        >>> counts = te.search.playout_policy(env.init(2), 64, count_actions=True).search_tree.playouts
        >>> counts.action_counts.sum(1).shape, counts.turns.tolist() == counts.width_counts.sum(1).tolist()
        ((2, 9), True)
    """
    num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    weight = checked_exploration(exploration)
    limit = integer("limit", limit, 1, 2**31 - 1)
    config = _config(state, ProgressiveHistory, chance, keep_tree, determinize, count_actions, prove)
    size = SearchSize(num_simulations, _resumed(state, config, tree), keep_tree)
    # Square roots come from a table: computed on the host, they have the same bits for every device.
    table = exploration_table(weight, size.slots, state.env.num_actions)
    return run_search(state, config, size, table, seed, limit, tree)


def gumbel_muzero_policy(
    state: State,
    evaluate: Evaluate,
    num_simulations: int = 32,
    max_num_considered_actions: int = 16,
    gumbel_scale: float = 1.0,
    seed: int = 0,
    chance: Literal["open", "sampled"] = "open",
    keep_tree: bool = False,
    prove: bool = False,
) -> SearchOutput:
    """Run Gumbel MuZero's search with a network and the exact rules, like mctx's function of this name.

    Source: I. Danihelka, A. Guez, J. Schrittwieser, D. Silver, "Policy improvement by planning with Gumbel", ICLR 2022.

    Args:
        state: the games.
        evaluate: a function from a State to prior logits [B, A] (those of illegal actions are ignored) and values, of a
            float dtype. Values are [B, P], or [B] for the player to move in games for one player and zero-sum games
            for two. A function of tinygrad operations is captured once for each batch size and replayed. A function
            that returns arrays of PyTorch, JAX or NumPy is called for every simulation. It must not keep the State,
            whose games change after the call, nor wait for another thread that uses this package, since the search
            blocks it. Pass the same function in every search: the preparation of a new one takes time.
        num_simulations: evaluations of each game besides that of the root, 1..2^20.
        max_num_considered_actions: maximum number of root actions that sequential halving considers, 1..1024.
        gumbel_scale: scale of the noise; 0 for none.
        seed: seed of noise and chance. The random numbers of a game at a ply do not depend on the batch.
        chance, keep_tree: as in `playout_policy`. No search can resume these trees, since sequential halving plans all
            visits of a root in advance.
        prove: as in `playout_policy`. Visits then differ from those of mctx, and values of proven actions are exact.

    Returns:
        Actions, weights (the improved policy), and visits and values of the roots.

    Raises:
        ValueError, TypeError: an argument out of range or of another type; an evaluation of another shape or dtype, of
            another library than the first, that requires grad or is not on the CPU, or with a value or a legal
            action's logit that is not finite; trees that take more than 8 GiB.

    Examples:
        >>> from tinygrad import Tensor
        >>> def evaluate(state):
        ...     return Tensor.zeros(state.batch, 9), Tensor.zeros(state.batch)
        >>> output = te.search.gumbel_muzero_policy(te.make("tic_tac_toe").init(2), evaluate, num_simulations=8)
        >>> output.action_weights.shape
        (2, 9)
    """
    num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    _check_hashable(evaluate)
    considered = integer("max_num_considered_actions", max_num_considered_actions, 1, 1024)
    scale = number("gumbel_scale", gumbel_scale, 0.0, 1e6)
    config = _config(state, GumbelMuZero, chance, keep_tree, prove=prove)
    size = SearchSize(num_simulations, 0, keep_tree, considered)
    table = _considered_visits(considered, num_simulations)

    def noise(words: Tensor, actions: Tensor | None, columns: int) -> Tensor:
        return gumbel_noise(state, words, actions, columns, scale)

    return run_search(state, config, size, table, seed, 1, None, evaluate, noise)


def muzero_policy(
    state: State,
    evaluate: Evaluate,
    num_simulations: int = 32,
    dirichlet_fraction: float = 0.25,
    dirichlet_alpha: float = 0.3,
    pb_c_init: float = 1.25,
    pb_c_base: float = 19652.0,
    temperature: float = 1.0,
    seed: int = 0,
    chance: Literal["open", "sampled"] = "open",
    keep_tree: bool = False,
    tree: SearchTree | None = None,
    prove: bool = False,
) -> SearchOutput:
    """Run MuZero's search with a network and the exact rules, like mctx's function of this name.

    Source: J. Schrittwieser and others, "Mastering Atari, Go, chess and shogi by planning with a learned model", 2019.

    Args:
        state, evaluate, num_simulations, seed, chance: as in `gumbel_muzero_policy`.
        dirichlet_fraction: share of noise in the root's priors, 0..1.
        dirichlet_alpha: concentration of the noise, 0.001..16.
        pb_c_init, pb_c_base: weights of the exploration term.
        temperature: the action is drawn with weights visits ** (1 / temperature); 0 takes the most visited one.
        keep_tree, tree: as in `playout_policy`.
        prove: as in `gumbel_muzero_policy`.

    Returns:
        Actions, weights (shares of visits), and visits and values of the roots.

    Raises:
        ValueError, TypeError: as in `gumbel_muzero_policy`.

    Examples:
        >>> from tinygrad import Tensor
        >>> def evaluate(state):
        ...     return Tensor.zeros(state.batch, 9), Tensor.zeros(state.batch)
        >>> te.search.muzero_policy(te.make("tic_tac_toe").init(2), evaluate, num_simulations=8).action.shape
        (2,)
    """
    num_simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    _check_hashable(evaluate)
    fraction = number("dirichlet_fraction", dirichlet_fraction, 0.0, 1.0)
    alpha = number("dirichlet_alpha", dirichlet_alpha, 1e-3, 16.0)
    init = number("pb_c_init", pb_c_init, 0.0, 1e6)
    base = number("pb_c_base", pb_c_base, 1.0, 1e12)
    temperature = number("temperature", temperature, 0.0, 1e6)
    config = _config(state, MuZero, chance, keep_tree, prove=prove)
    size = SearchSize(num_simulations, _resumed(state, config, tree), keep_tree)
    visits = np.arange(size.slots)
    # In mctx the visits of a node include its own evaluation.
    explore = np.sqrt(visits + 1) * (init + np.log((visits + base + 2) / base))
    # Logarithms of the weights for the draw of the action. At temperature 0 they outweigh the noise of the draw.
    powers = np.log(np.maximum(visits, 1)) / max(temperature, 1e-30) if temperature else visits * 1e6
    table = _float32(np.concatenate([explore, np.where(visits > 0, powers, -1e30), [fraction]]))

    scale = float(temperature > 0)

    def noise(words: Tensor, actions: Tensor | None, columns: int) -> Tensor:
        return muzero_noise(state, words, actions, columns, alpha, scale)

    return run_search(state, config, size, table, seed, 1, tree, evaluate, noise)


def checked_exploration(exploration: float | None) -> float:
    """Return a checked weight of the exploration term; None stands for `EXPLORATION`."""
    return EXPLORATION if exploration is None else number("exploration", exploration, 0.0, MAX_EXPLORATION)


@functools.lru_cache(64)
def exploration_table(factor: float, slots: int, actions: int) -> bytes:
    """Return the exploration factors for visit counts and for numbers of legal actions, float32 [slots + A + 1].

    The product of two of them is factor * sqrt(visits) / legal actions.
    """
    visits = factor * np.sqrt(np.arange(slots)) + 1e-6
    # the entry for 0 legal actions is never used
    legal = 1 / np.maximum(np.arange(actions + 1), 1)
    return _float32(np.concatenate([visits, legal]))


def _float32(values: np.ndarray) -> bytes:
    return values.astype(np.float32).tobytes()


@functools.lru_cache(64)
def _considered_visits(max_considered: int, num_simulations: int) -> bytes:
    """Return the schedule of sequential halving, int32 [max_considered + 1, num_simulations].

    Row n is for n considered actions. Entry s is the number of visits that an action must have to be tried by
    simulation s. It is mctx's table of considered visits.
    """
    table = np.zeros((max_considered + 1, num_simulations), np.int32)
    for considered in range(max_considered + 1):
        rounds = math.ceil(math.log2(max(considered, 2)))
        remaining = max(considered, 1)
        visits: list[int] = []
        done = 0
        while len(visits) < num_simulations:
            # Each round has an equal share of the simulations, and visits each of its actions equally often.
            times = num_simulations if considered <= 1 else max(1, num_simulations // (rounds * remaining))
            for _ in range(times):
                visits += [done] * remaining
                done += 1
            # The better half of the actions goes on to the next round.
            remaining = max(2, remaining // 2) if considered > 1 else 1
        table[considered] = visits[:num_simulations]
    return table.tobytes()


@functools.lru_cache(64)
def search_config(
    env: Env,
    selection: type[ActionSelection],
    chance: str = "open",
    determinize: bool = True,
    counts: bool = False,
    prove: bool = True,
) -> SearchConfig:
    """Return the options that a search is compiled for. ValueError for a game with memory fields."""
    game = env.engine.game
    if game.has_memory:
        raise ValueError(f"{env!r} is too large to be searched: its fields are memory")
    determinizes = game.determinizes and determinize
    # If chance or hidden information is new in every simulation, a node has no position that could be stored.
    replays = determinizes or (game.spec.chance and chance == "open")
    spec = game.spec
    # If simulations replay, a node's legal actions differ between visits, so each action has an edge.
    packed = not replays and spec.max_legal is not None and spec.num_actions > VECTOR
    two = spec.num_players == 2 and spec.zero_sum
    # An outcome can be proven if a node is one position, and one number says who wins.
    has_outcomes = spec.perfect_information and not spec.chance and (two or spec.num_players == 1)
    proves = prove and has_outcomes and not replays
    return SearchConfig(selection, replays, determinizes, packed, proves, counts=counts)


def _config(
    state: State,
    selection: type[ActionSelection],
    chance: str,
    keep_tree: bool,
    determinize: bool = True,
    counts: bool = False,
    prove: bool = True,
) -> SearchConfig:
    """Check the arguments that all searches share, and return the options that they are compiled for."""
    instance("state", state, State)
    one_of("chance", chance, ("open", "sampled"))
    instance("keep_tree", keep_tree, bool)
    instance("determinize", determinize, bool)
    instance("count_actions", counts, bool)
    instance("prove", prove, bool)
    return search_config(state.env, selection, chance, determinize, counts, prove)  # type: ignore[arg-type] # a class is hashable


def _resumed(state: State, config: SearchConfig, tree: SearchTree | None) -> int:
    """Check the trees that a search resumes, and return the number of their slots without the root, or 0."""
    if tree is None:
        return 0
    instance("tree", tree, SearchTree)
    old = tree._whole
    layout = state.buffers.layout
    if old is None:
        raise ValueError("tree must come from a search with keep_tree=True")
    if not tree._env.plays_like(state.env) or tree._layout != layout:
        other = f"{tree._env!r}, batch {tree._layout.batch} on {tree._layout.device}"
        raise ValueError(f"tree must be of the state's environment, batch and device, got one of {other}")
    if old.config != replace(config, counts=old.config.counts):
        raise ValueError(f"tree must come from a search of the same kind, got one by {old.config.selection.name!r}")
    if state.env.spec.chance and not config.replays:
        raise ValueError("tree cannot be resumed with chance='sampled': its positions had other outcomes of chance")
    # The roots must be the positions of the state. Where simulations replay, nodes store no positions to compare.
    words = layout.download(state.buffers.words)[:, : old.states.shape[2]]
    differ = (old.nodes[:, 0, Node.visits.index] > 0) & (words != old.states[:, 0]).any(1)
    if not config.replays and differ.any():
        raise ValueError(f"tree must be of the state's positions, got other ones in {differ.sum()} games")
    return old.slots - 1


def _check_hashable(evaluate: Evaluate) -> None:
    """Raise TypeError unless `evaluate` is a function that can be the key of a cache."""
    if type(function("evaluate", evaluate)).__hash__ is None:
        raise TypeError(f"evaluate must be hashable, got {shown(evaluate)}: a dataclass needs eq=False")
