"""Make the table of openings that comes with connect four, from the scores of all its positions of eight plies.

    python scripts/opening_table.py openingbook_w7_h6_d8.csv
    python scripts/opening_table.py openingbook_w7_h6_d8.csv --check 100

M. Böck solved the game and published the scores: `src/connect4/solution_w7_h6/openingbook_w7_h6_d8.csv` of
https://github.com/markus7800/Connect4-Strong-Solver, commit 5e209af. In the folder of the game, as
`openings.safetensors`, the table comes with the package: every search of the game starts with it. `--check` searches
some of the positions without the table, and compares.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tensor_envs as te
from tensor_envs._command import Failure, command_parser, new_file, run, whole
from tensor_envs.envs.registry import words_metadata
from tensor_envs.files.arrays import write_arrays
from tensor_envs.solve.alpha_beta import FORMAT
from tensor_envs.solve.bounds import Bounds
from tensor_envs.solve.canonical import canonical
from tensor_envs.solve.packed import Array
from tensor_envs.solve.proof import WIN_SCORE
from tensor_envs.solve.transpositions import MAX_WORK

WON = 100  # published score of a finished win; one in n plies has WON - n, a loss the negative, a draw no line
PLIES = 8
SOON = 1  # plies of a win that a search finds at once, so that the table leaves it out


def work(options: argparse.Namespace) -> None:
    """Write the table, and check it."""
    env = te.make("connect_four")
    published = published_scores(options.scores)
    solution = te.solve(env, method="search")
    state, table = bounds(solution, positions(solution, PLIES), published)
    write(options.file, env, table)
    print(f"{options.file}: {len(table.work):,} positions of {PLIES} plies, {options.file.stat().st_size:,} bytes")
    if options.check:
        check(env, state, table, options)


def published_scores(path: Path) -> dict[int, int]:
    """Return the scores of the unfinished positions that are no draws, by their numbers, see `numbers`.

    Raises:
        ValueError: the file has another form.
    """
    scores = dict[int, int]()
    for i, line in enumerate(path.read_text().splitlines(), 1):
        try:
            number, score = (int(part) for part in line.split(","))
        except ValueError:
            raise ValueError(f"line {i} of {path} must be a number, a comma and a score, got {line!r}") from None
        if score != -WON:
            scores[number] = score
    return scores


def positions(solution: te.SearchSolution, plies: int) -> te.State:
    """Return the unfinished positions after some plies, one of each pair of mirror images."""
    env = solution.env
    state = env.init(1)
    for _ in range(plies):
        rows, actions = np.nonzero(state.legal_action_mask.numpy())
        after = env.step(state[rows.astype(np.int32)], actions)
        live = np.flatnonzero(~after.numpy()["terminated"])
        _, first = np.unique(words(solution, after, live), axis=0, return_index=True)
        state = after[live[first].astype(np.int32)]
    return state


def words(solution: te.SearchSolution, state: te.State, rows: Array) -> Array:
    """Return the words of positions as a search packs them, the same for mirror images, uint32 [rows, words]."""
    return canonical(solution._words(state.numpy(), rows), solution._maps)


def numbers(own: Array, other: Array) -> Array:
    """Return the published numbers of positions, int64 [n].

    A column takes one bit more than it has rows: a 1 for a stone of the player to move and 0 for one of the opponent,
    from the bottom, and a 1 above the highest.

    Args:
        own, other: stones, the top row first, [n, rows, columns].
    """
    n, rows, columns = own.shape
    number = np.zeros(n, np.int64)
    for column in range(columns):
        stones = own[:, ::-1, column] @ (1 << np.arange(rows))
        height = (own | other)[:, :, column].sum(1, dtype=np.int64)
        number |= (stones | 1 << height) << column * (rows + 1)
    return number


def bounds(solution: te.SearchSolution, state: te.State, published: dict[int, int]) -> tuple[te.State, Bounds]:
    """Return the positions that do not end within `SOON`, and their exact scores in the form of a search's table.

    Raises:
        ValueError: the scores are not those of the positions.
    """
    planes = solution.env.observe(state).numpy().astype(np.int64)
    own, other = (planes[:, player] for player in range(2))
    number = numbers(own, other)
    mirrored = numbers(own[:, :, ::-1], other[:, :, ::-1])
    strange = published.keys() - set(number.tolist()) - set(mirrored.tolist())
    if strange:
        raise ValueError(f"SCORES has {len(strange)} positions that are not of {PLIES} plies, such as {min(strange)}")
    score = np.array([published.get(n, 0) for n in number.tolist()])
    # The latest ends come first: where a bucket of the search's table is full, it is an early one that finds no place.
    rows = np.argsort(np.abs(score), kind="stable")
    rows = rows[np.abs(score[rows]) < WON - SOON]
    # A win in n plies is WON - n there and WIN_SCORE - n here.
    score += np.sign(score) * (WIN_SCORE - WON)
    scores = score[rows].astype(np.int16)
    # Positions of the most work are never replaced by those that a search meets.
    table = Bounds(words(solution, state, rows), scores, scores, np.full(len(rows), MAX_WORK, np.uint16))
    return state[rows.astype(np.int32)], table


def write(path: Path, env: te.Env, table: Bounds) -> None:
    """Write a table of openings."""
    write_arrays(path, FORMAT, {"env": words_metadata(env)}, table.arrays())


def check(env: te.Env, state: te.State, table: Bounds, options: argparse.Namespace) -> None:
    """Search some positions without a table, and compare the scores.

    Raises:
        Failure: the search finds another score.
    """
    rows = np.random.default_rng(options.seed).permutation(state.batch)[: options.check].astype(np.int32)
    with TemporaryDirectory() as folder:
        # A search of the game starts with its table, unless it starts with another one.
        empty = Path(folder) / "empty.safetensors"
        write(empty, env, table.first(0))
        solution = te.SearchSolution.load(empty)
    score = table.low[rows]
    distance = np.where(score == 0, -1, WIN_SCORE - np.abs(score))
    for i, row in enumerate(rows.tolist()):
        one = state[rows[i : i + 1]]
        if solution.value(one) != np.sign(score[i]) or solution.distance(one) != distance[i]:
            raise Failure(f"a search finds another score of {env.state_to_dict(state, row)}")
    print(f"{len(rows)} positions have the same score by search, {solution.nodes:,} positions searched")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python scripts/opening_table.py", __doc__)
    parser.add_argument("scores", type=Path, metavar="SCORES", help="file of published scores")
    default = Path("openings.safetensors")
    parser.add_argument("--file", type=new_file, default=default, help=f"default: {default} in the current folder")
    parser.add_argument("--check", type=whole(0), default=0, metavar="N", help="search N positions; default: none")
    parser.add_argument("--seed", type=whole(0), default=0, help="of the positions that are searched; default: 0")
    run(parser, work, arguments)
