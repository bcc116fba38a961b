"""Protocols of engines: UCI for chess, GTP for go, and the command line of GNU Backgammon."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tensor_envs.envs.state import State
from tensor_envs.evaluation.engines.process import EngineProcess

MOVE_SECONDS = 0.1  # for a move of an engine of chess, if nothing else limits it
UCI_OPTION = r"(?m)^option name (.+?) type \w+(?:.* min (-?\d+) max (-?\d+))?"
BEST = re.compile(r"\s*1\. (?:Cubeful|Cubeless) \d-ply\s+(.*?)\s+(?:MWC|Eq\.): ")


class RecordedMove(NamedTuple):
    """Move of a game: its player, action, and name by `Env.action_to_string`."""

    player: int
    action: int
    name: str


class ExternalEngine(Protocol):
    """Engine that gets the whole game with every request, so that one engine can play several games.

    Attributes:
        games: ids of the games that it plays.
    """

    games: tuple[str, ...]

    def choose(self, state: State, row: int, moves: Sequence[RecordedMove]) -> list[int]:
        """Return the actions of a turn, of which the first is to be played now; an empty list resigns.

        Args:
            state: the state.
            row: the game's row.
            moves: the moves of the game from the first position on.

        Raises:
            ValueError: the engine's answer is no legal move.
            EngineError: there is no answer.
        """

    def close(self) -> None:
        """End the engine."""


class Options:
    """Options of an engine as a user wrote them. Those that nobody takes are an error."""

    def __init__(self, name: str, given: dict[str, str]):
        self.name = name
        self.given = given
        self.known = list[str]()

    def text(self, key: str) -> str | None:
        """Return an option, or None."""
        self.known.append(key)
        return self.given.pop(key, None)

    def take(self, key: str, kind: type[float], low: float, high: float, default: Any = None) -> Any:
        """Return an option as a number in low..high, or its default. ValueError for anything else."""
        text = self.text(key)
        if text is None:
            return default
        try:
            value = kind(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            kinds = "an int" if kind is int else "a number"
            raise ValueError(f"{key} of the engine {self.name!r} must be {kinds} in {low:g}..{high:g}, got {text!r}")
        return value

    def check(self) -> None:
        """Raise ValueError if there are options that nobody has taken."""
        if self.given:
            known = ", ".join(self.known)
            raise ValueError(f"the engine {self.name!r} has no option {next(iter(self.given))!r}; it has {known}")


class ProcessEngine:
    """Base of engines in a process of their own."""

    process: EngineProcess

    def close(self) -> None:
        """End the engine."""
        self.process.close()


class Uci(ProcessEngine):
    """Engine of chess that speaks UCI (https://www.shredderchess.com/chess-features/uci-universal-chess-interface.html).

    Options are `depth`, `nodes` and `seconds` for a move, `skill` for "Skill Level", and those of the engine.
    """

    games: tuple[str, ...] = ("chess",)

    def __init__(self, name: str, words: Sequence[str], options: Options, deadline: float):
        limits = {
            "depth": options.take("depth", int, 1, 1000),
            "nodes": options.take("nodes", int, 1, 2**53),
            "movetime": options.take("seconds", float, 1e-3, 86_400),
        }
        if not any(limits.values()):
            limits["movetime"] = MOVE_SECONDS
        if limits["movetime"]:
            limits["movetime"] = max(round(1000 * limits["movetime"]), 1)
        self.go = " ".join(["go", *(f"{limit} {value}" for limit, value in limits.items() if value)])
        self.process = EngineProcess(name, words, deadline)
        self.process.send("uci")
        lines = self.process.wait_for("uciok".__eq__)
        for option, low, high in re.findall(UCI_OPTION, "\n".join(lines)):
            key = "skill" if option == "Skill Level" else option.lower().replace(" ", "")
            # engines ignore values that are out of range
            value = options.take(key, int, int(low), int(high)) if low else options.text(key)
            if value is not None:
                self.process.send(f"setoption name {option} value {value}")
        options.check()

    def choose(self, state: State, row: int, moves: Sequence[RecordedMove]) -> list[int]:
        """Return the engine's move."""
        position = " ".join(["position startpos", *["moves"] * bool(moves), *(move.name for move in moves)])
        # games take turns in one process: none finds what the engine has stored for another
        self.process.send("ucinewgame", position, self.go)
        _, *words = self.process.wait_for(lambda line: line.startswith("bestmove"))[-1].split()
        return [state.env.string_to_action("".join(words[:1]), state, row)]


class Gtp(ProcessEngine):
    """Engine of go that speaks GTP, version 2 (https://www.lysator.liu.se/~gunnar/gtp).

    The option `seconds` is the time for a move; GNU Go has `level`.
    """

    games: tuple[str, ...] = ("go",)

    def __init__(self, name: str, words: Sequence[str], options: Options, deadline: float):
        self.seconds = options.take("seconds", int, 1, 86_400)
        if words[0] == "gnugo":
            # the rules here count dead stones as alive, so they have to be captured
            level = options.take("level", int, 0, 10, 10)
            rules = ["--chinese-rules", "--capture-all-dead", "--never-resign"]
            words = [*words, "--mode", "gtp", "--level", str(level), *rules]
        options.check()
        self.process = EngineProcess(name, words, deadline)

    def command(self, *words: str) -> str:
        """Return the answer to a command. EngineError if the engine refuses it."""
        self.process.send(" ".join(words))
        lines = self.process.wait_for(lambda line: line.startswith(("=", "?")))
        self.process.wait_for(lambda line: not line)  # an answer ends with an empty line
        if lines[-1].startswith("?"):
            raise self.process.failure(f"refuses the command {' '.join(words)!r}")
        return lines[-1].lstrip("=").strip()

    def choose(self, state: State, row: int, moves: Sequence[RecordedMove]) -> list[int]:
        """Return the engine's move."""
        rules = state.env.rules
        self.command("boardsize", str(rules.size))
        self.command("clear_board")
        self.command("komi", str(rules.komi))
        if self.seconds:
            self.command("time_settings", "0", str(self.seconds), "1")
        for move in moves:
            self.command("play", "bw"[move.player], move.name)
        answer = self.command("genmove", "bw"[len(moves) % 2])
        if answer.lower() == "resign":
            return []
        name = "pass" if answer.lower() == "pass" else answer.upper()
        return [state.env.string_to_action(name, state, row)]


class GnuBackgammon(ProcessEngine):
    """GNU Backgammon, by its command line. The option `plies`, 0..3, is its depth.

    The game has no doubling cube.
    """

    games: tuple[str, ...] = ("backgammon",)

    def __init__(self, name: str, words: Sequence[str], options: Options, deadline: float):
        plies = options.take("plies", int, 0, 3, 0)
        options.check()
        self.process = EngineProcess(name, [*words, "--tty", "--quiet", "--no-rc"], deadline)
        evaluation = "set evaluation chequerplay evaluation"
        self.process.send(
            *("set display off", "set player 0 human", "set player 1 human"),
            *("set cube use off", "set jacoby off", f"{evaluation} cubeful off", f"{evaluation} plies {plies}"),
            "new game",
        )

    def choose(self, state: State, row: int, moves: Sequence[RecordedMove]) -> list[int]:
        """Return the actions of the engine's turn."""
        # only this protocol needs the game, whose modules import the public names of the package
        from tensor_envs.games.backgammon.turns import Side, turn_to_actions

        env = state.env
        if [*env.legal_actions(state, row)] == [0]:
            return [0]  # it gives no hint where no man can move
        fields = env.row(state, row)
        own, other = fields["men"][:: 1 - 2 * fields["current_player"]]
        dice = [face for face, left in enumerate(fields["dice"], 1) for _ in range(left)]
        if len(dice) != (4 if len({*dice}) == 1 else 2):
            raise ValueError("it plays whole turns: the opening must end with one, as 2 plies do")
        # points by the player to move: its bar, 1..24 with the opponent's men below 0, the opponent's bar
        points = [mine - theirs for mine, theirs in zip(own, other[-2::-1], strict=False)]
        board = [own[-1], *points, other[-1]]
        self.process.send(
            "set turn 1", f"set board simple {' '.join(map(str, board))}", f"set dice {dice[0]} {dice[-1]}", "hint 1"
        )
        answer = self.process.wait_for(lambda line: BEST.match(line) is not None)[-1]
        match = BEST.match(answer)
        assert match is not None
        return turn_to_actions(Side(tuple(own), tuple(other)), dice, match[1])
