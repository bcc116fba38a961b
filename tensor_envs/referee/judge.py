"""Compute the regret of every move in files of games.

    python -m tensor_envs.referee judge games.pgn game.sgf records.jsonl
    python -m tensor_envs.referee judge records.jsonl --examples moves.jsonl --max-regret 0

Files are PGN of chess, SGF of go and Hex, PHH of Texas hold'em, MAT of backgammon, JSON lines of te.save_game and of
the referee's --save, replays of Kaggle's OpenSpiel environments (.json), and transcripts of Othello, connect four or
tic-tac-toe, which need a --game. The regret of a move is the value of the best move minus that of this one: exact if
the game is solved in seconds, else the mean of several playout searches with its 95 % interval. --examples writes a
line of JSON for each move, with the prompt and the answer as messages of a chat and the regret, for supervised
fine-tuning.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensor_envs._command import add_rules, busy, command_parser, new_file, real, run, whole
from tensor_envs.envs.registry import env_of, make
from tensor_envs.evaluation.matches import Z
from tensor_envs.evaluation.oracles import PlayoutOracle, oracle_of
from tensor_envs.files.arrays import replace_file
from tensor_envs.files.records import Record, load_games
from tensor_envs.referee import kaggle
from tensor_envs.referee.matches import Episode
from tensor_envs.referee.settings import Settings
from tensor_envs.search.policies import MAX_SIMULATIONS
from tensor_envs.text import reward, seat_names

SEARCHES = 5  # searches of each position, with different seeds
T = 2.776  # quantile of Student's distribution for the 95 % interval of the mean of `SEARCHES` values
# tags of PGN and SGF with the players' names, by seat
TAGS = {"chess": ("White", "Black"), "go": ("PB", "PW"), "hex": ("PB", "PW")}


class Verdict(NamedTuple):
    """Verdict on the moves of a game.

    Attributes:
        game: the record.
        oracle: description of the oracle that has the values.
        regret: value of the best move minus that of the move played, for each move.
        interval: half the width of the regret's 95 % interval, 0 for exact values.

    Examples:
        >>> from tensor_envs.referee.judge import judged
        >>> judged(te.record(te.make("tic_tac_toe"), ["(0,0)", "(0,1)"])).regret
        (0.0, 1.0)
    """

    game: Record
    oracle: str
    regret: tuple[float, ...]
    interval: tuple[float, ...]

    @property
    def players(self) -> tuple[str, ...]:
        """Names of the players by seat: those of the record's notes, or else of the seats."""
        env = env_of(self.game.game)
        names = self.game.notes.get("players")
        if isinstance(names, list):
            return tuple(map(_in_a_line, names))
        tags = self.game.notes.get("tags", {})
        pairs = zip(TAGS.get(env.entry.id, ()) or seat_names(env), seat_names(env), strict=True)
        return tuple(_in_a_line(tags.get(tag) or seat) for tag, seat in pairs)

    def __str__(self) -> str:
        """Return a line for each move."""
        players = self.players
        width = len(str(len(self.regret)))
        moves = zip(self.game.players, self.game.names, self.regret, self.interval, strict=True)
        lines = [
            f"{ply + 1:{width}} {players[seat]}: {name}, regret {regret:.4f}{f' +- {half:.4f}' if half else ''}"
            for ply, (seat, name, regret, half) in enumerate(moves)
        ]
        return "\n".join(lines)


def _in_a_line(name: Any) -> str:
    """Return a name from a file with spaces in place of line breaks and other characters that are not printable."""
    return "".join(character if character.isprintable() else " " for character in str(name))


def judged(game: Record, num_simulations: int = 1024) -> Verdict:
    """Return the verdict on a game, by exact values if it is solved in seconds, else by several searches.

    Args:
        game: the record.
        num_simulations: simulations of each search.

    Raises:
        ValueError, TypeError: a record that cannot be replayed; another number of simulations.
    """
    oracle = oracle_of(env_of(game.game), num_simulations)
    if not isinstance(oracle, PlayoutOracle):
        regrets = [0.0 - value for value in reward(game, oracle)]
        return Verdict(game, repr(oracle), tuple(regrets), (0.0,) * len(regrets))
    oracles = [PlayoutOracle(num_simulations, seed) for seed in range(SEARCHES)]
    samples = -np.array([reward(game, search) for search in oracles])  # [searches, moves]
    half = T * samples.std(0, ddof=1) / np.sqrt(SEARCHES)
    return Verdict(game, f"{SEARCHES} times {oracle!r}", (samples.mean(0) + 0.0).tolist(), tuple(half.tolist()))


def examples(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Yield an example for supervised fine-tuning for each move that is legal and not of a random opening.

    Yields:
        "messages", the prompt and the answer as in a chat; "regret"; "game", "seed", "ply", "seat" and "player". The
            prompt has the disguise and the settings of the record's notes, and the answer is the player's if the notes
            have it.

    Examples:
        >>> from tensor_envs.referee.judge import examples, judged
        >>> example = next(examples(judged(te.record(te.make("tic_tac_toe"), ["(1,1)"]))))
        >>> example["messages"][1], example["regret"]
        ({'role': 'assistant', 'content': 'move: (1,1)'}, 0.0)
    """
    game = verdict.game
    env = env_of(game.game)
    noted = game.notes.get("settings", {})
    kinds = game.notes.get("disguise", {}).get("kinds", ())
    settings = Settings(noted.get("history", True), noted.get("legal", True), disguise=tuple(kinds))
    episode = Episode(env, [None] * env.num_players, game.seed, settings, game.row, game.start)
    moves = game.notes.get("moves") or [{}] * len(game.actions)
    for ply, (action, move) in enumerate(zip(game.actions, moves, strict=True)):
        if move is not None and action in env.legal_actions(episode.state):
            answers = move.get("answers")
            answer = answers[-1] if answers else f"move: {episode.name(action)}"
            yield {
                "messages": [{"role": "user", "content": episode.question()}, {"role": "assistant", "content": answer}],
                "regret": verdict.regret[ply],
                "game": env.id,
                "seed": game.seed,
                "ply": ply,
                "seat": game.players[ply],
                "player": verdict.players[game.players[ply]],
            }
        episode.play(action)


def work(options: argparse.Namespace) -> None:
    """Judge the games of the files."""
    if options.rules and options.game is None:
        raise ValueError("--rules need a --game")
    env = None if options.game is None else make(options.game, **dict(options.rules))
    # Collect the regrets of all files by game and player, for the means at the end.
    regrets = defaultdict[tuple[str, str], list[float]](list)
    lines = list[bytes]()
    for path in options.files:
        games = [kaggle.read(path)] if path.suffix.lower() == ".json" else load_games(path, env)
        for number, game in enumerate(games):
            with busy("judging"):
                verdict = judged(game, options.simulations)
            print(f"{path}, game {number + 1}: {game.game['id']}, regret by {verdict.oracle}")
            print(verdict, flush=True)
            for seat, regret in zip(game.players, verdict.regret, strict=True):
                regrets[game.game["id"], verdict.players[seat]].append(regret)
            # Examples for fine-tuning are moves of low regret.
            if options.examples is not None:
                low = (example for example in examples(verdict) if example["regret"] <= options.max_regret)
                lines += [json.dumps(example).encode() + b"\n" for example in low]
    for (name, player), values in regrets.items():
        half = f" +- {Z * np.std(values) / np.sqrt(len(values)):.4f}" if len(values) > 1 else ""
        print(f"{name}, {player}: mean regret {np.mean(values):.4f}{half}, moves: {len(values)}")
    if options.examples is not None:
        replace_file(options.examples, lines)
        print(f"{options.examples}: {len(lines)} examples")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python -m tensor_envs.referee judge", __doc__)
    parser.add_argument("command", choices=["judge"], help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file of games")
    parser.add_argument("--game", metavar="ID", help="the game of files that do not say which")
    add_rules(parser)
    text = "simulations of each search of games without exact values; default: 1024"
    parser.add_argument("--simulations", type=whole(1, MAX_SIMULATIONS), default=1024, metavar="N", help=text)
    text = "moves as examples for supervised fine-tuning, as JSON lines"
    parser.add_argument("--examples", type=new_file, metavar="FILE", help=text)
    text = "upper bound of the regret of an example; default: none"
    parser.add_argument("--max-regret", type=real(0.0, 1e30), default=1e30, metavar="R", help=text)
    run(parser, work, arguments)
