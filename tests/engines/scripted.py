"""Engine for tests of each protocol, which plays by a script: `python scripted.py PROTOCOL [FAULT]`.

It writes what it reads to the file that the environment variable SCRIPTED_LOG names. A fault hangs, dies, or plays what
is no legal move, at the first question.
"""

import os
import subprocess
import sys
import time

# black's part of the shortest mate, and the two moves of another game
REPLIES = {"f2f3": "e7e5", "f2f3 e7e5 g2g4": "d8h4", "e2e4": "c7c5"}
# an opening of every throw
TURNS = {
    "2 1": "13/11 6/5", "3 1": "8/5 6/5", "4 1": "24/23 13/9", "5 1": "13/8 24/23", "6 1": "13/7 8/7",
    "3 2": "24/21 13/11", "4 2": "8/4 6/4", "5 2": "13/11 13/8", "6 2": "24/18 13/11", "4 3": "13/10 13/9",
    "5 3": "8/3 6/3", "6 3": "24/15", "5 4": "13/8 24/20", "6 4": "24/14", "6 5": "24/13",
}  # fmt: skip


def fail(fault: str, wrong: str) -> None:
    """Hang with a child, die, or answer a wrong move."""
    if fault == "hang":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(f"child {child.pid}", flush=True)
        time.sleep(600)
    elif fault == "die":
        print("out of luck", file=sys.stderr)
        sys.exit(3)
    elif fault == "leave":  # a process of another group keeps the output open
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], start_new_session=True)
        print(wrong, flush=True)
    elif fault == "illegal":
        print(wrong, flush=True)


def uci(line: str, fault: str) -> str:
    """Return the answer to a line of UCI."""
    global game
    if line == "uci":
        return "id name Scripted\noption name Skill Level type spin default 20 min 0 max 20\nuciok"
    if line.startswith("position startpos"):
        game = line.removeprefix("position startpos").removeprefix(" moves ")
    if line.startswith("go"):
        fail(fault, "bestmove e9e9")
        return f"info depth 1\nbestmove {REPLIES[game]} ponder a2a3"
    return ""


def gtp(line: str, fault: str) -> str:
    """Return the answer to a line of GTP: a stone beside the last one, or a pass after a pass."""
    global game
    command, *words = line.split()
    if command == "play":
        game = words[1]
    if command == "genmove":
        fail(fault, "= Z99\n")
        if fault == "resign":
            return "= resign\n"
        answer = game if game == "pass" else f"{'ABCDEFGHJ'['ABCDEFGHJ'.index(game[0]) ^ 1]}{game[1]}".lower()
        return f"= {answer}\n"
    return "? unknown command\n" if (command, fault) == ("komi", "refuse") else "= \n"


def gnubg(line: str, fault: str) -> str:
    """Return the answer to a line of GNU Backgammon's."""
    global game
    if line.startswith("set dice"):
        game = line.removeprefix("set dice ")
    if line.startswith("hint"):
        fail(fault, "    1. Cubeless 0-ply    24/1   Eq.: +0.200")
        turn = TURNS[" ".join(sorted(game.split(), reverse=True))]
        return f"    1. Cubeless 0-ply    {turn}      Eq.: +0.200\n       0.551 0.174 0.013"
    return "a board"


def main() -> None:
    """Answer until the input ends."""
    protocol, fault = (*sys.argv[1:], "")[:2]
    with open(os.environ.get("SCRIPTED_LOG", os.devnull), "a", buffering=1) as log:
        for line in sys.stdin:
            log.write(line)
            if answer := {"uci": uci, "gtp": gtp, "gnubg": gnubg}[protocol](line.strip(), fault):
                print(answer, flush=True)


game = ""
if __name__ == "__main__":
    main()
