"""Solver: all positions that a game can reach, their exact values, and files of them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from tensor_envs._runtime.progress import Reports
from tensor_envs._validate import file_path, instance, integer, one_of, renames, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_metadata, env_of, words_metadata
from tensor_envs.envs.state import State
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.solve.alpha_beta import MAX_MEMORY, SearchSolution
from tensor_envs.solve.branches import progress_bar, start_arrays, start_of
from tensor_envs.solve.packed import Array, Index, Packed, concat, groups
from tensor_envs.solve.positions import MAX_DEPTH, Expander, Positions, Rows, merge
from tensor_envs.solve.proof import WIN_SCORE
from tensor_envs.solve.retrograde import PlyGraph, compute_values, first_values
from tensor_envs.solve.values import MAX_POSITIONS, SETTLED, ExactValues, one_ply_earlier

FORMAT = "tensor_envs solution 1"
POSITION_BYTES = 40  # memory of a position, about, for estimates


@dataclass(frozen=True)
class Count:
    """Number of positions by their result with best play."""

    first: int  # won by player 0
    draw: int
    second: int  # won by player 1

    @property
    def positions(self) -> int:
        """Number of all positions."""
        return self.first + self.draw + self.second


@overload
def solve(
    start: Env | State,
    depth: int | None = None,
    symmetry: bool = True,
    max_positions: int = 100_000_000,
    progress: bool = False,
    path: str | Path | None = None,
    method: Literal["enumerate"] = "enumerate",
    memory: int = 2**28,
) -> Solution: ...
@overload
def solve(
    start: Env | State,
    depth: None = None,
    symmetry: bool = True,
    max_positions: int = 100_000_000,
    progress: bool = False,
    path: None = None,
    *,
    method: Literal["search"],
    memory: int = 2**28,
) -> SearchSolution: ...
def solve(
    start: Env | State,
    depth: int | None = None,
    symmetry: bool = True,
    max_positions: int = 100_000_000,
    progress: bool = False,
    path: str | Path | None = None,
    method: Literal["enumerate", "search"] = "enumerate",
    memory: int = 2**28,
) -> Solution | SearchSolution:
    """Compute exact values under best play of all players, of every reachable position or of single ones by search.

    The game must be for one player or for two with zero sum, have perfect information, and pay only at its end. If its
    rules do not depend on the ply, equal positions at different plies are one: a limit of plies (`Spec.max_plies`) is
    then ignored, and endless play is a draw. With chance, values are expectations. In games with chance and cycles they
    are iterated until no value changes by more than 1e-12, and no player may be able to play on for ever.

    With `method="search"`, alpha-beta search with a transposition table computes the values of the given games now, and
    those of any other position of the environment when the solution is asked for them. It is for games with too many
    positions to enumerate. They must be for two with wins, draws and losses alone, without chance, and every line of
    play must end within 1,000 plies. Values and distances are the same as by enumeration.

    Args:
        start: an environment, or games of one environment at the same ply.
        depth: number of plies to search; None for all. Games that are unfinished after these plies count as draws, so
            wins and losses are proven, and 0 means that neither is forced within the depth.
        symmetry: store positions that `Env.symmetries` maps to each other once, as in `te.perft`. It changes no value.
        max_positions: upper bound for the number of positions; each takes about 40 bytes.
        progress: show a progress bar on stderr; without one, a line there says now and then how far a long solution is.
        path: a file that the solution is saved to or, if it exists, loaded from.
        method: "enumerate" for all positions, or "search", which takes no depth and no path, and ignores `symmetry` and
            `max_positions`.
        memory: bytes of the search's transposition tables, up to 2^34, shared equally by the threads.

    Returns:
        An oracle: a `Solution`, or by search a `SearchSolution`.

    Raises:
        TypeError, ValueError: another start or depth; a game that cannot be solved or has more positions; a file that
            is damaged, or of another start, depth or symmetry.
        OSError: the file cannot be written.

    Examples:
        >>> solution = te.solve(te.make("tic_tac_toe"))
        >>> solution
        <Solution of <Env tic_tac_toe-v0 shape=(3, 3)>: 765 positions>
        >>> state = solution.env.step(solution.env.init(1), [0])  # X in a corner: only the centre does not lose
        >>> np.flatnonzero(solution.best_actions(state)[0]).tolist()
        [4]

        By search, after 20 plies of a game of connect four:

        >>> env = te.make("connect_four")
        >>> state = env.init(1)
        >>> for column in (3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 6, 6, 6, 6, 6, 6, 1, 2):
        ...     state = env.step(state, [column])
        >>> solution = te.solve(state, method="search", memory=2**22)
        >>> solution.value(state), solution.distance(state)
        (array([1], dtype=int32), array([17], dtype=int32))
    """
    one_of("method", method, ("enumerate", "search"))
    memory = integer("memory", memory, 1, MAX_MEMORY)
    instance("symmetry", symmetry, bool)
    instance("progress", progress, bool)
    max_positions = integer("max_positions", max_positions, 1, MAX_POSITIONS)
    if method == "search":
        if depth is not None or path is not None:
            raise ValueError(f"depth and path must be None with method='search', got {shown(depth)}, {shown(path)}")
        return SearchSolution(start, memory, progress)
    depth = None if depth is None else integer("depth", depth, 0, MAX_DEPTH)
    # Equal positions at different plies are one, so that games with cycles have finitely many.
    game = Expander(start, symmetry, count_plies=False)
    spec = game.env.spec
    if spec.num_players > 2 or (spec.num_players == 2 and not spec.zero_sum):
        raise ValueError(f"start must be of a game for one, or for two with zero sum, got {game.env!r}")
    # Check before the long work whether the file can be written, or has the solution already.
    path = None if path is None else file_path("path", path)
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise ValueError(f"path must name a file in a folder that exists, got {str(path)!r}")
    if path is not None and path.exists():
        return _load_checked(path, game, depth)
    # Forward: visit all positions, ply by ply.
    graph = _explore(game, MAX_DEPTH if depth is None else depth, max_positions, progress)
    # Backward: compute values from the ends, with distances if all results are wins, draws and losses.
    results = _result_values(game)
    wins = game.outcomes == 1 and bool(np.isin(results, (-1, 0, 1)).all())
    values = first_values(graph.results, results, wins)
    compute_values(graph.layers, values, game.outcomes, once=game.by_ply)
    if wins and (np.abs(values) == 1).any():
        raise ValueError(f"start must be of a game that is decided within {WIN_SCORE - 1} plies")
    solution = Solution(game, graph.tables, values, graph.orbits, depth)
    if path is not None:
        solution.save(path)
    return solution


def _signature(game: Expander) -> tuple[Any, ...]:
    """Return what identifies a problem to solve: environment, symmetry and words of the games."""
    words = [array.tobytes() for array in start_arrays(game.origin).values()]
    return env_metadata(game.env), game.symmetry, words


def _result_values(game: Expander) -> Array:
    """Return the rewards of player 0 by the numbers of results, float64; number 0 is an unfinished game."""
    return np.array([0.0, *(result[0] for result in game.results)])


class GameGraph(NamedTuple):
    """All reachable positions, numbered in the order of the tables, and their edges.

    Attributes:
        tables: keys of the positions of each ply; a single table if the rules do not depend on the ply.
        results, orbits: columns of `Positions`, [n].
        layers: edges of each ply's positions.
    """

    tables: list[Packed]
    results: Array
    orbits: Array
    layers: list[PlyGraph]


def _load_checked(path: Path, game: Expander, depth: int | None) -> Solution:
    """Load the solution of a game from a file; ValueError for the solution of another game or depth."""
    solution = Solution.load(path)
    if (solution.depth, _signature(solution._game)) != (depth, _signature(game)):
        raise ValueError(f"{str(path)!r} holds the solution of another start, depth or symmetry, of {solution.env!r}")
    return solution


def _explore(game: Expander, depth: int, max_positions: int, progress: bool) -> GameGraph:
    """Visit all positions ply by ply. ValueError for too many positions, or a game that cannot be solved."""
    new = game.start.positions
    layers = list[PlyGraph]()
    ply = game.ply
    tables = [new.keys]
    results = [new.results]
    orbits = [new.orbits]
    first = 0
    total = len(new)
    if total > max_positions:  # known before the kernels of a step are compiled
        raise _too_many(game, max_positions)
    # A bar shows the progress; without one, a report comes now and then.
    reports = None if progress else _TimeReports(game, max_positions)
    while len(layers) < depth and len(live := np.flatnonzero(new.results == 0)):
        fields = new.fields[live]
        bar = progress_bar(f"ply {len(layers) + 1}", len(live), progress)
        parts = list[Positions]()
        numbers = list[Array]()
        count = 0  # positions of all parts, more than once if several parts reach them
        last_count = 0  # count when the different positions were last counted
        degrees = np.zeros(len(live), np.int32)
        # Parts of the children come in the order of their parents, each without equal positions within itself.
        for children in game.expand(fields, ply):
            parts.append(children.positions)
            numbers.append(children.number + np.int32(count))
            count += len(children.positions)
            degrees += np.bincount(children.parents, minlength=len(live)).astype(np.int32)
            expanded = int(children.parents[-1]) + 1
            bar.update(expanded - bar.n)
            if reports is not None:
                reports.report(len(layers), total, len(live), expanded, count)
            # `count` is only an upper bound. Before giving up, count the different positions, but not before the parts
            # have doubled, since counting takes time.
            if total + count > max_positions and count >= 2 * last_count:
                last_count = count
                different = merge(parts)[0]
                if not game.by_ply:
                    *_, different = _append_new(tables[0], np.zeros(0, np.int32), different)
                if total + len(different) > max_positions:
                    raise _too_many(game, max_positions)
        bar.update(0, close=True)
        if game.paid_early:
            raise ValueError(f"start must be of a game that pays at its end alone, {game.env!r} pays before")
        if not degrees.all():
            raise ValueError(f"start must be of a game in which whoever is to move can, {game.env!r} is not")
        player = game.player(fields) == 0
        # Merge the parts, and number the edges by the merged positions.
        new, same = merge(parts)
        numbers_in_table = same.number.astype(np.int32)
        if game.by_ply:
            # Positions of another ply are other positions: each ply has a table of its own.
            numbers_in_table += np.int32(total)
            tables.append(new.keys)
        else:
            # Equal positions of all plies are one: a single table grows, and a cycle is an edge to an earlier row.
            tables[0], numbers_in_table, new = _append_new(tables[0], numbers_in_table, new)
        if total + len(new) > max_positions:
            raise _too_many(game, max_positions)
        edges = np.concatenate([numbers_in_table[number] for number in numbers])
        layers.append(PlyGraph((first + live).astype(np.int32), player, edges, degrees))
        first = total
        total = total + len(new)
        ply = ply + 1
        results.append(new.results)
        orbits.append(new.orbits)
    return GameGraph(tables, np.concatenate(results), np.concatenate(orbits), layers)


class _TimeReports:
    """Reports on stderr about a long solution, with estimates of its time and memory."""

    def __init__(self, game: Expander, max_positions: int):
        self._env = game.env
        self._limit = max_positions
        self._reports = Reports()

    def report(self, plies: int, total: int, live: int, expanded: int, count: int) -> None:
        """Print a report if one is due.

        Args:
            plies: number of plies that are complete.
            total: number of positions of these plies.
            live: number of unfinished positions of the last of these plies.
            expanded: number of these that have been expanded.
            count: number of their children so far; some may be counted more than once.
        """
        if (seconds := self._reports.due()) is None:
            return
        positions = total + count
        growth = count / expanded
        limit_seconds = seconds * self._limit / positions
        print(
            f"solving {self._env!r}: {positions:,} positions in {seconds:.0f} s, ply {plies + 1} is "
            f"{expanded / live:.0%} done and grows {growth:.1f}-fold; max_positions={self._limit:,} would take about "
            f"{limit_seconds:,.0f} s and {self._limit * POSITION_BYTES / 1e9:.1f} GB ...",
            file=sys.stderr,
            flush=True,
        )


def _too_many(game: Expander, max_positions: int) -> ValueError:
    """Return the error for a game with more positions than allowed."""
    return ValueError(f"max_positions must be more than {max_positions} to hold those of {game.env!r}")


def _append_new(table: Packed, numbers: Array, positions: Positions) -> tuple[Packed, Array, Positions]:
    """Append the positions that a table lacks.

    Args:
        table: keys of different positions.
        numbers: numbers of rows of `positions`.
        positions: different positions.

    Returns:
        The longer table, the rows of it that `numbers` become, and the appended positions.
    """
    union = concat([table, positions.keys])
    count = len(table)
    equal = groups(union)
    first = equal.first
    # A group whose first member is in the old table is no new position.
    is_new = first >= count
    # Old positions keep their rows, new ones follow in order.
    row_of_group = np.where(is_new, count - 1 + np.cumsum(is_new), first).astype(np.int32)
    rows = np.concatenate([np.arange(count), first[is_new]])
    return union[rows], row_of_group[equal.number[count:]][numbers], positions.take(first[is_new] - count)


class Solution(ExactValues):
    """Exact values of all reachable positions of a game, made by `te.solve`.

    Attributes:
        env: the environment.
        depth: number of plies searched, or None for all.
        positions: number of stored positions, up to symmetry.

    Examples:
        >>> te.solve(te.make("tic_tac_toe")).positions
        765
    """

    def __init__(self, game: Expander, tables: Sequence[Packed], values: Array, orbits: Array, depth: int | None):
        """Store values for player 0, int16 scores or float64 expectations, in the order of the tables' rows."""
        self.env = game.env
        self.depth = depth
        self._game = game
        self._values = values
        self._orbits = orbits
        self._tables = [Index(table) for table in tables]
        sizes = [len(table) for table in tables]
        self._ply_starts = np.cumsum(sizes) - sizes  # number of the first position of each ply
        self.positions = len(values)
        self._wins = values.dtype == np.int16

    def __repr__(self) -> str:
        return f"<Solution of {self.env!r}: {self.positions} positions{self._within()}>"

    def _within(self) -> str:
        """Return the limit of plies as text, empty without one."""
        return "" if self.depth is None else f" within {self.depth} plies"

    # *** positions ***

    @property
    def _has_line(self) -> bool:
        return self._game.outcomes == 1 and (self._wins or self._game.by_ply)

    def _scores(self, state: State, exact: bool = True) -> Array:
        """Return the stored values of positions, for player 0."""
        instance("state", state, State)
        _, table = self._game.batch(state)
        return self._lookup(self._game.rows(table), "state")

    def _lookup(self, rows: Rows, name: str) -> Array:
        """Return the values of games, finished ones included. ValueError with a `name` for one that is not stored."""
        values = first_values(rows.results, _result_values(self._game), self._wins)
        live = np.flatnonzero(rows.results == 0)
        # Without plies in the rules all positions are in one table.
        plies = rows.plies[live] - self._game.ply if self._game.by_ply else np.zeros(len(live), np.int64)
        for ply in np.unique(plies).tolist():
            here = live[plies == ply]
            if 0 <= ply < len(self._tables):
                numbers_in_table = self._tables[ply].find([column[here] for column in rows.columns])
            else:
                numbers_in_table = np.full(len(here), -1)
            if (numbers_in_table < 0).any():
                row = int(here[np.argmax(numbers_in_table < 0)])
                within = self._within()
                raise ValueError(f"{name} must have positions that the start leads to{within}, row {row} is none")
            values[here] = self._values[self._ply_starts[ply] + numbers_in_table]
        return values

    def _action_scores(self, state: State, exact: bool = True) -> tuple[Array, Array]:
        """Return the values after every action one ply earlier, [B, A], and the legal actions, bool [B, A]."""
        instance("state", state, State)
        outcomes = self._game.outcomes
        shape = (state.batch, self.env.num_actions)
        buffers, _ = self._game.batch(state)
        scores = np.zeros(shape, self._values.dtype)
        legal = np.zeros(shape, bool)
        for rows, actions, _, table in self._game.play_all(buffers, state.batch):
            values = one_ply_earlier(self._lookup(self._game.rows(table), "what an action leads to"))
            # The outcomes of an action are consecutive edges and equally likely.
            chosen = rows[::outcomes], actions[::outcomes] // outcomes
            scores[chosen] = values.reshape(-1, outcomes).mean(1)
            legal[chosen] = True
        return scores, legal

    # *** all positions ***

    def counts(self, symmetry: bool = False) -> list[Count]:
        """Count won, drawn and lost positions, by ply if the rules depend on it.

        Args:
            symmetry: count positions that symmetries map to each other once, as they are stored.

        Returns:
            A row for every ply, the start first; a single row if the rules do not depend on the ply.
        """
        instance("symmetry", symmetry, bool)
        rows = []
        for first, table in zip(self._ply_starts, self._tables, strict=True):
            here = slice(first, first + len(table.rows))
            orbits = np.ones(len(table.rows), np.int64) if symmetry else self._orbits[here].astype(np.int64)
            signs = np.sign(self._values[here])
            rows.append(Count(*(int(orbits[signs == sign].sum()) for sign in (1, 0, -1))))
        return rows

    def sha256(self) -> str:
        """Compute a checksum of all positions and values."""
        digest = hashlib.sha256()
        for array in self._arrays().values():
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @renames(most="max_positions")
    def verify(self, max_positions: int = 4096, seed: int = 0) -> int:
        """Replay the game by `Env.step` and compare each position's value with the values after its actions.

        The check uses nothing of the solver but the lookup of values. It is complete if no ply has more than
        `max_positions`: scores that are consistent everywhere are correct, since distances decrease with every ply.

        Args:
            max_positions: maximum number of positions of a ply, sampled at random.
            seed: seed of the sample.

        Returns:
            The number of positions compared.

        Raises:
            ValueError: a wrong value; a game with chance.
        """
        if self._game.outcomes > 1:
            raise ValueError(f"{self.env!r} has chance: its actions lead to more than can be compared")
        limit = integer("max_positions", max_positions, 1, MAX_POSITIONS)
        rng = np.random.default_rng(seed)
        origin = self._game.origin
        state = origin.init(1) if isinstance(origin, Env) else origin
        visited = set[bytes]()
        compared = 0
        for _ in range(MAX_DEPTH if self.depth is None else self.depth):
            values = state.numpy()
            fields = [name for name in values if self._game.by_ply or name not in ("ply", "rewards")]
            rows = [b"".join(values[name][row].tobytes() for name in fields) for row in range(state.batch)]
            # Equal positions of a ply, and those that were compared before, are compared once.
            new = {row: k for k, row in enumerate(rows) if row not in visited}
            visited |= new.keys()
            over = values["terminated"] | values["truncated"]
            unfinished = np.array([k for k in new.values() if not over[k]], np.int32)
            if not len(unfinished):
                break
            # All legal moves of all sampled positions are one step of a larger batch.
            state = state[rng.choice(unfinished, min(limit, len(unfinished)), replace=False)]
            scores = self._scores(state).astype(np.float64)
            values = state.numpy()
            parents, actions = np.nonzero(values["legal_action_mask"])
            after = self.env.step(state[parents], actions)
            reached = one_ply_earlier(self._scores(after))
            for row in range(state.batch):
                # Player 0 maximises, player 1 minimises.
                best = max if values["current_player"][row] == 0 else min
                if abs(best(reached[parents == row]) - scores[row]) > SETTLED:
                    raise ValueError(f"wrong value of {self.env.row(state, row)}")
            compared += state.batch
            state = after
        return compared

    # *** files ***

    def _arrays(self) -> dict[str, Array]:
        """Return the arrays of the tables, the values and the orbits by their names in a file."""
        arrays: dict[str, Array] = {}
        for k, table in enumerate(self._tables):
            rows = table.rows
            arrays |= {f"base{k}": rows.base, f"varying{k}": rows.varying, f"keys{k}": rows.keys}
        return arrays | {"values": self._values.view(f"u{self._values.itemsize}"), "orbits": self._orbits}

    def save(self, path: str | Path) -> None:
        """Save the solution to a file with a digest; an existing file is replaced.

        Raises:
            TypeError: `path` is no path.
            OSError: the file cannot be written; an existing file stays as it was.
        """
        origin = self._game.origin
        metadata = {"env": words_metadata(self.env), "symmetry": self._game.symmetry, "tables": len(self._tables)}
        metadata |= {"depth": self.depth, "keys": "fields"}
        arrays = self._arrays() | {"wins": np.array([self._wins], np.uint8)}
        write_arrays(file_path("path", path), FORMAT, metadata, arrays | start_arrays(origin))

    @staticmethod
    def load(path: str | Path) -> Solution:
        """Load a solution of a registered environment from a file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged or of another kind.
        """
        metadata, arrays = read_arrays(file_path("path", path), FORMAT)
        try:
            env = env_of(metadata["env"])
            start = start_of(env, arrays)
            instance("symmetry", metadata["symmetry"], bool)
            depth = metadata.get("depth")
            depth = None if depth is None else integer("depth", depth, 0, MAX_DEPTH)
            game = Expander(start, metadata["symmetry"], count_plies=False)
            by_observation = metadata["symmetry"] and env.spec.observation_dtype == "bool"
            if by_observation and metadata.get("keys") != "fields":
                raise ValueError(f"an earlier version has solved {env!r} by its observations: solve it again")
            tables = [
                Packed(*(np.array(arrays[f"{name}{k}"]) for name in ("base", "varying", "keys")))
                for k in range(integer("tables", metadata["tables"], 1, MAX_POSITIONS))
            ]
            values = np.array(arrays["values"])
            orbits = np.array(arrays["orbits"])
            values = values.view(np.int16 if arrays["wins"][0] else np.float64)
            # Keys of other widths belong to another version of the game's fields.
            widths = {len(game.start.positions.keys.base)} ^ {len(table.base) for table in tables}
            if widths or not len(values) == len(orbits) == sum(map(len, tables)):
                raise ValueError(f"its arrays are not those of {env!r}")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(f"{str(path)!r} holds no solution that can be read: {error}") from None
        return Solution(game, tables, values, orbits, depth)
