"""Game trees: all histories of a small game with the information states of its players."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensor_envs._validate import errors_at, file_path, instance, integer, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.equilibria.storage import Storage, new_folder
from tensor_envs.equilibria.tree_parts import Belief, Cut, Parts, belief_of
from tensor_envs.solve.branches import Branches
from tensor_envs.solve.packed import Array, Index, view_columns

MAX_NODES = 2**31 - 1
DEFAULT_NODES = 10_000_000
SEQUENCE_BITS = 31  # low bits of a state's key, see `GameTree._keys`


class GameTree:
    """All histories of a game and the information states of its players, made by `te.game_tree`.

    Information states are numbered by player, then by the number of own actions before them.

    Attributes:
        env: the environment.
        nodes: number of histories; draws of chance with equal results count as one.
        ends: number of finished histories that differ in the actions of the players.
        player: player to move in each information state, int32 [I].
        ply: ply of each information state, int32 [I].
        states: one history of each information state, a State of I games.
        belief: probabilities of the games at the start, and the values for which a player may end them.
        cut: depth limit and the values at its leaves, see `te.resolve`; None for a whole tree.
        width: number of columns of tables: the larger of the number of actions and the choices at a leaf.
        forms: information states and payoffs of every player.

    Examples:
        >>> tree = te.game_tree(te.make("kuhn_poker"))
        >>> tree
        <GameTree of <Env kuhn_poker-v0>: 54 histories, 12 information states>
        >>> tree.legal_action_mask.sum().item()
        24
    """

    def __init__(self, parts: Parts):
        game, self.belief, states, views, forms, self.nodes, self.cut = parts
        self._game = game
        self._views = Index(views)
        self.forms = forms
        self.env = game.env
        self._actions = states["actions"]
        self._words = states["words"]
        self.player = states["player"].astype(np.int32)
        self.ply = states["ply"].astype(np.int32)
        self.ends = len(forms[0].ends.payoffs)
        self._view = states["view"]
        self._before = states["before"]
        # Sort the states by view, then by the sequence before them, and join both to one integer for a binary search.
        self._by_view = np.lexsort((self._before, self._view))
        self._keys = (self._view << SEQUENCE_BITS | self._before)[self._by_view]
        first_states = np.cumsum([0, *(len(form.starts) for form in forms)])
        state_of = np.concatenate([form.state[1:] + first for form, first in zip(forms, first_states, strict=False)])
        self.width = max(self.env.num_actions, int(self._actions.max()) + 1)
        # Sequences are in the order of states and actions, so their cells of a table ascend.
        self._cells = state_of * self.width + self._actions
        self._first = np.cumsum([0, *(form.size - 1 for form in forms)])  # first sequence of each player among all

    @staticmethod
    def load(folder: str | Path) -> GameTree:
        """Open a tree of a registered environment that `te.game_tree` has made in a folder.

        Raises:
            FileNotFoundError: there is no such folder.
            ValueError: the folder holds no complete tree, or a damaged one.
        """
        from tensor_envs.equilibria.tree_files import read_tree

        return GameTree(read_tree(file_path("folder", folder)))

    def __repr__(self) -> str:
        return f"<GameTree of {self.env!r}: {self.nodes} histories, {len(self)} information states>"

    def __len__(self) -> int:
        """Return the number of information states."""
        return len(self.player)

    @property
    def states(self) -> State:
        return self._game.state(self._words)

    @property
    def start(self) -> Env | State:
        """The environment or the games that the tree starts from."""
        return self._game.origin

    def is_like(self, other: GameTree) -> bool:
        """Return whether another tree is of the same game from the same start."""
        return self.is_of(other._game, other.belief, other.cut)

    def is_of(self, game: Branches, belief: Belief, cut: Cut | None) -> bool:
        """Return whether this tree is of the same game with the same belief and depth limit."""
        same = self.env.plays_like(game.env) and isinstance(self.start, State) == isinstance(game.origin, State)
        same = same and self.belief.is_like(belief) and (cut is None if self.cut is None else self.cut.is_like(cut))
        return same and np.array_equal(self._game.first_table, game.first_table)

    @property
    def choices(self) -> Array:
        """Whether each information state is a choice outside the game, bool [I]; only trees of `te.resolve` have them.

        Either a player may begin a game (action 0) or end it for its value, or it chooses a continuation at a leaf.
        """
        return self._view < 0

    @property
    def legal_action_mask(self) -> Array:
        """Legal actions of each information state, bool [I, width]."""
        return self.table([np.ones(form.size) for form in self.forms]) > 0

    def table(self, sequences: Sequence[Array]) -> Array:
        """Arrange numbers of every player's sequences, [size] each, in a table, float64 [I, width]; 0 where illegal."""
        table = np.zeros((len(self), self.width))
        table.ravel()[self._cells] = np.concatenate([numbers[1:] for numbers in sequences])
        return table

    def strategies(self, table: Array) -> list[Array]:
        """Return every player's strategy from a table [I, width]; the inverse of `table`."""
        return [np.append(1.0, part) for part in np.split(table.ravel()[self._cells], self._first[1:-1])]

    def find(self, state: State, before: Array | None = None) -> Array:
        """Return the information state of the player to move in each game.

        Args:
            state: games of the environment.
            before: last own sequence of the player to move, [B], or -1 where it is not known; see `sequence`.

        Returns:
            int64 [B]: the number of the state; -1 for a game that is over or not in the tree, and -2 if it may be in
            several states.

        Raises:
            TypeError, ValueError: a state of another environment.
        """
        values = self.env.check_state(state).numpy()
        numbers = np.full(state.batch, -1)
        live = np.flatnonzero(~(values["terminated"] | values["truncated"]))
        if not len(live):
            return numbers
        columns = view_columns(
            values["ply"][live],
            values["current_player"][live],
            values["legal_action_mask"][live],
            self.env.observe(state).numpy().reshape(state.batch, -1)[live],
        )
        view = self._views.find(columns)
        views = self._keys >> SEQUENCE_BITS
        first, end = (np.searchsorted(views, view, side) for side in ("left", "right"))
        # A view with one state identifies it. Among several states the sequence decides.
        index = np.where(end - first == 1, first, -1)
        if before is not None:
            key = view << SEQUENCE_BITS | np.maximum(before[live], 0)
            nearest = np.minimum(np.searchsorted(self._keys, key), len(self) - 1)
            index = np.where((index < 0) & (before[live] >= 0) & (self._keys[nearest] == key), nearest, index)
        numbers[live] = np.where(first == end, -1, np.where(index < 0, -2, self._by_view[index]))
        return numbers

    def sequence(self, index: Array, action: Array) -> Array:
        """Return the player's sequence after an action in each information state, int64 [B]; -1 if there is none.

        index: numbers of the information states, from `find`.
        """
        cells = index * self.width + action
        nearest = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        exists = (index >= 0) & (self._cells[nearest] == cells)
        return np.where(exists, nearest - self._first[self.player[np.maximum(index, 0)]] + 1, -1)


def game_tree(
    start: Env | State,
    max_nodes: int = DEFAULT_NODES,
    progress: bool = False,
    *,
    weights: Any = None,
    folder: str | Path | None = None,
) -> GameTree:
    """Enumerate all histories of a game, and the information states of its players.

    A player knows, at each own turn, the ply, its observation and its legal actions, those of its earlier turns, and
    its own actions (perfect recall). Draws of chance, at the start and within steps, have their probabilities; draws
    with equal results are one history.

    While the tree is made, an unfinished history takes the bytes of a state (`Env.state_bytes`) and about 100 more. The
    finished tree takes 8 P (P + 1) bytes for each end, and a state for each information state. With a folder, these are
    bytes of files, up to three times as many for ends while the tree is made. It then takes at most 400 bytes of memory
    and an observation for each action of an information state, and about half a gigabyte more for any number of
    histories. Solvers need no more.

    Args:
        start: an environment, or games of one environment at the same ply. The players know nothing about these games
            but what they observe from then on.
        max_nodes: upper bound for the number of histories, checked before each ply is played.
        progress: show a progress bar on stderr; without one, a long enumeration prints a line there now and then.
        weights: a belief, as likelihoods of a state's games in any unit, [B]; those of equal games are added. None: all
            games are equally likely.
        folder: a new or empty folder for the tree, in files of NumPy's that are mapped into memory. `GameTree.load`
            opens it again. None: the tree is in memory.

    Returns:
        The tree, for `te.equilibrium`, `te.exploitability` and `te.best_response`.

    Raises:
        TypeError, ValueError: another start; a game with more histories, or with chance that cannot be counted, such as
            draws of whole words; a folder that is not empty.
        OSError: the folder cannot be written, or its disk is full.

    Examples:
        >>> te.game_tree(te.make("leduc_poker"))
        <GameTree of <Env leduc_poker-v0>: 10200 histories, 936 information states>
    """
    return tree_of(start, max_nodes, progress, weights, folder=folder)


def tree_for(game: GameTree | Env | State, max_nodes: int | None = None) -> GameTree:
    """Return the tree of a game, which may be a tree already; without `max_nodes` the limit is `DEFAULT_NODES`."""
    if isinstance(game, GameTree):
        return game
    if not isinstance(game, (Env, State)):
        raise wrong_type("game", "a GameTree, an Env or a State", game)
    if max_nodes is None:
        with errors_at("te.game_tree(game)"):  # errors name its arguments, such as max_nodes
            return game_tree(game)
    return tree_of(game, max_nodes, False, None, name="game")


def tree_of(
    start: Env | State,
    max_nodes: int,
    progress: bool,
    weights: Any,
    player: int = -1,
    values: Any = None,
    folder: str | Path | None = None,
    cut: Cut | None = None,
    name: str = "start",
) -> GameTree:
    """Return a game tree, as `game_tree`, for the purposes of `te.resolve` as well.

    Args:
        start, max_nodes, progress, weights, folder: as in `game_tree`.
        player: player that may end the games at the start, and chooses how they go on at a depth limit; -1 for none.
        values: return of that player if it ends a game, [B].
        cut: depth limit; None for a whole tree.
        name: name of the start in errors.
    """
    # the package's longest chain of imports has room for no other link
    from tensor_envs.equilibria.histories import Histories
    from tensor_envs.equilibria.tree_files import write_tree

    max_nodes = integer("max_nodes", max_nodes, 1, MAX_NODES)
    instance("progress", progress, bool)
    game = Branches(start, name)
    belief = belief_of(game, weights, player, values)
    path = None if folder is None else new_folder(file_path("folder", folder))
    parts = Histories(game, max_nodes, belief, Storage(path), cut).build(progress)
    if path is not None:
        write_tree(parts, path)
    return GameTree(parts)
