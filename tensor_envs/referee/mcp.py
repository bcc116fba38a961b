"""Serve games to language models by the Model Context Protocol, with tools new_game, state, legal_moves and play.

    python -m tensor_envs.referee.mcp    # on stdin and stdout, started by a client; needs the extra `mcp`

The client plays one seat, and a player of the package the others.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from typing import Any

from tensor_envs._command import EXPECTED, command_parser, need, run
from tensor_envs._validate import integer
from tensor_envs.evaluation.matches import actions_of
from tensor_envs.record import begin, extend
from tensor_envs.referee.players import packaged
from tensor_envs.registry import make
from tensor_envs.text import describe, parse, prompt, seat_names


class ClientGame:
    """Game between a client, who has one seat, and a policy.

    Args:
        game: an id, or "package.module:Name" for a custom game.
        rules: rule fields.
        seed: of the game.
        opponent: name of a packaged player.
        player: the client's seat.

    Raises:
        ValueError, TypeError: no such game, field, opponent or seat.
    """

    def __init__(self, game: str, rules: dict[str, Any], seed: int, opponent: str, player: int):
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in rules.items()
        }
        self.env = make(game, **fields)
        self.player = integer("player", player, 0, self.env.num_players - 1)
        self.policy = packaged(opponent, self.env, seed).policy
        self.record, self.state = begin(self.env, seed)
        self._wait()

    def _wait(self) -> None:
        """Play for the others until it is the client's turn."""
        while not self.over and self.state.current_player.item() != self.player:
            assert self.policy is not None
            self.record, self.state = extend(self.record, self.state, int(actions_of(self.policy, self.state)[0]))

    @property
    def over(self) -> bool:
        return self.record.terminated or self.record.truncated

    def view(self) -> str:
        """Return the prompt, and the returns once the game is over."""
        text = prompt(self.state, 0, self.player, self.record)
        if self.over:
            totals = [sum(column) for column in zip(*self.record.rewards, strict=True)]
            names = seat_names(self.env, self.state)
            text += f"Returns: {', '.join(f'{name} {value:+g}' for name, value in zip(names, totals, strict=True))}\n"
        return text

    def play(self, move: str) -> str:
        """Play a move of the client and those of the others. Return what `view` does."""
        if self.over:
            raise ValueError("the game is over; new_game starts another one")
        self.record, self.state = extend(self.record, self.state, parse(self.env, move, self.state))
        self._wait()
        return self.view()


class Tools:
    """Tools of the server, by number of a table; their docstrings are what a client reads of them."""

    def __init__(self) -> None:
        self.tables = list[ClientGame]()

    def _table(self, number: int) -> ClientGame:
        if not 0 <= number < len(self.tables):
            raise ValueError(f"number must be that of one of the {len(self.tables)} games of new_game, got {number}")
        return self.tables[number]

    def new_game(
        self, game: str, rules: dict[str, Any] | None = None, seed: int = 0, opponent: str = "uniform", player: int = 0
    ) -> str:
        """Start a game and return its number, rules and view.

        The opponent is uniform, playout:SIMULATIONS[:EXPLORATION], weights or perfect.
        """
        self.tables.append(ClientGame(game, rules or {}, seed, opponent, player))
        return f"Game number {len(self.tables) - 1}.\n\n{describe(self.tables[-1].env)}\n{self.tables[-1].view()}"

    def state(self, number: int) -> str:
        """Return the position of a game as you may know it, the moves so far and the legal moves."""
        return self._table(number).view()

    def legal_moves(self, number: int) -> list[str]:
        """Return the names of your legal moves in a game; none once it is over."""
        table = self._table(number)
        return list(table.env.legal_actions(table.state).values())

    def play(self, number: int, move: str) -> str:
        """Play a move; return the position after the opponent's answer. An illegal move is refused."""
        return self._table(number).play(move)


def server() -> Any:
    """Return the server. ImportError if the package `mcp` is missing."""
    need("mcp", "the MCP server", "mcp")
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool

    tools = Tools()

    def tool(method: Callable[..., Any]) -> Any:
        """Return the tool of a method, which refuses unknown arguments and those of other types.

        It is a coroutine, so that one thread runs all games, whose errors reach the client.
        """

        @functools.wraps(method)
        async def call(*arguments: Any, **named: Any) -> Any:
            try:
                return method(*arguments, **named)
            except EXPECTED as error:
                raise ToolError(str(error)) from None

        made = Tool.from_function(call)
        arguments = made.fn_metadata.arg_model
        arguments.model_config |= {"extra": "forbid", "strict": True}
        arguments.model_rebuild(force=True)
        return made.model_copy(update={"parameters": arguments.model_json_schema(by_alias=True)})

    methods = (tools.new_game, tools.state, tools.legal_moves, tools.play)
    return MCPServer("tensor_envs", tools=[tool(method) for method in methods])


def work(options: argparse.Namespace) -> None:
    """Serve until the client closes the connection."""
    server().run("stdio")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    run(command_parser("tensor_envs.referee.mcp", __doc__), work, arguments)


if __name__ == "__main__":
    main()
