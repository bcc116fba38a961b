"""Published results, their sources, and functions that compute them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import tensor_envs as te
from known_results import equilibria
from known_results.othello import fifty_empties


@dataclass(frozen=True)
class KnownResult:
    """A published result.

    Attributes:
        what: the name.
        published: a number, numbers by ply, or text.
        source: the publication; "" if none is known.
        find: the function that computes it.
        slow: whether that takes more than seconds, or more than a gigabyte.
    """

    what: str
    published: Any
    source: str
    find: Callable[[], Any]
    slow: bool = False


MAX_POSITIONS = 250_000_000  # positions


@cache  # an environment's kernels are compiled once
def board(k: int, *shape: int, misere: bool = False, gravity: bool = False) -> te.Env:
    return te.make("hyper_tic_tac_toe", shape=shape, k=k, misere=misere, gravity=gravity)


def lines(side: int) -> te.Env:
    """Return n x n tic-tac-toe with n in a row."""
    return board(side, side, side)


@cache
def columns(width: int, height: int) -> te.Env:
    return te.make("connect_four", rows=height, columns=width)


def complete_games(env: te.Env) -> int:
    return sum(te.perft(env, symmetry=True).games.values())


def positions(env: te.Env, depth: int | None = None, symmetry: bool = False) -> list[int]:
    return te.perft(env, depth, symmetry=symmetry).positions


def all_positions(env: te.Env) -> int:
    return sum(positions(env))


def ends(env: te.Env) -> list[int]:
    return [sum(row.ended_positions.values()) for row in te.perft(env, symmetry=True).plies]


def value(env: te.Env) -> str:
    """Return the winner under best play, and the ply of the end."""
    solution, start = te.solve(env, max_positions=MAX_POSITIONS), env.init(1)
    won = solution.value(start)[0]
    if won == 0:
        return "draw"
    return f"the {'first' if won > 0 else 'second'} player, at ply {solution.distance(start)[0]}"


def searched(start: te.Env | te.State, timed: bool = False) -> str:
    """Return the winner under best play from a start, or from a game in which the first player moves, by search.

    With `timed` the ply of the end is added.
    """
    state = start.init(1) if isinstance(start, te.Env) else start
    solution = te.solve(state.env, method="search", memory=2**31 if timed else 2**28)
    won = solution.value(state)[0]
    if won == 0:
        return "draw"
    return f"the {'first' if won > 0 else 'second'} player" + f", at ply {solution.distance(state)[0]}" * timed


def endgame(board: str) -> str:
    """Return the winner of a position of othello, with X to move."""
    game = {"board": ["O-X".index(square) - 1 for square in board], "current_player": 0}
    return searched(te.make("othello").state_from_dicts([game]))


def winner(env: te.Env) -> str:
    """Return the winner under best play."""
    return value(env).partition(",")[0]


def won(env: te.Env, player: int) -> list[int]:
    """Return the number of positions that a player wins, by ply, up to symmetry."""
    return [(row.first, row.second)[player] for row in te.solve(env).counts(symmetry=True)]


def win_draw_loss(env: te.Env) -> list[str]:
    """Return numbers of won, drawn and lost positions for the player to move, by ply."""
    rows = enumerate(te.solve(env).counts())
    return ["/".join(map(str, (c.first, c.draw, c.second)[:: -1 if ply % 2 else 1])) for ply, c in rows]


def sequences_from(game: str, fen: str | None, depth: int) -> list[int]:
    env = te.make(game)
    return te.perft(env if fen is None else env.state_from_dicts([{"fen": fen}]), depth).sequences[1:]


# games, positions (None: the first one) and what they are called, and published counts
SEQUENCES = (
    ("chess", None, "", [20, 400, 8902, 197281, 4865609], "Chess Programming Wiki, Perft Results"),
    (
        "chess",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        ", from Kiwipete",
        [48, 2039, 97862],
        "albert.nu/programs/sharper/perft.htm",
    ),
    ("xiangqi", None, "", [44, 1920, 79666, 3290240], "Chess Programming Wiki, Chinese Chess Perft Results"),
    ("shogi", None, "", [30, 900, 25470, 719731], "tests of lishogi's shogiops"),
    ("minishogi", None, "", [14, 181, 2512, 35401, 533203], "tests of lishogi's shogiops and scalashogi"),
    ("animal_shogi", None, "", [4, 17, 123, 976, 8122, 71677], "Fairy-Stockfish's dobutsu, pyffish 0.0.90"),
)

TROMP = "J. Tromp, John's Connect Four Playground"
OEIS_A212693 = [1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275, 558186, 1662623, 4568683, 12236101]

COUNTS = [
    *(
        KnownResult(f"tic-tac-toe {n}x{n}: complete games", games, "OEIS A061526", partial(complete_games, lines(n)))
        for n, games in ((2, 24), (3, 255_168), (4, 15_038_733_958_272))
    ),
    KnownResult(
        "tic-tac-toe 3x3: positions by ply, up to symmetry",
        [1, 3, 12, 38, 108, 174, 204, 153, 57, 15],
        "OEIS A008907",
        partial(positions, lines(3), symmetry=True),
    ),
    *(
        KnownResult(
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
        KnownResult(
            f"connect four {n + 1}x{n}: complete games",
            games,
            "OEIS A342329",
            partial(complete_games, columns(n + 1, n)),
        )
        for n, games in ((3, 356_232), (4, 152_505_051_772))
    ),
    KnownResult(
        "connect four 7x6: positions by ply, to ply 9",
        OEIS_A212693[:10],
        "OEIS A212693",
        partial(positions, columns(7, 6), 9),
    ),
    KnownResult(
        "connect four 7x6: positions by ply, to ply 12",
        OEIS_A212693,
        "OEIS A212693",
        partial(positions, columns(7, 6), 12),
        slow=True,
    ),
    *(
        KnownResult(
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
            (4, 6, 15_835_683),
            (4, 7, 135_385_909),
            (5, 5, 69_763_700),
            (6, 4, 94_910_577),
        )
    ),
    *(
        KnownResult(
            f"{game}: sequences of 1 to {len(counts)} plies{of}",
            counts,
            source,
            partial(sequences_from, game, fen, len(counts)),
            slow=counts[-1] > 10**6,
        )
        for game, fen, of, counts, source in SEQUENCES
    ),
    KnownResult(
        "othello: sequences of 1 to 9 plies",
        [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288],
        'A. Bik, "Perft for Reversi" (2009)',
        lambda: te.perft(te.make("othello"), 9, symmetry=True).sequences[1:],
    ),
    KnownResult(
        "othello: positions with 50 empty squares in which the game goes on, up to the board's 8 symmetries",
        2_958_551,
        'H. Takizawa, "Othello is solved", arXiv 2310.19387',
        fifty_empties,
    ),
    KnownResult(
        "checkers: sequences of 1 to 6 turns, none of which has two jumps",
        [7, 49, 302, 1469, 7361, 36768],
        'A. Bik, "Perft for Checkers" (2009)',
        lambda: te.perft(te.make("checkers"), 6).sequences[1:],
    ),
]

STEININGER = "C. Steininger, github.com/ChristopheSteininger/c4"
MNK = "Wikipedia, m,n,k-game: results of several authors"
BOCK_5X5 = """
0/1/0 0/5/0 10/15/0 12/73/10 196/139/10 213/625/237 1985/1146/219 2670/4002/2683 15432/6863/2765
20897/19616/20329 85493/32021/22118 114865/76558/108341 356731/116426/122979 459878/235063/433467
1120140/331971/496845 1342188/572587/1316566 2584341/746420/1439076 2748641/1118666/2922583
4190967/1322485/2882893 3702331/1712167/4541032 4300149/1785757/3727019 2769392/1959697/4291454
2303386/1692161/2636933 843204/1447451/2055258 333513/897921/780164 0/339437/244812
"""

VALUES = [
    *(
        KnownResult(
            f"tic-tac-toe {n}x{n}: positions that the {name} player wins, by ply, up to symmetry",
            published,
            source,
            partial(won, lines(n), player),
        )
        for n, player, name, source, published in (
            (3, 0, "first", "OEIS A317573", [0, 0, 7, 9, 85, 67, 139, 70, 23, 12]),
            (3, 1, "second", "OEIS A317574", [0, 0, 0, 8, 5, 72, 38, 56, 23, 0]),
            (
                4,
                0,
                "first",
                "OEIS A317573",
                [0] * 6 + [1100, 280, 26771, 11535, 91567, 36362, 78138, 26146, 12900, 3774, 0],
            ),
            (4, 1, "second", "OEIS A317574", [0] * 7 + [2476, 642, 31841, 11251, 66364, 21718, 29258, 8496, 1335, 371]),
        )
    ),
    *(
        KnownResult(f"tic-tac-toe {m}x{n}, {k} in a row: best play", who, MNK, partial(winner, board(k, m, n)))
        for m, n, k, who in (
            (3, 3, 3, "draw"),
            (3, 4, 3, "the first player"),
            (4, 4, 3, "the first player"),
            (4, 4, 4, "draw"),
        )
    ),
    *(
        KnownResult(f"connect four {w}x{h}: best play", who, STEININGER, partial(value, columns(w, h)), slow)
        for w, h, who, slow in (
            (4, 4, "draw", False),
            (5, 4, "draw", False),
            (4, 5, "draw", False),
            (6, 4, "the second player, at ply 24", True),
        )
    ),
    KnownResult(
        "connect four 5x5: won/drawn/lost for the player to move, by ply",
        BOCK_5X5.split(),
        "M. Böck, arXiv 2507.05267, results_solve_w5_h5.csv",
        partial(win_draw_loss, columns(5, 5)),
        slow=True,
    ),
    *(
        KnownResult(f"tic-tac-toe {m}x{n}, {k} in a row: best play", None, "", partial(value, board(k, m, n)), slow)
        for m, n, k, slow in (
            (3, 5, 3, False),
            (3, 5, 4, False),
            (2, 8, 4, False),
            (3, 6, 3, True),
            (3, 6, 4, True),
            (4, 5, 4, True),
        )
    ),
    *(
        KnownResult(
            f"tic-tac-toe {m}x{n}, {k} in a row lose: best play", None, "", partial(value, board(k, m, n, misere=True))
        )
        for m, n, k in ((3, 3, 3), (3, 4, 3), (4, 4, 3), (4, 4, 4))
    ),
    *(
        KnownResult(
            f"tic-tac-toe {'x'.join(map(str, shape))} with gravity (the first side is the height), {k} in a row"
            + (" lose: best play" if misere else ": best play"),
            None,
            "",
            partial(value, board(k, *shape, misere=misere, gravity=True)),
        )
        for shape, k, misere in (
            ((4, 4), 3, False),
            ((4, 5), 3, False),
            ((4, 4), 4, True),
            ((4, 5), 4, True),
            ((2, 3, 3), 3, False),
        )
    ),
    *(
        KnownResult(f"shed with {n} cards: best play", None, "", partial(value, te.make("shed", cards=n)))
        for n in (5, 6, 7, 8)
    ),
]


def first_moves(env: te.Env) -> list[int]:
    """Return the scores of the first moves of connect four: half the plies that are left at the end, and one.

    A win with the last stone of the winner is 1, with the one before 2; a loss is negative.
    """
    start = env.init(env.num_actions)
    after = env.step(start, range(env.num_actions))
    solution = te.solve(env, method="search", memory=2**31)
    won, plies = solution.value(after), solution.distance(after) + 1
    return (-won * ((env.rules.cells - plies) // 2 + 1)).tolist()


# number, board from a1 to h8 with X to move, and who wins by the published difference of discs
FFO = ((40, "O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X--------", "the first player"),)

SEARCHED = [
    *(
        KnownResult(f"connect four {w}x{h}: best play, by search", "draw", STEININGER, partial(searched, columns(w, h)))
        for w, h in ((4, 6), (4, 7), (4, 8), (5, 6), (7, 4), (6, 5))
    ),
    KnownResult(
        "connect four 7x6: best play, by search",
        "the first player, at ply 41",
        "J. D. Allen and V. Allis (1988); the ply by J. Tromp's and P. Pons's solvers",
        partial(searched, columns(7, 6), True),
        slow=True,
    ),
    KnownResult(
        "connect four 7x6: scores of the seven first moves, by search",
        [-2, -1, 0, 1, 0, -1, -2],
        "P. Pons, connect4.gamesolver.org",
        partial(first_moves, columns(7, 6)),
        slow=True,
    ),
    KnownResult(
        "hex 5x5 without swap: best play, by search",
        "the first player",
        "J. Nash: a second player's strategy can be stolen",
        partial(searched, te.make("hex", size=5, swap=False)),
        slow=True,
    ),
    KnownResult(
        "y with 5 cells a side: best play, by search",
        "the first player",
        "no draws: a second player's strategy can be stolen",
        partial(searched, te.make("y", size=5)),
    ),
    *(
        KnownResult(
            f"othello: endgame {number} of the FFO test, {board.count('-')} empty squares",
            result,
            "FFO endgame test suite, radagast.se/othello/ffotest.html",
            partial(endgame, board),
        )
        for number, board, result in FFO
    ),
]

KUHN = 'H. W. Kuhn, "A simplified two-person poker" (1950)'
SPIEL = "OpenSpiel, sequence_form_lp_test.py"

LAST_TURNS = {
    "tensor_stars": f"tensor_stars, last turn in {equilibria.POSITIONS} random positions:",
    "three_will": f"three_will, last two turns in {equilibria.POSITIONS} random positions near a win:",
}
EXPLOITABILITY = {
    **{name: f"{name}: exploitability of" for name in ("kuhn_poker", "leduc_poker")},
    **{name: f"{what} exploitability of" for name, what in LAST_TURNS.items()},
}
CONTINUATIONS = {False: "one continuation", True: "four continuations"}

EQUILIBRIA = [
    *(
        KnownResult(f"{name}: value for the first player", value, source, partial(equilibria.first_players_value, name))
        for name, value, source in (("kuhn_poker", "-0.0556", KUHN), ("leduc_poker", "-0.0856", SPIEL))
    ),
    KnownResult(
        "dark_hex: value of uniform play for the first player",
        "0.333333",
        "random Hex: 84 of 126 full boards are won; exp-a-spiel's README has .333684, in single precision",
        partial(equilibria.value_of_uniform_play, "dark_hex"),
    ),
    KnownResult(
        "dark_hex: best responses of either player to uniform play",
        "1.0000 0.8328",
        "exp-a-spiel's README: .666318 + .333684 and 1.166488 - .333684",
        partial(equilibria.responses_to_uniform_play, "dark_hex"),
        slow=True,
    ),
    KnownResult(
        "phantom_tic_tac_toe, abrupt: best responses of either player to uniform play",
        None,
        "",
        partial(equilibria.responses_to_uniform_play, "phantom_tic_tac_toe", abrupt=True),
        slow=True,
    ),
    *(
        KnownResult(f"{what} information states, histories", None, "", partial(equilibria.information_states, name))
        for name, what in LAST_TURNS.items()
    ),
    *(
        KnownResult(f"{what} uniform play", None, "", partial(equilibria.of_uniform, name))
        for name, what in EXPLOITABILITY.items()
    ),
    *(
        KnownResult(
            f"{what} playout search of {count:,}, by its shares of visits",
            None,
            "",
            partial(equilibria.of_search, name, count),
        )
        for name, what in EXPLOITABILITY.items()
        for count in (64, 1024, 16_384)
        if name != "three_will"
    ),
    *(
        KnownResult(
            f"{EXPLOITABILITY['leduc_poker']} an equilibrium of {equilibria.TRUNK} whose second round is solved anew, "
            f"{'safely' if safe else 'unsafely'}",
            None,
            "",
            partial(equilibria.of_resolving, safe),
        )
        for safe in (False, True)
    ),
    *(
        KnownResult(
            f"{EXPLOITABILITY['leduc_poker']} an equilibrium of 0.02 whose every decision is solved anew, "
            f"{f'to a depth of {depth}, with {CONTINUATIONS[biased]}' if depth else 'to the end'}",
            None,
            "",
            partial(equilibria.of_depth_limit, depth, biased),
        )
        for depth, biased in [(None, False), *itertools.product((1, 2, 3), (False, True))]
    ),
    *(
        KnownResult(
            f"{EXPLOITABILITY[name]} the trained player by {count} simulations",
            None,
            "",
            partial(equilibria.of_trained, name, count),
        )
        for name in LAST_TURNS
        for count in (0, 32)
    ),
    *(
        KnownResult(
            f"{name}: exploitability of the trained player by 0 simulations",
            None,
            "",
            partial(equilibria.of_trained, name, 0),
            slow=True,
        )
        for name in equilibria.WITHOUT_TREE
    ),
    *(
        KnownResult(
            f"{name}: lower bound of the exploitability of the trained player by {count} simulations",
            None,
            "",
            partial(equilibria.at_least, name, count),
            slow=True,
        )
        for name, count in itertools.product((*equilibria.WITHOUT_TREE, *LAST_TURNS), (0, 32))
        if count or name in LAST_TURNS
    ),
]

RESULTS = [*COUNTS, *VALUES, *SEARCHED, *EQUILIBRIA]
