"""Engines of others as players."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from tensor_envs._engine.inputs import host_ints
from tensor_envs._validate import instance
from tensor_envs.envs.state import State
from tensor_envs.evaluation.engines.open_spiel import SpielSearch
from tensor_envs.evaluation.engines.process import EngineError
from tensor_envs.evaluation.engines.protocols import ExternalEngine, GnuBackgammon, Gtp, Options, RecordedMove, Uci
from tensor_envs.search.policies import MAX_SIMULATIONS

Start = Callable[[str, Sequence[str], Options, float], ExternalEngine]
PROGRAMS: dict[str, Start] = {"stockfish": Uci, "gnugo": Gtp, "gnubg": GnuBackgammon}
PROTOCOLS: dict[str, Start] = {"uci": Uci, "gtp": Gtp}
FORMS = "stockfish, gnugo, gnubg, open_spiel:mcts:SIMULATIONS, uci:COMMAND or gtp:COMMAND, each perhaps with :OPTIONS"
OPTIONS = re.compile(r"\w+=[^,=:]+(,\w+=[^,=:]+)*")
DEADLINE = 60  # seconds for an answer
MAX_DEADLINE = 86_400
MAX_LISTED = 12  # moves of a game that an error names
RESIGNS = -1  # an illegal action loses


def engine_of(name: str, seed: int = 0) -> ExternalEngine:
    """Start an engine by its name with options, as `te.agents.engine` does."""
    instance("name", name, str)
    kind, *words = name.split(":")
    given = dict[str, str]()
    if words and OPTIONS.fullmatch(words[-1]):
        pairs = (option.split("=") for option in words.pop().split(","))
        given = {key.lower(): value for key, value in pairs}
    rest = ":".join(words)
    options = Options(name, given)
    if kind == "open_spiel" and (search := re.fullmatch(r"mcts:(\d+)", rest, re.ASCII)):
        count = int(search[1])
        if not 1 <= count <= MAX_SIMULATIONS:
            raise ValueError(f"simulations of the engine {name!r} must be in 1..{MAX_SIMULATIONS}, got {count}")
        return SpielSearch(name, count, options, seed)
    deadline = options.take("deadline", float, 1e-3, MAX_DEADLINE, DEADLINE)
    if kind in PROGRAMS and not rest:
        return PROGRAMS[kind](name, [kind], options, deadline)
    if kind in PROTOCOLS and rest.strip():
        return PROTOCOLS[kind](name, shlex.split(rest), options, deadline)
    raise ValueError(f"an engine must be {FORMS}, got {name!r}")


@dataclass
class _Game:
    """Game of a row.

    Attributes:
        moves: its moves from the first position on.
        start: number of the moves before the engine's last turn.
        turn: actions of that turn.
    """

    moves: list[RecordedMove] = field(default_factory=list)
    start: int = 0
    turn: list[int] = field(default_factory=list)


class EnginePlayer:
    """Engine of others as a policy, which follows the games from their first positions.

    Attributes:
        name: name of the engine, with its options.
    """

    def __init__(self, name: str, seed: int = 0):
        self.name = name
        self.engine = engine_of(name, seed)
        self._games = list[_Game]()

    def __repr__(self) -> str:
        return f"<EnginePlayer {self.name}>"

    def watch(self, state: State, actions: Any) -> None:
        """Record the moves of a step, of all players, so that the engine knows the games.

        `te.evaluate` and `te.arena` call this before each step; custom loops have to.

        Args:
            state: the state before the step.
            actions: the actions of the step, integers [B].
        """
        instance("state", state, State)
        self._resize(state.batch)
        values = state.numpy()
        chosen = host_ints("actions", actions, state.batch)
        for row in np.flatnonzero(~(values["terminated"] | values["truncated"])).tolist():
            ply = int(values["ply"][row])
            if ply == 0 and self._games[row].moves:
                self._games[row] = _Game()
            action = int(chosen[row])
            is_legal = 0 <= action < state.env.num_actions and values["legal_action_mask"][row, action]
            if is_legal and len(self._games[row].moves) == ply:
                name = state.env.action_to_string(action, state, row)
                self._games[row].moves.append(RecordedMove(int(values["current_player"][row]), action, name))

    def __call__(self, state: State, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the engine's actions, int32 [B].

        Args:
            state: games that go on are those that the engine has followed.
            rows: games in which an action is wanted, bool [B]; the others get 0. None: all of them.

        Raises:
            ValueError: the engine does not play the game, or has not followed a game from its first position.
            EngineError: the engine hangs, has ended, or answers what is no legal move.
        """
        instance("state", state, State)
        if state.env.id not in self.engine.games:
            games = ", ".join(self.engine.games)
            raise ValueError(f"the engine {self.name!r} plays {games}, got a state of {state.env!r}")
        self._resize(state.batch)
        values = state.numpy()
        actions = np.zeros(state.batch, np.int32)
        live = ~(values["terminated"] | values["truncated"])
        for row in np.flatnonzero(live if rows is None else live & rows).tolist():
            ply = int(values["ply"][row])
            if ply == 0:
                self._games[row] = _Game()
            if ply != (known := len(self._games[row].moves)):
                raise ValueError(
                    f"the engine {self.name!r} must follow games from their first positions, and knows {known} of "
                    f"{ply} plies in row {row}: call its method watch before each step"
                )
            actions[row] = self._action(state, row)
        return actions

    def _resize(self, batch: int) -> None:
        """Forget the games of a batch of another size."""
        if batch != len(self._games):
            self._games = [_Game() for _ in range(batch)]

    def _action(self, state: State, row: int) -> int:
        """Return the action of one game, of the turn that the engine has chosen before or of a new one."""
        game = self._games[row]
        played = [move.action for move in game.moves[game.start :]]
        if len(played) >= len(game.turn) or game.turn[: len(played)] != played:
            game.start = len(game.moves)
            played = []
            game.turn = self._choose(state, row)
        return game.turn[len(played)] if game.turn else RESIGNS

    def _choose(self, state: State, row: int) -> list[int]:
        """Ask the engine for a turn. EngineError if it is not legal."""
        moves = self._games[row].moves
        try:
            turn = self.engine.choose(state, row, moves)
        except ValueError as error:
            self.close()
            names = [move.name for move in moves]
            game = "of the first position" if not names else f"after {' '.join(names[-MAX_LISTED:])}"
            raise EngineError(f"the engine {self.name!r} plays no legal move in row {row} {game}: {error}") from None
        return turn

    def close(self) -> None:
        """Terminate the engine's process, which otherwise ends when this object is deleted or Python exits."""
        self.engine.close()

    def __enter__(self) -> EnginePlayer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
