"""Tree search in every game of a batch at once: by playouts, or with a network, as in mctx."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs._compiler.capture import launches_directly
from tensor_envs._compiler.devices import LOCK, download, stays_lazy, upload
from tensor_envs._engine.batch_layout import BatchBuffers, BatchLayout
from tensor_envs._engine.inputs import host_ints
from tensor_envs._engine.random import seed_words
from tensor_envs._validate import function, instance, integer, number, one_of
from tensor_envs.env import Env
from tensor_envs.search.noise import gumbel_noise, muzero_noise
from tensor_envs.search.picture import tree_svg
from tensor_envs.search.running import (
    Evaluate,
    chunk_of,
    network_runner,
    params_array,
    playout_runner,
    result_arrays,
)
from tensor_envs.search.selection import UCB, ActionSelection, GumbelMuZero, MuZero
from tensor_envs.search.simulation import Result
from tensor_envs.search.tables import Node, SearchConfig, TreeSizes, room
from tensor_envs.search.tree import HostTree, fetch
from tensor_envs.state import State

MAX_SIMULATIONS = 2**20
EXPLORATION = 1.4
ROOTS_ALONE = "this one holds only the roots"


class SearchTree:
    """Visits and values of the roots after a search; with `keep_tree`, whole trees, too."""

    def __init__(self, env: Env, layout: BatchLayout, numbers: Tensor, whole: HostTree | None = None):
        self._env, self._layout, self._numbers, self._whole = env, layout, numbers, whole
        self._actions = env.num_actions

    def _part(self, part: int) -> Tensor:
        """Return one of the numbers of every action, see `Result.numbers`."""
        layout, size = self._layout, self._actions
        rows = self._numbers.reshape(layout.shards, layout.grid.rows, 3 * size + 1)[:, : layout.share]
        return rows[:, :, part * size : min((part + 1) * size, 3 * size + 1)].reshape(layout.batch, -1)

    @property
    def visit_counts(self) -> Tensor:
        """int32 [B, A], simulations that began with each action."""
        return self._part(0)

    @property
    def visit_probs(self) -> Tensor:
        """float32 [B, A], shares of the simulations; all 0 in a game that is over."""
        counts = self.visit_counts
        return counts / counts.sum(1, keepdim=True).maximum(1)

    @property
    def qvalues(self) -> Tensor:
        """float32 [B, A], mean returns after each action for the player to move; 0 of one that was not tried."""
        return self._part(2).bitcast(dtypes.float32)

    @property
    def value(self) -> Tensor:
        """float32 [B], what the game is worth to the player to move; 0 in a game that is over."""
        return self._part(3).bitcast(dtypes.float32).reshape(self._layout.batch)

    @property
    def _weights(self) -> Tensor:
        return self._part(1).bitcast(dtypes.float32)

    def summary(self) -> dict[str, np.ndarray]:
        """Return visit_counts, visit_probs, qvalues, value and the search's action_weights, in one download."""
        layout, size = self._layout, self._actions
        rows = download(self._numbers).reshape(layout.shards, layout.grid.rows, -1)[:, : layout.share]
        numbers = rows.reshape(layout.batch, -1)
        visits, reals = numbers[:, :size], numbers.view(np.float32)
        probs = visits / np.maximum(visits.sum(1, keepdims=True), 1)
        return {
            "visit_counts": visits,
            "visit_probs": probs.astype(np.float32),
            "qvalues": reals[:, 2 * size : 3 * size],
            "value": reals[:, -1],
            "action_weights": reals[:, size : 2 * size],
        }

    def to_svg(self, i: int = 0, nodes: int = 48) -> str:
        """Draw a game's tree: the actions that were visited most, with visits and mean returns.

        Args:
            i: which game.
            nodes: how many actions at most, 1..1000; without `keep_tree` only the root's.

        Returns:
            An SVG document. Circles are larger the more visits there are; blue is good for who chose, red bad.

        Raises:
            ValueError, TypeError: other numbers.
        """
        row = integer("i", i, 0, self._layout.batch - 1)
        count = integer("nodes", nodes, 1, 1000)
        if (whole := self._whole) is not None:
            tree = whole.visits[row], whole.values[row], whole.children[row]
        else:
            found = self.summary()
            visits, values = (found[name][row][None] for name in ("visit_counts", "qvalues"))
            tree = visits, values, np.zeros_like(visits)
        return tree_svg(*tree, count, [self._env.action_to_string(a) for a in range(self._actions)])

    def _repr_svg_(self) -> str:
        return self.to_svg()


class SearchOutput(NamedTuple):
    """Result of a search.

    Attributes:
        action: int32 [B], the action to play; 0 in a game that is over.
        search_tree: visits and values of the roots.
    """

    action: Tensor
    search_tree: SearchTree

    @property
    def action_weights(self) -> Tensor:
        """float32 [B, A], a policy to learn; all 0 in a game that is over."""
        return self.search_tree._weights


def playout_policy(
    state: State,
    num_simulations: int,
    exploration: float = EXPLORATION,
    seed: int = 0,
    limit: int = 2**31 - 1,
    chance: Literal["open", "sampled"] = "open",
    keep_tree: bool = False,
    tree: SearchTree | None = None,
) -> SearchOutput:
    """Monte Carlo tree search with uniformly random playouts: the whole search of all games is one kernel.

    A simulation goes on with the action of the highest mean return plus exploration * sqrt(visits) / (1 + visits of the
    action), and values a new position by one random game to its end. The most visited action is played. Of returns
    beyond 1 what counts is their share of the largest one found.

    Args:
        state: the games.
        num_simulations: in every game, 1..2^20.
        exploration: how much few visits count.
        seed: of playouts and chance. The same game at the same ply has the same ones in any batch.
        limit: actions after which a playout is cut off.
        chance: in games with chance, "open" plays every simulation anew from the root with chance of its own, so that
            nodes are sequences of actions; "sampled" gives every position of the tree one chance, which is faster and
            knows too much.
        keep_tree: whether `search_tree` holds whole trees, for `subtree` and pictures: a copy on the host.
        tree: trees of these positions, from `subtree` and a search of the same kind, which this search resumes. In
            games with chance their values are means over all outcomes.

    Returns:
        Actions, weights (shares of visits), and visits and values of the roots.

    Raises:
        ValueError, TypeError: other arguments; a game too large to unroll.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(2)
        >>> for actions in ([0, 8], [3, 5], [1, 7], [4, 4]):
        ...     state = env.step(state, actions)
        >>> te.search.playout_policy(state, num_simulations=64).action.tolist()  # X to move wins at once
        [2, 6]
    """
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    exploration = number("exploration", exploration, 0.0, 1e6)
    limit = integer("limit", limit, 1, 2**31 - 1)
    config = _config(state, UCB, count, chance, keep_tree, tree)
    return _search(state, config, exploration_table(exploration, config.slots), seed, limit, tree)


def gumbel_muzero_policy(
    state: State,
    evaluate: Evaluate,
    num_simulations: int = 32,
    max_num_considered_actions: int = 16,
    gumbel_scale: float = 1.0,
    seed: int = 0,
    chance: Literal["open", "sampled"] = "open",
    keep_tree: bool = False,
) -> SearchOutput:
    """Gumbel MuZero's search with a network and the exact rules, as mctx's of the same name.

    Source: I. Danihelka, A. Guez, J. Schrittwieser, D. Silver, "Policy improvement by planning with Gumbel", ICLR 2022.

    Args:
        state: the games.
        evaluate: a function of a State to prior logits, float32 [B, A] (of illegal actions they do not count), and
            values, float32 [B] for the player to move (of one player, or of two in a zero-sum game) or [B, P]; in
            tinygrad operations. It is captured once for a batch size and replayed: pass the same function every time.
        num_simulations: evaluations in every game besides that of the root, 1..2^20.
        max_num_considered_actions: of a root, 1..1024.
        gumbel_scale: of the noise; 0 for none.
        seed: of noise and chance. The same game at the same ply has the same ones in any batch.
        chance, keep_tree: as in `playout_policy`. No search can resume these trees: sequential halving plans all
            visits of a root.

    Returns:
        Actions, weights (the improved policy), and visits and values of the roots.

    Raises:
        ValueError, TypeError: other arguments; an evaluation of another shape or dtype, or with a value or a legal
            action's logit that is not finite.
    """
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    considered = integer("max_num_considered_actions", max_num_considered_actions, 1, 1024)
    scale = number("gumbel_scale", gumbel_scale, 0.0, 1e6)
    config = replace(_config(state, GumbelMuZero, count, chance, keep_tree), considered=considered)
    table = _considered_visits(considered, count)

    def noise(words: Tensor) -> Tensor:
        return gumbel_noise(state, words, scale)

    return _search(state, config, table, seed, 1, None, evaluate, noise)


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
) -> SearchOutput:
    """MuZero's search with a network and the exact rules, as mctx's of the same name.

    Source: J. Schrittwieser and others, "Mastering Atari, Go, chess and shogi by planning with a learned model", 2019.

    Args:
        state, evaluate, num_simulations, seed, chance: as in `gumbel_muzero_policy`.
        dirichlet_fraction: share of noise in the root's priors, 0..1.
        dirichlet_alpha: the noise's concentration, 0.001..16.
        pb_c_init, pb_c_base: how much the priors count.
        temperature: the action is drawn from visits ** (1 / temperature); 0 for the most visited one.
        keep_tree, tree: as in `playout_policy`.

    Returns:
        Actions, weights (shares of visits), and visits and values of the roots.

    Raises:
        ValueError, TypeError: as in `gumbel_muzero_policy`.
    """
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    fraction = number("dirichlet_fraction", dirichlet_fraction, 0.0, 1.0)
    alpha = number("dirichlet_alpha", dirichlet_alpha, 1e-3, 16.0)
    init, base = number("pb_c_init", pb_c_init, 0.0, 1e6), number("pb_c_base", pb_c_base, 1.0, 1e12)
    temperature = number("temperature", temperature, 0.0, 1e6)
    config = _config(state, MuZero, count, chance, keep_tree, tree)
    visits = np.arange(room(config.slots)) + 1.0
    explore = np.sqrt(visits) * (init + np.log((visits + base + 1) / base))
    powers = np.log(np.maximum(visits - 1, 1e-30)) / temperature if temperature else (visits - 1) * 1e6
    table = _reals(np.concatenate([explore, powers, [fraction]]))

    scale = float(temperature > 0)

    def noise(words: Tensor) -> Tensor:
        return muzero_noise(state, words, alpha, scale)

    return _search(state, config, table, seed, 1, tree, evaluate, noise)


def subtree(tree: SearchTree, action: Tensor | np.ndarray | Sequence[int]) -> SearchTree:
    """Return the part of a search's trees below an action.

    For several actions call it once for each: `subtree(subtree(tree, mine), theirs)`. The next search of these
    positions resumes the trees with `tree=`, visits and values included. Where the action was never tried, or ended
    the game, the tree is empty.

    Args:
        tree: the `search_tree` of a search with `keep_tree=True`.
        action: integers [B], a legal action of every game; any of a game that is over.

    Returns:
        A tree with the visits and values below the action.

    Raises:
        ValueError: the search did not keep its trees; another number of actions, or one out of range.
        TypeError: no tree, or no integers.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(2)
        >>> found = te.search.playout_policy(state, 64, keep_tree=True)
        >>> state = env.step(state, found.action)
        >>> tree = te.search.subtree(found.search_tree, found.action)
        >>> known = tree.visit_counts.sum(1)
        >>> more = te.search.playout_policy(state, 64, tree=tree)
        >>> (more.search_tree.visit_counts.sum(1) - known).tolist()
        [64, 64]
    """
    instance("tree", tree, SearchTree)
    layout = tree._layout
    if tree._whole is None:
        raise ValueError(f"tree must be that of a search with keep_tree=True, {ROOTS_ALONE}")
    given = action.numpy() if isinstance(action, Tensor) else action
    below = tree._whole.under(host_ints("action", given, layout.batch, tree._actions))
    numbers = upload(layout.padded(below.numbers(tree._actions)), layout.device)
    return SearchTree(tree._env, layout, numbers, below)


@functools.lru_cache(64)
def exploration_table(factor: float, slots: int) -> bytes:
    """Return the exploration factor for each parent visit count, float32 [room(slots)]."""
    return _reals(factor * np.sqrt(np.arange(room(slots))) + 1e-6)


def _reals(values: np.ndarray) -> bytes:
    return values.astype(np.float32).tobytes()


@functools.lru_cache(64)
def _considered_visits(most: int, simulations: int) -> bytes:
    """Return the plan of sequential halving: int32 [most + 1, simulations], visits of the action to try next.

    The first axis is the number of actions considered.
    """
    table = np.zeros((most + 1, simulations), np.int32)
    for considered in range(most + 1):
        rounds, left = math.ceil(math.log2(max(considered, 2))), max(considered, 1)
        visits: list[int] = []
        done = 0
        while len(visits) < simulations:
            times = simulations if considered <= 1 else max(1, simulations // (rounds * left))
            for _ in range(times):
                visits += [done] * left
                done += 1
            left = max(2, left // 2) if considered > 1 else 1
        table[considered] = visits[:simulations]
    return table.tobytes()


@functools.lru_cache(64)
def search_config(
    env: Env, selection: type[ActionSelection], count: int, chance: str = "open", return_tree: bool = False
) -> SearchConfig:
    """Return the options of a search of an environment's games.

    Raises:
        ValueError: if the game is too large to unroll.
    """
    game = env.engine.game
    if game.has_memory:
        raise ValueError(f"{env!r} is too large to be searched: its fields are memory")
    replays = game.determinizes or (game.spec.chance and chance == "open")
    return SearchConfig(selection, count, replays, game.determinizes, return_tree=return_tree)


def _config(
    state: State,
    selection: type[ActionSelection],
    count: int,
    chance: str,
    keep_tree: bool,
    tree: SearchTree | None = None,
) -> SearchConfig:
    instance("state", state, State)
    one_of("chance", chance, ("open", "sampled"))
    instance("keep_tree", keep_tree, bool)
    config = search_config(state.env, selection, count, chance, keep_tree)  # type: ignore[arg-type] # a class is hashable
    if tree is None:
        return config
    instance("tree", tree, SearchTree)
    old, layout = tree._whole, state.buffers.layout
    if old is None:
        raise ValueError(f"tree must come from a search with keep_tree=True, {ROOTS_ALONE}")
    if tree._env is not state.env or tree._layout != layout:
        given = f"{tree._env!r}, batch {tree._layout.batch} on {tree._layout.device}"
        raise ValueError(f"tree must be of the state's environment, batch and device, got one of {given}")
    if old.config.selection is not selection or old.config.replays != config.replays:
        raise ValueError(
            f"tree must come from a search of the same kind, got one by {old.config.selection.name!r}"
        )
    if state.env.spec.chance and not config.replays:
        raise ValueError(
            "tree cannot be resumed with chance='sampled': its positions had other outcomes of chance"
        )
    # a tree's positions can be compared where nodes are positions
    words = layout.table(state.buffers.words)[:, : old.states.shape[2]]
    differ = (old.nodes[:, 0, Node.visits.index] > 0) & (words != old.states[:, 0]).any(1)
    if not config.replays and differ.any():
        raise ValueError(f"tree must be of the state's positions, got other ones in {differ.sum()} games")
    return replace(config, resumed=old.config.slots - 1)


# *** running ***


def _search(
    state: State,
    config: SearchConfig,
    table: bytes,
    seed: int,
    limit: int,
    tree: SearchTree | None,
    evaluate: Evaluate | None = None,
    noise: Callable[[Tensor], Tensor] | None = None,
) -> SearchOutput:
    env, games, words = state.env, state.buffers, seed_words(seed)
    engine, layout = env.engine, games.layout
    seeds = [word - (word >> 31 << 32) for word in words]  # as int32
    result = result_arrays(env, layout)
    if stays_lazy():
        raise RuntimeError("a search replays kernels of its own, so a jit cannot capture it")
    with LOCK:
        search: Callable[[BatchBuffers, Tensor, Result], None]
        if evaluate is None or noise is None:
            playouts = playout_runner(engine, config, layout, launches_directly())
            chunk, memory, search = playouts.chunk, playouts.tree, playouts.search
        else:
            chunk = chunk_of(engine, config, layout)
            network = network_runner(env, config, chunk, function("evaluate", evaluate), table)
            drawn = noise(upload(np.tile(np.array(words, np.uint32), state.batch), layout.device))
            memory, search = network.tree, functools.partial(network.search, drawn)
        trees = list[list[np.ndarray]]()
        for first in range(0, layout.grid.blocks, chunk.grid.blocks):
            if tree is not None and tree._whole is not None:
                tree._whole.put(memory, config, layout, chunk, first)
            params = (first, layout.grid.blocks, layout.share, chunk.share, limit, *seeds)
            search(games, params_array(params, table, layout.shards, layout.device), result)
            if config.return_tree:
                trees.append(fetch(memory, chunk))
    if evaluate is not None and (wrong := int((layout.table(result.action) < 0).sum())):
        raise ValueError(
            f"evaluate must give finite numbers, got NaN or infinity in the searches of {wrong} games"
        )
    whole = None
    if config.return_tree:
        whole = HostTree.of(config, TreeSizes.of(config, engine.game, engine.layout), layout, trees)
    return SearchOutput(layout.column(result.action), SearchTree(env, layout, result.numbers, whole))
