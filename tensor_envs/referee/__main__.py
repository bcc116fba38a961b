"""Play tournaments of players of text, such as language models, and compute the regret of every move.

    python -m tensor_envs.referee tic_tac_toe --player uniform --player playout:1024
    python -m tensor_envs.referee three_will --player playout:64 --command "llm -m a-model" --save games.jsonl
    python -m tensor_envs.referee hex --player weights --url http://127.0.0.1:8080/v1 --model a-model --report page.html
    python -m tensor_envs.referee judge games.pgn    # moves of games that others have played; see judge --help
    python -m tensor_envs.referee my_games:Nim --player uniform --player my_models:answer --disguise renamed retold

A --player is uniform, playout:SIMULATIONS[:EXPLORATION], weights (those of the package), perfect (where te.solve solves
the game), a .safetensors file of a run of `python -m tensor_envs.train`, or package.module:function, which returns an
answer, or an answer and a number of tokens, for a prompt. A --command is a program that reads the prompt and writes its
answer. A --model answers at --url, an endpoint with OpenAI's chat completions; its key is in the environment variable
that --key-variable names. These options may be repeated. With --parallel several games are played at once. Prompts have
the rules, the position, the moves so far and the legal moves. If an answer names no legal move, the prompt is sent
again with an error; after --tries answers the player loses by an illegal action. A request to an overloaded endpoint is
repeated after a while. If the overload lasts, the tournament ends with the scores and the report of the games until
then, and the same command with the same --save continues it.

Besides results, every move has a regret: exact if the game is solved in seconds, else by playout search with
--simulations. With --disguise, players of text get the same game in another form: symmetry, renamed, permuted, retold.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from tensor_envs._command import (
    MAX_COUNT,
    add_rules,
    busy,
    command_parser,
    device_of,
    new_file,
    real,
    run,
    say_at_signal,
    whole,
)
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.evaluation.matches import MAX_GAMES
from tensor_envs.files.records import Record, sum_rewards
from tensor_envs.referee.disguise import Disguise
from tensor_envs.referee.matches import MAX_PARALLEL, OtherTournament, tournament
from tensor_envs.referee.options import add_settings, settings_of
from tensor_envs.referee.players import (
    KEY,
    MAX_TEMPERATURE,
    Participant,
    command,
    endpoint,
    function,
    is_function,
    packaged,
)
from tensor_envs.referee.report import page
from tensor_envs.referee.saved import HINT, SavedGames
from tensor_envs.referee.scoring import ratings, scores
from tensor_envs.referee.settings import Settings
from tensor_envs.render.status import counted


def command_line(text: str) -> list[str]:
    """Parse a program and its arguments, quoted as in a shell."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be a command line, got {text!r}: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError(f"must be a command line, got {text!r}")
    return words


def json_object(text: str) -> dict[str, Any]:
    """Parse an object of JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"must be an object of JSON, got {text!r}")
    return value


def players_of(options: argparse.Namespace, env: Env) -> list[Participant]:
    """Return the players of the options; a repeated name gets a number."""
    if bool(options.model) != (options.url is not None):
        raise ValueError("--model needs the --url of an endpoint, and --url a --model")
    allowed = ("temperature", "max_tokens", "system", "extra_body", "image")
    sampling = {name: value for name in allowed if (value := getattr(options, name)) is not None}
    if sampling and not options.model:
        raise ValueError(f"--{next(iter(sampling)).replace('_', '-')} needs a --model")
    players = list[Participant]()
    for name in options.player:
        players.append(function(name) if is_function(name) else packaged(name, env, options.seed))
    players += [command(words) for words in options.command]
    players += [endpoint(options.url, model, options.key_variable, **sampling) for model in options.model]
    names = [player.name for player in players]
    return [
        player._replace(name=f"{player.name} ({names[:k].count(player.name) + 1})")
        if player.name in names[:k]
        else player
        for k, player in enumerate(players)
    ]


def work(options: argparse.Namespace) -> None:
    """Play the tournament of the options, or continue it."""
    if options.save and options.report and options.save.resolve() == options.report.resolve():
        raise ValueError(f"--save and --report must be two files, got {options.save} and {options.report}")
    env = make(options.game, **dict(options.rules))
    Disguise(env, options.disguise)  # raises errors before the first game
    players = players_of(options, env)
    saved = None if options.save is None else SavedGames(options.save, options.resume)
    if saved is not None:
        say_at_signal(f"stopped; the same command continues the games in {options.save}")
    with nullcontext() if saved is None else closing(saved):
        _play_all(options, env, players, settings_of(options), saved)


def _play_all(
    options: argparse.Namespace, env: Env, players: Sequence[Participant], settings: Settings, saved: SavedGames | None
) -> None:
    """Play, save, print and report the games. An error in a game ends the tournament after tables and report."""
    # Games of an earlier run count, and are not played again.
    played = [] if saved is None else saved.records
    if saved is not None and saved.dropped:
        print(f"{saved.path}: the last line is cut off; its game is played again ...", file=sys.stderr)
    # Solve the game first, since the regrets of every game need the oracle.
    try:
        with busy("solving"):
            matches = tournament(
                env,
                players,
                options.games or max(2, min(env.num_players, len(players))),
                options.seed,
                settings,
                num_simulations=options.simulations,
                played=played,
                parallel=options.parallel,
            )
    except OtherTournament as error:
        raise ValueError(f"{str(options.save)!r} cannot be continued: {error}; {HINT}") from None
    # Save each game as soon as it ends.
    records = list[Record]()
    failure = None
    old = {id(game) for game in played}
    try:
        for number, game in enumerate(matches):
            records.append(game)
            if saved is not None and id(game) not in old:
                saved.append(game)
            # Print a line with the returns, and whether the game is from the file.
            names = game.notes["players"]
            returns = zip(names, sum_rewards(game.rewards, len(names)), strict=True)
            result = ", ".join(f"{name} {value:+g}" for name, value in returns)
            ended = "" if game.terminated or game.truncated else ", unfinished"
            source = f", from {options.save}" if id(game) in old else ""
            print(f"game {number}: {result} in {counted(len(game.actions), 'ply', 'plies')}{ended}{source}", flush=True)
    except Exception as error:  # a player's function may raise any error
        if not records:
            raise
        failure = error
    # Print a table of the finished games even after an error.
    print(f"{env.id} on {device_of()}, regret by {records[0].notes['oracle']}")
    elo = ratings(records)
    table = scores(records)
    print(elo)
    for score in table:
        print(score)
    if options.report is not None:
        write(options.report, page(records, table, elo))
    if failure is not None:
        raise failure


def write(path: Path, text: str) -> None:
    """Write a text to a file. OSError with the name of the file if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:  # on a full disk Python's error names no file
        raise OSError(error.errno, error.strerror, str(path)) from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    if (sys.argv[1:] if arguments is None else arguments)[:1] == ["judge"]:
        from tensor_envs.referee import judge  # with the modules that read files of games, which only it needs

        judge.main(arguments)
        return
    parser = command_parser("python -m tensor_envs.referee", __doc__)
    parser.add_argument("game", metavar="GAME", help="a registered game, or package.module:Name for a custom one")
    add_rules(parser)
    parser.add_argument("--player", action="append", default=[], metavar="NAME", help="a player, see below")
    text = "a program that reads a prompt and writes its answer"
    parser.add_argument("--command", action="append", default=[], type=command_line, metavar="LINE", help=text)
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="a language model at --url")
    parser.add_argument("--url", help="base of an endpoint, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--key-variable", default=KEY, metavar="NAME", help="default: %(default)s")
    text = "of the sampling of each --model; default: the endpoint's"
    parser.add_argument("--temperature", type=real(0.0, MAX_TEMPERATURE), metavar="T", help=text)
    text = "upper bound of an answer's tokens of each --model; default: the endpoint's"
    parser.add_argument("--max-tokens", type=whole(1, MAX_COUNT), metavar="N", help=text)
    parser.add_argument("--system", metavar="TEXT", help="system prompt of each --model")
    text = 'further entries of requests to each --model, such as \'{"reasoning_effort": "low"}\''
    parser.add_argument("--extra-body", type=json_object, metavar="JSON", help=text)
    text = "show each --model a picture of the position beside the text (extra `draw`)"
    parser.add_argument("--image", action="store_const", const=True, help=text)
    text = "games at once, so that endpoints get several requests at a time; default: 1"
    parser.add_argument("--parallel", type=whole(1, MAX_PARALLEL), default=1, metavar="N", help=text)
    text = "games of each pair, or in games for more of each group; default: 2, or all rotations of the seats"
    parser.add_argument("--games", type=whole(1, MAX_GAMES), help=text)
    add_settings(parser, tries=3, opening=2)
    parser.add_argument("--seed", type=whole(0, 2**32), default=0, help="seed of the first game; default: 0")
    text = "records of the games, as JSON lines; games that it has are not played again"
    parser.add_argument("--save", type=new_file, metavar="FILE", help=text)
    text = "continue the tournament of --save, the default, or replace the file"
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True, help=text)
    parser.add_argument("--report", type=new_file, metavar="FILE", help="a page of HTML with scores and boards")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
