"""Games of moving pieces as data, with notation and pictures: a game is a board, moves, and how it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.render.drawing import Drawing
from tensor_envs.render.grids import DARK, LIGHT, cell_name, draw_pieces, labelled, target_of
from tensor_envs.render.moves import Game
from tensor_envs.render.status import counted, outcome, to_move
from tensor_envs.render.tile import Pixel, Tile, stone_pixel
from tensor_envs.rules import Symmetry, pack, union_of, unpack
from tensor_envs.rules.grid import Step
from tensor_envs.rules.piece_rules import EMPTY, ENEMY, OWN, Move, PieceRules
from tensor_envs.rules.plain import ended, open_actions, state_of

__all__ = ["EMPTY", "ENEMY", "OWN", "Move", "Pieces"]


class Pieces(PieceRules):
    """Game of two players whose pieces move on a board, defined by data: rules, notation and pictures.

    A game is a frozen dataclass that inherits from it and has the attributes of `PieceRules` in the class, or as
    properties if they depend on rule fields. Any method can be overridden: those of the rules, and the functions of
    notation and render modules (see `GameEntry`), such as `action_to_string`, `to_string` and `draw`.

    A position is {"board": list, "current_player": 0 or 1}. The list has an entry for each of `places`: 1 for a man of
    player 0, 2 for a king, -1 and -2 for those of player 1. With `again` there is also "jumper": 1 + the place of the
    piece that must go on capturing, or 0. With `quiet_plies` there is also "quiet", the number of quiet plies.

    Attributes:
        sides: names of both players; their first letters stand for their pieces in text.
        colours: colours of their pieces in pictures.

    Examples:
        >>> from dataclasses import dataclass
        >>> from tensor_envs.rules import Grid
        >>> @dataclass(frozen=True)
        ... class Hexapawn(Pieces):
        ...     board = Grid(3, 3)
        ...     start = range(3), range(6, 9)
        ...     man = Move(((1, 0),)), Move(((1, -1), (1, 1)), onto=ENEMY)
        ...     goal = range(6, 9), range(3)
        ...     no_move = "loss"
        >>> te.register(te.GameEntry("hexapawn", Hexapawn))
        >>> env = te.make("hexapawn")
        >>> int(te.solve(env).value(env.init(1)).item())
        -1
        >>> state = env.step(env.init(1), [env.string_to_action("b1-b2")])
        >>> print(env.to_string(state), *env.legal_actions(state).values())
          a b c
        3 b b b
        2 . w .
        1 w . w
        Black to move c3xb2 a3-a2 c3-c2 a3xb2
    """

    sides: tuple[str, str] = ("White", "Black")
    colours: tuple[str, str] = ("#fafafa", "#22262b")

    # *** notation ***

    def to_dict(self, s: Game) -> Game:
        """Return the dictionary of a position, given its fields."""
        player = s["current_player"]
        count = len(self.places)
        sets = {name: unpack(self._words(s[name]), count) for name in self._set_names}
        board = [0] * count
        for name, sign in (("own", 1 - 2 * player), ("other", 2 * player - 1)):
            for place in sets[name]:
                board[place] = sign * (1 + (place in sets.get("kings", ())))
        game = {"board": board, "current_player": player}
        if self.again:
            game["jumper"] = sum(place + 1 for place in sets["jumper"])
        return game | ({"quiet": s["quiet"]} if self.quiet_plies else {})

    def from_dict(self, game: Game) -> Game:
        """Return the fields of a position.

        Raises:
            ValueError, TypeError: wrong entries, a man on a cell of promotion, a jumper that cannot capture, or a game
                that both players have won.
        """
        count = len(self.places)
        highest = 1 + bool(self.king)
        board = nested("board", game["board"], (count,), -highest, highest)
        fields: Game = {"current_player": integer("current_player", game["current_player"], 0, 1)}
        jumper = integer("jumper", game["jumper"], 0, count) if self.again else 0
        if self.quiet_plies:
            fields["quiet"] = integer("quiet", game["quiet"], 0, self.quiet_plies)
        for man, row in zip((1, -1), self.promote, strict=True):
            if wrong := [place + 1 for place in row if board[place] == man]:
                raise ValueError(f"board must have no man on its last row, got {man} on {wrong[0]}")
        if len(self._winners(board)) == 2:
            raise ValueError("board must not be won by both players")
        sign = 1 - 2 * fields["current_player"]
        sets = {"own": [sign, 2 * sign], "other": [-sign, -2 * sign], "kings": [2, -2]}
        members = {name: [p for p, piece in enumerate(board) if piece in some] for name, some in sets.items()}
        members["jumper"] = [jumper - 1] * (jumper > 0)
        words = {name: pack(some, count) for name, some in members.items() if name in self._set_names}
        fields |= self._fields(**words)
        if jumper and (fields.get("quiet") or board[jumper - 1] * sign <= 0 or not self._can_move(fields, True)):
            raise ValueError(
                f"jumper must be a piece of the player to move that can jump, without quiet plies, got {jumper}"
            )
        return fields | ended(self._ending(board, fields) is not None)

    def _words(self, words: Any) -> list[int]:
        """Return the words of a set, whose field may have shape ()."""
        return words if isinstance(words, list) else [words]

    def _can_move(self, fields: Game, captures_only: bool = False) -> bool:
        """Return whether the player to move has a move, or a capture."""
        quiet, captures = self.moves(state_of(self, fields))
        return bool(union_of(captures if captures_only else [*quiet, *captures]).any().value)

    def _winners(self, board: list[int]) -> list[int]:
        """Return the players with a piece on a goal, or who have captured all pieces of the other player."""
        reached = [any(board[p] * sign > 0 for p in goal) for sign, goal in zip((1, -1), self.goal, strict=True)]
        has_pieces = [any(piece * sign > 0 for piece in board) for sign in (1, -1)]
        return [player for player in (0, 1) if reached[player] or (self.capture_all and not has_pieces[1 - player])]

    def _ending(self, board: list[int], fields: Game) -> tuple[int | None, str] | None:
        """Return the winner, None for a draw, and the reason if the game is over; else None."""
        player = fields["current_player"]
        for winner in self._winners(board):
            sign = 1 - 2 * winner
            if self.capture_all and not any(piece * sign < 0 for piece in board):
                return winner, "all pieces are captured"
            return winner, f"a piece has reached {self.name(next(p for p in self.goal[winner] if board[p] * sign > 0))}"
        if self.no_move and not self._can_move(fields):
            return player if self.no_move == "win" else 1 - player, f"{self.sides[player]} has no move"
        if self.quiet_plies and fields["quiet"] >= self.quiet_plies:
            return None, f"{self.quiet_plies} plies without a capture" + " or a man's step" * bool(self.king)
        return None

    def name(self, place: int) -> str:
        """Return the name of a place by column and row, with "a1" at the bottom left."""
        return cell_name(self.places[place], self.board.columns)

    def ends_of(self, action: int) -> tuple[int, int | None]:
        """Return the places where a move begins and ends; its end is None beyond the board."""
        plane, place = divmod(action, len(self.places))
        hop, direction = divmod(plane, len(self.ways))
        down, right = ((1 + hop) * k for k in self.ways[direction])
        cell = target_of(self.places[place], (down, right), self.board.rows, self.board.columns)
        return place, self.places.index(cell) if cell in self.places else None

    def action_to_string(self, action: int) -> str:
        """Return both places of a move: "a3xb4" if it always captures, else "a3-b4".

        A move beyond the board, which is never legal, has its place and plane: "a3/0".
        """
        start, end = self.ends_of(action)
        plane = action // len(self.places)
        hop, direction = divmod(plane, len(self.ways))
        paths = [path for way, path in self._kinds_by_move if (way, len(path)) == (direction, 1 + hop)]
        is_capture = all(path[-1] == ENEMY or (hop and self._hops_capture) for path in paths)
        return f"{self.name(start)}/{plane}" if end is None else f"{self.name(start)}{'-x'[is_capture]}{self.name(end)}"

    def symmetries(self) -> Iterator[Symmetry]:
        """Yield the identity and, if the game is the same with left and right exchanged, the mirror image."""
        columns = self.board.columns
        size = self.board.size
        for flip in (False, True):

            def image(cell: int, flip: bool = flip) -> int:
                return cell + (columns - 1 - 2 * (cell % columns)) * flip

            if flip and not self._is_mirrored([image(cell) for cell in range(size)]):
                return
            # Actions are numbered plane by plane: an image permutes the ways among planes, and the cells in each.
            places = tuple(self.places.index(image(cell)) for cell in self.places)
            ways = [self.ways.index((down, -right if flip else right)) for down, right in self.ways]
            planes = [hop * len(ways) + way for hop in range(len(self._plane_names) // len(ways)) for way in ways]
            actions = tuple(plane * len(places) + place for plane in planes for place in places)
            # Every plane of the observation is a set of cells, so all are mirrored alike.
            num_planes = self.spec.observation_shape[0]
            observation = tuple(plane * size + image(cell) for plane in range(num_planes) for cell in range(size))
            fields = dict.fromkeys(self._set_names, places)
            yield Symmetry(actions, observation, {"board": places}, fields)

    def _is_mirrored(self, images: list[int]) -> bool:
        """Return whether the rules are the same after an exchange of left and right; `images` has each cell's image."""
        pairs = [self.start, self.promote, self.goal, (self.crowned, range(len(self.places)))]
        sets = [{self.places[place] for place in places} for pair in pairs for places in pair]
        table = {(self.ways[way], path): kinds for (way, path), kinds in self._kinds_by_move.items()}
        mirror: dict[tuple[Step, Any], Any] = {((d, -r), path): kinds for ((d, r), path), kinds in table.items()}
        return not self.again and mirror == table and all({images[cell] for cell in cells} == cells for cells in sets)

    # *** pictures ***

    @property
    def title(self) -> str:
        """Name of the game in pictures."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).capitalize()

    def players(self, game: Game | None) -> list[str]:
        """Return the names of the seats."""
        return list(self.sides)

    def scores(self, game: Game) -> list[str]:
        """Return the number of pieces of each player."""
        return [counted(sum(piece * sign > 0 for piece in game["board"]), "piece") for sign in (1, -1)]

    def reason(self, game: Game) -> str:
        """Return why the game has ended."""
        ending = self._ending(game["board"], self.from_dict(game))
        return ending[1] if ending else ""

    def status(self, game: Game) -> str:
        """Return the line of status: the winner, a draw, or the player to move."""
        ending = self._ending(game["board"], self.from_dict(game))
        side = self.sides[game["current_player"]]
        if ending:
            return outcome(self.sides, *ending)
        jumper = game.get("jumper")
        return to_move(game, side, f"must go on jumping with {self.name(jumper - 1)}" if jumper else "to move")

    def to_string(self, game: Game) -> str:
        """Return the board as rows of text, the last row first, and the status.

        A piece is a letter, a capital one for kings, and an empty place is ".".
        """
        letters = {sign: side[0].lower() for sign, side in zip((1, -1), self.sides, strict=True)}
        letters |= {2 * sign: letter.upper() for sign, letter in letters.items()} | {0: "."}
        symbols = [" "] * self.board.size
        for place, piece in enumerate(game["board"]):
            symbols[self.places[place]] = letters[piece]
        lines = labelled(symbols, self.board.columns, from_top=False)
        return "\n".join([*(line.rstrip() for line in lines), *self.quiet_lines(game), self.status(game)])

    def quiet_lines(self, game: Game) -> list[str]:
        """Return a line with the number of quiet plies, or no line if they have no limit."""
        label = "plies without a capture" + " or a man's step" * bool(self.king)
        return [f"{label}: {game['quiet']} of {self.quiet_plies}"] if self.quiet_plies else []

    def draw(self, game: Game) -> Drawing:
        """Draw the board; a piece and the places that it can reach stand for its actions."""
        cells = [0] * self.board.size
        moves = dict[tuple[int, int], int]()
        for place, piece in enumerate(game["board"]):
            cells[self.places[place]] = piece
        actions = open_actions(self, game, self.from_dict(game))
        for action in sorted(actions, key=lambda action: action % len(self.places)):
            start, end = self.ends_of(action)
            if end is not None:
                moves[self.places[start], self.places[end]] = action
        colours = dict(zip((1, -1), self.colours, strict=True))
        return draw_pieces(self.title, (self.board.rows, self.board.columns), cells, colours, moves, self.status(game))

    def tile(self) -> Tile:
        """Return the board as a small picture, with the last row on top and unplayable cells light."""
        rows = self.board.rows
        columns = self.board.columns
        numbers = {cell: place for place, cell in enumerate(self.places)}
        cells = [row * columns + column for row in range(rows)[::-1] for column in range(columns)]
        pixels = [
            stone_pixel(numbers[cell], DARK, *self.colours) if cell in numbers else Pixel((LIGHT,)) for cell in cells
        ]
        return Tile(columns, (pixels,))
