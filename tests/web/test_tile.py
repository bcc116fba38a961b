"""Tiles: a page's painting of a state's words agrees with the game's dictionary."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games._kit import hex_boards, mancala
from tensor_envs.games._kit.fen import rows_of as rows_of_fen
from tensor_envs.games.hyper_tic_tac_toe import paint
from tensor_envs.render import grids
from tensor_envs.web.tile import tile_tables
from tensor_envs.web.variants import VARIANTS, variant
from tests.games.shared import shared_env

HERE, PAGE = Path(__file__).parent, Path(te.__file__).parent / "web" / "page"
NODE = shutil.which("node")
GAMES, STEPS, SAMPLED = 64, 60, 5  # games at once; plies; sampled states of each

Game = dict[str, Any]
Picture = list[list[str]]  # colours, row by row


def render(env: te.Env) -> Any:
    return env.entry.load("render")


def by_stone(game: Game, empty: str, colours: dict[int, str]) -> list[str]:
    return [colours.get(stone, empty) if stone in (1, -1) else empty for stone in game["board"]]


def rows_of(cells: list[str], width: int) -> Picture:
    return [cells[at : at + width] for at in range(0, len(cells), width)]


def hyper(env: te.Env, game: Game) -> Picture:
    """Paint the slices of rank 2, with those of the last leading axes beside each other."""
    shape = env.rules.shape
    cells = np.array(by_stone(game, "#f8fafc", paint.COLOURS), object).reshape(shape)
    if len(shape) == 2:
        return cells.tolist()
    half = (len(shape) - 2) // 2
    down, across = ([*product(*map(range, part))] for part in (shape[:half], shape[half:-2]))
    picture: Picture = []
    for i in down:
        blocks = [cells[(*i, *j)] for j in across]
        for row in range(shape[-2]):
            line: list[str] = []
            for block in blocks:
                line += [*([paint.GRID] if line else []), *block[row]]
            picture.append(line)
        picture.append([paint.GRID] * len(picture[0]))
    return picture[:-1]


def board(width: str, empty: str, turned: bool = False) -> Callable[[te.Env, Game], Picture]:
    def picture(env: te.Env, game: Game) -> Picture:
        r = render(env)
        side = getattr(env.rules, width, env.observation_shape[-1])
        rows = rows_of(by_stone(game, getattr(r, empty), r.COLOURS), side)
        return rows[::-1] if turned else rows

    return picture


def hex_board(env: te.Env, game: Game) -> Picture:
    n = env.rules.size
    rows = rows_of(by_stone(game, hex_boards.FREE, hex_boards.COLOURS), n)
    wide = [[colour for colour in row for _ in (0, 1)] for row in rows]
    leaning = [[hex_boards.GRID] * k + row + [hex_boards.GRID] * (n - 1 - k) for k, row in enumerate(wide)]
    return [row for row in leaning for _ in (0, 1)]


def hex_stones(env: te.Env, game: Game) -> Picture:
    """Paint the part of a grid that is the board; each row begins half a cell from the row above."""
    rules, stones = env.rules, by_stone(game, hex_boards.FREE, hex_boards.COLOURS)
    starts = {cell: 2 * (cell % rules.side) + round(2 * rules.lean * (cell // rules.side)) for cell in rules.inside}
    first = min(starts.values())
    picture = [[hex_boards.GRID] * (max(starts.values()) + 2 - first) for _ in range(2 * rules.side)]
    for cell, start in starts.items():
        for y in (0, 1):
            picture[cell // rules.side * 2 + y][start - first : start - first + 2] = [stones[cell]] * 2
    return picture


def chinese_checkers(env: te.Env, game: Game) -> Picture:
    """Paint the rows of the star, each in the middle."""
    r = render(env)
    holes = [r.COLOURS[owner - 1] if owner else r.HOLE for owner in game["board"]]
    picture: Picture = []
    for width in (1, 2, 3, 4, 13, 12, 11, 10, 9, 10, 11, 12, 13, 4, 3, 2, 1):
        row = [hole for hole in holes[:width] for _ in (0, 1)]
        picture += 2 * [[r.WOOD] * (13 - width) + row + [r.WOOD] * (13 - width)]
        del holes[:width]
    return picture


def chess(env: te.Env, game: Game) -> Picture:
    r = render(env)
    picture: Picture = []
    rows = rows_of_fen(game["fen"].split()[0])
    for y, pieces in enumerate(rows):
        for dy in range(3):
            line = []
            for x, piece in enumerate(pieces):
                ground = r.TILE_SQUARES[(len(rows) + x + y) % 2]  # a1 is dark
                shape = r.SMALL_SHAPES[piece.lower()][dy] if piece else "..."
                line += [ground if sign == "." else r.PAPER if piece.isupper() else r.INK for sign in shape]
            picture.append(line)
    return picture


def shogi(env: te.Env, game: Game) -> Picture:
    """Paint pieces that point to the opponent; the middle of kings and promoted pieces has a colour of its own."""
    r = render(env)
    board = env.rules.board
    picture: Picture = []
    for row in rows_of_fen(game["sfen"].split()[0]):
        for dy in range(3):
            line = []
            for piece in row:
                white = piece.islower()
                shape = r.SMALL_SHAPE[2 - dy if white else dy] if piece else "..."
                line += [r.WOOD if sign == "." else r.SMALL_COLOURS[white] for sign in shape]
                if dy == 1 and "+" in piece:
                    line[-2] = r.RAISED
                elif dy == 1 and piece.upper() == board.kinds[-1].letter:
                    line[-2] = r.CROWN
            picture.append(line)
    return picture


def xiangqi(env: te.Env, game: Game) -> Picture:
    r = render(env)
    picture: Picture = []
    for rank, pieces in zip(range(10)[::-1], rows_of_fen(game["fen"].split()[0]), strict=True):
        for dy in range(3):
            line = []
            for file, piece in enumerate(pieces):
                palace = file in (3, 4, 5) and rank not in (3, 4, 5, 6)
                # the last line of rank 5 and the first one of rank 4 are the river
                ground = r.RIVER if (rank, dy) in ((5, 2), (4, 0)) else r.GROUNDS[palace]
                shape = r.PIECE_LOOKS[piece.upper()][1 + dy] if piece else "..."
                line += [ground if sign == "." else r.COLOURS[piece.islower()] for sign in shape]
            picture.append(line)
    return picture


def checkers(env: te.Env, game: Game) -> Picture:
    r = render(env)
    colours = {0: r.DARK} | dict(zip((1, -1), env.rules.colours, strict=True))
    picture = [[r.LIGHT] * 8 for _ in range(8)]
    for k, piece in enumerate(game["board"]):
        picture[k // 4][k % 4 * 2 + (k // 4 + 1) % 2] = colours[(piece > 0) - (piece < 0)]
    return picture


def pieces(env: te.Env, game: Game) -> Picture:
    """Paint a board of `Pieces` that have no pictures of their own, the last row first."""
    colours = dict(zip((1, -1), env.rules.colours, strict=True))
    return rows_of(by_stone(game, grids.DARK, colours), env.rules.board.columns)[::-1]


def dots_and_boxes(env: te.Env, game: Game) -> Picture:
    r, n = render(env), env.rules.columns
    picture = [[r.DRAWN] * (2 * n + 1) for _ in range(2 * env.rules.rows + 1)]
    for line, drawn in enumerate(game["lines"]):
        vertical = line >= env.rules.horizontal
        row, column = divmod(line - vertical * env.rules.horizontal, n + vertical)
        picture[2 * row + vertical][2 * column + 1 - vertical] = r.DRAWN if drawn else r.PAPER
    for box, owner in enumerate(game["boxes"]):
        picture[2 * (box // n) + 1][2 * (box % n) + 1] = r.COLOURS.get(owner, r.PAPER)
    return picture


def amazons(env: te.Env, game: Game) -> Picture:
    r, n = render(env), env.rules.size
    cells = [r.COLOURS.get(value, (r.LIGHT, r.DARK)[(k // n + k % n) % 2]) for k, value in enumerate(game["board"])]
    return rows_of(cells, n)


def morris(env: te.Env, game: Game) -> Picture:
    r = render(env)
    rows = ("#..#..#", ".#.#.#.", "..###..", "###.###", "..###..", ".#.#.#.", "#..#..#")
    men = iter(game["board"])
    return [[r.COLOURS.get(next(men), r.LINE) if sign == "#" else r.WOOD for sign in row] for row in rows]


def quoridor(env: te.Env, game: Game) -> Picture:
    r, n = render(env), env.rules.size
    wide = range(2 * n - 1)
    picture = [[r.SQUARE if y % 2 == x % 2 == 0 else r.GROUND for x in wide] for y in wide]
    for wall, here in enumerate(zip(game["horizontal"], game["vertical"], strict=True)):
        if any(here):
            picture[wall // (n - 1) * 2 + 1][wall % (n - 1) * 2 + 1] = r.WALL
    for square, stone in enumerate(game["board"]):
        if stone:
            picture[square // n * 2][square % n * 2] = r.COLOURS[stone]
    return picture


def game_2048(env: te.Env, game: Game) -> Picture:
    return rows_of([render(env).COLOURS[tile.bit_length() - 1 if tile else 0] for tile in game["board"]], 4)


def kuhn(env: te.Env, game: Game) -> Picture:
    r, bets = render(env), sum(game["history"])
    first, second = (r.RANK_COLOURS[card] for card in game["cards"])
    chips = [r.cards.CHIP if bets >= 2 else r.cards.CLOTH, r.cards.CHIP if bets else r.cards.CLOTH]
    return [
        [first, chips[0], second],
        [r.cards.CLOTH, chips[1], r.cards.CLOTH],
        [r.cards.CLOTH, r.cards.CHIP, r.cards.CLOTH],
    ]


def leduc(env: te.Env, game: Game) -> Picture:
    r = render(env)
    s = r.poker.betting(env.rules, game["history"])
    first, second, public = (r.RANK_COLOURS[card // 2] for card in (*game["cards"], game["public"]))
    rows = [[first, public if s["round"] else r.cards.BACK, second]]
    for k in (4, 3, 2, 1, 0):
        left, right = (r.cards.CHIP if bet > 3 * k else r.cards.CLOTH for bet in s["bets"])
        rows.append([left, r.cards.CLOTH, right])
    return rows


def holdem(env: te.Env, game: Game) -> Picture:
    r = render(env)
    seen = [*game["hands"][0], *r.seen_by(env.rules, game, 0)["board"], *game["hands"][1]]
    return [[r.cards.BACK if card < 0 else r.cards.SUIT_COLOURS[r.SUIT_NAMES[card % env.rules.suits]] for card in seen]]


def hanabi(env: te.Env, game: Game) -> Picture:
    """Paint the fireworks, the highest rank above, and a row for each hand."""
    r, rules = render(env), env.rules
    fills = [*r.FILLS.values()][: rules.colors]
    picture = []
    for rank in reversed(range(rules.ranks)):
        picture.append([f if h > rank else r.cards.CLOTH for f, h in zip(fills, game["fireworks"], strict=True)])
    picture += [[r.FILLS[text[0]] for text in hand] for hand in game["hands"]]
    width = max(rules.colors, rules.size)
    return [row + [r.cards.CLOTH] * (width - len(row)) for row in picture]


def gin_rummy(env: te.Env, game: Game) -> Picture:
    """Paint a row for each suit: the cards of either hand, and the discards."""
    r = render(env)
    fills = {r.cards.FACE: game["hands"][0], r.SECOND_FILL: game["hands"][1], r.cards.INK: game["discards"]}
    painted = {name: fill for fill, names in fills.items() for name in names}
    return [[painted.get(rank + suit, r.cards.CLOTH) for rank in "A23456789TJQK"] for suit in "scdh"]


def barrage_stratego(env: te.Env, game: Game) -> Picture:
    """Paint the pieces of both players by their squares, Red below."""
    r = render(env)
    cells = [r.WATER if square in r.LAKES else r.GROUND for square in range(100)]
    for player, row in enumerate(game["squares"]):
        for square in row:
            if square >= 0:
                cells[99 - square if player else square] = r.COLOURS[player]
    return [cells[10 * row : 10 * row + 10] for row in range(10)[::-1]]


def liars_dice(env: te.Env, game: Game) -> Picture:
    return [[render(env).FACES[die - 1] for die in dice] for dice in game["dice"]]


def yahtzee(env: te.Env, game: Game) -> Picture:
    return [[render(env).FACES[die] for die in game["dice"]]]


def backgammon(env: te.Env, game: Game) -> Picture:
    """Paint White's points 13 to 24 above and 12 to 1 below, from the left, with the bar in the middle."""
    r = render(env)
    picture = [[r.FRAME] * 13 for _ in range(11)]
    colours = [colour for colour, _ in r.COLOURS]
    for pip in range(1, 25):
        column = (12 - pip if pip <= 12 else pip - 13) + (pip <= 6 or pip > 18)
        for k in range(5):
            men = game["men"][0][pip - 1], game["men"][1][24 - pip]
            shown = [colour for colour, n in zip(colours, men, strict=True) if n > k]
            picture[k if pip > 12 else 10 - k][column] = (shown or [r.LIGHT if pip % 2 else r.DARK])[0]
    for k in range(5):
        for row, player in ((6 + k, 0), (4 - k, 1)):
            if game["men"][player][24] > k:
                picture[row][6] = colours[player]
    return picture


def mancala_board(env: te.Env, game: Game) -> Picture:
    south, north = rows_of([mancala.shade(seeds) for seeds in game["houses"]], env.rules.houses)
    first, second = (mancala.shade(seeds) for seeds in game["stores"])
    return [[second, *north[::-1], first], [second, *south, first]]


def shed(env: te.Env, game: Game) -> Picture:
    r = render(env)
    places = dict(zip(r.NAMES, game["hands"], strict=True)) | game
    cards = range(1, env.rules.cards + 1)
    return [[face if card in places[name] else r.CLOTH for card in cards] for name, face in r.FACES.items()]


def stars(env: te.Env, game: Game) -> Picture:
    r, b = render(env), env.rules.board
    cells = [r.PALE if index in b.spaces else r.CLOTH for index in range(b.size)]
    for (x, y), side in b.stars:
        cells[b.width * y + x] = r.STAR_FILLS[side]
    for piece, index in enumerate(game["pos"]):
        if index >= 0:
            cells[index] = r.PIECE_FILLS[piece]
    return rows_of(cells, b.width)


def equilibrium(env: te.Env, game: Game) -> Picture:
    r, rules = render(env), env.rules
    side = 2 * (2 * rules.board_radius + 1)
    picture = [[r.PAPER] * (2 * side + 1) for _ in range((side + 1) * -(-rules.players // 2) - 1)]
    for seat, codes in enumerate(game["board"]):
        cells = iter(codes)
        for row in range(2 * rules.board_radius + 1):
            out = abs(row - rules.board_radius)
            for column in range(2 * rules.board_radius + 1 - out):
                code = next(cells)
                colour = r.BACK if code > 5 else r.COLOURS[code - 1] if code else r.GROUND
                x, y = seat % 2 * (side + 1) + out + 2 * column, seat // 2 * (side + 1) + 2 * row
                for line in picture[y : y + 2]:
                    line[x : x + 2] = [colour] * 2
    return picture


def three_will(env: te.Env, game: Game) -> Picture:
    r = render(env)
    picture = []
    for row in reversed(range(8)):
        line = []
        for square in range(8 * row, 8 * row + 8):
            agents = r.stack(game, square)
            ground = {7: r.GOALS[0], 0: r.GOALS[1]}.get(row) or (r.LIGHT, r.DARK)[(square + row) % 2]
            line.append(r.FILLS[agents[0] // 8] if agents else ground)
        picture.append(line)
    return picture


PICTURES: dict[str, Callable[[te.Env, Game], Picture]] = {
    "hyper_tic_tac_toe": hyper,
    "connect_four": board("columns", "FRAME"),
    "othello": board("side", "CLOTH"),
    "go": board("size", "WOOD", turned=True),
    "checkers": checkers,
    "chinese_checkers": chinese_checkers,
    "dots_and_boxes": dots_and_boxes,
    "amazons": amazons,
    "nine_mens_morris": morris,
    "quoridor": quoridor,
    "breakthrough": pieces,
    "clobber": pieces,
    "lines_of_action": board("side", "EMPTY", turned=True),
    "hex": hex_board,
    "y": hex_stones,
    "havannah": hex_stones,
    "yahtzee": yahtzee,
    "liars_dice": liars_dice,
    "dark_hex": hex_board,
    "phantom_tic_tac_toe": board("size", "FREE"),
    "chess": chess,
    "gardner_chess": chess,
    "shogi": shogi,
    "minishogi": shogi,
    "animal_shogi": shogi,
    "xiangqi": xiangqi,
    "2048": game_2048,
    "ultimate_tic_tac_toe": board("side", "EMPTY"),
    "kalah": mancala_board,
    "oware": mancala_board,
    "kuhn_poker": kuhn,
    "leduc_poker": leduc,
    "texas_holdem": holdem,
    "hanabi": hanabi,
    "gin_rummy": gin_rummy,
    "barrage_stratego": barrage_stratego,
    "backgammon": backgammon,
    "shed": shed,
    "tensor_stars": stars,
    "tensor_equilibrium": equilibrium,
    "three_will": three_will,
}
SHOWN = {variant.id: name for name, variant in reversed(VARIANTS.items())} | dict.fromkeys(
    ("shed_10", "tensor_equilibrium_3", "hypercube")
)


@pytest.mark.skipif(NODE is None, reason="the page's code is run by node, which is not here")
@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", sorted({value or key for key, value in SHOWN.items()}))
def test_painted_pixels_are_the_colours_of_the_dictionary(name: str, tmp_path: Path) -> None:
    which = VARIANTS[name]
    env = shared_env(which.id, **which.fields)
    vector, rng = te.VectorEnv(env, GAMES, 3, autoreset="next_step"), np.random.default_rng(0)
    words, expected = list[list[int]](), list[list[str]]()
    for _ in range(STEPS):
        vector.step_uniform()
        state = vector.state
        for row in rng.choice(GAMES, SAMPLED, replace=False):
            words.append(state.buffers.layout.download(state.buffers.words)[row].tolist())
            picture = PICTURES[env.entry.id](env, env.state_to_dict(state, int(row)))
            expected.append([colour for line in picture for colour in line])
    tables = tile_tables(env)
    assert tables and (tables["width"], tables["height"]) == (len(picture[0]), len(picture))
    for file, value in (("tile.json", tables), ("states.json", words)):
        (tmp_path / file).write_text(json.dumps(value))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for path in (PAGE / "tiles.js", PAGE / "games.js", PAGE / "net.js", HERE / "paint.js"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    command = [str(NODE), "paint.js", "tile.json", "states.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected
    assert len({tuple(colours) for colours in expected}) > 10


def test_every_variant_has_a_tile() -> None:
    assert all(tile_tables(variant(name)[1]) for name in VARIANTS)


def test_a_game_without_a_tile() -> None:
    env = te.make("tests.adapters.toll_road:TollRoad")
    assert tile_tables(env) is None
