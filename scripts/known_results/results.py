"""What is known, by whom it was published, and how it comes out here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensor_envs as te
from known_results.othello import fifty_empties


@dataclass(frozen=True)
class Known:
    """A published result.

    Attributes:
        what: it is of.
        published: a number, numbers by ply, or words.
        source: who published it; "" if nobody has that is known here.
        find: works it out.
        slow: takes more than seconds, or more than a gigabyte.
    """

    what: str
    published: Any
    source: str
    find: Callable[[], Any]
    slow: bool = False


def lines(side: int) -> te.Env:
    """n x n tic-tac-toe with n in a row."""
    return te.make("hyper_tic_tac_toe", shape=(side, side), k=side)


def columns(width: int, height: int) -> te.Env:
    return te.make("connect_four", rows=height, columns=width)


def complete_games(env: te.Env) -> int:
    return sum(te.perft(env, symmetry=True).games.values())


def positions(env: te.Env, depth: int | None = None, symmetry: bool = False) -> list[int]:
    return te.perft(env, depth, symmetry).positions


def all_positions(env: te.Env) -> int:
    return sum(positions(env))


def ends(env: te.Env) -> list[int]:
    return [sum(row.ended_positions.values()) for row in te.perft(env, symmetry=True).plies]


TROMP = "J. Tromp, John's Connect Four Playground"
OEIS_A212693 = [1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275, 558186, 1662623, 4568683, 12236101]

COUNTS = [
    *(
        Known(
            f"tic-tac-toe {n}x{n}: complete games",
            games,
            "OEIS A061526",
            partial(complete_games, lines(n)),
        )
        for n, games in ((2, 24), (3, 255_168), (4, 15_038_733_958_272))
    ),
    Known(
        "tic-tac-toe 3x3: positions by ply, up to symmetry",
        [1, 3, 12, 38, 108, 174, 204, 153, 57, 15],
        "OEIS A008907",
        partial(positions, lines(3), symmetry=True),
    ),
    *(
        Known(
            f"tic-tac-toe {n}x{n}: positions that end a game, by ply, up to symmetry",
            published,
            "OEIS A317576",
            partial(ends, lines(n)),
        )
        for n, published in (
            (3, [0, 0, 0, 0, 0, 21, 21, 58, 23, 15]),
            (4, [0] * 7 + [280, 642, 4942, 6770, 20286, 16042, 20998, 7970, 3774, 1059]),
        )
    ),
    *(
        Known(
            f"connect four {n + 1}x{n}: complete games",
            games,
            "OEIS A342329",
            partial(complete_games, columns(n + 1, n)),
        )
        for n, games in ((3, 356_232), (4, 152_505_051_772))
    ),
    Known(
        "connect four 7x6: positions by ply, to ply 9",
        OEIS_A212693[:10],
        "OEIS A212693",
        partial(positions, columns(7, 6), 9),
    ),
    Known(
        "connect four 7x6: positions by ply, to ply 12",
        OEIS_A212693,
        "OEIS A212693",
        partial(positions, columns(7, 6), 12),
        slow=True,
    ),
    *(
        Known(
            f"connect four {w}x{h}: positions",
            count,
            TROMP,
            partial(all_positions, columns(w, h)),
            slow=count > 10_000_000,
        )
        for w, h, count in (
            (4, 4, 161_029),
            (5, 4, 3_945_711),
            (4, 5, 1_706_255),
            (5, 5, 69_763_700),
            (6, 4, 94_910_577),
        )
    ),
    Known(
        "othello: sequences of 1 to 9 plies",
        [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288],
        'A. Bik, "Perft for Reversi" (2009)',
        lambda: te.perft(te.make("othello"), 9, symmetry=True).sequences[1:],
    ),
    Known(
        "othello: positions with 50 empty squares in which the game goes on, up to the board's 8 symmetries",
        2_958_551,
        'H. Takizawa, "Othello is solved", arXiv 2310.19387',
        fifty_empties,
    ),
]

RESULTS = COUNTS
