"""Dictionaries, action names and symmetries of Quoridor."""

from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import integer, nested
from tensor_envs.games._kit import symmetries as kit
from tensor_envs.games._kit.stones import STONES
from tensor_envs.games.quoridor.rules import STRIDE, Quoridor
from tensor_envs.render.grids import cell_name
from tensor_envs.rules import Symmetry, scalar
from tensor_envs.rules.plain import ended, state_of

SIDES = ("horizontal", "vertical")
WORDS = ("groups", "tied", "odd")
_WALL = r"(?:\b(?:wall|fence)\s*(?:(?:at|on|in|to)\b|:)?\s*)"
# what `te.text.parse` reads as parts of names: a wall and its direction in words; without a direction it is no name
SYNONYMS = (
    (rf"(?i)\b(h|v)(?:orizontal|ertical)(?:ly)?\s*{_WALL}?(?:at|on|in)?\s*([a-z]\d+)(?![\w])", r"\2\1"),
    (rf"(?i){_WALL}([a-z]\d+)\s*,?\s*\(?\b(h|v)(?:orizontal|ertical)(?:ly)?\b\)?", r"\1\2"),
    (r"(?i)\b([a-z]\d+)\s*,?\s*\(?\b(h|v)(?:orizontal|ertical)(?:ly)?\b\)?", r"\1\2"),
    (rf"(?i){_WALL}(?=[a-z]\d+(?![\w]))", "wall_"),
    (r"(?i)\b(h|v)[\s:-]?([a-z]\d+)(?!\w)", r"\2\1"),
)


def to_dict(rules: Quoridor, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": list, "horizontal": list, "vertical": list, "walls": both in hand, "current_player"} (Q13)."""
    board = [0] * rules.squares
    for stone, pawn in zip(STONES, s["pawns"], strict=True):
        board[pawn] = stone
    n = rules.inner
    walls = {name: [s[name] >> STRIDE * i + j & 1 for i in range(n) for j in range(n)] for name in SIDES}
    return {"board": board, **walls, "walls": [*s["walls"]], "current_player": s["current_player"]}


def from_dict(rules: Quoridor, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary. ValueError for other pawns, or walls that overlap or close a way."""
    board = nested("board", game["board"], (rules.squares,), -1, 1)
    n = rules.inner
    sides = {name: nested(name, game[name], (n * n,), 0, 1) for name in SIDES}
    hands = nested("walls", game["walls"], (2,), 0, rules.walls)
    player = integer("current_player", game["current_player"], 0, 1)
    if sorted(board) != [-1, *[0] * (rules.squares - 2), 1]:
        raise ValueError("board must have one pawn of each player")
    built = 2 * rules.walls - sum(hands)
    if sum(map(sum, sides.values())) != built:
        raise ValueError(f"walls must be as many as are not on the board, {sum(hands)} in hand and {built} built")
    pawns = [board.index(stone) for stone in STONES]
    s = state_of(rules, {"pawns": pawns, "walls": [1, 1]})
    for upright, name in enumerate(SIDES):
        for wall in (wall for wall, here in enumerate(sides[name]) if here):
            place = STRIDE * (wall // n) + wall % n
            if not int(rules.legal_walls(s)[upright].value) >> place & 1:
                raise ValueError(f"{name} must not overlap a wall or close a pawn's way, got one at {wall}")
            s = rules.built(s, scalar(wall // n), scalar(wall % n), scalar(bool(upright))).replace(walls=s.walls)
    words = {name: [int(x.value) for x in getattr(s, name)] for name in WORDS}
    fields = {name: int(getattr(s, name).value) for name in SIDES} | words
    over = pawns[0] < rules.size or pawns[1] >= rules.squares - rules.size
    return fields | {"pawns": pawns, "walls": hands, "current_player": player} | ended(over)


def action_to_string(rules: Quoridor, action: int) -> str:
    """Return the square of a move, "e2", or the lower left square at a wall's middle: "e3h", "e3v" (Q14)."""
    if action < rules.squares:
        row, column = divmod(action, rules.size)
        return cell_name((rules.size - 1 - row) * rules.size + column, rules.size)
    upright, wall = divmod(action - rules.squares, rules.inner**2)
    row, column = divmod(wall, rules.inner)
    return cell_name((rules.inner - 1 - row) * rules.size + column, rules.size) + "hv"[upright]


def symmetries(rules: Quoridor) -> Iterator[Symmetry]:
    """Yield the identity and, on a board with a column in the middle, the exchange of left and right (Q15)."""
    n, m = rules.size, rules.inner
    for step in (1, -1)[: 1 + n % 2]:
        squares = kit.rearranged(range(n), range(n)[::step])
        walls = kit.rearranged(range(m), range(m)[::step])
        placed = {n * (w // m) + w % m: n * (image // m) + image % m for w, image in enumerate(walls)}
        plane = tuple(placed.get(cell, cell) for cell in range(n * n))
        planes = [squares] * 2 + [plane] * 2 + [squares] * (1 + 2 * rules.digits)
        observation = tuple(k * n * n + cell for k, cells in enumerate(planes) for cell in cells)
        sides = (n * n + k * m * m + wall for k in (0, 1) for wall in walls)
        state = {"board": squares, "horizontal": walls, "vertical": walls}
        crossings = list(range(STRIDE**2))  # bits of a word of walls, in rows of STRIDE
        for wall, source in enumerate(walls):
            crossings[STRIDE * (wall // m) + wall % m] = STRIDE * (source // m) + source % m
        fields = dict.fromkeys(SIDES, tuple(crossings))
        yield Symmetry((*squares, *sides), observation, state, fields, {"pawns": squares}, WORDS)
