"""Games that Ludax has and the package lacks, in the package's language: stones on a `Grid`, slides, and `Pieces`.

A player without a legal action draws; Ludax leaves that open.
"""

from dataclasses import dataclass
from typing import Any

from tensor_envs.games.checkers.rules import Checkers
from tensor_envs.rules import (
    CORNERS,
    SIDES,
    Actions,
    Chance,
    Field,
    GameState,
    Grid,
    GridSet,
    Mask,
    Observation,
    Outcome,
    Scalar,
    Spec,
    any_of,
    bits,
    has_bit,
    lookup,
    minimum,
    scalar,
    union_of,
    where,
)
from tensor_envs.rules.pieces import Pieces

Steps = tuple[tuple[int, int], ...]
LINES: Steps = ((0, 1), (1, 0), (1, 1), (1, -1))


class Game:
    """Sets of the stones of both players, cell by cell, who move in turn."""

    grid = Grid(19, 19)
    start: tuple[Any, Any] = ((), ())
    planes = 1  # actions are planes of cells

    @property
    def spec(self) -> Spec:
        sets = tuple(Field(name, (self.grid.words,), kind="uint32") for name in ("first", "second"))
        shape = (2, self.grid.rows, self.grid.columns)
        return Spec(2, self.planes * self.grid.size, shape, (*sets, Field("score", (2,), high=99)))

    def init(self, chance: Chance) -> dict[str, Any]:
        first, second = map(self.grid.of, self.start)
        return {"first": first, "second": second}

    def sides(self, s: GameState, player: Scalar) -> list[GridSet]:
        """Return the stones of a player and of the opponent."""
        sets = self.grid.set(s.first), self.grid.set(s.second)
        return [where(player == 0, *sets), where(player == 0, *sets[::-1])]

    def moves(self, s: GameState) -> list[GridSet]:
        """Return the legal cells of each plane: the empty ones."""
        own, other = self.sides(s, s.current_player)
        return [self.grid.full - own - other]

    def legal_action_mask(self, s: GameState) -> Mask:
        names = [f"plane{n}" for n in range(self.planes)]
        actions = Actions(**dict.fromkeys(names, self.grid.size))
        return actions.mask(**dict(zip(names, self.moves(s), strict=True)))

    def moved(self, own: GridSet, action: Scalar) -> tuple[GridSet, GridSet]:
        """Return the stones of the player after an action, and the new one."""
        stone = self.grid.cell(action)
        return own | stone, stone

    def taken(self, stone: GridSet, own: GridSet, other: GridSet) -> GridSet:
        """Return the captured stones."""
        return self.grid.empty

    def enclosed(self, stone: GridSet, own: GridSet, other: GridSet, steps: Steps, count: int) -> GridSet:
        """Return lines of exactly `count` opposing stones between the new stone and another one of the player's."""
        lines = []
        for step in steps:
            line = [stone]
            for _ in range(count):
                line.append(self.grid.shift(line[-1], *step) & other)
            closed = (self.grid.shift(line[-1], *step) & own).any()
            lines.append(where(closed, union_of(line[1:]), self.grid.empty))
        return union_of(lines)  # type: ignore[no-any-return] # sets give a set

    def runs(self, cells: GridSet, k: int, steps: Steps = LINES) -> list[GridSet]:
        """Return the last cells of lines of k, along each step."""
        runs = [cells] * len(steps)
        for _ in range(k - 1):
            runs = [cells & self.grid.shift(run, *step) for run, step in zip(runs, steps, strict=True)]
        return runs

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        """Return whether the player who has moved has won, and has lost."""
        raise NotImplementedError

    def next_player(self, s: GameState) -> Scalar:
        """Return who moves next."""
        return 1 - s.current_player

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        player = s.current_player
        own, other = self.sides(s, player)
        own, stone = self.moved(own, action)
        taken = self.taken(stone, own, other)
        other = other - taken
        score = [minimum(s.score[p] + where(player == p, taken.count(), 0), 99) for p in (0, 1)]
        first, second = where(player == 0, own, other), where(player == 0, other, own)
        after = s.replace(first=first, second=second, score=score, current_player=self.next_player(s))
        won, lost = self.ending(own, other, where(player == 0, *score), player)
        outcome = Outcome.win(after, where(won, player, 1 - player), won | lost)
        return outcome.draw(~union_of(self.moves(after.replace(ply=s.ply + 1))).any())

    def observe(self, s: GameState, player: Scalar) -> Observation:
        own, other = self.sides(s, player)
        return {"own": bits(own, self.grid.size), "other": bits(other, self.grid.size)}


@dataclass(frozen=True)
class Gomoku(Game):
    """A line of exactly five wins."""

    grid = Grid(15, 15)

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        fives, sixes = self.runs(own, 5), self.runs(own, 6)
        ends = [own - self.grid.shift(own, -down, -right) for down, right in LINES]
        exact = [(five & end) - six for five, six, end in zip(fives, sixes, ends, strict=True)]
        return union_of(exact).any(), scalar(False)


class Double(Game):
    """After the first stone each player places two."""

    def next_player(self, s: GameState) -> Scalar:
        return (s.ply + 2) // 2 % 2


@dataclass(frozen=True)
class ConnectSix(Double):
    """A line of six wins."""

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        return union_of(self.runs(own, 6)).any(), scalar(False)


@dataclass(frozen=True)
class Yavalax(Double):
    """Two lines of four at once win; one of them, or a line of five, is forbidden."""

    grid = Grid(13, 13)

    def moves(self, s: GameState) -> list[GridSet]:
        own, other = self.sides(s, s.current_player)
        once, twice = self.grid.empty, self.grid.empty
        for down, right in LINES:
            for place in range(4):  # of the new stone in its line
                near = [self.grid.full]
                for at in range(4):
                    steps = at - place
                    if steps:
                        near.append(self.grid.shift(own, -steps * down, -steps * right))
                line = near[0] & near[1] & near[2] & near[3]
                once, twice = once | line, twice | once & line
        return [self.grid.full - own - other - self.grid.completions(own, 5) - (once - twice)]

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        return union_of(self.runs(own, 4)).any(), scalar(False)


@dataclass(frozen=True)
class Pente(Game):
    """A line of five wins, or ten stones captured in pairs; the first stone is in the centre."""

    def moves(self, s: GameState) -> list[GridSet]:
        return [where(s.ply == 0, self.grid.cell(180), super().moves(s)[0])]

    def taken(self, stone: GridSet, own: GridSet, other: GridSet) -> GridSet:
        return self.enclosed(stone, own, other, (*SIDES, *CORNERS), 2)

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        return union_of(self.runs(own, 5)).any() | (score >= 10), scalar(False)


@dataclass(frozen=True)
class Yavalath(Game):
    """On a hexagon of side 5 a line of four wins, and a line of three without it loses."""

    grid = Grid(9, 9)
    cells = tuple(cell for cell in range(81) if 4 <= cell // 9 + cell % 9 <= 12)

    def moves(self, s: GameState) -> list[GridSet]:
        return [super().moves(s)[0] & self.grid.of(self.cells)]

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        four, three = (union_of(self.runs(own, k, ((0, 1), (1, 0), (1, -1)))).any() for k in (4, 3))
        return four, three & ~four


@dataclass(frozen=True)
class HasamiShogi(Game):
    """Stones slide like rooks and capture by enclosing; who has one stone left loses. A plane: distance, direction."""

    grid = Grid(9, 9)
    start = range(72, 81), range(9)
    planes = 32
    hops = False

    def moves(self, s: GameState) -> list[GridSet]:
        own, other = self.sides(s, s.current_player)
        occupied, planes = own | other, []
        ahead = [self.grid.full] * 4  # cells from which all cells so far along a direction are empty
        for distance in range(1, 9):
            for way, (down, right) in enumerate(SIDES):
                back = self.grid.shift(ahead[way] - occupied, -down, -right)
                start = back & own
                if self.hops and distance == 2:
                    near = self.grid.shift(self.grid.full - occupied, -down, -right)
                    start = start | self.grid.shift(near & occupied, -down, -right) & own
                ahead[way] = back
                planes.append(start)
        return planes

    def moved(self, own: GridSet, action: Scalar) -> tuple[GridSet, GridSet]:
        plane, start = action // self.grid.size, action % self.grid.size
        end = self.grid.cell(start + (plane // 4 + 1) * lookup([9 * down + right for down, right in SIDES], plane % 4))
        return own - self.grid.cell(start) | end, end

    def taken(self, stone: GridSet, own: GridSet, other: GridSet) -> GridSet:
        lines = self.enclosed(stone, own, other, SIDES, 1)
        for corner, sides in {0: (1, 9), 8: (7, 17), 72: (63, 73), 80: (71, 79)}.items():
            beside, at = self.grid.of(sides), self.grid.of([corner])
            closed = (beside & stone).any() & ~(beside - own).any()
            lines = lines | where(closed, at & other, self.grid.empty)
        return lines

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        return other.count() <= 1, scalar(False)


@dataclass(frozen=True)
class DaiHasamiShogi(HasamiShogi):
    """Stones also hop over one; a row or column of five outside one's two home rows wins."""

    start = range(63, 81), range(18)
    hops = True

    def ending(self, own: GridSet, other: GridSet, score: Scalar, player: Scalar) -> tuple[Scalar, Scalar]:
        away = own - where(player == 0, *map(self.grid.of, self.start))
        return any_of(run.any() for run in self.runs(away, 5, LINES[:2])), scalar(False)


@dataclass(frozen=True)
class HexDraughts(Pieces):
    """English draughts on a hexagon of side 5: neighbours in a row are two columns apart."""

    quiet_plies: int = 80
    board = Grid(9, 17)
    playable = tuple(17 * row + column for row in range(9) for column in range(abs(row - 4), 17 - abs(row - 4), 2))
    start = range(0, 11, 2), range(50, 61, 2)
    man, king = Checkers.man, Checkers.king
    promote = range(56, 61), range(5)
    must_capture = again = True
    no_move = "loss"


@dataclass(frozen=True)
class Gridworld:
    """A walk of one player between walls to cell 20, past 21."""

    @property
    def spec(self) -> Spec:
        return Spec(1, 4, (1, 5, 5), (Field("at", high=24),))

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        grid = Grid(5, 5)
        free = grid.full - grid.of([5, 6, 7, 8, 13, 16, 18])
        near = [grid.shift(free, -down, -right) for down, right in SIDES]
        return Actions(step=4).mask(step=[has_bit(cells, s.at) for cells in near])

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        at = s.at + lookup([5 * down + right for down, right in SIDES], action)
        return Outcome(s.replace(at=at), [where(at == 20, 1, where(at == 21, -1, 0))], (at == 20) | (at == 21))

    def observe(self, s: GameState, player: Scalar) -> Observation:
        return {"player": bits(Grid(5, 5).cell(s.at), 25)}
