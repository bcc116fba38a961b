"""Scores and ratings of players by the records of a tournament."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tensor_envs._validate import instance
from tensor_envs.envs.registry import env_of
from tensor_envs.evaluation.matches import Z, share_returns
from tensor_envs.evaluation.ratings import Ratings, ratings_of
from tensor_envs.files.records import Record


@dataclass(frozen=True)
class Score:
    """Score of a player over the records of a tournament.

    Attributes:
        name: the player.
        won, drawn, lost: returns compared with those of each other player of a game; in a game for one player, with
            those of the same seed. All are 0 in cooperative games, whose players have equal returns.
        mean_return: mean return of a game.
        seats: games, mean return and half the width of its 95 % interval in each seat.
        regret, interval: mean regret of a move, and half the width of its 95 % interval.
        moves: number of moves.
        answers: number of answers; 0 for a policy.
        illegal, unparsable: shares of the answers that name an illegal move, or no single one.
        seconds: mean time of a move.
        tokens: number of tokens, None if the player reports none.

    Examples:
        >>> from tensor_envs.referee import Participant, packaged, scores, tournament
        >>> env = te.make("tic_tac_toe")
        >>> players = [packaged("uniform", env), Participant("silent", ask=lambda text: "")]
        >>> silent = scores(list(tournament(env, players, games=2)))[1]
        >>> silent.lost, silent.unparsable
        (2, 1.0)
    """

    name: str
    won: int
    drawn: int
    lost: int
    mean_return: float
    seats: tuple[tuple[int, float, float], ...]
    regret: float
    interval: float
    moves: int
    answers: int
    illegal: float
    unparsable: float
    seconds: float
    tokens: int | None

    def __str__(self) -> str:
        """Return a line of a table."""
        answered = f"; {self.answers} answers, {self.illegal:.1%} illegal, {self.unparsable:.1%} unparsable"
        by_seat = " ".join(f"{mean:+.3f} +- {half:.3f}" for _, mean, half in self.seats)
        tally = f"{self.won} won, {self.drawn} drawn, {self.lost} lost; "
        spent = f", {self.tokens} tokens" if self.tokens is not None else ""
        return (
            f"{self.name}: {tally if self.won + self.drawn + self.lost else ''}mean return {self.mean_return:+.3f}"
            f"{f', by seat {by_seat}' if len(self.seats) > 2 else ''}; "
            f"regret {self.regret:.4f} +- {self.interval:.4f} in {self.moves} moves of {self.seconds:.3f} s"
            f"{answered if self.answers else ''}{spent}"
        )


def scores(records: Sequence[Record]) -> list[Score]:
    """Return the scores of all players, in the order in which they first play. ValueError without records."""
    names, table = _points(records)
    rows = []
    for k, name in enumerate(names):
        # points against each other player
        against = [points for i, k_points in enumerate(table[k]) if i != k for points in k_points]
        # moves that the player chose: openings have no notes
        moves = list[dict[str, Any]]()
        regrets = list[float]()
        for game in records:
            for seat, noted, lost in zip(game.players, game.notes["moves"], game.notes["regret"], strict=True):
                if noted is not None and game.notes["players"][seat] == name:
                    moves.append(noted)
                    regrets.append(lost)
        answers = sum(len(noted.get("answers", ())) for noted in moves)
        tokens = [noted["tokens"] for noted in moves if noted.get("tokens") is not None]
        # returns of each game, and of each seat
        returns = [value for game in records for who, value in _returns(game).items() if who == name]
        by_seat = [
            [_totals(game)[seat] for game in records if game.notes["players"][seat] == name]
            for seat in range(len(records[0].notes["players"]))
        ]
        # shares of answers are of all that were given, retries included
        rows.append(
            Score(
                name,
                against.count(1.0),
                against.count(0.5),
                against.count(0.0),
                float(np.mean(returns)),
                tuple(map(_with_interval, by_seat)),
                *_with_interval(regrets)[1:],
                len(moves),
                answers,
                sum(noted.get("illegal", 0) for noted in moves) / max(answers, 1),
                sum(noted.get("unparsable", 0) for noted in moves) / max(answers, 1),
                float(np.mean([noted["seconds"] for noted in moves])) if moves else 0.0,
                sum(tokens) if tokens else None,
            )
        )
    return rows


def ratings(records: Sequence[Record]) -> Ratings:
    """Return Elo ratings of all players with 95 % intervals, see `te.arena`. ValueError without records.

    Those of cooperative games are mean returns of partners.
    """
    names, table = _points(records)
    if is_cooperative(records):
        pairs = [[_mean_with(records, one, other) for other in names] for one in names]
        none = np.full((len(names), len(names)), np.nan)
        return Ratings((*names,), none[0], none[0], none, len(records), np.array(pairs))
    points = np.array([[sum(of_pair) for of_pair in row] for row in table], float)
    return ratings_of(names, points, max(len(of_pair) for row in table for of_pair in row))


def is_cooperative(records: Sequence[Record]) -> bool:
    """Return whether the players share every return, by the rules and in all games that have ended."""
    returns = [_totals(game) for game in records if game.terminated]
    return bool(returns) and share_returns(np.array(returns), env_of(records[0].game).spec.zero_sum)


def _mean_with(records: Sequence[Record], one: str, other: str) -> float:
    """Return the mean return of games in which two players are partners; of a player with itself in all seats."""
    teams = [(set(game.notes["players"]), _totals(game)[0]) for game in records]
    returns = [value for team, value in teams if {one, other} <= team and (one != other or team == {one})]
    return float(np.mean(returns)) if returns else np.nan


def _with_interval(returns: Sequence[float]) -> tuple[int, float, float]:
    """Return the number of returns, their mean, and half the width of its 95 % interval; 0.0 of none."""
    if not returns:
        return 0, 0.0, 0.0
    return len(returns), float(np.mean(returns)), float(Z * np.std(returns) / np.sqrt(len(returns)))


def _totals(game: Record) -> list[float]:
    """Return the return of each seat."""
    return [sum(column) for column in zip(*game.rewards, strict=True)] or [0.0] * len(game.notes["players"])


def _returns(game: Record) -> dict[str, float]:
    """Return the mean return of each player's seats."""
    seats = defaultdict[str, list[float]](list)
    for name, value in zip(game.notes["players"], _totals(game), strict=True):
        seats[name].append(value)
    return {name: float(np.mean(values)) for name, values in seats.items()}


def _points(records: Sequence[Record]) -> tuple[list[str], list[list[list[float]]]]:
    """Return the names, and the points of each player against each other: 1 for a win, a half for a draw."""
    instance("records", records, Sequence)
    if not records:
        raise ValueError("records must be those of a tournament, got none")
    for k, game in enumerate(records):
        instance(f"records[{k}]", game, Record)
        if missing := {"players", "moves", "regret"} - game.notes.keys():
            raise ValueError(
                f"records[{k}] must be of a tournament, got one without notes of {', '.join(sorted(missing))}"
            )
    names = list(dict.fromkeys(name for game in records for name in game.notes["players"]))
    table: list[list[list[float]]] = [[[] for _ in names] for _ in names]
    together = defaultdict[Any, dict[str, float]](dict)  # returns that are compared
    for index, game in enumerate([] if is_cooperative(records) else records):
        together[game.seed if len(game.notes["players"]) == 1 else f"game {index}"] |= _returns(game)
    for returns in together.values():
        for one, other in combinations(returns, 2):
            points = float(np.sign(returns[one] - returns[other]) + 1) / 2
            i = names.index(one)
            k = names.index(other)
            table[i][k].append(points)
            table[k][i].append(1 - points)
    return names, table
