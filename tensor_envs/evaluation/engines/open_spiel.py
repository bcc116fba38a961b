"""OpenSpiel's games with the same rules, and its tree search as an engine."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from tensor_envs.envs.env import Env
from tensor_envs.envs.state import State
from tensor_envs.evaluation.engines.process import EngineError
from tensor_envs.evaluation.engines.protocols import Options, RecordedMove

MAX_MEMORY = 1000  # megabytes of a search
MAX_EXPLORATION = 1000.0
EXPLORATION = 1.4  # UCT's constant


class SpielGame(NamedTuple):
    """A game in OpenSpiel.

    Attributes:
        name: its name there, with fields of the rules in braces.
        number: function of an action there to the number of the same action here.
    """

    name: str
    number: Callable[[int], int] = int


def breakthrough_number(action: int) -> int:
    """Return the number of OpenSpiel's breakthrough action, which is a cell, a direction, and whether it captures."""
    cell, rest = divmod(action, 12)
    return rest // 2 * 64 + cell


# games of perfect information without chance
GAMES = {
    "amazons": SpielGame("amazons(board_size={size})"),
    "breakthrough": SpielGame("breakthrough", breakthrough_number),
    "chess": SpielGame("chess"),
    "connect_four": SpielGame("connect_four(rows={rows},columns={columns},x_in_row={k})"),
    "dots_and_boxes": SpielGame("dots_and_boxes(num_rows={rows},num_cols={columns})"),
    "go": SpielGame("go(board_size={size},komi={komi},max_game_length={max_plies})"),
    "hex": SpielGame("hex(board_size={size},swap={swap})"),
    "kalah": SpielGame("mancala", lambda action: action % 7 - 1),
    "nine_mens_morris": SpielGame("nine_mens_morris"),
    "othello": SpielGame("othello"),
    "oware": SpielGame("oware(num_houses_per_player={houses},num_seeds_per_house={seeds})"),
    "tic_tac_toe": SpielGame("tic_tac_toe"),
}


def load_game(env: Env) -> Any:
    """Return OpenSpiel's game of `GAMES` by the rules of an environment. ImportError if OpenSpiel is not installed."""
    spiel = importlib.import_module("pyspiel")
    return spiel.load_game(GAMES[env.id].name.format(**asdict(env.rules)))


def play(other: Any, number: Callable[[int], int], action: int) -> bool:
    """Play an action of ours in OpenSpiel's state. Returns whether it is legal there."""
    theirs = {number(legal): legal for legal in other.legal_actions()}
    if action in theirs:
        other.apply_action(theirs[action])
    return action in theirs


class SpielSearch:
    """OpenSpiel's MCTSBot. It values positions by one random game, and proves outcomes.

    The option `exploration` is UCT's constant.
    """

    games: tuple[str, ...] = tuple(GAMES)

    def __init__(self, name: str, num_simulations: int, options: Options, seed: int):
        self.name = name
        self.num_simulations = num_simulations
        self.exploration = options.take("exploration", float, 0, MAX_EXPLORATION, EXPLORATION)
        options.check()
        try:
            self.spiel = importlib.import_module("pyspiel")
        except ImportError:
            raise ImportError(f"the engine {name!r} is not installed: pip install open_spiel") from None
        self.seed = seed
        self.bots = dict[Env, Any]()

    def choose(self, state: State, row: int, moves: Sequence[RecordedMove]) -> list[int]:
        """Return the bot's action. EngineError where the rules of both packages differ."""
        env = state.env
        if env not in self.bots:
            game = load_game(env)
            evaluator = self.spiel.RandomRolloutEvaluator(1, self.seed)
            size = self.num_simulations, MAX_MEMORY
            self.bots[env] = game, self.spiel.MCTSBot(game, evaluator, self.exploration, *size, True, self.seed, False)
        game, bot = self.bots[env]
        other = game.new_initial_state()
        number = GAMES[env.id].number
        is_same = all(play(other, number, move.action) for move in moves)
        if not is_same or sorted(map(number, other.legal_actions())) != [*env.legal_actions(state, row)]:
            raise EngineError(f"the engine {self.name!r} plays {env.id} by other rules than {env!r}")
        return [number(bot.step(other))]

    def close(self) -> None:
        """Clear the bots."""
        self.bots.clear()
