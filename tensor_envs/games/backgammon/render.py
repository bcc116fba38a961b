"""Positions of backgammon as text and as drawings."""

from collections.abc import Callable, Sequence
from typing import Any

from tensor_envs.games._kit.dice import draw_die
from tensor_envs.games.backgammon.notation import legal
from tensor_envs.games.backgammon.rules import BAR, FACES, MEN, POINTS, SOURCES, Backgammon
from tensor_envs.render.drawing import Drawing, Point, box, disc
from tensor_envs.render.grids import INK
from tensor_envs.render.status import outcome, seat_names, signed, to_move
from tensor_envs.render.tile import Pixel, StateBits, Tile

NAMES, SIGNS = ("White", "Black"), "OX"
# pixels: width of a point, height of a triangle, radius of a man, the gap, around the board, below it, a die
WIDTH = 44
TALL = 214
MAN = 19
MIDDLE = 60
MARGIN, FOOT = 24, 34
DIE = 40
TRAY = 13 * WIDTH + 8  # left edge of the men that are off, from that of the board
PAPER = "#faf8ef"
FRAME = "#7a5c3e"
BOARD = "#efe3cc"
LIGHT = "#d9b98c"
DARK = "#a9764b"
RIM = "#3b2c1e"
COLOURS = (("#fffdf5", RIM), ("#3d3a38", "#fffdf5"))  # each player's men, and the numbers on them
BUTTON = "#2f6f8f"
PASS = (90, 44)  # pixels of the button


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
    """Return the board, White's pip 1 at the lower right, numbers of men with O (White) or X (Black), the status.

    Points have the numbers that the player to move counts, as in names of actions.
    """

    def point(pip: int) -> str:
        """Return the men on a pip of White."""
        counts = game["men"][0][pip - 1], game["men"][1][POINTS - pip]
        men = next((f"{n}{sign}" for n, sign in zip(counts, SIGNS, strict=True) if n), ".")
        return f"{men:>4}"

    def label(pip: int) -> str:
        """Return the number of a pip of White."""
        return f"{POINTS + 1 - pip if game['current_player'] else pip:>4}"

    def line(text: Callable[[int], str], pips: list[int]) -> str:
        """Return a line of the board: the texts of its pips, with the bar between the halves."""
        half = len(pips) // 2
        return "".join(map(text, pips[:half])) + " |" + "".join(map(text, pips[half:]))

    upper = [*range(POINTS // 2 + 1, POINTS + 1)]
    lower = [*range(POINTS // 2, 0, -1)]
    board = [line(label, upper), line(point, upper), line(point, lower), line(label, lower)]
    bars = ", ".join(f"{side[BAR - 1]}{sign}" for side, sign in zip(game["men"], SIGNS, strict=True))
    return "\n".join([*board, f"bar: {bars}", status(game, signed(NAMES, SIGNS))])


def column(pip: int) -> int:
    """Return the column of White's pip 1..24, from the left; the bar is column 6."""
    pips_left = 12 - pip if pip <= 12 else pip - 13
    return pips_left + (pips_left >= 6)


def draw(rules: Backgammon, game: dict[str, Any]) -> Drawing:
    """Draw the board from the viewer's side, or White's; a click on a point chooses the moves from it and to it."""
    viewer = game.get("viewer", 0)
    width = 13 * WIDTH
    height = 2 * TALL + MIDDLE
    picture = Drawing(TRAY + WIDTH + 2 * MARGIN - 12, height + 2 * MARGIN + FOOT, PAPER, title="Backgammon")
    picture.rect(MARGIN - 20, MARGIN - 20, TRAY + WIDTH + 28, height + 40, FRAME)
    picture.rect(MARGIN, MARGIN, width, height, BOARD)
    picture.rect(MARGIN + 6 * WIDTH, MARGIN, WIDTH, height, FRAME)
    for pip in range(1, POINTS + 1):
        left = MARGIN + column(pip) * WIDTH
        base, sign = edge(pip > 12)
        triangle = [(left, base), (left + WIDTH, base), (left + WIDTH / 2, base + sign * TALL)]
        picture.polygon(triangle, LIGHT if pip % 2 else DARK)
        picture.text((left + WIDTH / 2, base - sign * 10), str(pip), 12, BOARD)
    for player, side in enumerate(game["men"]):
        for pip, men in enumerate(side, 1):
            for k in range(min(men, 5)):
                picture.circle(man_centre(player ^ viewer, pip, k), MAN, COLOURS[player][0], stroke=RIM, width=1)
            if men > 5:
                picture.text(man_centre(player ^ viewer, pip, 4), str(men), 16, COLOURS[player][1], bold=True)
        picture.polygon(field(player ^ viewer, 0), BOARD)
        base, sign = edge(player != viewer)
        for k in range(MEN - sum(side)):
            picture.rect(MARGIN + TRAY + 3, base + sign * 14 * (k + 0.5) - 6, WIDTH - 6, 12, COLOURS[player][0], RIM)
    over = game.get("terminated") or game.get("truncated") or not all(map(sum, game["men"]))
    draw_choices(picture, game, [] if over else legal(game))
    picture.text((picture.width / 2, picture.height - 20), status(game), 14, INK)
    return picture


def draw_choices(picture: Drawing, game: dict[str, Any], actions: Sequence[int]) -> None:
    """Draw the dice in the half of the player to move, and a button if no number can be played."""
    mover = game["current_player"]
    seat = mover ^ game.get("viewer", 0)
    y = MARGIN + TALL + MIDDLE / 2
    x = MARGIN + (3 if seat else 10) * WIDTH
    if actions == [0]:
        corners = box(MARGIN + (10 if seat else 3) * WIDTH - PASS[0] / 2, y - PASS[1] / 2, *PASS)
        picture.polygon(corners, BUTTON)
        picture.text((corners[0][0] + PASS[0] / 2, y), "pass", 15, "#ffffff", bold=True)
        picture.area(corners, 0)
    elif actions:
        ends = {
            action: (SOURCES - action // FACES, SOURCES - action // FACES - action % FACES - 1) for action in actions
        }
        for pip in sorted({max(0, pip) for pair in ends.values() for pip in pair}):
            here = [action for action, (start, end) in ends.items() if pip in (start, max(0, end))]
            picture.area(field(seat, pip), *here, targets=[action for action in here if ends[action][0] != pip])
    for k, face in enumerate(game["dice"] if actions else []):
        draw_die(picture, (x + (k - (len(game["dice"]) - 1) / 2) * (DIE + 6), y), face, DIE)


def edge(above: bool) -> tuple[float, int]:
    """Return the height at which a side's stacks of men begin, and the direction in which they grow: 1 down, -1 up."""
    return (MARGIN, 1) if above else (MARGIN + 2 * TALL + MIDDLE, -1)


def field(player: int, pip: int) -> list[Point]:
    """Return the corners of a player's pip: a point, the half of the bar, or for pip 0 that of the men that are off."""
    if pip == BAR:
        return box(MARGIN + 6 * WIDTH, MARGIN + (0 if player else TALL + MIDDLE), WIDTH, TALL)
    own = pip if player == 0 else POINTS + 1 - pip
    left = MARGIN + (TRAY if pip == 0 else column(own) * WIDTH)
    return box(left, MARGIN + (0 if own > 12 else TALL + MIDDLE), WIDTH, TALL)


def man_centre(player: int, pip: int, k: int) -> Point:
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
    if not action:
        return []
    start = disc(man_centre(seat, pip, min(men[pip - 1], 4)), MAN)
    if pip <= die:
        return [start]
    return [start, disc(man_centre(seat, pip - die, min(men[pip - die - 1], 5) - 1), MAN)]


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
    """Return the board as a small picture, with up to five men of a player on each point and on the bar."""

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
