"""Solving: the exact value of every position that a game can reach."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensor_envs._compiler.devices import resolve
from tensor_envs._engine.inputs import host_ints
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs._files import read_arrays, write_arrays
from tensor_envs._validate import file_path, instance, integer
from tensor_envs.env import Env
from tensor_envs.io import about, env_of
from tensor_envs.solve.packed import Array, Index, Packed, concat, groups
from tensor_envs.solve.positions import MAX_DEPTH, Expander, Positions, Rows, counter, joined
from tensor_envs.state import State

FORMAT = "tensor_envs solution 1"
FAR = 32_000  # the score of a win here and now; a win in n plies is FAR - n, a loss its negative, a draw 0
EDGES = 1 << 20  # that are looked at together
SETTLED, SWEEPS = 1e-12, 100_000  # of expectations in games with cycles
MAX_POSITIONS = 2**31 - 1
ILLEGAL = -2  # in place of an action's value


class Layer(NamedTuple):
    """Positions that go on, and their edges.

    Attributes:
        number: int32 [n], theirs.
        player: bool [n], whether player 0 is to move.
        edges: int32, the positions that each leads to, those of a position one after the other.
        degrees: int32 [n], how many edges each has.
    """

    number: Array
    player: Array
    edges: Array
    degrees: Array


@dataclass(frozen=True)
class Count:
    """Positions by who wins them with best play: player 0 (or gets more than 0), nobody, player 1."""

    first: int
    draw: int
    second: int

    @property
    def positions(self) -> int:
        return self.first + self.draw + self.second


def solve(
    start: Env | State,
    depth: int | None = None,
    symmetry: bool = True,
    max_positions: int = 100_000_000,
    progress: bool = False,
    path: str | Path | None = None,
) -> Solution:
    """Work out the exact value of every position that can be reached, for best play of all.

    Of a game for one, or for two with zero sum, that hides nothing and pays at its end. Where the rules do not look at
    the ply, positions at different plies are the same: then a limit of plies (`Spec.max_plies`) is left out, and a game
    that can be kept going for ever is a draw. Chance is an expectation, and in games with cycles worked out until
    nothing changes by more than 1e-12.

    Args:
        start: an environment, or games of one, all of one ply.
        depth: plies that are looked at. A game that goes on after them is worth 0: so a win or a loss is proven, and 0
            means that none is forced within what was seen. None: all.
        symmetry: hold positions that `Env.symmetries` maps to each other once, as in `te.perft`; the values are the
            same.
        max_positions: at most; some 40 bytes each.
        progress: show a bar on stderr.
        path: a file that the solution is saved to or, if it is there already, loaded from.

    Returns:
        The values, an oracle.

    Raises:
        TypeError, ValueError: no such start or depth; a game that is none of these, or has more positions; a file
            that is damaged, or of another start, depth or symmetry.
        OSError: the file cannot be written.

    Examples:
        >>> solution = te.solve(te.make("tic_tac_toe"))
        >>> solution
        <Solution of <Env tic_tac_toe-v0 shape=(3, 3)>: 765 positions>
        >>> state = solution.env.step(solution.env.init(1), [0])  # a corner: only the centre is no mistake
        >>> np.flatnonzero(solution.best_actions(state)[0]).tolist()
        [4]
    """
    depth = None if depth is None else integer("depth", depth, 0, MAX_DEPTH)
    instance("symmetry", symmetry, bool)
    instance("progress", progress, bool)
    max_positions = integer("max_positions", max_positions, 1, MAX_POSITIONS)
    game = Expander(start, symmetry, count_plies=False)
    spec = game.env.spec
    if spec.num_players > 2 or (spec.num_players == 2 and not spec.zero_sum):
        raise ValueError(f"start must be of a game for one, or for two with zero sum, got {game.env!r}")
    path = None if path is None else file_path("path", path)
    if path is not None and path.exists():
        known = Solution.load(path)
        if (known.depth, _begun(known._game)) != (depth, _begun(game)):
            raise ValueError(
                f"{str(path)!r} holds the solution of another start, depth or symmetry, of {known.env!r}"
            )
        return known
    found = _explored(game, MAX_DEPTH if depth is None else depth, max_positions, progress)
    results = np.array([0.0, *(result[0] for result in game.results)])
    wins = game.outcomes == 1 and bool(np.isin(results, (-1, 0, 1)).all())
    values = _first_values(found.results, results, wins)
    _work_out(found.layers, values, game.outcomes, once=game.by_ply)
    if wins and (np.abs(values) == 1).any():
        raise ValueError(f"start must be of a game that is decided within {FAR - 1} plies")
    solution = Solution(game, found.tables, values, found.orbits, depth)
    if path is not None:
        solution.save(path)
    return solution


def _begun(game: Expander) -> tuple[Any, ...]:
    """What the files of two solutions of the same have in common."""
    words = (
        game.begun.buffers.layout.table(game.begun.tensors[0]).tobytes()
        if isinstance(game.begun, State)
        else b""
    )
    return about(game.env), game.symmetry, words


class Found(NamedTuple):
    """Everything that can be reached. The positions are numbered in the order of the tables."""

    tables: list[Packed]
    results: Array
    orbits: Array
    layers: list[Layer]


def _explored(game: Expander, depth: int, most: int, progress: bool) -> Found:
    """Ply by ply. ValueError where there is too much, or a game pays early."""
    new, layers, ply = game.start.positions, list[Layer](), game.ply
    tables, results, orbits = [new.keys], [new.results], [new.orbits]
    first, total = 0, len(new)
    while len(layers) < depth and len(live := np.flatnonzero(new.results == 0)):
        fields = new.fields[live]
        bar = counter(f"ply {len(layers) + 1}", len(live), progress)
        parts, numbers, count = list[Positions](), list[Array](), 0
        degrees = np.zeros(len(live), np.int32)
        for children in game.expand(fields, ply):
            parts.append(children.positions)
            numbers.append(children.number + np.int32(count))
            count += len(children.positions)
            degrees += np.bincount(children.parents, minlength=len(live)).astype(np.int32)
            bar.update(int(children.parents[-1]) + 1 - bar.n)
        bar.update(0, close=True)
        if game.paid_early:
            raise ValueError(f"start must be of a game that pays at its end alone, {game.env!r} pays before")
        if not degrees.all():
            raise ValueError(f"start must be of a game in which whoever is to move can, {game.env!r} is not")
        player = game.player(fields) == 0
        new, same = joined(parts)
        where = same.number.astype(np.int32)
        if game.by_ply:
            where += np.int32(total)
            tables.append(new.keys)
        else:
            tables[0], where, new = _added(tables[0], where, new)
        if total + len(new) > most:
            raise ValueError(f"max_positions must be more than {most} to hold those of {game.env!r}")
        edges = np.concatenate([where[number] for number in numbers])
        layers.append(Layer((first + live).astype(np.int32), player, edges, degrees))
        first, total, ply = total, total + len(new), ply + 1
        results.append(new.results)
        orbits.append(new.orbits)
    return Found(tables, np.concatenate(results), np.concatenate(orbits), layers)


def _added(known: Packed, where: Array, new: Positions) -> tuple[Packed, Array, Positions]:
    """Positions that may be known -> all that are known then, the numbers for `where`, those that were not."""
    whole = concat([known, new.keys])
    same = groups(whole)
    first = same.first
    fresh = first >= len(known)
    number = np.where(fresh, len(known) - 1 + np.cumsum(fresh), first).astype(np.int32)
    new = new.take(first[fresh] - len(known))
    rows = np.concatenate([np.arange(len(known)), first[fresh]])
    return whole[rows], number[same.number[len(known) :]][where], new


def _first_values(found: Array, results: Array, wins: bool) -> Array:
    """Of games that are over; 0 of all others."""
    return (results * FAR).astype(np.int16)[found] if wins else results[found]


def _work_out(layers: Sequence[Layer], values: Array, outcomes: int, once: bool) -> None:
    """Backward, layer by layer; `once`, or until nothing changes: then all wins and losses are grounded in ends."""
    for _ in range(SWEEPS):
        change = 0.0
        for layer in reversed(layers):
            new = _best(layer, values, outcomes)
            if not once:
                change = max(change, float(np.abs(new - values[layer.number]).max()))
            values[layer.number] = new
        if change <= (0 if values.dtype == np.int16 else SETTLED):
            return
    raise ValueError(f"start must be of a game whose values settle in {SWEEPS} sweeps")


def _best(layer: Layer, values: Array, outcomes: int) -> Array:
    """The values of a layer's positions by those that their edges lead to."""
    ends = np.cumsum(layer.degrees, dtype=np.int64)
    found = np.empty(len(layer.degrees), values.dtype)
    begin = 0
    while begin < len(found):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + EDGES, "right")))
        child = farther(values[layer.edges[before : ends[end - 1]]])
        if outcomes > 1:
            child = child.reshape(-1, outcomes).mean(1)
        starts = (ends[begin:end] - layer.degrees[begin:end] - before) // outcomes
        found[begin:end] = chosen(child, starts, layer.player[begin:end])
        begin = end
    return found


def farther(values: Array) -> Array:
    """The same, seen from a ply before."""
    return values - np.sign(values) if values.dtype == np.int16 else values


def chosen(values: Array, starts: Array, player: Array) -> Array:
    """The highest value of every run where player 0 chooses, the lowest elsewhere."""
    if player.all():
        return np.maximum.reduceat(values, starts)
    if not player.any():
        return np.minimum.reduceat(values, starts)
    return np.where(player, np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts))


class Solution:
    """The exact values of all positions of a game that can be reached, made by `te.solve`.

    Attributes:
        env: the environment.
        depth: plies that were looked at, or None.
        positions: how many are held, up to symmetry.
    """

    def __init__(
        self, game: Expander, tables: Sequence[Packed], values: Array, orbits: Array, depth: int | None
    ):
        """values: by player 0's side, int16 scores or float64 expectations, in the order of the tables' rows."""
        self.env, self.depth, self._game, self._values, self._orbits = game.env, depth, game, values, orbits
        self._tables = [Index(table) for table in tables]
        sizes = [len(table) for table in tables]
        self._firsts = np.cumsum(sizes) - sizes
        self.positions = len(values)
        self._wins = values.dtype == np.int16

    def __repr__(self) -> str:
        within = "" if self.depth is None else f" within {self.depth} plies"
        return f"<Solution of {self.env!r}: {self.positions} positions{within}>"

    # *** positions ***

    def value(self, state: State) -> Array:
        """What the player to move gets with best play of all.

        Args:
            state: games of the environment, on any device.

        Returns:
            [B]: int32 1 for a win, 0 for a draw, -1 for a loss; float64 expectations of a game with chance or other
            results. Of a game that is over: what its last step paid to that player.

        Raises:
            ValueError, TypeError: another state, or a position that the start does not lead to.
        """
        return self._told(self._scores(state)) * self._turn(state)

    def action_values(self, state: State) -> Array:
        """[B, A]: what each action leads to, as in `value`; where it is illegal -2, of expectations NaN."""
        scores, legal = self._action_scores(state)
        told = self._told(scores) * self._turn(state)[:, None]
        return np.where(legal, told, ILLEGAL if self._wins else np.nan)

    def best_actions(self, state: State) -> Array:
        """bool [B, A]: the legal actions that keep the position's value."""
        scores, legal = self._action_scores(state)
        told = self._told(scores) * self._turn(state)[:, None]
        best = np.where(legal, told, -np.inf).max(1, keepdims=True)
        return legal & (told >= best - (0 if self._wins else SETTLED))

    def regret(self, state: State, action: Any) -> Array:
        """[B]: how much of the position's value an action gives away; an illegal one loses."""
        actions = host_ints("action", action, state.batch, self.env.num_actions)
        given = np.arange(state.batch), actions
        legal = state.numpy()["legal_action_mask"][given]
        return self.value(state) - np.where(legal, self.action_values(state)[given], -1)

    def distance(self, state: State) -> Array:
        """int32 [B]: plies to the end where the winner hurries and the loser does not; -1 for a draw.

        Raises:
            ValueError: as of `value`, or where there is more than winning and losing.
        """
        if not self._wins:
            raise ValueError(f"{self.env!r} has more than wins, draws and losses, and so no distance")
        scores = np.abs(self._scores(state).astype(np.int32))
        return np.where(scores == 0, -1, FAR - scores)

    def line(self, state: State, i: int = 0, most: int = 1000) -> list[int]:
        """Actions of best play from game i to its end, at most so many; the winner hurries, the loser does not.

        Raises:
            ValueError: as of `value`, or of a game with chance.
        """
        if self._game.outcomes > 1:
            raise ValueError(f"{self.env!r} has chance, and so no line of best play")
        state, actions = state[[integer("i", i, 0, state.batch - 1)]], list[int]()
        most = integer("most", most, 1, MAX_POSITIONS)
        while len(actions) < most:
            scores, legal = self._action_scores(state)
            if not legal.any():
                break
            actions.append(int(np.where(legal, scores * self._turn(state)[:, None], -np.inf).argmax()))
            state = self.env.step(state, actions[-1:])
        return actions

    def _told(self, scores: Array) -> Array:
        return np.sign(scores).astype(np.int32) if self._wins else scores

    def _turn(self, state: State) -> Array:
        """int32 [B]: 1 where player 0 is to move, else -1."""
        return np.where(state.current_player.numpy() == 0, 1, -1).astype(np.int32)

    def _scores(self, state: State) -> Array:
        """Of positions, by player 0's side."""
        instance("state", state, State)
        games, table = self._game.batch(state)
        return self._found(self._game.rows(games, table), "state")

    def _found(self, rows: Rows, what: str) -> Array:
        """The values of rows, which may be over. ValueError for one that is not held."""
        results = np.array([0.0, *(result[0] for result in self._game.results)])
        values = _first_values(rows.results, results, self._wins)
        live = np.flatnonzero(rows.results == 0)
        plies = rows.plies[live] - self._game.ply if self._game.by_ply else np.zeros(len(live), np.int64)
        for ply in np.unique(plies).tolist():
            here = live[plies == ply]
            if 0 <= ply < len(self._tables):
                found = self._tables[ply].find([column[here] for column in rows.columns])
            else:
                found = np.full(len(here), -1)
            if (found < 0).any():
                row = int(here[np.argmax(found < 0)])
                within = "" if self.depth is None else f" within {self.depth} plies"
                raise ValueError(
                    f"{what} must have positions that the start leads to{within}, row {row} is none"
                )
            values[here] = self._values[self._firsts[ply] + found]
        return values

    def _action_scores(self, state: State) -> tuple[Array, Array]:
        """The scores that actions lead to [B, A], seen from a ply before, and which are legal."""
        instance("state", state, State)
        outcomes, shape = self._game.outcomes, (state.batch, self.env.num_actions)
        games, _ = self._game.batch(state)
        scores, legal = np.zeros(shape, self._values.dtype), np.zeros(shape, bool)
        for rows, actions, after, table in self._game.after(games, state.batch):
            values = farther(self._found(self._game.rows(after, table), "what an action leads to"))
            at = rows[::outcomes], actions[::outcomes] // outcomes
            scores[at], legal[at] = values.reshape(-1, outcomes).mean(1), True
        return scores, legal

    # *** all of them ***

    def counts(self, symmetry: bool = False) -> list[Count]:
        """How many positions are won, by ply; where the rules do not look at the ply, of all plies together.

        Args:
            symmetry: count those that symmetries map to each other once, if they are held once.

        Returns:
            A row for every ply, the start being the first.
        """
        instance("symmetry", symmetry, bool)
        rows = []
        for first, table in zip(self._firsts, self._tables, strict=True):
            here = slice(first, first + len(table.rows))
            orbits = np.ones(len(table.rows), np.int64) if symmetry else self._orbits[here].astype(np.int64)
            signs = np.sign(self._values[here])
            rows.append(Count(*(int(orbits[signs == sign].sum()) for sign in (1, 0, -1))))
        return rows

    def sha256(self) -> str:
        """Checksum of all positions and values."""
        digest = hashlib.sha256()
        for array in self._arrays().values():
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def verify(self, most: int = 4096, seed: int = 0) -> int:
        """Go through the game again by `Env.step`, and compare every position's value with those its actions lead to.

        The check shares nothing with the solver but how a position's value is looked up. If no ply has more than `most`
        positions it is complete: values that agree everywhere are right, since the plies to the end fall with each.

        Args:
            most: positions of a ply that are looked at, chosen by chance.
            seed: of the choice.

        Returns:
            How many positions were compared.

        Raises:
            ValueError: a position whose value is wrong; a game with chance.
        """
        if self._game.outcomes > 1:
            raise ValueError(f"{self.env!r} has chance: its actions lead to more than can be compared")
        most, rng = integer("most", most, 1, MAX_POSITIONS), np.random.default_rng(seed)
        begun = self._game.begun
        state, seen, compared = begun.init(1) if isinstance(begun, Env) else begun, set[bytes](), 0
        for _ in range(MAX_DEPTH if self.depth is None else self.depth):
            now = state.numpy()
            fields = [name for name in now if self._game.by_ply or name not in ("ply", "rewards")]
            rows = [b"".join(now[name][row].tobytes() for name in fields) for row in range(state.batch)]
            fresh = {row: place for place, row in enumerate(rows) if row not in seen}
            seen |= fresh.keys()
            over = now["terminated"] | now["truncated"]
            places = np.array([place for place in fresh.values() if not over[place]], np.int32)
            if not len(places):
                break
            state = state[rng.choice(places, min(most, len(places)), replace=False)]
            scores, now = self._scores(state).astype(np.float64), state.numpy()
            parents, actions = np.nonzero(now["legal_action_mask"])
            after = self.env.step(state[parents], actions)
            reached = farther(self._scores(after))
            for row in range(state.batch):
                best = max if now["current_player"][row] == 0 else min
                if abs(best(reached[parents == row]) - scores[row]) > SETTLED:
                    raise ValueError(f"wrong value of {self.env.state_to_dict(state, row)}")
            compared, state = compared + state.batch, after
        return compared

    # *** files ***

    def _arrays(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {}
        for k, table in enumerate(self._tables):
            rows = table.rows
            arrays |= {f"base{k}": rows.base, f"varying{k}": rows.varying, f"keys{k}": rows.keys}
        return arrays | {"values": self._values.view(f"u{self._values.itemsize}"), "orbits": self._orbits}

    def save(self, path: str | Path) -> None:
        """Write everything to a file, with a digest, in place of the one that is there.

        Raises:
            TypeError: no path.
            OSError: names the path, where everything is as it was.
        """
        begun = self._game.begun
        written = {"env": about(self.env), "symmetry": self._game.symmetry, "tables": len(self._tables)}
        written |= {"depth": self.depth}
        arrays = self._arrays() | {"wins": np.array([self._wins], np.uint8)}
        if isinstance(begun, State):
            arrays |= {"words": begun.buffers.layout.table(begun.tensors[0])}
        write_arrays(file_path("path", path), FORMAT, written, arrays)

    @staticmethod
    def load(path: str | Path) -> Solution:
        """The solution in a file; of an environment that `te.make` knows.

        Raises:
            FileNotFoundError: no such file.
            ValueError: names the file, if it is damaged or another one.
        """
        written, arrays = read_arrays(file_path("path", path), FORMAT)
        try:
            env = env_of(written["env"])
            start: Env | State = env
            if "words" in arrays:
                words = np.array(arrays["words"])
                env.engine.layout.check(words)
                rng = np.zeros((len(words), KEY_WORDS), np.uint32)
                start = State(env, env.engine.load(words, rng, resolve(None)))
            instance("symmetry", written["symmetry"], bool)
            depth = written.get("depth")
            depth = None if depth is None else integer("depth", depth, 0, MAX_DEPTH)
            game = Expander(start, written["symmetry"], count_plies=False)
            tables = [
                Packed(*(np.array(arrays[f"{name}{k}"]) for name in ("base", "varying", "keys")))
                for k in range(integer("tables", written["tables"], 1, MAX_POSITIONS))
            ]
            values, orbits = np.array(arrays["values"]), np.array(arrays["orbits"])
            values = values.view(np.int16 if arrays["wins"][0] else np.float64)
            widths = {len(game.start.positions.keys.base)} ^ {len(table.base) for table in tables}
            if widths or not len(values) == len(orbits) == sum(map(len, tables)):
                raise ValueError(f"its arrays are not those of {env!r}")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(f"{str(path)!r} holds no solution that can be read: {error}") from None
        return Solution(game, tables, values, orbits, depth)
