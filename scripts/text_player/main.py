"""Let a text player, such as a language model, play against a policy: any function from str to str.

    python scripts/text_player.py                                         # a person at the keyboard
    python scripts/text_player.py --env three_will --command "llm -m a-model" --games 10 --save games.jsonl
    python scripts/text_player.py --player my_models:answer --against search --env my_games:Nim

The player reads the rules, its observation of the position and its legal moves, and answers with text (`te.text`).
--player names a Python function from str to str, --command a program that reads the text and writes an answer. If an
answer names no legal move, the player gets the error and may answer again; after --tries answers it loses by an illegal
action. The player changes seats from game to game. --against: "uniform", "search", "perfect" (where a game is solved),
weights.safetensors of a run of `python -m tensor_envs.train`, or package.module:function from a State to integers [B].
"""

from __future__ import annotations

import argparse
import importlib
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs._command import MAX_COUNT, add_game, busy, command_parser, device_of, game_of, new_file, run, whole

Player = Callable[[str], str]
NO_ACTION = -1  # illegal in every game
SIMULATIONS = 256  # of the player that searches, per decision


@dataclass
class GameRecord:
    """Record of a game: the text player's seat and return, whether the game ended, and the conversation."""

    seat: int
    returns: float = 0.0
    over: bool = False
    misunderstood: int = 0  # answers that function no legal move
    talk: list[tuple[str, str]] = field(default_factory=list)  # prompts and answers

    @property
    def result(self) -> str:
        return ("drawn", "won", "lost")[int(np.sign(self.returns))] if self.over else "unfinished"


def play(
    env: te.Env, player: Player, against: te.agents.Policy, seat: int, seed: int, tries: int, limit: int
) -> GameRecord:
    """Play one game, row 0 of a seed, for at most `limit` actions."""
    game, state = GameRecord(seat), env.init(1, seed)
    while not game.over and limit > 0:
        mine = state.current_player.item() == seat
        state = env.step(state, [ask(env, state, player, game, tries)] if mine else against(state))
        fields, limit = state.numpy(), limit - 1
        game.returns += float(fields["rewards"][0, seat])
        game.over = bool(fields["terminated"][0] | fields["truncated"][0])
    return game


def ask(env: te.Env, state: te.State, player: Player, game: GameRecord, tries: int) -> int:
    """Return the action that the player answers, or NO_ACTION after `tries` wrong answers."""
    question = text = te.text.prompt(state)
    for _ in range(tries):
        answer = player(f"{te.text.describe(env)}\n{text}")
        if not isinstance(answer, str):
            raise TypeError(f"the player must answer with a str, got {type(answer).__name__}")
        game.talk.append((text, answer))
        try:
            return te.text.parse(env, answer, state)
        except ValueError as error:
            game.misunderstood += 1
            text = f"{question}\nYour answer was: {answer.strip()}\nIt cannot be played: {error}\n"
    return NO_ACTION


def at_the_keyboard(env: te.Env) -> Player:
    print(te.text.describe(env))

    def player(text: str) -> str:
        print(text.removeprefix(te.text.describe(env)), end="> ", flush=True)
        answer = sys.stdin.readline()
        if not answer:
            raise ValueError("there was no more input")
        return answer

    return player


def program(words: Sequence[str]) -> Player:
    """Return a player that runs a program for every answer: it reads the prompt and writes the answer."""

    def player(text: str) -> str:
        done = subprocess.run(words, input=text, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"--command {shlex.join(words)!r} ended with exit code {done.returncode}")
        return done.stdout

    return player


def command_line(text: str) -> list[str]:
    """Parse a program and its arguments, quoted as in a shell."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be a command line, got {text!r}: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError(f"must be a command line, got {text!r}")
    return words


def function(text: str) -> Any:
    """Return the function of a name, package.module:function."""
    module, _, name = text.partition(":")
    try:
        value = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"must be package.module:function, got {text!r}: {error}") from None
    if not callable(value):
        raise argparse.ArgumentTypeError(f"must name a function, and {text!r} is of type {type(value).__name__}")
    return value


def opponent(name: str, env: te.Env, seed: int) -> te.agents.Policy:
    named_policies: dict[str, te.agents.Policy] = {
        "uniform": te.agents.uniform,
        "search": te.agents.playout_search(SIMULATIONS, seed),
        "perfect": te.agents.perfect(),
    }
    if name == "perfect":
        named_policies[name](env.init(1))  # solves the game, or raises ValueError
    if name.endswith(".safetensors"):
        return te.agents.load(name, num_simulations=0)
    if name not in named_policies and ":" not in name:
        ways = f"{', '.join(named_policies)}, a .safetensors file or package.module:function"
        raise ValueError(f"--against must be {ways}, got {name!r}")
    policy: te.agents.Policy = named_policies[name] if name in named_policies else function(name)
    return policy


def work(options: argparse.Namespace) -> None:
    env = game_of(options)
    against = opponent(options.against, env, options.seed)
    player = options.player or (program(options.command) if options.command else at_the_keyboard(env))
    with busy("compiling"):
        env.step(env.init(1), te.agents.uniform(env.init(1))).numpy()
    games = []
    for number in range(options.games):
        seat = number % env.num_players
        game = play(env, player, against, seat, options.seed + number, options.tries, options.limit)
        games.append(game)
        answers = f"{len(game.talk)} answers, {game.misunderstood} of them not understood"
        print(f"game {number} as player {seat}: {game.result}, return {game.returns:+g}; {answers}", flush=True)
        if options.save is not None:
            with options.save.open("w" if number == 0 else "a", encoding="utf-8") as file:
                file.write(json.dumps({"env": repr(env), "seed": options.seed + number} | asdict(game)) + "\n")
    counts = ", ".join(
        f"{sum(game.result == result for game in games)} {result}" for result in ("won", "drawn", "lost", "unfinished")
    )
    mean = np.mean([game.returns for game in games])
    print(f"{env.id} on {device_of()} against {options.against}: {counts}; mean return {mean:+.3f}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("text_player.py", __doc__)
    add_game(parser)
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--player", type=function, metavar="MODULE:FUNCTION", help="of a str to a str")
    who.add_argument(
        "--command", type=command_line, metavar="LINE", help="a program that reads a text and writes its answer"
    )
    parser.add_argument("--against", default="uniform", metavar="POLICY", help="default: uniform")
    parser.add_argument("--games", type=whole(1, MAX_COUNT), default=2, help="default: 2")
    parser.add_argument("--tries", type=whole(1, 100), default=3, help="answers to a question; default: 3")
    parser.add_argument("--limit", type=whole(1, MAX_COUNT), default=2000, help="actions of a game; default: 2000")
    parser.add_argument("--seed", type=whole(0, 2**32), default=0, help="of the first game; default: 0")
    parser.add_argument("--save", type=new_file, metavar="FILE", help="what was said, a game a line, as JSON")
    run(parser, work, arguments)
