"""Judge the moves of games that anybody has played, by what each gives away.

    python -m tensor_envs.referee judge games.pgn game.sgf records.jsonl
    python -m tensor_envs.referee judge records.jsonl --examples moves.jsonl --max-regret 0

Files are PGN of chess, SGF of go and Hex, PHH of Texas hold'em, MAT of backgammon, JSON lines of te.save_game and of
the referee's --save, replays of Kaggle's OpenSpiel environments (.json), and transcripts of Othello, connect four or
tic-tac-toe, for which --game names the game. The regret of a move is the value that it gives away: exact where the game
is solved in seconds, else the mean of searches by playouts with its 95 % interval. --examples writes a line of JSON for
each move, with the prompt and the answer as messages of a chat and the regret, as supervised fine-tuning reads them.
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
T = 2.776  # quantile of Student's distribution for the 95 % interval of the mean of so many
# tags of PGN and SGF with the players' names, by seat
TAGS = {"chess": ("White", "Black"), "go": ("PB", "PW"), "hex": ("PB", "PW")}


class Verdict(NamedTuple):
    """Verdict on the moves of a game.

    Attributes:
        game: the record.
        oracle: what the values are of.
        regret: value that each move gives away.
        interval: half the width of its 95 % interval, 0 for exact values.

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
        """Names of the players by seat: those of the record's notes, or of the seats."""
        env = env_of(self.game.game)
        noted = self.game.notes.get("players")
        if isinstance(noted, list):
            return tuple(map(_in_a_line, noted))
        tags = self.game.notes.get("tags", {})
        names = zip(TAGS.get(env.entry.id, ()) or seat_names(env), seat_names(env), strict=True)
        return tuple(_in_a_line(tags.get(tag) or seat) for tag, seat in names)

    def __str__(self) -> str:
        """Return a line for each move."""
        players = self.players
        width = len(str(len(self.regret)))
        lines = [
            f"{ply + 1:{width}} {players[seat]}: {name}, regret {lost:.4f}{f' +- {half:.4f}' if half else ''}"
            for ply, (seat, name, lost, half) in enumerate(
                zip(self.game.players, self.game.names, self.regret, self.interval, strict=True)
            )
        ]
        return "\n".join(lines)


def _in_a_line(name: Any) -> str:
    """Return a name from a file without breaks of lines and other signs that are not printed."""
    return "".join(sign if sign.isprintable() else " " for sign in str(name))


def judged(game: Record, num_simulations: int = 1024) -> Verdict:
    """Return the verdict on a game, by exact values where it is solved in seconds, else by several searches.

    Args:
        game: the record.
        num_simulations: simulations of each search.

    Raises:
        ValueError, TypeError: a record that takes another course; another number of simulations.
    """
    oracle = oracle_of(env_of(game.game), num_simulations)
    if not isinstance(oracle, PlayoutOracle):
        lost = [0.0 - value for value in reward(game, oracle)]
        return Verdict(game, repr(oracle), tuple(lost), (0.0,) * len(lost))
    oracles = [PlayoutOracle(num_simulations, seed) for seed in range(SEARCHES)]
    samples = -np.array([reward(game, one) for one in oracles])  # [searches, moves]
    half = T * samples.std(0, ddof=1) / np.sqrt(SEARCHES)
    return Verdict(game, f"{SEARCHES} times {oracle!r}", (samples.mean(0) + 0.0).tolist(), tuple(half.tolist()))


def examples(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Yield an example for supervised fine-tuning for each move that is legal and not of a random opening.

    Yields:
        "messages", the prompt and the answer as in a chat; "regret"; "game", "seed", "ply", "seat" and "player". The
            prompt has the disguise and the settings of the record's notes. The answer is the player's, if it is noted.

    Examples:
        >>> from tensor_envs.referee.judge import examples, judged
        >>> example = next(examples(judged(te.record(te.make("tic_tac_toe"), ["(1,1)"]))))
        >>> example["messages"][1], example["regret"]
        ({'role': 'assistant', 'content': 'move: (1,1)'}, 0.0)
    """
    game = verdict.game
    env = env_of(game.game)
    asked = game.notes.get("settings", {})
    kinds = game.notes.get("disguise", {}).get("kinds", ())
    settings = Settings(asked.get("history", True), asked.get("legal", True), disguise=tuple(kinds))
    episode = Episode(env, [None] * env.num_players, game.seed, settings, game.row, game.start)
    noted = game.notes.get("moves") or [{}] * len(game.actions)
    for ply, (action, move) in enumerate(zip(game.actions, noted, strict=True)):
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
    # regrets of all files, by game and player
    regrets = defaultdict[tuple[str, str], list[float]](list)
    lines = list[bytes]()
    for path in options.files:
        games = [kaggle.read(path)] if path.suffix.lower() == ".json" else load_games(path, env)
        for number, game in enumerate(games):
            with busy("judging"):
                verdict = judged(game, options.simulations)
            print(f"{path}, game {number + 1}: {game.game['id']}, regret by {verdict.oracle}")
            print(verdict, flush=True)
            for seat, lost in zip(game.players, verdict.regret, strict=True):
                regrets[game.game["id"], verdict.players[seat]].append(lost)
            # examples for fine-tuning are moves that gave little away
            if options.examples is not None:
                kept = (one for one in examples(verdict) if one["regret"] <= options.max_regret)
                lines += [json.dumps(one).encode() + b"\n" for one in kept]
    for (name, player), all_lost in regrets.items():
        half = f" +- {Z * np.std(all_lost) / np.sqrt(len(all_lost)):.4f}" if len(all_lost) > 1 else ""
        print(f"{name}, {player}: mean regret {np.mean(all_lost):.4f}{half}, moves: {len(all_lost)}")
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
