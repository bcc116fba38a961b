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
SEQUENCE_BITS = 31


class GameTree:
    """All histories of a game and the information states of its players, made by `te.game_tree`.

    Information states are numbered by player, then by the number of own actions before them.

    Attributes:
        env: the environment.
        nodes: number of histories; draws of chance with equal results are one.
        ends: number of finished histories that differ in the actions of the players.
        player: player to move in each information state, int32 [I].
        ply: ply of each information state, int32 [I].
        states: one history of each information state, a State of I games.
        belief: the games' probabilities at the start, and what a player may have instead of them.
        cut: depth limit, and the values at its leaves; None for none. See `te.resolve`.
        width: number of columns of tables: that of the actions, or of the choices at leaves if they are more.
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
        # information states by view, then by the sequence before them
        self._by_view = np.lexsort((self._before, self._view))
        # One integer for each state, so that a binary search finds it.
        self._keys = (self._view << SEQUENCE_BITS | self._before)[self._by_view]
        owners = [np.repeat(np.arange(len(form.starts)), np.diff(form.starts, append=form.size)) for form in forms]
        offsets = np.cumsum([0, *(len(form.starts) for form in forms)])
        states_of = np.concatenate([owner + at for owner, at in zip(owners, offsets, strict=False)])
        self.width = max(self.env.num_actions, int(self._actions.max()) + 1)
        # The place of each sequence in a table, ascending: sequences are in the order of states and actions.
        self._cells = states_of * self.width + self._actions
        self._first = np.cumsum([0, *(form.size - 1 for form in forms)])  # first sequence of each player among all

    @staticmethod
    def load(folder: str | Path) -> GameTree:
        """Open a tree of a registered environment that `te.game_tree` has made in a folder.

        Raises:
            FileNotFoundError: there is no such folder.
            ValueError: the folder holds no whole tree, or a damaged one.
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
        """Return whether this tree is of a game with a belief about its first states, and with a depth limit."""
        same = self.env.plays_like(game.env) and isinstance(self.start, State) == isinstance(game.origin, State)
        same = same and self.belief.is_like(belief) and (cut is None if self.cut is None else self.cut.is_like(cut))
        return same and np.array_equal(self._game.first_table, game.first_table)

    @property
    def choices(self) -> Array:
        """Information states without a decision of the game, bool [I], which only trees of `te.resolve` have.

        A player either may decline the game, and action 0 is to begin; or the player chooses a continuation at a leaf.
        """
        return self._view < 0

    @property
    def legal_action_mask(self) -> Array:
        """Legal actions of each information state, bool [I, width]."""
        return self.table([np.ones(form.size) for form in self.forms]) > 0

    def table(self, sequences: Sequence[Array]) -> Array:
        """Return numbers of every player's sequences, [size] each, as a table float64 [I, width]; 0 where illegal."""
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
            int64 [B]: its number, -1 for a game that is over or not in the tree, and -2 for one of several.

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
        first, last = (np.searchsorted(views, view, side) for side in ("left", "right"))
        place = np.where(last - first == 1, first, -1)
        if before is not None:
            key = view << SEQUENCE_BITS | np.maximum(before[live], 0)
            at = np.minimum(np.searchsorted(self._keys, key), len(self) - 1)
            place = np.where((place < 0) & (before[live] >= 0) & (self._keys[at] == key), at, place)
        numbers[live] = np.where(first == last, -1, np.where(place < 0, -2, self._by_view[place]))
        return numbers

    def sequence(self, index: Array, action: Array) -> Array:
        """Return the player's sequence after an action in each information state, int64 [B]; -1 for none.

        index: numbers of the information states, from `find`.
        """
        cells = index * self.width + action
        at = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        has_it = (index >= 0) & (self._cells[at] == cells)
        return np.where(has_it, at - self._first[self.player[np.maximum(index, 0)]] + 1, -1)


def game_tree(
    start: Env | State,
    max_nodes: int = DEFAULT_NODES,
    progress: bool = False,
    *,
    weights: Any = None,
    folder: str | Path | None = None,
) -> GameTree:
    """Enumerate all histories of a game, and the information states of its players.

    A player knows, at each own turn, the ply, its observation and its legal actions there, those of its earlier turns,
    and its own actions (perfect recall). Draws of chance are taken with their probabilities, at the start and within
    steps; draws with equal results are one history.

    While the tree is made, an unfinished history takes the bytes of a state (`Env.state_bytes`) and about 100 more;
    after that, the tree takes 8 P (P + 1) bytes for each end, and a state for each information state. In a folder these
    are bytes of files, for ends up to three times as many while it is made. Memory then takes at most 400 bytes, and
    what a player observes, for each action of an information state, and about half a gigabyte more, whatever the number
    of histories. Solvers need no more.

    Args:
        start: an environment, or games of one environment at the same ply, about which the players know nothing but
            what they observe from then on.
        max_nodes: upper bound for the number of histories, checked before each ply is played.
        progress: show a progress bar on stderr; without one, a line there says now and then how far a long enumeration
            is.
        weights: likelihoods of a state's games in any unit, [B]: a belief. None: all are equally likely. Equal games
            add up.
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
    """Return a tree as it is, and make that of anything else; None stands for `DEFAULT_NODES`."""
    if isinstance(game, GameTree):
        return game
    if not isinstance(game, (Env, State)):
        raise wrong_type("game", "a GameTree, an Env or a State", game)
    if max_nodes is None:
        with errors_at("te.game_tree(game)"):  # whose arguments the caller does not have
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
    """Return `game_tree`, at whose start a player may end the games for values [B] if `player` is not -1.

    At a depth limit the same player chooses how the rest is played. Errors call the start by `name`.
    """
    # the package's longest chain of imports has room for no other link
    from tensor_envs.equilibria.histories import Histories
    from tensor_envs.equilibria.tree_files import write_tree

    max_nodes = integer("max_nodes", max_nodes, 1, MAX_NODES)
    instance("progress", progress, bool)
    game = Branches(start, name)
    belief = belief_of(game, weights, player, values)
    path = None if folder is None else new_folder(file_path("folder", folder))
    parts = Histories(game, max_nodes, belief, Storage(path), cut).built(progress)
    if path is not None:
        write_tree(parts, path)
    return GameTree(parts)
