"""Shed solved: who wins, and how.

python scripts/shed.py solve 12                    # counts and checksum; --save FILE keeps the table
python scripts/shed.py value "7-2+ [] 6-3"         # a position: hands, the pile between, + for who has just moved
python scripts/shed.py value "7+ [4-2] 6-3" --cards 9
python scripts/shed.py play 7                      # against the table; --second to let it begin
python scripts/shed.py claims                      # the post's figures, beside those worked out here
python scripts/shed.py plot --cards 6 10           # a neuron's weights and the draws by pattern, as shed.png
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import shed_plot

import tensor_envs as te
from tensor_envs.games.shed.claims import claims
from tensor_envs.games.shed.lookup import DRAW, LOSS, WIN
from tensor_envs.games.shed.notation import parse, write
from tensor_envs.games.shed.solve import solve

PLOTTED = 16  # cards at most
WORDS = {WIN: "wins", LOSS: "loses", DRAW: "draws"}


def solve_command(args: argparse.Namespace) -> None:
    start = time.perf_counter()
    table = solve(args.cards, args.device, progress=not args.quiet, path=args.save)
    seconds = time.perf_counter() - start
    print(json.dumps({"cards": args.cards, "seconds": round(seconds, 2), **table.counts()}, indent=1))
    if args.checksum:
        print(f"sha256 {table.sha256()}")
    if args.verify:
        table.verify()
        print("verified: a second solution, made in another way, gives the same values")


def value_command(args: argparse.Namespace) -> None:
    game = parse(args.position, args.cards)
    cards = sum(len(place) for place in (*game["hands"], game["pile"], game["talon"]))
    env = te.make("shed", cards=cards)
    state = env.state_from_dicts([game], device=args.device)
    table = solve(cards, args.device, progress=not args.quiet, path=args.table)
    value = int(table.value(state).item())
    print(env.to_string(state))
    print(f"{write(game)}: the player to move {WORDS[value]}")
    keeping = np.flatnonzero(table.best_actions(state).numpy()[0])
    if len(keeping):
        print("by", " or ".join(env.action_to_string(int(action)) for action in keeping))


def play_command(args: argparse.Namespace) -> None:
    """A person against the table, which plays a random one of its best actions."""
    if args.seed < 0:
        raise ValueError(f"--seed must be at least 0, got {args.seed}")
    env, table = te.make("shed", cards=args.cards), solve(args.cards, args.device, progress=not args.quiet)
    state, chance = env.init(1, device=args.device), np.random.default_rng(args.seed)
    person = int(args.second)
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
    """A legal action that the person types; None at the end of the input."""
    legal = [env.action_to_string(int(a)) for a in np.flatnonzero(state.legal_action_mask.numpy()[0])]
    while True:
        try:
            text = input(f"your move ({', '.join(legal)}): ").strip()
        except EOFError:
            return None
        if text in legal:
            return env.string_to_action(text)
        print(f"{text!r} is none of them")


def claims_command(args: argparse.Namespace) -> None:
    for claim in claims():
        print(f"{claim.id}: {claim.says}")
        print(f"    post {claim.post}")
        note = f" ({claim.note})" if claim.note else ""
        print(f"    here {claim.here}: {claim.agrees}{note}")


def plot_command(args: argparse.Namespace) -> None:
    if any(not 1 <= cards <= PLOTTED for cards in args.cards):
        raise ValueError(f"--cards must be in 1..{PLOTTED} to be drawn, got {' '.join(map(str, args.cards))}")
    if args.epochs < 1:
        raise ValueError(f"--epochs must be at least 1, got {args.epochs}")
    if args.out.suffix.lower() != ".png" or not args.out.parent.is_dir():
        raise ValueError(f"--out must be a .png file in a folder that exists, got {str(args.out)!r}")
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise ImportError("plot needs Pillow: pip install 'tensor_envs[draw]'") from None
    rows = []
    for cards in args.cards:
        rows.append(shed_plot.measure(solve(cards, args.device, progress=not args.quiet), args.epochs))
        print(rows[-1].summary())
    shed_plot.draw(rows).save_png(args.out)
    print(f"drawn as {args.out}")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    common = Parser(add_help=False)
    common.add_argument("--device", help="a tinygrad device; default: tinygrad's own choice")
    common.add_argument("--quiet", action="store_true", help="no progress bar")
    one = commands.add_parser("solve", parents=[common], help="solve the game and print counts")
    one.add_argument("cards", type=int)
    one.add_argument(
        "--save", help="safetensors file of the table; a solve that was interrupted goes on from it"
    )
    one.add_argument("--checksum", action="store_true", help="SHA-256 of all values")
    one.add_argument("--verify", action="store_true", help="solve again by another program and compare")
    one.set_defaults(run=solve_command)
    two = commands.add_parser("value", parents=[common], help="the value of a position, and what keeps it")
    two.add_argument("position", help='such as "7-2+ [] 6-3"')
    two.add_argument("--cards", type=int, help="cards in the game; default: the highest that is named")
    two.add_argument("--table", help="a file written by solve --save")
    two.set_defaults(run=value_command)
    four = commands.add_parser("play", parents=[common], help="play against the table")
    four.add_argument("cards", type=int, nargs="?", default=7)
    four.add_argument("--second", action="store_true", help="the table begins")
    four.add_argument("--seed", type=int, default=0, help="of the table's choice among its best actions")
    four.set_defaults(run=play_command)
    three = commands.add_parser("claims", help="the post's figures and ours, side by side")
    three.set_defaults(run=claims_command)
    five = commands.add_parser("plot", parents=[common], help="weights and draws by pattern, as a picture")
    five.add_argument(
        "--cards", type=int, nargs="+", default=[6, 10], metavar="N", help="a row each; default: 6 10"
    )
    five.add_argument("--epochs", type=int, default=100, help="of the neuron's training; default: 100")
    five.add_argument(
        "--out",
        type=Path,
        default=Path("shed.png"),
        metavar="FILE",
        help="default: shed.png; needs the extra 'draw'",
    )
    five.set_defaults(run=plot_command)
    args = parser.parse_args(arguments)
    try:
        args.run(args)
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError) as error:
        print(f"error: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
