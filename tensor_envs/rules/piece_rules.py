"""Rules of games of moving pieces as data: a board, the moves of men and kings, and how a game ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensor_envs._validate import instance, one_of, shown
from tensor_envs.rules import Actions, Grid, GridSet, Scalar, Value, has_bit, scalar, union_of, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.grid import Step
from tensor_envs.rules.observation import Observation, Part, bits, constant, digits
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

# contents of a cell; a union is one of them
EMPTY = 1
ENEMY = 2
OWN = 4
Cells = Sequence[int]
Planes = list[GridSet]  # for each direction of steps, then of hops, the cells from which the move is legal


@dataclass(frozen=True)
class Move:
    """Move of a piece in some directions: a step, or a hop over an adjacent piece to the cell behind it.

    Attributes:
        ways: directions, as rows down and columns to the right, of player 0; player 1 has the rows reversed.
        onto: what the new cell may hold: EMPTY, ENEMY, or EMPTY | ENEMY. An enemy there is captured.
        over: what the cell between must hold: ENEMY, OWN, or ENEMY | OWN; 0 for a step.
        take: whether an enemy that is hopped over is captured.

    Raises:
        ValueError: no directions, or other contents.

    Examples:
        >>> Move(((1, 0),), onto=EMPTY | ENEMY).path
        (3,)
    """

    ways: tuple[Step, ...]
    onto: int = EMPTY
    over: int = 0
    take: bool = False

    def __post_init__(self) -> None:
        instance("ways", self.ways, tuple)
        for way in self.ways:
            if not (isinstance(way, tuple) and len(way) == 2 and all(type(n) is int for n in way) and any(way)):
                raise ValueError(f"ways must be pairs (rows down, columns to the right), got {shown(way)}")
        if not self.ways or len(set(self.ways)) < len(self.ways):
            raise ValueError(f"ways must be one or more different directions, got {shown(self.ways)}")
        if self.onto not in (EMPTY, ENEMY, EMPTY | ENEMY):
            raise ValueError(f"onto must be EMPTY, ENEMY or EMPTY | ENEMY, got {shown(self.onto)}")
        if self.over not in (0, ENEMY, OWN, ENEMY | OWN):
            raise ValueError(f"over must be ENEMY, OWN or ENEMY | OWN, got {shown(self.over)}")
        instance("take", self.take, bool)
        if self.take and self.over != ENEMY:
            raise ValueError(f"take needs over=ENEMY, got over={shown(self.over)}")

    @property
    def path(self) -> tuple[int, ...]:
        """Contents of the cells of the way, the new cell last."""
        return (self.over, self.onto) if self.over else (self.onto,)


class PieceRules:
    """Rules of a game of two players whose pieces move on a board: `te.Rules` made of data. Player 0 begins.

    `pieces.Pieces` adds notation and pictures.

    Attributes:
        board: rows and columns.
        playable: cells of the board that pieces move on, ascending; None for all. Cells below are places among these.
        start: cells of both players' pieces.
        crowned: cells of those pieces that are kings.
        man, king: moves of a man and of a king; without moves of kings there are none.
        promote: cells on which either player's men become kings, which ends the turn.
        must_capture: whether captures are compulsory.
        again: whether a piece that has captured must go on capturing while it can, with `must_capture`.
        goal: cells on which a piece of either player wins.
        capture_all: whether a player without pieces loses.
        no_move: "loss" or "win" of a player to move who has no legal action; "" if that cannot happen.
        quiet_plies: plies without a capture or a man's move (of games without kings: without a capture) that end the
            game with a draw; 0 for no such end.
        quiet_digits: planes of the observation that show the number of quiet plies in binary.
        set_shape: shape of fields that hold sets, by default (words,); () is possible for one word.
        ways: all directions in the order of the actions; by default those of player 0, ascending, then the others.

    An action is `plane * cells + cell`: planes are the directions of steps, then those of hops.
    """

    playable: Cells | None = None
    crowned: Cells = ()
    man: tuple[Move, ...]
    king: tuple[Move, ...] = ()
    must_capture: bool = False
    again: bool = False
    capture_all: bool = False
    no_move: str = ""
    quiet_plies: int = 0

    @property
    def board(self) -> Grid:
        """Rows and columns."""
        raise NotImplementedError(f"{type(self).__name__} must have a board, such as Grid(8, 8)")

    @property
    def start(self) -> tuple[Cells, Cells]:
        """Cells of both players' pieces."""
        raise NotImplementedError(f"{type(self).__name__} must have start, the cells of both players' pieces")

    @property
    def promote(self) -> tuple[Cells, Cells]:
        """Cells on which either player's men become kings."""
        return (), ()

    @property
    def goal(self) -> tuple[Cells, Cells]:
        """Cells on which a piece of either player wins."""
        return (), ()

    # *** geometry ***

    @cached_property
    def places(self) -> list[int]:
        """Cells of the board that are played on."""
        return list(range(self.board.size) if self.playable is None else self.playable)

    @cached_property
    def sets(self) -> Grid:
        """Sets of these cells."""
        return Grid(1, len(self.places))

    @cached_property
    def ways(self) -> tuple[Step, ...]:
        """All directions."""
        forward = {way for moves in (*self.man, *self.king) for way in moves.ways}
        return *sorted(forward), *sorted({(-down, right) for down, right in forward} - forward)

    @cached_property
    def set_shape(self) -> tuple[int, ...]:
        """Shape of fields that hold sets."""
        return (self.sets.words,)

    @cached_property
    def quiet_digits(self) -> int:
        """Binary digits of the number of quiet plies."""
        return self.quiet_plies.bit_length()

    @cached_property
    def actions(self) -> Actions:
        """Planes of the actions by name."""
        return Actions(**dict.fromkeys(self._plane_names, len(self.places)))

    @property
    def _set_names(self) -> list[str]:
        return ["own", "other", *["kings"] * bool(self.king), *["jumper"] * self.again]

    @cached_property
    def _plane_names(self) -> list[str]:
        kinds = ("step",) if self._takes is None else ("step", "hop")
        return [f"{kind} {down:+} {right:+}" for kind in kinds for down, right in self.ways]

    @cached_property
    def _takes(self) -> bool | None:
        """Whether hops capture; None for a game without hops."""
        return next((moves.take for moves in (*self.man, *self.king) if moves.over), None)

    @cached_property
    def _table(self) -> dict[tuple[int, tuple[int, ...]], tuple[list[str], list[str]]]:
        """For each direction and path, the kinds of pieces of either player that move so."""
        table: dict[tuple[int, tuple[int, ...]], tuple[list[str], list[str]]] = {}
        for kind, some in (("man", self.man), ("king", self.king)):
            for moves in some:
                both = self.must_capture and moves.onto == EMPTY | ENEMY  # one way to capture, and one not to
                paths = [(EMPTY,), (ENEMY,)] if both else [moves.path]
                for path in paths:
                    for down, right in moves.ways:
                        for player, way in enumerate(((down, right), (-down, right))):
                            kinds = table.setdefault((self.ways.index(way), path), ([], []))
                            kinds[player].append(kind)
        return table

    @cached_property
    def _steps(self) -> dict[Step, list[tuple[int, GridSet | None]]]:
        return {}

    def shift(self, cells: GridSet, way: Step) -> GridSet:
        """Return a set moved by a step; what would leave the cells is dropped."""
        if way not in self._steps:
            self._steps[way] = self._differences(*way)
        moved = [self.sets.moved(cells if mask is None else cells & mask, by) for by, mask in self._steps[way]]
        return union_of(moved or [self.sets.empty])  # type: ignore[no-any-return] # sets give a set

    def _differences(self, down: int, right: int) -> list[tuple[int, GridSet | None]]:
        """Return the differences between the numbers of a step's ends and starts, each with the set of such starts.

        The set is None where a shift of any set by the difference drops all other cells anyway.
        """
        columns = self.board.columns
        places = {cell: place for place, cell in enumerate(self.places)}
        groups: dict[int, list[int]] = {}
        for cell, place in places.items():
            inside = 0 <= cell % columns + right < columns
            if inside and (end := places.get(cell + down * columns + right)) is not None:
                groups.setdefault(end - place, []).append(place)
        bits = self.sets.words * self.sets.word_bits
        return [
            (by, self.sets.of(group) if any(0 <= p + by < bits for p in {*places.values()} - {*group}) else None)
            for by, group in groups.items()
        ]

    # *** rules ***

    def _check(self) -> None:
        """Raise ValueError or TypeError for data that contradict each other."""
        for name in ("man", "king"):
            instance(name, getattr(self, name), tuple)
            for moves in getattr(self, name):
                instance(f"a move of {name}", moves, Move)
        if len({moves.take for moves in (*self.man, *self.king) if moves.over}) > 1:
            raise ValueError("take must be the same in all hops of a game")
        if self.again and not self.must_capture:
            raise ValueError("again needs must_capture=True, got False")
        one_of("no_move", self.no_move, ("", "loss", "win"))
        for name in ("promote", "crowned"):
            if any(getattr(self, name)) and not self.king:
                raise ValueError(f"{name} needs king, the moves of a king, got none")
        for player, (start, goal) in enumerate(zip(self.start, self.goal, strict=True)):
            if {*start} & {*goal}:
                raise ValueError(f"goal of player {player} must have none of its pieces at the start")

    @property
    def spec(self) -> Spec:
        self._check()
        fields = [Field(name, self.set_shape, kind="uint32") for name in self._set_names]
        if self.quiet_plies:
            fields.append(Field("quiet", high=self.quiet_plies))
        planes = 2 * (1 + bool(self.king)) + self.again + 1 + self.quiet_digits
        shape = planes, self.board.rows, self.board.columns
        # a piece has one move at most in each plane of the actions
        moves = self.actions.count // len(self.playable or range(self.board.rows * self.board.columns))
        max_legal = min(max(map(len, self.start)) * moves, self.actions.count)
        return Spec(2, self.actions.count, shape, tuple(fields), max_legal=max_legal)

    def init(self, chance: Chance) -> dict[str, Any]:
        own, other = map(self.sets.of, self.start)
        kings = {"kings": self.sets.of(self.crowned)} if self.king else {}
        return self._fields(own=own, other=other, **kings)

    def legal_action_mask(self, s: GameState) -> Mask:
        quiet, captures = self.moves(s)
        if self.must_capture:
            must = union_of(captures).any()
            quiet = [where(must, self.sets.empty, cells) for cells in quiet]
        planes = [without | with_one for without, with_one in zip(quiet, captures, strict=True)]
        return self.actions.mask(**dict(zip(self._plane_names, planes, strict=True)))

    def moves(self, s: GameState) -> tuple[Planes, Planes]:
        """Return the quiet moves and the captures of the player to move, each as planes of the pieces' squares.

        Quiet moves are returned also where a capture is compulsory: `legal_action_mask` drops them there.
        """
        grid = self.sets
        count = len(self.ways)
        own = grid.set(s.own)
        other = grid.set(s.other)
        kings = grid.set(s.kings) if self.king else grid.empty
        jumper = grid.set(s.jumper) if self.again else grid.empty
        movers = where(jumper.any(), jumper, own) if self.again else own
        pieces = {(): grid.empty, ("man",): ~kings, ("king",): kings, ("man", "king"): grid.full}
        # both caches keep equal sets from being traced twice
        able = dict[Any, GridSet]()
        holding = dict[int, GridSet]()
        quiet = [grid.empty] * len(self._plane_names)
        captures = [grid.empty] * len(self._plane_names)
        for (direction, path), kinds in self._table.items():
            # the pieces that move this way: the kinds differ by player
            key = first, second = tuple(kinds[0]), tuple(kinds[1])
            if key not in able:
                able[key] = movers & where(s.current_player == 0, pieces[first], pieces[second])
            # from the path's end back to its start: the cells from which the rest of the path has the right contents
            reached = grid.full
            for content in reversed(path):
                if content not in holding:
                    holding[content] = self._holding(content, own, other)
                down, right = self.ways[direction]
                cells = holding[content] if reached is grid.full else reached & holding[content]
                reached = self.shift(cells, (-down, -right))
            # a move takes the piece on its last cell or, by a jump, the one on its first cell
            takes = path[-1] & ENEMY or (self._takes and len(path) > 1 and path[0] & ENEMY)
            planes = captures if takes else quiet
            # steps come before jumps in the numbers of the planes
            plane = (len(path) - 1) * count + direction
            legal = able[key] & reached
            planes[plane] = legal if planes[plane] is grid.empty else planes[plane] | legal
        return quiet, captures

    def _holding(self, content: int, own: GridSet, other: GridSet) -> GridSet:
        """Return the cells that hold one of some contents."""
        sides = {ENEMY: other, OWN: own}
        if content & EMPTY:
            return self.sets.full - union_of(side for kind, side in sides.items() if not content & kind)
        return union_of(side for kind, side in sides.items() if content & kind)  # type: ignore[no-any-return]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        grid = self.sets
        player = s.current_player
        # the piece goes from `start` to `end`; a jump passes a cell between them
        plane = action // len(self.places)
        start = grid.cell(action % len(self.places))
        way = plane % len(self.ways)

        def along(ends: Iterable[GridSet]) -> GridSet:
            """Return the end by the chosen way."""
            # A union, since clang makes a switch of a choice by equality, and vectorises no loop that has one.
            return union_of(where(way == k, cells, grid.empty) for k, cells in enumerate(ends))

        near = [self.shift(start, way) for way in self.ways]
        end = along(near)
        passed = grid.empty
        if self._takes is not None:
            far = [self.shift(cells, way) for cells, way in zip(near, self.ways, strict=True)]
            jumps = plane >= len(self.ways)
            between = end
            end = where(jumps, along(far), between)
            passed = where(jumps, between, grid.empty) if self._takes else passed
        other = grid.set(s.other)
        taken = other & (end | passed)
        captured = taken.any()
        own = grid.set(s.own) - start | end
        other = other - taken
        changes = dict[str, Any]()
        is_king = crowned = scalar(False)
        if self.king:
            kings = grid.set(s.kings)
            is_king = (kings & start).any()
            crowned = ~is_king & (end & self._of(player, self.promote)).any()
            changes["kings"] = kings - start - taken | where(is_king | crowned, end, grid.empty)
        # Captures and moves of men are irreversible, so they begin the count of quiet plies again.
        if self.quiet_plies:
            changes["quiet"] = where(captured | bool(self.king) & ~is_king, 0, s.quiet + 1)
        # Sets are stored for the player to move, so they are exchanged with every turn.
        turned: dict[str, Any] = {"own": other, "other": own, "current_player": 1 - player}
        if self.again:
            # the same piece moves again if it can capture again and was not just crowned
            same = s.replace(**self._fields(own=own, other=other, jumper=end, **changes))
            more = captured & ~crowned & union_of(self.moves(same)[1]).any()
            turned = {"own": where(more, own, other), "other": where(more, other, own)}
            turned |= {"jumper": where(more, end, grid.empty), "current_player": where(more, player, 1 - player)}
        after = s.replace(**self._fields(**changes, **turned))
        won = (end & self._of(player, self.goal)).any()
        if self.capture_all:
            won = won | ~other.any()
        over = won
        winner = player
        if self.no_move:
            # a player without a move loses or wins, as the rules say
            quiet, captures = self.moves(after)
            over = won | ~union_of([*quiet, *captures]).any()
            winner = where(won, player, 1 - player) if self.no_move == "win" else player
        outcome = Outcome.win(after, winner, over)
        return outcome.draw(changes["quiet"] >= self.quiet_plies) if self.quiet_plies else outcome

    def _of(self, player: Scalar, cells: tuple[Cells, Cells]) -> GridSet:
        """Return one player's cells, of a pair of sets for players 0 and 1."""
        first, second = map(self.sets.of, cells)
        return where(player == 0, first, second)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return planes of the board: pieces of both players, and facts as constant planes."""
        moves = s.current_player == player
        names = ("own", "the opponent's")
        kinds = ("men", "kings") if self.king else ("pieces",)
        kings = self.sets.set(s.kings) if self.king else self.sets.empty
        parts: dict[str, Any] = {}
        for name, (side, other) in zip(names, ((s.own, s.other), (s.other, s.own)), strict=True):
            cells = where(moves, self.sets.set(side), self.sets.set(other))
            groups = [cells - kings, cells & kings] if self.king else [cells]
            parts[", ".join(f"{name} {kind}" for kind in kinds)] = [self._plane(group) for group in groups]
        if self.again:
            parts["piece that must go on capturing"] = self._plane(self.sets.set(s.jumper))
        parts["the player is player 0"] = [constant(player == 0, self.board.size)]
        if self.quiet_plies:
            parts["binary digits of the quiet plies"] = digits(s.quiet, self.quiet_digits, self.board.size)
        return parts

    def _plane(self, cells: GridSet) -> Part:
        """Return cells as a plane of the whole board."""
        if self.playable is None:
            return bits(cells, self.board.size)
        flags: list[Value] = [False] * self.board.size
        for place, cell in enumerate(self.places):
            flags[cell] = has_bit(cells, place)
        return bits(flags, self.board.size)

    def _fields(self, **values: Any) -> dict[str, Any]:
        """Return the values of fields; those of shape () are numbers."""
        return {name: x[0] if isinstance(x, list) and not self.set_shape else x for name, x in values.items()}
