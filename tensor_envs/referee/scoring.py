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
from tensor_envs.files.records import Record, sum_rewards


@dataclass(frozen=True)
class Score:
    """Score of a player over the records of a tournament.

    Attributes:
        name: the player.
        won, drawn, lost: numbers of comparisons with the return of each other player of a game; in a game for one
            player, with the returns of the same seed. All are 0 in cooperative games, whose players have equal returns.
        mean_return: mean return of a game.
        seats: for each seat, number of games, mean return, and half the width of its 95 % interval.
        regret, interval: mean regret of a move, and half the width of its 95 % interval.
        moves: number of moves.
        answers: number of answers; 0 for a policy.
        illegal, unparsable: shares of the answers that name an illegal move, or that do not name one move.
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
        # Collect the points against all other players.
        points = [point for i, pair in enumerate(table[k]) if i != k for point in pair]
        # Collect the moves that the player chose: those of openings have no notes.
        moves = list[dict[str, Any]]()
        regrets = list[float]()
        for game in records:
            for seat, move, regret in zip(game.players, game.notes["moves"], game.notes["regret"], strict=True):
                if move is not None and game.notes["players"][seat] == name:
                    moves.append(move)
                    regrets.append(regret)
        answers = sum(len(move.get("answers", ())) for move in moves)
        tokens = [move["tokens"] for move in moves if move.get("tokens") is not None]
        # Collect the returns of all games, and those in each seat.
        returns = [value for game in records for player, value in _returns_by_name(game).items() if player == name]
        by_seat = [
            [_returns(game)[seat] for game in records if game.notes["players"][seat] == name]
            for seat in range(len(records[0].notes["players"]))
        ]
        # Illegal and unparsable answers are shares of all answers, those of further tries included.
        rows.append(
            Score(
                name,
                points.count(1.0),
                points.count(0.5),
                points.count(0.0),
                float(np.mean(returns)),
                tuple(map(_with_interval, by_seat)),
                *_with_interval(regrets)[1:],
                len(moves),
                answers,
                sum(move.get("illegal", 0) for move in moves) / max(answers, 1),
                sum(move.get("unparsable", 0) for move in moves) / max(answers, 1),
                float(np.mean([move["seconds"] for move in moves])) if moves else 0.0,
                sum(tokens) if tokens else None,
            )
        )
    return rows


def ratings(records: Sequence[Record]) -> Ratings:
    """Return Elo ratings of all players with 95 % intervals, see `te.arena`. ValueError without records.

    In cooperative games, they are mean returns of pairs of partners instead.
    """
    names, table = _points(records)
    if is_cooperative(records):
        pairs = [[_mean_with(records, one, other) for other in names] for one in names]
        none = np.full((len(names), len(names)), np.nan)
        return Ratings((*names,), none[0], none[0], none, len(records), np.array(pairs))
    points = np.array([[sum(pair) for pair in row] for row in table], float)
    return ratings_of(names, points, max(len(pair) for row in table for pair in row))


def is_cooperative(records: Sequence[Record]) -> bool:
    """Return whether all players have equal returns in every finished game, and these are not just draws."""
    returns = [_returns(game) for game in records if game.terminated]
    return bool(returns) and share_returns(np.array(returns), env_of(records[0].game).spec.zero_sum)


def _mean_with(records: Sequence[Record], one: str, other: str) -> float:
    """Return the mean return of games in which two players are partners, or in which one player has all seats."""
    teams = [(set(game.notes["players"]), _returns(game)[0]) for game in records]
    returns = [value for team, value in teams if {one, other} <= team and (one != other or team == {one})]
    return float(np.mean(returns)) if returns else np.nan


def _with_interval(returns: Sequence[float]) -> tuple[int, float, float]:
    """Return the number of values, their mean, and half the width of its 95 % interval; zeros without values."""
    if not returns:
        return 0, 0.0, 0.0
    return len(returns), float(np.mean(returns)), float(Z * np.std(returns) / np.sqrt(len(returns)))


def _returns(game: Record) -> list[float]:
    """Return the return of each seat."""
    return sum_rewards(game.rewards, len(game.notes["players"]))


def _returns_by_name(game: Record) -> dict[str, float]:
    """Return the mean return over the seats of each player, by name."""
    seats = defaultdict[str, list[float]](list)
    for name, value in zip(game.notes["players"], _returns(game), strict=True):
        seats[name].append(value)
    return {name: float(np.mean(values)) for name, values in seats.items()}


def _points(records: Sequence[Record]) -> tuple[list[str], list[list[list[float]]]]:
    """Return the names, and lists of the points of each player against each other: 1 for a win, 0.5 for a draw."""
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
    # Compare the players of each game, or in a game for one player those of each seed.
    compared = defaultdict[Any, dict[str, float]](dict)
    for index, game in enumerate([] if is_cooperative(records) else records):
        compared[game.seed if len(game.notes["players"]) == 1 else f"game {index}"] |= _returns_by_name(game)
    for returns in compared.values():
        for first, second in combinations(returns, 2):
            point = float(np.sign(returns[first] - returns[second]) + 1) / 2
            i = names.index(first)
            k = names.index(second)
            table[i][k].append(point)
            table[k][i].append(1 - point)
    return names, table
