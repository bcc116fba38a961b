"""How positions and actions of go are written, and the board's symmetries."""

from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import instance, nested
from tensor_envs.games.go.rules import Go
from tensor_envs.games.stones import STONES, board_and_player, to_board, to_sets
from tensor_envs.rules import GameState, Symmetry, integer, pack, unpack, word

KO = 2  # an empty point that is closed
COLUMNS = "ABCDEFGHJKLMNOPQRST"


def to_dict(rules: Go, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> the dictionary of G11; boards are flat lists of 1, -1, 0 and 2, from A1 row by row."""
    player, n = s["current_player"], rules.words
    board = to_board(s["own"], s["other"], player, rules.points)
    game = {"board": board, "current_player": player, "passed": s["passed"]}
    if rules.superko:
        boards = [to_board(words[:n], words[n:], player, rules.points) for words in s["history"]]
        return game | {"history": [stone for board in boards for stone in board]}
    if s["ko"] < rules.points:
        board[s["ko"]] = KO
    return game


def from_dict(rules: Go, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`, for any board on which every group has a liberty; the game goes on."""
    board, player = board_and_player(game, rules.points, 1 if rules.superko else KO)
    passed, past = game["passed"], list[int]()
    instance("passed", passed, bool)
    if board.count(KO) > 1:
        raise ValueError(f"board must have a {KO} at most once, got {board.count(KO)} of them")
    if rules.superko:
        past = nested("history", game["history"], (rules.superko * rules.points,), -1, 1)
    atari, numbers = list[int](), dict[int, int]()
    for group, liberties in groups_of(rules, board):
        if not liberties:
            raise ValueError(
                f"every group must have a liberty, not so at {action_to_string(rules, min(group))}"
            )
        numbers |= dict.fromkeys(group, max(group) + 1)
        atari += group if len(liberties) == 1 else []
    own, other = to_sets(board, player)
    boards = [past[at : at + rules.points] for at in range(0, len(past), rules.points)]
    history = [[w for words in to_sets(old, player) for w in words] for old in boards]
    ko = board.index(KO) if KO in board else rules.points
    return {
        "own": own,
        "other": other,
        "atari": pack(atari, rules.points),
        "groups": [
            pack((p for p, n in numbers.items() if n >> k & 1), rules.points) for k in range(rules.planes)
        ],
        **({"history": history} if rules.superko else {"ko": ko}),
        "passed": passed,
        "current_player": player,
        "terminated": False,
        "truncated": False,
    }


def neighbours(rules: Go, point: int) -> list[int]:
    row, column = divmod(point, rules.size)
    around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [r * rules.size + c for r, c in around if 0 <= r < rules.size and 0 <= c < rules.size]


def regions(rules: Go, board: list[int], empty: bool) -> Iterator[tuple[set[int], set[int]]]:
    """The groups of stones, or the regions of empty points; with the points of another kind next to each."""
    board = [0 if stone == KO else stone for stone in board]
    waiting = {point for point, stone in enumerate(board) if (stone == 0) == empty}
    while waiting:
        region, border, new = set[int](), set[int](), {min(waiting)}
        while new:
            point = new.pop()
            region.add(point)
            for near in neighbours(rules, point):
                if board[near] != board[point]:
                    border.add(near)
                elif near not in region:
                    new.add(near)
        yield region, border
        waiting -= region


def groups_of(rules: Go, board: list[int]) -> Iterator[tuple[set[int], set[int]]]:
    """Every group of stones with its liberties."""
    for group, border in regions(rules, board, empty=False):
        yield group, {point for point in border if board[point] in (0, KO)}


def areas(rules: Go, board: list[int]) -> tuple[int, int]:
    """The points that are black's and white's: stones, and empty regions next to one colour alone (G7)."""
    counts = [board.count(stone) for stone in STONES]
    for region, border in regions(rules, board, empty=True):
        colours = {board[point] for point in border}
        if len(colours) == 1:
            counts[STONES.index(colours.pop())] += len(region)
    return counts[0], counts[1]


def legal(rules: Go, game: dict[str, Any]) -> list[int]:
    """The legal actions of a game that goes on."""
    fields = from_dict(rules, game)
    sets = {name: [word(w) for w in fields[name]] for name in ("own", "other", "atari")}
    past = [word(w) for board in fields.get("history", ()) for w in board]
    mask = rules.legal_action_mask(
        GameState({**sets, "history": past, "ko": integer(fields.get("ko", rules.points))})
    )
    return unpack([int(w.value) for w in mask], rules.points + 1)


def action_to_string(rules: Go, action: int) -> str:
    """A column's letter without I and a row's number from below: "D4"; or "pass" (G12)."""
    if action == rules.points:
        return "pass"
    return COLUMNS[action % rules.size] + str(action // rules.size + 1)


def symmetries(rules: Go) -> Iterator[Symmetry]:
    """The eight of the square (G13)."""
    found = set[tuple[int, ...]]()
    for mirrored in (False, True):
        for step in (1, -1):
            for other in (1, -1):
                places = [(r, c) for r in range(rules.size)[::step] for c in range(rules.size)[::other]]
                points = tuple(rules.size * c + r if mirrored else rules.size * r + c for r, c in places)
                if points not in found:
                    found.add(points)
                    seen = tuple(plane * rules.points + point for plane in range(5) for point in points)
                    past = tuple(k * rules.points + point for k in range(rules.superko) for point in points)
                    told = {"board": points, "history": past} if rules.superko else {"board": points}
                    yield Symmetry((*points, rules.points), seen, told)
