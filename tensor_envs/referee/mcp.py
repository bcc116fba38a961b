"""Serve games to language models by the Model Context Protocol, with tools new_game, state, legal_moves and play.

    python -m tensor_envs.referee.mcp    # on stdin and stdout, started by a client; needs the extra `mcp`

The client plays one seat, and players of the package play the others. The server draws the seed of a game, and reports
it once the game is over. --custom allows clients to name games as package.module:Name and players as .safetensors
files, which runs code and reads files of this machine.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from secrets import randbits
from typing import Any

from tensor_envs._command import EXPECTED, command_parser, run
from tensor_envs._validate import integer, need, shown
from tensor_envs.evaluation.matches import MAX_GAMES
from tensor_envs.files.records import sum_rewards
from tensor_envs.referee.matches import Episode
from tensor_envs.referee.players import Participant, hosted_game, hosted_player, opponents
from tensor_envs.referee.settings import Settings
from tensor_envs.text import describe, seat_names

MAX_TABLES = 64  # maximum number of games in memory
SEED_BITS = 63  # bits of a random seed


class ClientGame:
    """Game between a client, which has one seat, and players of the package.

    Args:
        game: an id, or "package.module:Name" for a custom game.
        rules: rule fields.
        seed: seed of the game; None draws one.
        opponent: name of a packaged player for the other seats; a list has one for each of them.
        player: the client's seat.
        custom: whether a game and a player may be those of modules and files.

    Raises:
        ValueError, TypeError: no such game, field, opponent or seat.
    """

    def __init__(
        self,
        game: str,
        rules: dict[str, Any],
        seed: int | None = None,
        opponent: str | list[str] = "uniform",
        player: int = 0,
        custom: bool = False,
    ):
        env = hosted_game(game, rules, custom)
        seed = randbits(SEED_BITS) if seed is None else seed
        self.player = integer("player", player, 0, env.num_players - 1)
        seats: list[Participant | None] = [hosted_player(name, env, seed, custom) for name in opponents(opponent, env)]
        seats.insert(self.player, None)
        self.episode = Episode(env, seats, seed, Settings(opening=0, limit=MAX_GAMES))
        self.episode.advance()

    def view(self) -> str:
        """Return the position as text, and once the game is over the returns and the seed."""
        text = self.episode.prompt(self.player)
        if self.episode.over:
            record = self.episode.record
            returns = sum_rewards(record.rewards, self.episode.env.num_players)
            names = seat_names(self.episode.env, self.episode.state)
            text += f"Returns: {', '.join(f'{name} {value:+g}' for name, value in zip(names, returns, strict=True))}\n"
            text += f"Seed: {record.seed}\n"
        return text

    def play(self, move: str) -> str:
        """Play a move of the client and then those of the other seats, and return the new view."""
        if self.episode.over:
            raise ValueError("the game is over; new_game starts another one")
        self.episode.play(self.episode.read(move, "move"))
        self.episode.advance()
        return self.view()


class Tools:
    """Tools of the server. Clients read the docstrings of the public methods."""

    def __init__(self, custom: bool = False) -> None:
        self.tables = dict[int, ClientGame]()  # games by number
        self._custom = custom
        self._num_games = 0

    def _table(self, number: int) -> ClientGame:
        """Return a game by its number. ValueError if there is none."""
        if number not in self.tables:
            numbers = ", ".join(map(str, self.tables)) or "none"
            raise ValueError(
                f"number must be that of a game of new_game that is kept, got {number}; kept are {numbers}"
            )
        return self.tables[number]

    def _release(self) -> None:
        """Remove a game if there are too many: the oldest finished one, or else the oldest."""
        if len(self.tables) >= MAX_TABLES:
            over = (number for number, table in self.tables.items() if table.episode.over)
            del self.tables[next(over, min(self.tables))]

    def new_game(
        self,
        game: str,
        rules: dict[str, Any] | None = None,
        seed: int | None = None,
        opponent: str | list[str] = "uniform",
        player: int = 0,
    ) -> str:
        """Start a game and return its number, rules and view.

        The opponent is uniform, playout:SIMULATIONS[:EXPLORATION], weights or perfect. A list has one for each other
        seat, in the order of the seats.
        """
        table = ClientGame(game, rules or {}, seed, opponent, player, self._custom)
        self._release()
        number = self._num_games
        self._num_games += 1
        self.tables[number] = table
        return f"Game number {number}.\n\n{describe(table.episode.env)}\n{table.view()}"

    def state(self, number: int) -> str:
        """Return the position of a game as you may know it, the moves so far and the legal moves."""
        return self._table(number).view()

    def legal_moves(self, number: int) -> list[str]:
        """Return the names of your legal moves in a game; none once it is over."""
        return self._table(number).episode.legal_moves()

    def play(self, number: int, move: str) -> str:
        """Play a move; return the position after the opponent's answer. An illegal move is refused."""
        return self._table(number).play(move)


def server(custom: bool = False) -> Any:
    """Return the server. ImportError if the package `mcp` is missing."""
    need("mcp", "the MCP server", "mcp")
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from pydantic import ValidationError

    tools = Tools(custom)

    class PlainTool(Tool):  # type: ignore[misc] # the package may be missing
        """Tool whose errors name the argument, as in this package."""

        async def run(self, *arguments: Any, **named: Any) -> Any:
            try:
                return await super().run(*arguments, **named)
            except ToolError as error:
                if not isinstance(error.__cause__, ValidationError):
                    raise
                wrong = "; ".join(map(_in_words, error.__cause__.errors()))
                raise ToolError(f"{wrong}; {self.name} takes {', '.join(self.parameters['properties'])}") from None

    def tool(method: Callable[..., Any]) -> Any:
        """Return the tool of a method, which refuses unknown arguments and arguments of other types.

        It is a coroutine, so that one thread runs all games, and their errors reach the client.
        """

        @functools.wraps(method)
        async def call(*arguments: Any, **named: Any) -> Any:
            try:
                return method(*arguments, **named)
            except EXPECTED as error:
                raise ToolError(str(error)) from None

        created = PlainTool.from_function(call)
        arguments = created.fn_metadata.arg_model
        arguments.model_config |= {"extra": "forbid", "strict": True}
        arguments.model_rebuild(force=True)
        return created.model_copy(update={"parameters": arguments.model_json_schema(by_alias=True)})

    methods = (tools.new_game, tools.state, tools.legal_moves, tools.play)
    return MCPServer("tensor_envs", tools=[tool(method) for method in methods])


def _in_words(error: Any) -> str:
    """Return the message for an entry of pydantic's `ValidationError.errors`, with the name of the argument."""
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"{name} is missing"
    if error["type"] == "extra_forbidden":
        return f"{name} is no argument"
    return f"{error['msg'].replace('Input should', f'{name} must')}, got {shown(error['input'])}"


def work(options: argparse.Namespace) -> None:
    """Serve until the client closes the connection."""
    server(options.custom).run("stdio")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command_parser("python -m tensor_envs.referee.mcp", __doc__)
    text = "let clients name games of modules and players of files of this machine"
    parser.add_argument("--custom", action="store_true", help=text)
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
