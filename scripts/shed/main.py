"""Solve Shed, look up positions, and compare with the figures of its post.

    python scripts/shed.py solve 12                # counts and checksum; --save FILE keeps the table
    python scripts/shed.py value "7-2+ [] 6-3"     # hands, the pile between them, + for the player who has just moved
    python scripts/shed.py value "7+ [4-2] 6-3" --cards 9 --distance
    python scripts/shed.py play 7                  # play against the table; --second to move second
    python scripts/shed.py claims                  # the post's figures beside the computed ones
    python scripts/shed.py plot --cards 6 10       # a neuron's weights and the draws by pattern, as shed.png

`python scripts/shed.py solve --help` lists the options of a command.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import tensor_envs as te
from shed import plot
from shed.claims import claims
from tensor_envs._command import CommandParser, busy, command_parser, device_of, new_file, real, run, whole
from tensor_envs._validate import need
from tensor_envs.games.shed.distances import MAX_CARDS, UNITS, Distances
from tensor_envs.games.shed.lookup import DRAW, LOSS, WIN
from tensor_envs.games.shed.notation import parse, write
from tensor_envs.games.shed.solve import solve
from tensor_envs.games.shed.tablebase import Tablebase

MAX_PLOTTED = 16  # cards
WORDS = {WIN: "wins", LOSS: "loses", DRAW: "draws"}


def solved(cards: int, options: argparse.Namespace, path: Path | None = None, memory: float | None = None) -> Tablebase:
    """Return the table, with a progress bar on a terminal, or else a message if that takes long."""
    bar = sys.stderr.isatty() and not options.quiet
    with nullcontext() if bar or options.quiet else busy(f"solving {cards} cards"):
        return solve(cards, options.device, progress=bar, path=path, memory=memory)


def solve_command(options: argparse.Namespace) -> None:
    start = time.perf_counter()
    table = solved(options.cards, options, options.save, options.memory)
    seconds = time.perf_counter() - start
    metadata = {"cards": options.cards, "device": table.device, "seconds": round(seconds, 2)}
    print(json.dumps({**metadata, **table.counts()}, indent=1))
    if options.checksum:
        print(f"sha256 {table.sha256()}")
    if options.verify:
        with busy("solving again in another way"):
            table.verify()
        print("verified: a second solution, made in another way, gives the same values")


def value_command(options: argparse.Namespace) -> None:
    if options.table is not None and not options.table.is_file():
        raise FileNotFoundError(f"no file {str(options.table)!r}")
    game = parse(options.position, options.cards)
    cards = sum(len(place) for place in (*game["hands"], game["pile"], game["talon"]))
    env = te.make("shed", cards=cards)
    with busy("compiling"):
        state = env.state_from_dicts([game], device=options.device)
    table = solved(cards, options, options.table)
    value = int(table.value(state).item())
    print(env.to_string(state))
    print(f"{write(game)}: the player to move {WORDS[value]} ({cards} cards, solved on {table.device})")
    keeping = np.flatnonzero(table.best_actions(state).numpy()[0])
    if len(keeping):
        print("by", " or ".join(env.action_to_string(int(action)) for action in keeping))
    if options.distance and value != DRAW:
        with busy("working out how far the end is"):
            far = [f"{Distances(cards, unit).of(state)[0]} {unit}" for unit in UNITS]
        print(f"the end is {' or '.join(far)} away: who wins hurries, the other does not")


def play_command(options: argparse.Namespace) -> None:
    """Let a person play against the table, which plays a random one of its best actions."""
    env = te.make("shed", cards=options.cards)
    table = solved(options.cards, options)
    print(f"the table: {options.cards} cards, solved on {table.device}")
    with busy("compiling"):
        state, chance = env.init(1, device=options.device), np.random.default_rng(options.seed)
    person = int(options.second)
    while not (state.terminated.item() or state.truncated.item()):
        if state.current_player.item() == person:
            print(env.to_string(state))
            action = ask(env, state)
            if action is None:
                return
        else:
            action = int(chance.choice(np.flatnonzero(table.best_actions(state).numpy()[0])))
            print(f"the table: {env.action_to_string(action)}")
        state = env.step(state, [action])
    reward = state.rewards.numpy()[0, person]
    print("You have won." if reward > 0 else "You hold all cards and have lost." if reward < 0 else "A draw.")


def ask(env: te.Env, state: te.State) -> int | None:
    """Read a legal action from the person, or None at the end of the input."""
    legal = [env.action_to_string(int(a)) for a in np.flatnonzero(state.legal_action_mask.numpy()[0])]
    while True:
        try:
            text = input(f"your move ({', '.join(legal)}): ").strip()
        except EOFError:
            return None
        if text in legal:
            return env.string_to_action(text)
        print(f"{text!r} is none of them")


def claims_command(options: argparse.Namespace) -> None:
    print(f"computed on {device_of()}")
    with busy("solving games, teaching neurons"):
        for claim in claims():
            print(f"{claim.id}: {claim.says}")
            print(f"    post {claim.post}")
            note = f" ({claim.note})" if claim.note else ""
            print(f"    here {claim.here}: {claim.agrees}{note}", flush=True)


def plot_command(options: argparse.Namespace) -> None:
    if options.out.suffix.lower() != ".png":
        raise ValueError(f"--out must be a .png file, got {str(options.out)!r}")
    need("PIL", "plot", "draw")
    rows = []
    for cards in options.cards:
        table = solved(cards, options)
        with busy(f"teaching a neuron of {cards} cards"):
            rows.append(plot.measure(table, options.epochs))
        print(f"solved on {table.device}; {rows[-1].summary()}")
    with busy("drawing"):
        plot.draw(rows).save_png(options.out)
    print(f"drawn as {options.out}")


def make_parser() -> argparse.ArgumentParser:
    parser = command_parser("python scripts/shed.py", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = CommandParser(add_help=False)
    common.add_argument("--device", help="a tinygrad device; default: tinygrad's default device")
    common.add_argument("--quiet", action="store_true", help="print no progress")

    one = commands.add_parser("solve", parents=[common], help="solve the game and print counts")
    one.add_argument("cards", type=whole(1))
    one.add_argument(
        "--save", type=new_file, help="safetensors file of the table; an interrupted solve resumes from it"
    )
    one.add_argument(
        "--memory", type=real(0, 2**20, False), metavar="GIB", help="memory limit; default: the free memory"
    )
    one.add_argument("--checksum", action="store_true", help="SHA-256 of all values")
    one.add_argument("--verify", action="store_true", help="solve again by another program and compare")
    one.set_defaults(work=solve_command)

    one = commands.add_parser("value", parents=[common], help="the value of a position, and the best actions")
    one.add_argument("position", help='such as "7-2+ [] 6-3"')
    one.add_argument("--cards", type=whole(1), help="cards in the game; default: the highest card of the position")
    one.add_argument("--table", type=Path, help="a file written by solve --save")
    one.add_argument(
        "--distance", action="store_true", help=f"also print the distance to the end, up to {MAX_CARDS} cards"
    )
    one.set_defaults(work=value_command)

    one = commands.add_parser("play", parents=[common], help="play against the table")
    one.add_argument("cards", type=whole(1), nargs="?", default=7)
    one.add_argument("--second", action="store_true", help="the table begins")
    one.add_argument("--seed", type=whole(0), default=0, help="seed of the table's choice among its best actions")
    one.set_defaults(work=play_command)

    one = commands.add_parser("claims", help="the post's figures beside the computed ones")
    one.set_defaults(work=claims_command)

    one = commands.add_parser("plot", parents=[common], help="weights and draws by pattern, as a picture")
    one.add_argument(
        "--cards", type=whole(1, MAX_PLOTTED), nargs="+", default=[6, 10], metavar="N", help="a row each; default: 6 10"
    )
    one.add_argument("--epochs", type=whole(1), default=100, help="of the neuron's training; default: 100")
    one.add_argument(
        "--out",
        type=new_file,
        default=Path("shed.png"),
        metavar="FILE",
        help="default: shed.png; needs the extra 'draw'",
    )
    one.set_defaults(work=plot_command)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    run(make_parser(), lambda options: options.work(options), arguments)
