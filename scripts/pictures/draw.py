"""Draw the pictures of the pages: games of the uniform policy, the table of speed, and a curve of exploitability.

    python scripts/pictures/draw.py                      # the SVGs of this folder
    python scripts/pictures/draw.py FOLDER               # the SVGs, in another folder
    python scripts/pictures/draw.py --cube cube.png      # only the picture at the top; needs the extra 'draw'

The files are the same on every machine.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: modules of the scripts are in the folder above
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import tensor_envs as te
from tensor_envs._command import busy, command_parser, device_of, new_file, run
from tensor_envs._validate import need
from tensor_envs.games.hyper_tic_tac_toe.render import draw
from tensor_envs.render.compose import NAMESPACE, Picture
from tensor_envs.render.drawing import Drawing

FOLDER = Path(__file__).resolve().parent
SPEED = FOLDER.parent / "benchmark" / "README.md"


@dataclass(frozen=True)
class Film:
    """Animation of game 0 of a seed, from ply `first` to ply `last`.

    `first` is a ply with some pieces on the board, since viewers without animation show it alone.
    """

    id: str
    seed: int
    fields: dict[str, Any] = field(default_factory=dict)
    first: int = 0
    last: int | None = None
    seconds: float = 1.0


FILMS = {
    "hyper_tic_tac_toe": Film("hyper_tic_tac_toe", 3, {"shape": (3, 3, 3, 3), "k": 3}, first=12),
    "connect_four": Film("connect_four", 3, first=10),
    "othello": Film("othello", 3, first=10, last=30),
    "kalah": Film("kalah", 3, first=6),
    "breakthrough": Film("breakthrough", 3, first=12, last=40),
    "clobber": Film("clobber", 3, first=4),
    "kuhn_poker": Film("kuhn_poker", 3, seconds=2.0),
    "leduc_poker": Film("leduc_poker", 5, seconds=2.0),
    "texas_holdem": Film("texas_holdem", 35, seconds=2.0),
    "hanabi": Film("hanabi", 5, first=8, last=22),
    "gin_rummy": Film("gin_rummy", 3, first=8, last=22),
    "barrage_stratego": Film("barrage_stratego", 3, first=30, last=60),
    "game_2048": Film("2048", 3, first=30, last=64, seconds=0.5),
    "backgammon": Film("backgammon", 3, first=10, last=33),
    "chess": Film("chess", 3, first=10, last=33),
    "shogi": Film("shogi", 3, first=10, last=33),
    "xiangqi": Film("xiangqi", 3, first=10, last=33),
    "hex": Film("hex", 3, {"size": 5}, first=7),
    "y": Film("y", 3, {"size": 7}, first=8),
    "havannah": Film("havannah", 3, {"size": 4}, first=8),
    "go": Film("go", 3, {"size": 5}, first=8),
    "checkers": Film("checkers", 3, first=12, last=38),
    "dots_and_boxes": Film("dots_and_boxes", 3, {"rows": 3, "columns": 3}, first=10),
    "amazons": Film("amazons", 3, {"size": 6}, first=20, last=60),
    "phantom_tic_tac_toe": Film("phantom_tic_tac_toe", 3, first=4),
    "dark_hex": Film("dark_hex", 3, first=4),
    "ultimate_tic_tac_toe": Film("ultimate_tic_tac_toe", 3, first=15, last=45),
    "liars_dice": Film("liars_dice", 3),
    "yahtzee": Film("yahtzee", 3, last=8),
    "nine_mens_morris": Film("nine_mens_morris", 3, first=8, last=34),
    "oware": Film("oware", 3, first=6, last=40),
    "quoridor": Film("quoridor", 3, first=8, last=34),
    "lines_of_action": Film("lines_of_action", 3, first=12, last=40),
    "chinese_checkers": Film("chinese_checkers", 3, {"max_turns": 60}, first=20, last=50),
    "shed": Film("shed", 3, {"cards": 7}),
    "tensor_stars": Film("tensor_stars", 3),
    "tensor_equilibrium": Film("tensor_equilibrium", 3, first=8, last=24),
    "three_will": Film("three_will", 3, first=166),
}
# films of the strip at the top of the README, each with the part of its picture that is shown: x, y, width, height
STRIP = {
    "hyper_tic_tac_toe": (24, 24, 302, 312),
    "connect_four": (30, 30, 320, 276),
    "othello": (36, 36, 352, 352),
    "chess": (36, 36, 384, 384),
    "hex": (28, 22, 268, 178),
}
STRIP_HEIGHT, STRIP_GAP = 150, 14
BATCH, SEED = 12, 0  # 3x3 games of the contact sheet
# Leduc poker: iterations, colours of the methods, and the decades of exploitability that are shown
ITERATIONS, DECADES = 1000, (-4, 1)
METHODS: dict[Any, str] = {"cfr+": "#c0392b", "dcfr": "#2471a3", "pcfr+": "#1e8449", "mccfr": "#7d6608"}
LIBRARIES = {"Pgx": "#5d9cd3", "OpenSpiel": "#e59866", "EnvPool": "#8fbf8f"}  # colours of the bars of speed
# charts of speed: the libraries, and the colours of paper, ink and grid
CHARTS: dict[str, tuple[list[str], tuple[str, str, str]]] = {
    "speed": (list(LIBRARIES), ("#ffffff", "#000000", "#dddddd")),
    "speed_pgx": (["Pgx"], ("#ffffff", "#000000", "#dddddd")),
    "speed_pgx_dark": (["Pgx"], ("#0d1117", "#e6edf3", "#30363d")),
}
CUBE: dict[str, Any] = {"shape": (3, 3, 3), "k": 3}
CUBE_GAME = 86  # of seed 0; a diagonal of the cube ends it


def played(env: te.Env, state: te.State) -> list[te.State]:
    """Play until the first game ends and return all states."""
    states = [state]
    while states[-1].numpy()["legal_action_mask"][0].any():
        states.append(env.step(states[-1], te.agents.uniform(states[-1])))
    return states


def draw_svgs(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, film in FILMS.items():
        env = te.make(film.id, **film.fields)
        states = played(env, env.init(1, film.seed))[film.first : film.last]
        te.save_animation(states, folder / f"{name}.svg", seconds=film.seconds)
    env = te.make("tic_tac_toe")
    state = env.init(BATCH, SEED)
    for _ in range(env.num_actions):
        state = env.step(state, te.agents.uniform(state))
    sheet = te.contact_sheet(state, range(BATCH), columns=4, width=200)
    (folder / "batch.svg").write_text(sheet, encoding="utf-8")
    (folder / "strip.svg").write_text(draw_strip(), encoding="utf-8")
    page = SPEED.read_text(encoding="utf-8")
    for name, (libraries, colours) in CHARTS.items():
        chart = draw_speeds(page, libraries, *colours)
        (folder / f"{name}.svg").write_text(chart.to_svg(), encoding="utf-8")
    (folder / "equilibrium.svg").write_text(draw_exploitability().to_svg(), encoding="utf-8")


def draw_strip() -> str:
    """Arrange films side by side, without their margins and labels.

    The paper is transparent, so that the strip fits light and dark pages.
    """
    x, tiles = 0.0, list[str]()
    for name, (left, top, width, height) in STRIP.items():
        picture = Picture.of((FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
        board = tuple(part for part in picture.elements if not part.startswith(("<title", "<rect", "<text")))
        attributes = dict(picture.attributes) | {"viewBox": f"{left} {top} {width} {height}"}
        tile = STRIP_HEIGHT * width / height
        tiles.append(Picture(tuple(attributes.items()), board).svg(x, 0, tile, STRIP_HEIGHT))
        x += tile + STRIP_GAP
    size = f"{x - STRIP_GAP:g} {STRIP_HEIGHT}"
    return (
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {size}">\n<title>Games in motion</title>\n'
        + "\n".join(tiles)
        + "\n</svg>\n"
    )


def draw_cube(path: Path) -> None:
    """Draw the picture at the top of the README, a game of 3x3x3."""
    env = te.make("hyper_tic_tac_toe", **CUBE)
    final = te.rollout(env, "uniform", CUBE_GAME + 1, env.num_actions, SEED, autoreset="disabled").state
    draw(env.rules, env.state_to_dict(final, CUBE_GAME)).save_png(path)


def speeds(page: str) -> list[tuple[str, str, tuple[float, float, float]]]:
    """Return the benchmark page's ratios: game, library, and the median, lowest and highest ratio."""
    heads = re.search(r"^\| game \| bare, M steps/s \| read, M steps/s \|(.*)\|$", page, re.MULTILINE)
    if heads is None:
        raise ValueError(f"{SPEED} has no table of ratios to draw")
    libraries = [head.strip().removeprefix("times ") for head in heads[1].split("|")]
    bars = []
    for line in page[heads.end() :].strip().splitlines()[1:]:
        if not line.startswith("|"):
            break
        game, _, _, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for library, cell in zip(libraries, cells, strict=True):
            if cell:
                median, lowest, highest = (float(part.replace(",", "")) for part in re.findall(r"[\d.,]+", cell))
                bars.append((game, library, (median, lowest, highest)))
    return bars


def draw_speeds(page: str, libraries: Sequence[str], paper: str, ink: str, grid: str) -> Drawing:
    """Draw a chart of the ratios to some libraries on a logarithmic scale, each with the range of its rounds."""
    bars = [bar for bar in speeds(page) if bar[1] in libraries]
    # a chart of one library is so narrow that its labels can be read on a phone
    several = len(libraries) > 1
    left = 170 if several else 114
    wide = 420 if several else 280
    top = 82 if several else 58
    line = 15
    powers = math.ceil(math.log10(max(highest for _, _, (_, _, highest) in bars)))
    high = top + line * len(bars) + 6 * len({game for game, _, _ in bars})
    whose = libraries[0] if len(libraries) == 1 else "other libraries"
    title = f"Times the rate of {whose}, on one core, 4,096 games"
    drawing = Drawing(left + wide + 70, high + 10, paper, title=title)
    drawing.text((10, 20), title, 15, ink, anchor="start", bold=True)
    for k, library in enumerate(libraries if several else []):
        drawing.rect(left + 110 * k, 36, 12, 12, LIBRARIES[library])
        drawing.text((left + 110 * k + 18, 42), library, 13, ink, anchor="start")

    def place(ratio: float) -> float:
        return left + wide * math.log10(max(ratio, 1)) / powers

    for power in range(powers + 1):
        drawing.line((place(10**power), top), (place(10**power), high), stroke=grid)
        drawing.text((place(10**power), top - 10), f"{10**power:,}", 12, ink)
    y, last = top - line / 2, ""
    for game, library, (median, lowest, highest) in bars:
        y += line
        if game != last:
            y, last = y + 6, game
            drawing.text((left - 8, y), game, 13, ink, anchor="end")
        drawing.rect(left, y - 6, place(median) - left, 12, LIBRARIES[library])
        drawing.line((place(lowest), y), (place(highest), y), stroke=ink, width=2)
        written = f"{median:,.3g}" if median < 1000 else f"{median:,.0f}"
        drawing.text((place(highest) + 6, y), written, 12, ink, anchor="start")
    return drawing


def draw_exploitability() -> Drawing:
    """Draw the exploitability in Leduc poker by iterations, both on logarithmic scales."""
    left, top, wide, high = 60, 40, 480, 260
    low, decades, powers = DECADES[0], DECADES[1] - DECADES[0], round(math.log10(ITERATIONS))
    drawing = Drawing(left + wide + 30, top + high + 50)
    drawing.text((left, 20), "Leduc poker: exploitability by iterations", 15, anchor="start", bold=True)
    for k in range(decades + 1):
        y = top + high * (1 - k / decades)
        drawing.line((left, y), (left + wide, y), stroke="#dddddd")
        drawing.text((left - 8, y), f"{10.0 ** (low + k):g}", 13, anchor="end")
    for k in range(powers + 1):
        x = left + wide * k / powers
        drawing.line((x, top), (x, top + high), stroke="#dddddd")
        drawing.text((x, top + high + 18), f"{10**k:,}", 13)
    tree = te.game_tree(te.make("leduc_poker"))
    for k, (method, colour) in enumerate(METHODS.items()):
        points = [
            (left + wide * math.log10(count) / powers, top + high * (1 - (math.log10(value) - low) / decades))
            for count, value in te.equilibrium(tree, method, ITERATIONS, until=None).curve
        ]
        drawing.line(*points, stroke=colour, width=2)
        drawing.text(
            (left + 16, top + high - 16 - 18 * (len(METHODS) - k)), method, 13, colour, anchor="start", bold=True
        )
    return drawing


def work(options: argparse.Namespace) -> None:
    if options.cube:
        need("PIL", "--cube", "draw")
    with busy("compiling and playing"):
        draw_cube(options.cube) if options.cube else draw_svgs(options.folder)
    paths = [options.cube] if options.cube else sorted(options.folder.glob("*.svg"))
    print(f"played on {device_of()}")
    for path in paths:
        print(f"{path.name}: {path.stat().st_size:,} bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/pictures/draw.py", __doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="default: that of this file")
    parser.add_argument("--cube", type=new_file, metavar="FILE", help="draw cube.png alone, as this file")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
