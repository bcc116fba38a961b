"""Tree search in every game of a batch at once: by playouts, or with a network, as in mctx."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from tinygrad import Tensor, dtypes

from tensor_envs.core.backend.device import LOCK, download, stays_lazy, upload
from tensor_envs.core.backend.replay import launches_directly
from tensor_envs.core.engine import Cut, Games
from tensor_envs.core.env import Env
from tensor_envs.core.inputs import host_ints
from tensor_envs.core.random import seed_words
from tensor_envs.core.state import State
from tensor_envs.core.validate import function, instance, integer, number, one_of
from tensor_envs.search.kept import Kept, fetch
from tensor_envs.search.kernels import Found
from tensor_envs.search.memory import VISITS, Form, Sizes
from tensor_envs.search.noise import gumbel_noise, muzero_noise
from tensor_envs.search.picture import tree_svg
from tensor_envs.search.running import Evaluate, about_array, chunk_of, found_arrays, network_of, playouts_of

MAX_SIMULATIONS = 2**20
EXPLORATION = 1.4


class SearchTree:
    """What is known of the roots after a search; with `keep_tree`, of all that is below them, too."""

    def __init__(self, env: Env, where: Cut, numbers: Tensor, kept: Kept | None = None):
        self._env, self._where, self._numbers, self._kept = env, where, numbers, kept
        self._actions = env.num_actions

    def _part(self, part: int) -> Tensor:
        """One of the numbers of every action."""
        where, size = self._where, self._actions
        rows = self._numbers.reshape(where.shards, where.grid.rows, 3 * size + 1)[:, : where.share]
        return rows[:, :, part * size : min((part + 1) * size, 3 * size + 1)].reshape(where.batch, -1)

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
        return self._part(3).bitcast(dtypes.float32).reshape(self._where.batch)

    @property
    def _weights(self) -> Tensor:
        return self._part(1).bitcast(dtypes.float32)

    def summary(self) -> dict[str, np.ndarray]:
        """visit_counts, visit_probs, qvalues, value and the search's action_weights on the host, in one download."""
        where, size = self._where, self._actions
        rows = download(self._numbers).reshape(where.shards, where.grid.rows, -1)[:, : where.share]
        numbers = rows.reshape(where.batch, -1)
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
        """A picture of a game's tree: the actions that were visited most, with visits and mean returns.

        Args:
            i: which game.
            nodes: how many actions at most, 1..1000. Without `keep_tree` only the root's are known.

        Returns:
            An SVG document. Circles are larger the more visits there are; blue is good for who chose, red bad.

        Raises:
            ValueError, TypeError: other numbers.
        """
        row = integer("i", i, 0, self._where.batch - 1)
        count = integer("nodes", nodes, 1, 1000)
        if (kept := self._kept) is not None:
            tree = kept.visits[row], kept.values[row], kept.children[row]
        else:
            found = self.summary()
            visits, values = (found[name][row][None] for name in ("visit_counts", "qvalues"))
            tree = visits, values, np.zeros_like(visits)
        return tree_svg(*tree, count, [self._env.action_to_string(a) for a in range(self._actions)])

    def _repr_svg_(self) -> str:
        return self.to_svg()


class SearchOutput(NamedTuple):
    """What a search has found.

    Attributes:
        action: int32 [B], what to play; 0 in a game that is over.
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
        keep_tree: whether `search_tree` is to hold whole trees, for `subtree` and pictures: a copy on the host.
        tree: what is known of these positions, from `subtree` and a search of the same kind; the search goes on there.
            In games with chance its values are means over all that might have come.

    Returns:
        Actions, weights (shares of visits) and what is known of the roots.

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
    form = _form(state, "playout", count, chance, keep_tree, tree)
    return _search(state, form, exploration_table(exploration, form.slots), seed, limit, tree)


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
        chance, keep_tree: as in `playout_policy`. No search can go on from these trees: sequential halving plans all
            visits of a root.

    Returns:
        Actions, weights (the improved policy) and what is known of the roots.

    Raises:
        ValueError, TypeError: other arguments; an evaluation of another shape or dtype, or with a value or a legal
            action's logit that is not finite.
    """
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    considered = integer("max_num_considered_actions", max_num_considered_actions, 1, 1024)
    scale = number("gumbel_scale", gumbel_scale, 0.0, 1e6)
    form = replace(_form(state, "gumbel", count, chance, keep_tree), considered=considered)
    table = _considered_visits(considered, count)

    def noise(words: Tensor) -> Tensor:
        return gumbel_noise(state, words, scale)

    return _search(state, form, table, seed, 1, None, evaluate, noise)


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
        Actions, weights (shares of visits) and what is known of the roots.

    Raises:
        ValueError, TypeError: as in `gumbel_muzero_policy`.
    """
    count = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
    fraction = number("dirichlet_fraction", dirichlet_fraction, 0.0, 1.0)
    alpha = number("dirichlet_alpha", dirichlet_alpha, 1e-3, 16.0)
    init, base = number("pb_c_init", pb_c_init, 0.0, 1e6), number("pb_c_base", pb_c_base, 1.0, 1e12)
    temperature = number("temperature", temperature, 0.0, 1e6)
    form = _form(state, "muzero", count, chance, keep_tree, tree)
    visits = np.arange(form.slots) + 1.0
    explore = np.sqrt(visits) * (init + np.log((visits + base + 1) / base))
    powers = np.log(np.maximum(visits - 1, 1e-30)) / temperature if temperature else (visits - 1) * 1e6
    table = _reals(np.concatenate([explore, powers, [fraction]]))

    scale = float(temperature > 0)

    def noise(words: Tensor) -> Tensor:
        return muzero_noise(state, words, alpha, scale)

    return _search(state, form, table, seed, 1, tree, evaluate, noise)


def subtree(tree: SearchTree, action: Tensor | np.ndarray | Sequence[int]) -> SearchTree:
    """What a search already knows of where an action leads.

    Actions played one after the other are taken one after the other: `subtree(subtree(tree, mine), theirs)`. The next
    search of these positions goes on from it with `tree=`; what has been found there counts on. A game whose action was
    never tried, or has ended it, begins anew.

    Args:
        tree: the `search_tree` of a search with `keep_tree=True`.
        action: integers [B], a legal action of every game; of games that are over any.

    Returns:
        A tree with the visits and values below the action.

    Raises:
        ValueError: the tree was not kept; another number of actions, or one that there is not.
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
    where = tree._where
    if tree._kept is None:
        raise ValueError(
            "tree must be that of a search with keep_tree=True, of this one only the roots are known"
        )
    given = action.numpy() if isinstance(action, Tensor) else action
    kept = tree._kept.under(host_ints("action", given, where.batch, tree._actions))
    numbers = upload(where.padded(kept.numbers(tree._actions)), where.device)
    return SearchTree(tree._env, where, numbers, kept)


@functools.lru_cache(64)
def exploration_table(factor: float, slots: int) -> bytes:
    """What few visits count, by those of the node; float32."""
    return _reals(factor * np.sqrt(np.arange(slots)) + 1e-6)


def _reals(values: np.ndarray) -> bytes:
    return values.astype(np.float32).tobytes()


@functools.lru_cache(64)
def _considered_visits(most: int, simulations: int) -> bytes:
    """Sequential halving: for up to `most` actions considered, the visits that the one to be tried next has by then."""
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
def form_of(
    env: Env,
    method: Literal["playout", "gumbel", "muzero"],
    count: int,
    chance: str = "open",
    keeps: bool = False,
) -> Form:
    """What kind of search it is of an environment's games. ValueError for a game too large to unroll."""
    game = env._engine.game
    if game.has_memory:
        raise ValueError(f"{env!r} is too large to be searched: its fields are memory")
    replays = game.determinizes or (game.spec.chance and chance == "open")
    return Form(method, count, replays, game.determinizes, keeps=keeps)


def _form(
    state: State,
    method: Literal["playout", "gumbel", "muzero"],
    count: int,
    chance: str,
    keep_tree: bool,
    tree: SearchTree | None = None,
) -> Form:
    instance("state", state, State)
    one_of("chance", chance, ("open", "sampled"))
    instance("keep_tree", keep_tree, bool)
    form = form_of(state.env, method, count, chance, keep_tree)
    if tree is None:
        return form
    instance("tree", tree, SearchTree)
    kept, where = tree._kept, state._games.cut
    if kept is None:
        raise ValueError(
            "tree must come from a search with keep_tree=True, of this one only the roots are known"
        )
    if tree._env is not state.env or tree._where != where:
        about = f"{tree._env!r}, batch {tree._where.batch} on {tree._where.device}"
        raise ValueError(f"tree must be of the state's environment, batch and device, got one of {about}")
    if kept.form.method != method or kept.form.replays != form.replays:
        raise ValueError(f"tree must come from a search of the same kind, got one by {kept.form.method!r}")
    if state.env.spec.chance and not form.replays:
        raise ValueError(
            "tree cannot be gone on from with chance='sampled': its positions are not those that came"
        )
    # which positions they are, as long as nodes are positions
    words = where.table(state._games.words)[:, : kept.states.shape[2]]
    differ = (kept.nodes[:, 0, VISITS] > 0) & (words != kept.states[:, 0]).any(1)
    if not form.replays and differ.any():
        raise ValueError(f"tree must be of the state's positions, got other ones in {differ.sum()} games")
    return replace(form, kept=kept.form.slots - 1)


# *** running ***


def _search(
    state: State,
    form: Form,
    table: bytes,
    seed: int,
    limit: int,
    tree: SearchTree | None,
    evaluate: Evaluate | None = None,
    noise: Callable[[Tensor], Tensor] | None = None,
) -> SearchOutput:
    env, games, words = state.env, state._games, seed_words(seed)
    engine, whole = env._engine, games.cut
    seeds = [word - (word >> 31 << 32) for word in words]  # as int32
    found = found_arrays(env, whole)
    if stays_lazy():
        raise RuntimeError("a search replays kernels of its own, so a jit cannot capture it")
    with LOCK:
        search: Callable[[Games, Tensor, Found], None]
        if evaluate is None or noise is None:
            playouts = playouts_of(engine, form, whole, launches_directly())
            chunk, memory, search = playouts.where, playouts.tree, playouts.search
        else:
            chunk = chunk_of(engine, form, whole)
            network = network_of(env, form, chunk, function("evaluate", evaluate), table)
            drawn = noise(upload(np.tile(np.array(words, np.uint32), state.batch), whole.device))
            memory, search = network.tree, functools.partial(network.search, drawn)
        trees = list[list[np.ndarray]]()
        for first in range(0, whole.grid.blocks, chunk.grid.blocks):
            if tree is not None and tree._kept is not None:
                tree._kept.put(memory, form, whole, chunk, first)
            head = (first, whole.grid.blocks, whole.share, chunk.share, limit, *seeds)
            search(games, about_array(head, table, whole.shards, whole.device), found)
            if form.keeps:
                trees.append(fetch(memory, chunk))
    if evaluate is not None and (wrong := int((whole.table(found.action) < 0).sum())):
        raise ValueError(
            f"evaluate must give finite numbers, got NaN or infinity in the searches of {wrong} games"
        )
    kept = None
    if form.keeps:
        kept = Kept.of(form, Sizes.of(form, engine.game, engine.layout), whole, trees)
    return SearchOutput(whole.column(found.action), SearchTree(env, whole, found.numbers, kept))
