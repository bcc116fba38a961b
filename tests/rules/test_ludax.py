"""The sixteen games of Ludax (1.0) in the package's language, checked by random games, ply by ply.

| game of Ludax | here | judge in plain Python |
|---|---|---|
| connect_four, hex, reversi, tic_tac_toe | `te.make` of the package's game | that of the game's own tests |
| english_draughts | `te.make("checkers")` | that of the game's own tests |
| hop_through, wolf_and_sheep | `Pieces` in `test_pieces` | `test_pieces.Plain` |
| english_draughts_hex | `Pieces` in `ludax_games` | `test_pieces.Plain` |
| connect_six, gomoku, pente, yavalath, yavalax | stones on a `Grid` in `ludax_games` | `Stones` below |
| hasami_shogi, dai_hasami_shogi | slides on a `Grid`, which `Pieces` lacks | `Slides` below |
| gridworld | one player on a `Grid`; `Pieces` has two | `Walk` below |

Ludax is a judge of fifteen behind the mark slow; it does not load its wolf_and_sheep. In the package's gomoku, unlike
Ludax's, six stones win as well. Ludax's "test" is none of the sixteen.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.checkers.rules import Checkers
from tensor_envs.rules import CORNERS, SIDES
from tests.rules import ludax_games
from tests.rules.ludax_games import LINES
from tests.rules.test_pieces import HopThrough, Plain

Cell = tuple[int, int]
WAYS = ((-1, 0), (1, 0), (0, -1), (0, 1))
STONES = {"Gomoku": 15, "ConnectSix": 19, "Yavalax": 13, "Pente": 19, "Yavalath": 9}
PLIES = 160  # without an end of their own, random games of slides go on for thousands


class Stones:
    """Games of placed stones: the new stone's lines decide."""

    def __init__(self, name: str) -> None:
        self.name, self.size, self.player, self.ply = name, STONES[name], 0, 0
        self.board, self.captured, self.result = dict[Cell, int](), [0, 0], None

    def lengths(self, cell: Cell, player: int) -> list[int]:
        """Return how many stones the line through a cell has in each direction, with a stone of the player there."""
        found = []
        for down, right in LINES if self.name != "Yavalath" else ((0, 1), (1, 0), (1, -1)):
            count = 1
            for sign in (1, -1):
                row, column = cell[0] + sign * down, cell[1] + sign * right
                while self.board.get((row, column)) == player:
                    count, row, column = count + 1, row + sign * down, column + sign * right
            found.append(count)
        return found

    def legal(self) -> list[int]:
        cells = [(row, column) for row in range(self.size) for column in range(self.size)]
        if self.name == "Yavalath":
            cells = [cell for cell in cells if 4 <= sum(cell) <= 12]
        if self.name == "Pente" and not self.ply:
            cells = [(9, 9)]
        cells = [cell for cell in cells if cell not in self.board]
        if self.name == "Yavalax":
            lengths = {cell: self.lengths(cell, self.player) for cell in cells}
            cells = [cell for cell in cells if max(lengths[cell]) < 5 and lengths[cell].count(4) != 1]
        return [row * self.size + column for row, column in cells]

    def apply(self, action: int) -> None:
        cell, player = divmod(action, self.size), self.player
        self.board[cell] = player
        if self.name == "Pente":
            for down, right in (step for way in LINES for step in (way, (-way[0], -way[1]))):
                near = [(cell[0] + n * down, cell[1] + n * right) for n in (1, 2, 3)]
                if [self.board.get(c) for c in near] == [1 - player, 1 - player, player]:
                    self.captured[player] += 2
                    del self.board[near[0]], self.board[near[1]]
        lengths = self.lengths(cell, player)
        won = {
            "Gomoku": 5 in lengths,
            "ConnectSix": max(lengths) >= 6,
            "Yavalax": lengths.count(4) >= 2,
            "Pente": max(lengths) >= 5 or self.captured[player] >= 10,
            "Yavalath": max(lengths) >= 4,
        }[self.name]
        lost = self.name == "Yavalath" and max(lengths) == 3
        self.ply += 1
        self.player = (self.ply + 1) // 2 % 2 if self.name in ("ConnectSix", "Yavalax") else 1 - player
        if won or lost:
            self.result = [1.0, -1.0] if won == (player == 0) else [-1.0, 1.0]
        elif not self.legal():
            self.result = [0.0, 0.0]

    result: list[float] | None


class Slides:
    """Hasami shogi and Dai hasami shogi on coordinates."""

    def __init__(self, name: str) -> None:
        self.dai, self.player = name == "DaiHasamiShogi", 0
        self.result: list[float] | None = None
        rows = 1 + self.dai
        self.homes = [range(9 - rows, 9), range(rows)]
        self.board = {(row, column): p for p in (0, 1) for row in self.homes[p] for column in range(9)}

    def moves(self) -> dict[int, tuple[Cell, Cell]]:
        """Return start and end by action."""
        found = {}
        for (row, column), owner in self.board.items():
            for way, (down, right) in enumerate(WAYS):
                ray = [(row + n * down, column + n * right) for n in range(1, 9)]
                ray = [cell for cell in ray if min(cell) >= 0 and max(cell) < 9]
                free = next((n for n, cell in enumerate(ray) if cell in self.board), len(ray))
                hops = [2] if self.dai and free == 0 and len(ray) > 1 and ray[1] not in self.board else []
                for n in [*range(1, free + 1), *hops]:
                    if owner == self.player:
                        found[(4 * (n - 1) + way) * 81 + 9 * row + column] = (row, column), ray[n - 1]
        return found

    def legal(self) -> list[int]:
        return sorted(self.moves())

    def apply(self, action: int) -> None:
        (start, (row, column)), player = self.moves()[action], self.player
        del self.board[start]
        self.board[row, column] = player
        taken = []
        for down, right in WAYS:
            near, far = (row + down, column + right), (row + 2 * down, column + 2 * right)
            corner = near[0] in (0, 8) and near[1] in (0, 8)
            around = [(near[0] + d, near[1] + r) for d, r in WAYS]
            around = [cell for cell in around if min(cell) >= 0 and max(cell) < 9] if corner else [far]
            if self.board.get(near) == 1 - player and all(self.board.get(cell) == player for cell in around):
                taken.append(near)
        for cell in taken:
            del self.board[cell]
        self.player = 1 - player
        away = [cell for cell, owner in self.board.items() if owner == player and cell[0] not in self.homes[player]]
        lines = [{(r + n * d, c + n * e) for n in range(5)} for r, c in away for d, e in ((0, 1), (1, 0))]
        won = any(line <= {*away} for line in lines) if self.dai else [*self.board.values()].count(1 - player) <= 1
        if won:
            self.result = [1.0, -1.0] if player == 0 else [-1.0, 1.0]
        elif not self.moves():
            self.result = [0.0, 0.0]


class Walk:
    """Gridworld on a picture."""

    picture = "....." "####." "...#." ".#.#." "+-..."  # fmt: skip

    def __init__(self, name: str) -> None:
        self.at, self.result = (0, 0), None

    def ends(self) -> dict[int, Cell]:
        ends = {n: (self.at[0] + down, self.at[1] + right) for n, (down, right) in enumerate(WAYS)}
        inside = {n: cell for n, cell in ends.items() if min(cell) >= 0 and max(cell) < 5}
        return {n: cell for n, cell in inside.items() if self.picture[5 * cell[0] + cell[1]] != "#"}

    def legal(self) -> list[int]:
        return sorted(self.ends())

    def apply(self, action: int) -> None:
        self.at = self.ends()[action]
        self.result = {"+": [1.0], "-": [-1.0]}.get(self.picture[5 * self.at[0] + self.at[1]])

    result: list[float] | None


class Men(Plain):
    """Hex draughts, with a list of its legal actions."""

    def __init__(self, name: str) -> None:
        super().__init__(getattr(ludax_games, name)())

    def legal(self) -> list[int]:
        return sorted(self.moves())


JUDGES: dict[str, Any] = {
    **dict.fromkeys(STONES, Stones),
    **{"HasamiShogi": Slides, "DaiHasamiShogi": Slides, "HexDraughts": Men, "Gridworld": Walk},
}


def play(name: str, batch: int, seed: int) -> set[float]:
    """Play random games in both; return the results of player 0."""
    env = te.make(f"tests.rules.ludax_games:{name}")
    state, games, live = env.init(batch, seed), [JUDGES[name](name) for _ in range(batch)], set(range(batch))
    for _ in range(PLIES if JUDGES[name] is Slides else 1000):
        now, actions = state.numpy(), te.agents.uniform(state).numpy()
        for row in live:
            assert np.flatnonzero(now["legal_action_mask"][row]).tolist() == games[row].legal(), row
            games[row].apply(int(actions[row]))
        state = env.step(state, actions)
        after = state.numpy()
        for row in live:
            assert bool(after["terminated"][row]) == (games[row].result is not None), row
            assert after["rewards"][row].tolist() == (games[row].result or [0.0] * env.num_players), row
        live = {row for row in live if games[row].result is None}
        if not live:
            break
    return {game.result[0] for game in games if game.result}


@pytest.mark.few("Yavalath")
@pytest.mark.parametrize("name", JUDGES)
def test_random_games_agree_with_plain_python(name: str) -> None:
    results = play(name, batch=4, seed=1)
    assert results or JUDGES[name] is Slides


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGES)
def test_a_hundred_games_agree_with_plain_python(name: str) -> None:
    """Check that both players win; hasami shogi's random games are cut before."""
    assert play(name, batch=100, seed=2) >= {1.0, -1.0} or name == "HasamiShogi"


# in Ludax, boards of squares are numbered as here, hexagons without what lies outside, and slides by start and end
HEXAGON = {cell: n for n, cell in enumerate(ludax_games.Yavalath.cells)}
SIDE_STEPS = (-9, 9, -1, 1)


def turned(rules: Any, cells: Sequence[int], sides: Sequence[tuple[int, int]]) -> Callable[[int], int]:
    """Return Ludax's numbers of steps and hops, start by start on a board turned by 180 degrees, of these rules."""
    order, last = sorted([*CORNERS, *sides]), len(cells) - 1

    def number(action: int) -> int:
        plane, place = divmod(action, len(rules.places))
        down, right = rules.ways[plane % len(rules.ways)]
        return (last - cells.index(rules.places[place])) * len(order) + order.index((-down, -right))

    return number


LUDAX: dict[str, tuple[str, Callable[[int], int]]] = {
    "tic_tac_toe": ("tic_tac_toe", int),
    "hex": ("hex", int),
    "reversi": ("othello", int),
    "yavalath": ("Yavalath", HEXAGON.__getitem__),
    "gomoku": ("Gomoku", int),
    "connect_six": ("ConnectSix", int),
    "pente": ("Pente", int),
    "yavalax": ("Yavalax", int),
    "hasami_shogi": ("HasamiShogi", lambda a: a % 81 * 82 + (a // 324 + 1) * SIDE_STEPS[a // 81 % 4]),
    "connect_four": ("connect_four", int),
    "gridworld": ("Gridworld", int),
    "hop_through": ("tests.rules.test_pieces:HopThrough", turned(HopThrough(), range(64), SIDES)),
    "english_draughts": ("checkers", turned(Checkers(), range(64), SIDES)),
    "english_draughts_hex": (
        "HexDraughts",
        turned(ludax_games.HexDraughts(), ludax_games.HexDraughts.playable, ((0, -2), (0, 2))),
    ),
    "dai_hasami_shogi": ("DaiHasamiShogi", lambda a: a % 81 * 82 + (a // 324 + 1) * SIDE_STEPS[a // 81 % 4]),
}
SEEDS = {"english_draughts_hex": 4}  # no king jumps: Ludax finds its next jump before it removes the jumped piece
STARTS: dict[str, tuple[int, Sequence[int]]] = {"connect_four": (7, range(7)), "gridworld": (8, (1, 6, 3, 4))}


@pytest.mark.slow
@pytest.mark.extra("ludax", "jax")
@pytest.mark.parametrize("name", LUDAX)
def test_random_games_agree_with_ludax(name: str) -> None:
    jax, games, ludax = map(pytest.importorskip, ("jax", "ludax.games", "ludax"))
    ours, number = LUDAX[name]
    fields: dict[str, Any] = {"swap": False} if ours == "hex" else {}
    env = te.make(f"tests.rules.ludax_games:{ours}" if ours in JUDGES else ours, **fields)
    judge = ludax.LudaxEnvironment(game_str=getattr(games, name))
    step = jax.jit(judge.step)
    state, other = env.init(1, seed=SEEDS.get(name, 3)), judge.init(jax.random.PRNGKey(0))
    for _ in range(PLIES):
        theirs = np.flatnonzero(np.asarray(other.legal_action_mask)).tolist()
        if name in STARTS:  # where a stone lands, or a walk goes on, depends on the position
            count, keys = STARTS[name]
            number = {keys.index(action % count): action for action in theirs}.__getitem__
        legal = {number(int(action)) for action in np.flatnonzero(state.legal_action_mask.numpy()[0])}
        assert legal == {*theirs}
        action = int(te.agents.uniform(state).item())
        state, other = env.step(state, [action]), step(other, number(action))
        while name == "reversi" and state.terminated.item() and not other.terminated:
            other = step(other, 64)  # its games end after both players have passed
        assert state.rewards.numpy()[0].tolist() == np.asarray(other.rewards)[: env.num_players].tolist()
        assert bool(state.terminated.item()) == bool(other.terminated)
        if other.terminated:
            return
