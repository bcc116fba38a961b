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

# contents of a cell for the player to move; a union allows several
EMPTY = 1
ENEMY = 2
OWN = 4
Cells = Sequence[int]
Planes = list[GridSet]  # cells from which a move is legal, for each direction of steps, then of hops


@dataclass(frozen=True)
class Move:
    """Move of a piece in some directions: a step, or a hop over an adjacent piece to the cell behind it.

    Attributes:
        ways: directions of player 0, as rows down and columns to the right; player 1 has the rows reversed.
        onto: allowed contents of the new cell: EMPTY, ENEMY, or EMPTY | ENEMY. An enemy there is captured.
        over: allowed contents of the cell between: ENEMY, OWN, or ENEMY | OWN; 0 for a step.
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
        """Allowed contents of the cells of the move, the new cell last."""
        return (self.over, self.onto) if self.over else (self.onto,)


class PieceRules:
    """Rules of a game of two players whose pieces move on a board, defined by data. Player 0 begins.

    `pieces.Pieces` adds notation and pictures.

    Attributes:
        board: rows and columns.
        playable: cells of the board that pieces move on, ascending; None for all. All other attributes number cells
            among these.
        start: cells of both players' pieces.
        crowned: cells of those pieces that are kings.
        man, king: moves of a man and of a king; a game without moves of kings has no kings.
        promote: cells on which either player's men become kings, which ends the turn.
        must_capture: whether captures are compulsory.
        again: whether a piece that has captured must go on capturing while it can, with `must_capture`.
        goal: cells on which a piece of either player wins.
        capture_all: whether a player without pieces loses.
        no_move: result of a player to move who has no legal action, "loss" or "win"; "" if that cannot happen.
        quiet_plies: number of plies without a capture or a man's move that ends the game with a draw; without a capture
            in games without kings. 0 if there is no such end.
        quiet_digits: number of planes of the observation for the number of quiet plies, in binary.
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
        """Number on the board of each playable cell."""
        return list(range(self.board.size) if self.playable is None else self.playable)

    @cached_property
    def sets(self) -> Grid:
        """Grid of the playable cells in one row, for sets of them."""
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
        """Names of the fields that hold sets."""
        return ["own", "other", *["kings"] * bool(self.king), *["jumper"] * self.again]

    @cached_property
    def _plane_names(self) -> list[str]:
        """Names of the planes of the actions, such as "step +1 -1"."""
        kinds = ("step",) if self._hops_capture is None else ("step", "hop")
        return [f"{kind} {down:+} {right:+}" for kind in kinds for down, right in self.ways]

    @cached_property
    def _hops_capture(self) -> bool | None:
        """Whether hops capture; None for a game without hops."""
        return next((moves.take for moves in (*self.man, *self.king) if moves.over), None)

    @cached_property
    def _kinds_by_move(self) -> dict[tuple[int, tuple[int, ...]], tuple[list[str], list[str]]]:
        """Kinds of pieces of player 0 and of player 1 that have a move, by its direction and `Move.path`."""
        table: dict[tuple[int, tuple[int, ...]], tuple[list[str], list[str]]] = {}
        for kind, moves_of_kind in (("man", self.man), ("king", self.king)):
            for moves in moves_of_kind:
                # Compulsory captures need a table entry for capturing moves and one for the others.
                is_split = self.must_capture and moves.onto == EMPTY | ENEMY
                paths = [(EMPTY,), (ENEMY,)] if is_split else [moves.path]
                for path in paths:
                    for down, right in moves.ways:
                        for player, way in enumerate(((down, right), (-down, right))):
                            kinds = table.setdefault((self.ways.index(way), path), ([], []))
                            kinds[player].append(kind)
        return table

    @cached_property
    def _shifts(self) -> dict[Step, list[tuple[int, GridSet | None]]]:
        """Cache of `_shift_masks`."""
        return {}

    def shift(self, cells: GridSet, way: Step) -> GridSet:
        """Return a set moved by a step; cells that would leave the playable ones are dropped."""
        if way not in self._shifts:
            self._shifts[way] = self._shift_masks(*way)
        parts = [self.sets.moved(cells if mask is None else cells & mask, by) for by, mask in self._shifts[way]]
        return union_of(parts or [self.sets.empty])  # type: ignore[no-any-return] # sets give a set

    def _shift_masks(self, down: int, right: int) -> list[tuple[int, GridSet | None]]:
        """Return the shifts of a set's bits that make up a step, each with the set of the cells that it moves.

        The set is None if the shift drops all other cells anyway.
        """
        columns = self.board.columns
        places = {cell: place for place, cell in enumerate(self.places)}
        # Group the cells from which the step ends on a playable cell by the difference of their numbers.
        starts_by_shift: dict[int, list[int]] = {}
        for cell, place in places.items():
            inside = 0 <= cell % columns + right < columns
            if inside and (end := places.get(cell + down * columns + right)) is not None:
                starts_by_shift.setdefault(end - place, []).append(place)
        bits = self.sets.words * self.sets.word_bits
        shifts = list[tuple[int, GridSet | None]]()
        for shift, starts in starts_by_shift.items():
            others = set(places.values()) - set(starts)
            needs_mask = any(0 <= place + shift < bits for place in others)
            shifts.append((shift, self.sets.of(starts) if needs_mask else None))
        return shifts

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
        # A piece has at most one move in each plane of the actions.
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
            can_capture = union_of(captures).any()
            quiet = [where(can_capture, self.sets.empty, cells) for cells in quiet]
        planes = [quiet_cells | capture_cells for quiet_cells, capture_cells in zip(quiet, captures, strict=True)]
        return self.actions.mask(**dict(zip(self._plane_names, planes, strict=True)))

    def moves(self, s: GameState) -> tuple[Planes, Planes]:
        """Return the quiet moves and the captures of the player to move, each as planes of the pieces' cells.

        Quiet moves are included even if a capture is compulsory; `legal_action_mask` drops them then.
        """
        grid = self.sets
        count = len(self.ways)
        own = grid.set(s.own)
        other = grid.set(s.other)
        kings = grid.set(s.kings) if self.king else grid.empty
        jumper = grid.set(s.jumper) if self.again else grid.empty
        movers = where(jumper.any(), jumper, own) if self.again else own
        pieces = {(): grid.empty, ("man",): ~kings, ("king",): kings, ("man", "king"): grid.full}
        # Two caches prevent that equal sets are traced twice.
        movers_by_kinds = dict[Any, GridSet]()
        cells_with = dict[int, GridSet]()
        quiet = [grid.empty] * len(self._plane_names)
        captures = [grid.empty] * len(self._plane_names)
        for (direction, path), kinds in self._kinds_by_move.items():
            # Select the pieces that have this move: the kinds depend on the player to move.
            key = first, second = tuple(kinds[0]), tuple(kinds[1])
            if key not in movers_by_kinds:
                movers_by_kinds[key] = movers & where(s.current_player == 0, pieces[first], pieces[second])
            # Go from the path's end back to its start: `starts` are the cells from which the rest of the path is free.
            starts = grid.full
            for contents in reversed(path):
                if contents not in cells_with:
                    cells_with[contents] = self._cells_with(contents, own, other)
                down, right = self.ways[direction]
                cells = cells_with[contents] if starts is grid.full else starts & cells_with[contents]
                starts = self.shift(cells, (-down, -right))
            # A move captures the piece on its last cell or, by a hop, the one on its first cell.
            is_capture = path[-1] & ENEMY or (self._hops_capture and len(path) > 1 and path[0] & ENEMY)
            planes = captures if is_capture else quiet
            # The planes of steps come before those of hops.
            plane = (len(path) - 1) * count + direction
            legal = movers_by_kinds[key] & starts
            planes[plane] = legal if planes[plane] is grid.empty else planes[plane] | legal
        return quiet, captures

    def _cells_with(self, contents: int, own: GridSet, other: GridSet) -> GridSet:
        """Return the cells that have one of the allowed contents."""
        sides = {ENEMY: other, OWN: own}
        if contents & EMPTY:
            return self.sets.full - union_of(side for kind, side in sides.items() if not contents & kind)
        return union_of(side for kind, side in sides.items() if contents & kind)  # type: ignore[no-any-return]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        grid = self.sets
        player = s.current_player
        # The piece moves from `start` to `end`; a hop passes a cell between them.
        plane = action // len(self.places)
        start = grid.cell(action % len(self.places))
        way = plane % len(self.ways)

        def chosen_way(ends: Iterable[GridSet]) -> GridSet:
            """Return the end of the action's way, given those of all ways."""
            # A union, since clang turns a choice by equality into a switch, and vectorises no loop that has one.
            return union_of(where(way == k, cells, grid.empty) for k, cells in enumerate(ends))

        step_ends = [self.shift(start, way) for way in self.ways]
        end = chosen_way(step_ends)
        passed = grid.empty
        if self._hops_capture is not None:
            hop_ends = [self.shift(cells, way) for cells, way in zip(step_ends, self.ways, strict=True)]
            is_hop = plane >= len(self.ways)
            between = end
            end = where(is_hop, chosen_way(hop_ends), between)
            passed = where(is_hop, between, grid.empty) if self._hops_capture else passed
        other = grid.set(s.other)
        captured = other & (end | passed)
        has_captured = captured.any()
        own = grid.set(s.own) - start | end
        other = other - captured
        changes = dict[str, Any]()
        is_king = promotes = scalar(False)
        if self.king:
            kings = grid.set(s.kings)
            is_king = (kings & start).any()
            promotes = ~is_king & (end & self._cells_of(player, self.promote)).any()
            changes["kings"] = kings - start - captured | where(is_king | promotes, end, grid.empty)
        # Captures and moves of men are irreversible, so they reset the number of quiet plies.
        if self.quiet_plies:
            changes["quiet"] = where(has_captured | bool(self.king) & ~is_king, 0, s.quiet + 1)
        # Sets are stored for the player to move, so they are exchanged with every turn.
        turn: dict[str, Any] = {"own": other, "other": own, "current_player": 1 - player}
        if self.again:
            # The same piece moves again if it can capture again and was not just promoted.
            same_player = s.replace(**self._fields(own=own, other=other, jumper=end, **changes))
            goes_on = has_captured & ~promotes & union_of(self.moves(same_player)[1]).any()
            turn = {"own": where(goes_on, own, other), "other": where(goes_on, other, own)}
            turn |= {"jumper": where(goes_on, end, grid.empty), "current_player": where(goes_on, player, 1 - player)}
        after = s.replace(**self._fields(**changes, **turn))
        won = (end & self._cells_of(player, self.goal)).any()
        if self.capture_all:
            won = won | ~other.any()
        over = won
        winner = player
        if self.no_move:
            # A player without a move loses or wins, depending on the rules.
            quiet, captures = self.moves(after)
            over = won | ~union_of([*quiet, *captures]).any()
            winner = where(won, player, 1 - player) if self.no_move == "win" else player
        outcome = Outcome.win(after, winner, over)
        return outcome.draw(changes["quiet"] >= self.quiet_plies) if self.quiet_plies else outcome

    def _cells_of(self, player: Scalar, cells: tuple[Cells, Cells]) -> GridSet:
        """Return the set of one player, given the cells of players 0 and 1."""
        first, second = map(self.sets.of, cells)
        return where(player == 0, first, second)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return planes of the board: pieces of both players, and constant planes for the rest of the state."""
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
        """Return the values of fields by name; a set of shape () becomes its word."""
        return {name: x[0] if isinstance(x, list) and not self.set_shape else x for name, x in values.items()}
