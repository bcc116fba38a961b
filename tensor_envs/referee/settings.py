"""Settings of matches."""

from __future__ import annotations

from dataclasses import dataclass

from tensor_envs._validate import instance, integer, number, one_of, wrong_type
from tensor_envs.evaluation.matches import LIMIT, MAX_GAMES

MAX_TIME = 86400.0  # upper bound of a time limit in seconds


@dataclass(frozen=True)
class Settings:
    """Settings of a match.

    Attributes:
        history: whether prompts list the moves so far.
        legal: whether prompts list the legal moves.
        tries: number of answers to a position, after which the player loses by an illegal action.
        opening: number of uniformly random plies at the start, which have no regret.
        limit: plies after which a game is stopped.
        disguise: kinds of a disguise, see `Disguise`; each game has another one.
        time_limit: seconds for an answer, then a TimeoutError is raised. In the main thread a signal interrupts the
            player. In other threads its connections and programs are ended, and a function raises after it returns.
        retries: number of further requests after a ConnectionError or TimeoutError of a player, as of an overloaded
            endpoint. The time before them doubles from one second on, unless the endpoint requests another.

    Examples:
        >>> from tensor_envs.referee import Settings
        >>> Settings(tries=1).opening
        2
    """

    history: bool = True
    legal: bool = True
    tries: int = 3
    opening: int = 2
    limit: int = LIMIT
    disguise: tuple[str, ...] = ()
    time_limit: float = 600.0
    retries: int = 4

    def __post_init__(self) -> None:
        from tensor_envs.referee.disguise import KINDS  # prompts, which make the chain of imports too long above

        for name in ("history", "legal"):
            instance(name, getattr(self, name), bool)
        # Convert to plain numbers, which JSON can hold in the notes of records.
        ranges = {"tries": (1, MAX_GAMES), "opening": (0, LIMIT), "limit": (1, MAX_GAMES), "retries": (0, 100)}
        for name, limits in ranges.items():
            object.__setattr__(self, name, integer(name, getattr(self, name), *limits))
        object.__setattr__(self, "time_limit", number("time_limit", self.time_limit, 1e-3, MAX_TIME))
        if not isinstance(self.disguise, (tuple, list)):
            raise wrong_type("disguise", "a tuple of kinds", self.disguise)
        object.__setattr__(self, "disguise", tuple(self.disguise))
        for kind in self.disguise:
            one_of("disguise", kind, KINDS)
