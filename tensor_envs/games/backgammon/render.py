"""Positions of backgammon as text and as drawings."""

from collections.abc import Sequence
from typing import Any

from tensor_envs.games.backgammon.notation import legal
from tensor_envs.games.backgammon.rules import BAR, FACES, MEN, POINTS, SOURCES, Backgammon
from tensor_envs.render.drawing import Drawing, Point, disc
from tensor_envs.render.status import outcome, seat_names, signed, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile

NAMES, SIGNS = ("White", "Black"), "OX"
# pixels: width of a point, height of a triangle, radius of a man, the gap
WIDTH = 44
TALL = 214
MAN = 19
MIDDLE = 60
MARGIN, FOOT = 30, 34
PAPER = "#faf8ef"
FRAME = "#7a5c3e"
BOARD = "#efe3cc"
LIGHT = "#d9b98c"
DARK = "#a9764b"
INK = "#3b2c1e"
COLOURS = (("#fffdf5", INK), ("#3d3a38", "#fffdf5"))  # of each player's men, and of the numbers on them
BUTTON = "#2f6f8f"


def status(game: dict[str, Any], names: Sequence[str] = NAMES) -> str:
    """Return the status: the winner, or the player to move with the numbers of the dice."""
    off = [MEN - sum(side) for side in game["men"]]
    borne = "off: " + ", ".join(f"{name} {men}" for name, men in zip(NAMES, off, strict=True))
    if MEN in off:
        return f"{outcome(names, off.index(MEN))}; {borne}"
    if game.get("truncated"):
        return f"{outcome(names, None)}; {borne}"
    dice = "" if game.get("terminated") else f", dice {' '.join(map(str, game['dice']))}"
    return f"{to_move(game, names[game['current_player']])}{dice}; {borne}"


def to_string(rules: Backgammon, game: dict[str, Any]) -> str:
    """Return the board, White's pip 1 at the lower right, numbers of men with O (White) or X (Black), the status."""

    def point(pip: int) -> str:
        """Return the men on a pip of White."""
        counts = game["men"][0][pip - 1], game["men"][1][POINTS - pip]
        men = next((f"{n}{sign}" for n, sign in zip(counts, SIGNS, strict=True) if n), ".")
        return f"{men:>4}"

    above = "".join(map(point, range(13, 19))) + " |" + "".join(map(point, range(19, 25)))
    below = "".join(map(point, range(12, 6, -1))) + " |" + "".join(map(point, range(6, 0, -1)))
    bars = ", ".join(f"{side[BAR - 1]}{sign}" for side, sign in zip(game["men"], SIGNS, strict=True))
    return "\n".join([above, below, f"bar: {bars}", status(game, signed(NAMES, SIGNS))])


def column(pip: int) -> int:
    """Return the column of White's pip 1..24, from the left; the bar is column 6."""
    at = 12 - pip if pip <= 12 else pip - 13
    return at + (at >= 6)


def draw(rules: Backgammon, game: dict[str, Any]) -> Drawing:
    """Draw the board from the viewer's side, or White's; a button beside a man moves it by the number on the button."""
    viewer = game.get("viewer", 0)
    width = 13 * WIDTH
    height = 2 * TALL + MIDDLE
    picture = Drawing(width + 2 * MARGIN, height + 2 * MARGIN + FOOT, PAPER, title="Backgammon")
    picture.rect(MARGIN - 8, MARGIN - 8, width + 16, height + 16, FRAME)
    picture.rect(MARGIN, MARGIN, width, height, BOARD)
    picture.rect(MARGIN + 6 * WIDTH, MARGIN, WIDTH, height, FRAME)
    for pip in range(1, POINTS + 1):
        left, base, sign = MARGIN + column(pip) * WIDTH, *edge(pip > 12)
        triangle = [(left, base), (left + WIDTH, base), (left + WIDTH / 2, base + sign * TALL)]
        picture.polygon(triangle, LIGHT if pip % 2 else DARK)
        picture.text((left + WIDTH / 2, base - sign * 18), str(pip), 11, INK)
    for player, side in enumerate(game["men"]):
        for pip, men in enumerate(side, 1):
            for k in range(min(men, 5)):
                picture.circle(place(player ^ viewer, pip, k), MAN, COLOURS[player][0], stroke=INK, width=1)
            if men > 5:
                picture.text(place(player ^ viewer, pip, 4), str(men), 16, COLOURS[player][1], bold=True)
    over = game.get("terminated") or game.get("truncated") or not all(map(sum, game["men"]))
    actions = [] if over else legal(game)
    for action in actions:
        x = MARGIN + width / 2
        y = MARGIN + height / 2
        wide = 30
        text = "pass"
        if action:
            x, y = place(game["current_player"] ^ viewer, SOURCES - action // FACES, 5)
            beside = [other for other in actions if other // FACES == action // FACES]
            x += (beside.index(action) - (len(beside) - 1) / 2) * 21
            wide = 10
            text = str(action % FACES + 1)
        corners = [(x - wide, y - 10), (x + wide, y - 10), (x + wide, y + 10), (x - wide, y + 10)]
        picture.polygon(corners, BUTTON)
        picture.text((x, y), text, 13, "#ffffff", bold=True)
        picture.area(corners, action)
    picture.text((picture.width / 2, picture.height - 20), status(game), 14, INK)
    return picture


def edge(above: bool) -> tuple[float, int]:
    """Return the height at which a side's stacks of men begin, and the direction in which they grow: 1 down, -1 up."""
    return (MARGIN, 1) if above else (MARGIN + 2 * TALL + MIDDLE, -1)


def place(player: int, pip: int, k: int) -> Point:
    """Return the centre of the k-th man on a player's pip; player 0 sits below."""
    if pip == BAR:
        middle = MARGIN + TALL + MIDDLE / 2
        sign = (1, -1)[player]
        return MARGIN + 6.5 * WIDTH, middle + sign * (MAN + 14 + k * 1.9 * MAN)
    own = pip if player == 0 else POINTS + 1 - pip
    base, sign = edge(own > 12)
    return MARGIN + (column(own) + 0.5) * WIDTH, base + sign * (MAN + 1 + k * 1.9 * MAN)


players = seat_names(*NAMES)


def scores(rules: Backgammon, game: dict[str, Any]) -> list[str]:
    """Return the pips that are left and the men that are off."""
    pips = (sum(pip * men for pip, men in enumerate(side, 1)) for side in game["men"])
    return [f"{left} pips, {MEN - sum(side)} off" for left, side in zip(pips, game["men"], strict=True)]


def reason(rules: Backgammon, game: dict[str, Any]) -> str:
    """Return the kind of the win: single, gammon or backgammon (B9)."""
    loser = game["men"][0 if any(game["men"][0]) else 1]
    if sum(loser) < MEN or not rules.gammons:
        return "all men are off"
    return "a backgammon, which counts three" if any(loser[18:]) else "a gammon, which counts two"


def last_move(rules: Backgammon, before: dict[str, Any], after: dict[str, Any], action: int) -> list[list[Point]]:
    """Return the outlines of a move's start and end. A pass has none, and a man borne off has no end."""
    player = before["current_player"]
    pip = SOURCES - action // FACES
    die = action % FACES + 1
    seat = player ^ after.get("viewer", 0)
    men = after["men"][player]
    left = [disc(place(seat, pip, min(men[pip - 1], 4)), MAN)] if action else []
    return left + ([disc(place(seat, pip - die, min(men[pip - die - 1], 5) - 1), MAN)] if action and pip > die else [])


def explain(rules: Backgammon, game: dict[str, Any], action: int) -> str:
    """Return which man moves where (B4)."""
    pip = SOURCES - action // FACES
    die = action % FACES + 1
    if not action:
        return "no number can be played"
    start = "a man from the bar" if pip == BAR else f"a man from point {pip}"
    hit = pip > die and game["men"][1 - game["current_player"]][POINTS - (pip - die)] == 1
    return f"{start} {'bears off' if pip <= die else f'to point {pip - die}'}" + ", hitting" * hit


def tile(rules: Backgammon) -> Tile:
    """Return the board as a small picture: of every point and of the bar up to five men of either player."""

    def man(k: int, ground: str, *places: tuple[int, int]) -> Pixel:
        """Return the pixel that shows whether there are more than k men of a player on a place (player, pip)."""
        colours: tuple[str, ...] = (ground,)
        bits = list[StateBits]()
        for player, pip in places:
            colours = tuple(COLOURS[player][0] if men > k else c for men in range(16) for c in colours)
            bits.append(StateBits("men", BAR * player + pip - 1))
        return Pixel(colours, tuple(bits))

    pixels = [Pixel((FRAME,))] * (13 * 11)
    for k in range(5):
        for pip in range(1, POINTS + 1):
            ground = LIGHT if pip % 2 else DARK
            row = k if pip > 12 else 10 - k
            pixels[13 * row + column(pip)] = man(k, ground, (0, pip), (1, POINTS + 1 - pip))
        for player, row in ((0, 6 + k), (1, 4 - k)):
            pixels[13 * row + 6] = man(k, FRAME, (player, BAR))
    return Tile(13, (pixels,))
