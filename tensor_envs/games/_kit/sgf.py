"""Smart Game Format FF[4]: the main line of a game's tree, and stones that are set up before the first move."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tensor_envs._validate import errors_at, shortened, shown
from tensor_envs.games._kit.stones import STONES

Node = Mapping[str, Sequence[str]]  # values by property
COLOURS = "BW"  # player 0 and player 1
SETUP = {"AB": STONES[0], "AW": STONES[1], "AE": 0}  # stones by property
READ = {*COLOURS, *SETUP, "PL", "SZ", "KM", "GM", "RE"}  # properties with a meaning here
RESULTS = {1.0: "B+", -1.0: "W+"}  # by the reward of player 0
# properties that say something of a game, but nothing of its moves
NOTED = ("AN", "BR", "BT", "CP", "DT", "EV", "GC", "GN", "HA", "ON", "OT", "PB", "PC", "PW", "RE", "RO", "RU", "SO",
    "TM", "US", "WR", "WT")  # fmt: skip
RESULT = "RE"
BEGIN = re.compile(r"\(\s*;")
TOKEN = re.compile(r"\s*(?:([();])|([A-Za-z]+)\s*((?:\[(?:[^\]\\]|\\.)*\]\s*)+))", re.DOTALL)
BRACKETS = re.compile(r"\[(?:[^\]\\]|\\.)*\]?|[()]", re.DOTALL)  # values, and those around variations
VALUE = re.compile(r"\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)


def _property(written: str) -> str:
    """Return the name of a property: older formats have lower case letters within it, some programs in its place."""
    capitals = "".join(filter(str.isupper, written))
    names = (capitals, written.upper())
    return next((name for name in names if name in READ or name in NOTED), capitals or written.upper())


def games(text: str) -> list[str]:
    """Return the texts of a collection's games."""
    ends = [0]
    depth = 0
    begin = BEGIN.search(text)
    for part in BRACKETS.finditer(text, begin.start() if begin else 0):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if part[0] == ")" and depth == 0:
            ends.append(part.end())
    found = [text[start:end] for start, end in pairwise(ends)]
    return [*found, text[ends[-1] :]] if BEGIN.search(text, ends[-1]) or not found else found


def main_line(text: str) -> list[Node]:
    """Return the nodes of the first game's main line, the root first.

    Raises:
        ValueError: the text does not begin with a game, it breaks off, or a property that is read stands twice in a
            node; the error names the node.
    """
    nodes = list[dict[str, list[str]]]()
    depth = 0
    begin = BEGIN.search(text)  # text may precede the game
    position = begin.start() if begin else max(0, text.find("("))
    while token := TOKEN.match(text, position):
        position = token.end()
        sign, name, values = token.groups()
        if sign == "(":
            depth += 1
        elif sign == ")":
            return list(nodes)  # the other variations follow
        elif sign == ";" and depth:
            nodes.append({})
        elif name and nodes:
            name = _property(name)
            found = [re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL) for value in VALUE.findall(values)]
            if name in nodes[-1] and name in READ:
                raise ValueError(f"node {len(nodes) - 1}: the property {name} must stand once, with all its values")
            nodes[-1][name] = found
        else:
            break
    rest = shown(text[position : position + 20].strip() or "the end")
    raise ValueError(f"node {max(0, len(nodes) - 1)}: a property, a node or ) is missing before {rest}")


def root_of(text: str, number: str) -> Node | None:
    """Return the root of a text if its game number GM is the expected one, else None."""
    nodes = main_line(text)
    if not nodes:
        raise ValueError("node 0: the game has no root")
    return nodes[0] if nodes[0].get("GM", ["1"])[0].strip() == number else None


def one(node: Node, name: str, default: str) -> str:
    """Return the value of a property that has one."""
    return node.get(name, [default])[0].strip()


def size_of(root: Node, default: str) -> int:
    """Return the side of a square board. ValueError for a board that is not square."""
    sides = {*one(root, "SZ", default).split(":")}
    side = sides.pop().strip()
    if sides or not side.isdecimal() or len(side) > 3:
        raise ValueError(f"node 0: SZ must be the side of a square board, got {shown(root['SZ'][0])}")
    return int(side)


def check_same(rules: Any, fields: Mapping[str, Any], *names: str) -> None:
    """Raise ValueError unless the rule fields of a text are those of the environment."""
    for name in names:
        own = getattr(rules, name)
        if fields.get(name, own) != own:
            raise ValueError(f"node 0: {name} is {fields[name]:g}, and that of the environment is {own:g}")


def noted_of(nodes: Sequence[Node]) -> dict[str, Any]:
    """Return the notes of a record: the root's properties about the players and the game."""
    tags = {name: one(nodes[0], name, "") for name in NOTED if one(nodes[0], name, "")}
    return {"tags": tags} if tags else {}


def handicap_of(nodes: Sequence[Node]) -> int:
    """Return the number of handicap stones that the first moves of Black are; 0 if they are set up or none.

    ValueError for a handicap without stones.
    """
    number = one(nodes[0], "HA", "0")
    stones = int(number) if number.isdecimal() and len(number) < 4 else 0
    colours = [colour for node in nodes for colour in COLOURS for _ in node.get(colour, ())]
    is_set_up = any("AB" in node for node in nodes)
    if stones < 2 or is_set_up:
        return 0
    if colours[:stones] != [COLOURS[0]] * stones:
        raise ValueError(f"node 0: HA is {stones}, and no such stones are set up")
    return stones


def moves_of(nodes: Sequence[Node], mover: int) -> Iterator[tuple[str, str]]:
    """Yield the moves after the setup and handicap stones: the text of each, and its place in the file.

    Args:
        nodes: the main line.
        mover: the player of the first move.

    Raises:
        ValueError: a player moves out of turn, or stones are set up later; the error names the node.
    """
    moved = False
    given = handicap_of(nodes)
    for number, node in enumerate(nodes):
        if moved and SETUP.keys() & node.keys():
            raise ValueError(f"node {number}: stones are set up after the first move")
        for colour, value in ((name, value) for name in node if name in {*COLOURS} for value in node[name]):
            if given:
                given -= 1
                continue
            place = shortened(f"node {number}, {colour}[{value}]")
            if colour != COLOURS[mover]:
                raise ValueError(f"{place}: {COLOURS[mover]} is to move")
            yield value, place
            mover = 1 - mover
            moved = True


def setup_of(nodes: Sequence[Node], cells: Callable[[str], list[int]], size: int) -> tuple[list[int] | None, int]:
    """Return the board before the first move, None for the usual one, and the player to move.

    Args:
        nodes: the main line.
        cells: the function of the cells of a value, a point or a rectangle "aa:cc".
        size: number of cells.

    Raises:
        ValueError: a value is no point; the error names the node.
    """
    board = None
    player = None
    given = handicap_of(nodes)
    for number, node in enumerate(nodes):
        stones = {name: node.get(name, ()) for name in SETUP}
        # Some programs write handicap stones as Black's first moves; these are part of the setup.
        if given and COLOURS[0] in node:
            stones["AB"] = node[COLOURS[0]]
            given -= len(stones["AB"])
        # A later setup changes the board of an earlier one, so cells are overwritten in the order of the nodes.
        for name, values in stones.items():
            for value in values:
                board = board or [0] * size
                with errors_at(shortened(f"node {number}, {name}[{value}]")):
                    for cell in cells(value):
                        board[cell] = SETUP[name]
        if "PL" in node:
            letter = one(node, "PL", "")[:1].upper()
            if letter not in [*COLOURS]:
                raise ValueError(f"node {number}: PL must be B or W, got {shown(node['PL'][0])}")
            player = COLOURS.index(letter)
        for colour in node:
            if colour in {*COLOURS} and node[colour] is not stones["AB"]:
                # without PL the colour of the first move says who begins
                return board, COLOURS.index(colour) if player is None else player
    if player is None:  # behind handicap stones White moves first
        player = int(board is not None and STONES[0] in board and STONES[1] not in board)
    return board, player


def write(
    root: Mapping[str, str],
    moves: Sequence[str],
    start: dict[str, Any] | None,
    name_of: Callable[[int], str],
    notes: Mapping[str, Any],
) -> str:
    """Return a game as text.

    Args:
        root: properties of the root beside FF, CA and AP.
        moves: the texts of all moves.
        start: the first position, with "board" and "current_player"; None for the usual one.
        name_of: the function of a cell's text.
        notes: notes of the record, see `noted_of`.
    """
    tags = notes.get("tags")
    noted = {
        name: re.sub(r"([\]\\])", r"\\\1", value)
        for name, value in (tags.items() if isinstance(tags, dict) else ())
        if name in NOTED and isinstance(value, str)
    }
    properties = {"FF": "4", "CA": "UTF-8", "AP": "tensor_envs", **noted, **root}
    text = "".join(f"{name}[{value}]" for name, value in properties.items())
    mover = 0
    if start is not None:
        mover = start["current_player"]
        for name, stone in SETUP.items():
            cells = [cell for cell, owner in enumerate(start["board"]) if owner == stone] if stone else []
            text += f"\n{name}" * bool(cells) + "".join(f"[{name_of(cell)}]" for cell in cells)
        text += f"\nPL[{COLOURS[mover]}]"
    lines = [f"(;{text}"]
    for k, move in enumerate(moves):
        if k % 10 == 0:
            lines.append("")
        lines[-1] += f";{COLOURS[(mover + k) % 2]}[{move}]"
    return "\n".join(lines) + ")\n"


def winner(last: Mapping[str, Any]) -> str | None:
    """Return the first part of the result: "B+", "W+", or "0" for a draw; None for an unfinished game."""
    if last["truncated"]:
        return "Void"
    return RESULTS.get(last["rewards"][0], "0") if last["terminated"] else None
