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
import sys
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from tensor_envs import __version__
from tensor_envs._command import add_rules, command_parser, run, whole
from tensor_envs._validate import instance, integer
from tensor_envs.referee.options import add_settings, settings_of
from tensor_envs.referee.sessions import REWARDS, Feedback, Session

try:
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation
    from openenv.core.env_server.types import State as ServerState
    from pydantic import Field
except ImportError:
    text = "this adapter needs OpenEnv: pip install 'tensor_envs[openenv]'"
    if __name__ == "__main__":
        sys.exit(f"error: {text}")
    raise ImportError(text) from None

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
    image: str = Field("", description="PNG of the position in base64, if the server has pictures")


def _view(feedback: Feedback) -> View:
    """Return a session's feedback as an observation."""
    return View(**asdict(feedback) | {"image": b64encode(feedback.image or b"").decode()})


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
        options: further arguments of `tensor_envs.referee.sessions.Session`: `rules`, `opponent`, `player`, `reward`,
            `settings`, `num_simulations`, `custom` and `image`.

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

    def __init__(self, game: str = "tic_tac_toe", **options: Any):
        super().__init__()
        self.session = Session(game, **options)
        self._episode_id: str | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        game: str | None = None,
        rules: dict[str, Any] | None = None,
        opponent: str | list[str] | None = None,
        player: int | None = None,
        reward: str | None = None,
        **others: Any,
    ) -> View:
        """Start a game of a seed, or of a random one, and return its first position.

        Arguments other than None replace those of the server. Another `game` has no rule fields but `rules`.
        """
        # without `others`, OpenEnv drops what is misspelt
        if others:
            allowed = "seed, episode_id, game, rules, opponent, player and reward"
            raise TypeError(f"reset takes {allowed}, got {min(others)!r}")
        if episode_id is not None:
            instance("episode_id", episode_id, str)
        turn = self.session.reset(seed, game, rules, opponent, player, reward)
        self._episode_id = str(uuid4()) if episode_id is None else episode_id
        return _view(turn)

    def step(self, action: Answer, timeout_s: float | None = None, **_: Any) -> View:
        """Play the move that an answer names, and those of the other seats. Errors name what is wrong."""
        return _view(self.session.step(action.text))

    @property
    def state(self) -> SessionState:
        """State of the session."""
        episode = self.session.episode
        record = json.loads(self.session.record.to_json()) if episode.over else None
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
        text = f"Any game of tensor_envs as text, by default {self.session.defaults['game']}."
        return EnvironmentMetadata(name="tensor_envs", description=text, version=__version__)


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
        options: arguments of `TextEnvironment`, which are checked.
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
        opponent=options.opponent[0] if len(options.opponent or []) == 1 else options.opponent or "uniform",
        player=options.seat,
        reward=options.reward,
        settings=settings_of(options),
        num_simulations=options.simulations,
        custom=options.custom,
        image=options.image,
    )
    uvicorn.run(app, host=options.host, port=options.port)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python -m tensor_envs.adapters.openenv", __doc__)
    text = "a registered game, or package.module:Name for a custom one; default: %(default)s"
    parser.add_argument("game", nargs="?", default="tic_tac_toe", metavar="GAME", help=text)
    add_rules(parser)
    text = "player of the other seats; several times: one for each; default: uniform"
    parser.add_argument("--opponent", action="append", metavar="NAME", help=text)
    text = "the client's player; default: one after the other, by the seed"
    parser.add_argument("--seat", type=whole(0), metavar="N", help=text)
    text = "what a move earns: the game's rewards, minus its regret, or their sum; default: %(default)s"
    parser.add_argument("--reward", choices=REWARDS, default="result", help=text)
    add_settings(parser, tries=1, opening=0)
    text = "show a picture of each position beside the text (extra `draw`)"
    parser.add_argument("--image", action="store_true", help=text)
    parser.add_argument("--custom", action="store_true", help="let clients name games and players of this machine")
    parser.add_argument("--sessions", type=whole(1, MAX_SESSIONS), default=64, help="games at once; default: 64")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; default: %(default)s")
    parser.add_argument("--port", type=whole(1, 65535), default=8000, help="default: %(default)s")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
