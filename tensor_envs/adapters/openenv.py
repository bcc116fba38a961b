"""OpenEnv server and client: language models play any game, and learn from results and the regret of their moves.

    python -m tensor_envs.adapters.openenv tic_tac_toe --opponent playout:64 --reward both --port 8000

A client resets the environment with a seed, reads rules and position, and steps with an answer in any words, which
names a move. --opponent plays the other seats: uniform, playout:SIMULATIONS[:EXPLORATION], weights, perfect, a
.safetensors file of a training run, package.module:function of a text to a text, or self: then the client answers for
every seat. Each connection is a session with a game of its own. `client.reset` takes `game`, `rules`, `opponent`,
`player` and `reward`, which replace those of the server. --custom lets clients name games and players of modules and
files, so that they choose code and files of this machine.

This needs the extra `openenv`, whose package needs mcp 1, in an environment without the extra `mcp`.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from secrets import randbits
from typing import Any
from uuid import uuid4

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation
from openenv.core.env_server.types import State as ServerState
from pydantic import Field

from tensor_envs import __version__
from tensor_envs._command import add_rules, command_parser, run, whole
from tensor_envs._validate import integer, one_of
from tensor_envs.evaluation.oracles import oracle_of
from tensor_envs.referee.matches import COMPUTING, Episode
from tensor_envs.referee.options import add_settings, settings_of
from tensor_envs.referee.players import hosted_game, hosted_player
from tensor_envs.referee.settings import Settings
from tensor_envs.search.policies import MAX_SIMULATIONS

REWARDS = ("result", "regret", "both")
SELF = "self"  # opponent of a client that answers for every seat
SEED_BITS = 63
MAX_SESSIONS = 1024


class Answer(Action):
    """Answer of a language model, which names a move in any words."""

    text: str = Field(description="an answer such as 'move: e2e4'; a last line or a line with 'move:' names the move")


class View(Observation):
    """Position as the player who is to answer may know it.

    `reward` is that of the player who has answered, and None after a reset. `metadata` is empty.
    """

    rules: str = Field("", description="rules of the game, after a reset only")
    prompt: str = Field("", description="position, moves so far and legal moves as text")
    player: int = Field(0, description="seat that is to answer; the last one once the game is over")
    legal_moves: list[str] = Field([], description="names of the legal moves, none if prompts leave them out")
    error: str = Field("", description="what is wrong with the last answer")
    rewards: list[float] = Field([], description="results of all seats since the last observation, and no regrets")
    regret: float | None = Field(None, description="value that the last answer gave away, if the reward counts it")
    returns: list[float] = Field([], description="results of all seats of the whole game")


class SessionState(ServerState):
    """State of a session: the game, and the position as the client's player may know it."""

    game: str = Field("", description="id of the game")
    rules: dict[str, Any] = Field({}, description="its rule fields")
    player: int = Field(0, description="seat that is to answer")
    position: dict[str, Any] = Field({}, description="position, see tensor_envs.text.schema")
    record: dict[str, Any] | None = Field(None, description="record of the game with its seed, once it is over")


class TextEnvironment(Environment[Answer, View, SessionState]):
    """Session of an OpenEnv server, with one game at a time.

    Args:
        game: an id, or "package.module:Name" for a custom game.
        rules: rule fields.
        opponent: player of the other seats, or "self".
        player: the client's seat; None: one after the other, by the seed.
        reward: "result": what the game pays; "regret": minus what each move gives away; "both": their sum.
        settings: what prompts contain and how many wrong answers lose. Default: one answer, and no random opening.
        num_simulations: simulations of the search that judges moves of games without exact values.
        custom: whether clients may name games and players of modules and files.

    Raises:
        ValueError, TypeError: no such game, field, player or seat.

    Examples:
        >>> from tensor_envs.adapters.openenv import Answer, TextEnvironment
        >>> env = TextEnvironment("tic_tac_toe", opponent="perfect", player=0, reward="regret")
        >>> env.reset(seed=1).legal_moves[:2]
        ['(0,0)', '(0,1)']
        >>> env.step(Answer(text="A corner. move: (0,0)")).reward
        0.0
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        game: str = "tic_tac_toe",
        rules: dict[str, Any] | None = None,
        opponent: str = "uniform",
        player: int | None = None,
        reward: str = "result",
        settings: Settings | None = None,
        num_simulations: int = 1024,
        custom: bool = False,
    ):
        super().__init__()
        self._default = {"game": game, "rules": rules or {}, "opponent": opponent, "player": player, "reward": reward}
        self._settings = Settings(tries=1, opening=0) if settings is None else settings
        self._simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
        self._custom = custom
        self._episode_id: str | None = None
        self._start(0, **self._default)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        game: str | None = None,
        rules: dict[str, Any] | None = None,
        opponent: str | None = None,
        player: int | None = None,
        reward: str | None = None,
    ) -> View:
        """Start a game of a seed, or of a random one, and return its first position.

        Arguments other than None replace those of the server. Another `game` has no rule fields but `rules`.
        """
        chosen = {"game": game, "rules": rules, "opponent": opponent, "player": player, "reward": reward}
        options = self._default | {name: value for name, value in chosen.items() if value is not None}
        if game is not None and rules is None:
            options["rules"] = {}
        self._episode_id = str(uuid4()) if episode_id is None else episode_id
        self._start(randbits(SEED_BITS) if seed is None else seed, **options)
        return self._observed(None, rules=self._episode.skin.rules())

    def _start(
        self, seed: int, game: str, rules: dict[str, Any], opponent: str, player: int | None, reward: str
    ) -> None:
        """Start a game, and play until a seat of the client is to move."""
        self._reward = one_of("reward", reward, REWARDS)
        env = hosted_game(game, rules, self._custom or game == self._default["game"])
        seat = seed % env.num_players if player is None else integer("player", player, 0, env.num_players - 1)
        custom = self._custom or opponent == self._default["opponent"]
        other = None if opponent == SELF else hosted_player(opponent, env, seed, custom)
        seats = [None if seat == number else other for number in range(env.num_players)]
        self._episode = Episode(env, seats, seed, self._settings)
        self._plies = 0  # of the last observation
        self._episode.advance()

    def step(self, action: Answer, timeout_s: float | None = None, **_: Any) -> View:
        """Play the move that an answer names, and those of the other seats. Errors name what is wrong."""
        episode = self._episode
        if episode.over:
            raise ValueError("the game is over; reset starts another one")
        mover = episode.player
        state = episode.state
        plies = len(episode.moves)
        error = episode.answer(action.text)
        if len(episode.moves) == plies:  # the player has further tries
            return self._observed(mover, error=error)
        regret = None
        if self._reward != "result":
            with COMPUTING:
                judge = oracle_of(episode.env, self._simulations)
                regret = float(judge.regret(state, [episode.record.actions[plies]])[0])
        episode.advance()
        return self._observed(mover, regret, error=error)

    def _observed(self, mover: int | None, regret: float | None = None, **texts: str) -> View:
        """Return the position, and the rewards since the last observation for the player who has answered."""
        episode = self._episode
        paid = episode.record.rewards
        rewards = _totals(paid[self._plies :], episode.env.num_players)
        self._plies = len(paid)
        reward = None
        if mover is not None:
            reward = (rewards[mover] if self._reward != "regret" else 0.0) - (regret or 0.0)
        seat = mover if episode.over and mover is not None else episode.player
        return View(
            prompt=episode.prompt(seat),
            player=seat,
            legal_moves=episode.legal_moves() if self._settings.legal else [],
            rewards=rewards,
            regret=regret,
            returns=_totals(paid, episode.env.num_players),
            done=episode.over,
            reward=reward,
            **texts,
        )

    @property
    def state(self) -> SessionState:
        """State of the session."""
        episode = self._episode
        record = None
        if episode.over:
            names = ["client" if seat is None else seat.name for seat in episode.seats]
            record = json.loads(replace(episode.record, notes={"players": names} | episode.notes).to_json())
        return SessionState(
            episode_id=self._episode_id,
            step_count=len(episode.moves),
            game=episode.env.id,
            rules=asdict(episode.env.rules),
            player=episode.player,
            position=episode.env.state_to_dict(episode.state, 0, episode.player),
            record=record,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Return what the server says of itself."""
        text = f"Any game of tensor_envs as text, by default {self._default['game']}."
        return EnvironmentMetadata(name="tensor_envs", description=text, version=__version__)


def _totals(rewards: Sequence[Sequence[float]], num_players: int) -> list[float]:
    """Return the sums of rewards by player."""
    return [float(sum(paid[player] for paid in rewards)) for player in range(num_players)]


class GameClient(EnvClient[Answer, View, SessionState]):
    """Client of the server. `GameClient(base_url="http://127.0.0.1:8000").sync()` is one for code without `await`."""

    def _step_payload(self, action: Answer) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[View]:
        ending = {name: payload[name] for name in ("done", "reward")}
        return StepResult(View(**payload["observation"], **ending), **ending)

    def _parse_state(self, payload: dict[str, Any]) -> SessionState:
        return SessionState(**payload)


def application(sessions: int = 64, **options: Any) -> Any:
    """Return the server as an ASGI application.

    Args:
        sessions: upper bound of the games at once.
        options: arguments of `TextEnvironment`, which this checks.
    """
    sessions = integer("sessions", sessions, 1, MAX_SESSIONS)
    TextEnvironment(**options)
    session = functools.partial(TextEnvironment, **options)
    return create_app(session, Answer, View, "tensor_envs", sessions, state_cls=SessionState)


def work(options: argparse.Namespace) -> None:
    """Serve until a signal."""
    import uvicorn

    app = application(
        options.sessions,
        game=options.game,
        rules=dict(options.rules),
        opponent=options.opponent,
        player=options.seat,
        reward=options.reward,
        settings=settings_of(options),
        num_simulations=options.simulations,
        custom=options.custom,
    )
    uvicorn.run(app, host=options.host, port=options.port)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("tensor_envs.adapters.openenv", __doc__)
    text = "a registered game, or package.module:Name for a custom one; default: %(default)s"
    parser.add_argument("game", nargs="?", default="tic_tac_toe", metavar="GAME", help=text)
    add_rules(parser)
    parser.add_argument("--opponent", default="uniform", metavar="NAME", help="default: %(default)s")
    text = "the client's player; default: one after the other, by the seed"
    parser.add_argument("--seat", type=whole(0), metavar="N", help=text)
    text = "what a move earns: the game's rewards, minus its regret, or their sum; default: %(default)s"
    parser.add_argument("--reward", choices=REWARDS, default="result", help=text)
    add_settings(parser, tries=1, opening=0)
    parser.add_argument("--custom", action="store_true", help="let clients name games and players of this machine")
    parser.add_argument("--sessions", type=whole(1, MAX_SESSIONS), default=64, help="games at once; default: 64")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; default: %(default)s")
    parser.add_argument("--port", type=whole(1, 65535), default=8000, help="default: %(default)s")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
