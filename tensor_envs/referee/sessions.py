"""Games of a client that learns: its answers, their rewards, and the moves of the other seats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from secrets import randbits
from typing import TYPE_CHECKING, Any

from tensor_envs._validate import instance, integer, one_of
from tensor_envs.referee.settings import Settings
from tensor_envs.search.policies import MAX_SIMULATIONS

if TYPE_CHECKING:
    from tensor_envs.files.records import Record

REWARDS = ("result", "regret", "both")
SELF = "self"  # opponent of a client that answers for every seat
SEED_BITS = 63


@dataclass(frozen=True)
class Feedback:
    """Position as the player who is to answer may know it, and what the last answer has earned.

    Attributes:
        prompt: position, moves so far and legal moves as text.
        player: seat that is to answer; the last one that has answered once the game is over.
        legal_moves: names of the legal moves, none if prompts leave them out.
        rewards: results of all seats since the last feedback, without regrets.
        returns: results of all seats of the whole game.
        done: whether the game is over.
        reward: reward of the player who has answered; None after a reset.
        regret: value that the last answer gave away, if the reward counts it.
        rules: rules of the game, after a reset only.
        error: what is wrong with the last answer, or "".
        image: PNG of the position, None unless the session has pictures.
    """

    prompt: str
    player: int
    legal_moves: list[str]
    rewards: list[float]
    returns: list[float]
    done: bool
    reward: float | None = None
    regret: float | None = None
    rules: str = ""
    error: str = ""
    image: bytes | None = None


class Session:
    """Games of one client, one after the other. It begins with a game of seed 0.

    Args:
        game: an id, or "package.module:Name" for a custom game.
        rules: rule fields.
        opponent: player of the other seats, or "self" for the client; a list has one for each of them.
        player: the client's seat; None: one after the other, by the seed.
        reward: "result": what the game pays; "regret": minus what each move gives away; "both": their sum.
        settings: what prompts contain and how many wrong answers lose. Default: one answer, and no random opening.
        num_simulations: simulations of the search that judges moves of games without exact values.
        custom: whether clients may name games and players of modules and files.
        image: whether positions are also shown as pictures, which needs Pillow (extra `draw`).

    Attributes:
        defaults: `game`, `rules`, `opponent`, `player` and `reward` of games without others.
        episode: the game in progress.

    Raises:
        ValueError, TypeError: no such game, field, player or seat.

    Examples:
        >>> from tensor_envs.referee.sessions import Session
        >>> session = Session("tic_tac_toe", opponent="perfect", player=0, reward="both")
        >>> session.reset(seed=1).legal_moves[:2]
        ['(0,0)', '(0,1)']
        >>> session.step("A corner. move: (0,0)").reward
        0.0
    """

    def __init__(
        self,
        game: str = "tic_tac_toe",
        rules: dict[str, Any] | None = None,
        opponent: str | Sequence[str] = "uniform",
        player: int | None = None,
        reward: str = "result",
        settings: Settings | None = None,
        num_simulations: int = 1024,
        custom: bool = False,
        image: bool = False,
    ):
        self.defaults: dict[str, Any] = {"game": game, "rules": rules or {}}
        self.defaults |= {"opponent": opponent, "player": player, "reward": reward}
        if settings is not None:
            instance("settings", settings, Settings)
        self._settings = settings or Settings(tries=1, opening=0)
        self._simulations = integer("num_simulations", num_simulations, 1, MAX_SIMULATIONS)
        instance("custom", custom, bool)
        self._custom = custom
        instance("image", image, bool)
        self._image = image
        self._start(0, **self.defaults)
        if image:
            self.episode.picture()  # says what is missing

    def reset(
        self,
        seed: int | None = None,
        game: str | None = None,
        rules: dict[str, Any] | None = None,
        opponent: str | Sequence[str] | None = None,
        player: int | None = None,
        reward: str | None = None,
    ) -> Feedback:
        """Start a game of a seed, or of a random one, and return its first position.

        Arguments other than None replace the defaults. Another `game` has no rule fields but `rules`.
        """
        chosen = {"game": game, "rules": rules, "opponent": opponent, "player": player, "reward": reward}
        options = self.defaults | {name: value for name, value in chosen.items() if value is not None}
        if game is not None and rules is None:
            options["rules"] = {}
        self._start(randbits(SEED_BITS) if seed is None else seed, **options)
        return self._observed(None, rules=self.episode.skin.rules())

    def _start(
        self,
        seed: int,
        game: str,
        rules: dict[str, Any],
        opponent: str | Sequence[str],
        player: int | None,
        reward: str,
    ) -> None:
        """Start a game, and play until a seat of the client is to move."""
        # records and agents, which make the chain of imports too long above
        from tensor_envs.referee.matches import Episode
        from tensor_envs.referee.players import hosted_game, hosted_player, opponents

        one_of("reward", reward, REWARDS)
        seed = integer("seed", seed, 0, 2**64 - 1)
        env = hosted_game(game, rules, self._custom or game == self.defaults["game"])
        seat = seed % env.num_players if player is None else integer("player", player, 0, env.num_players - 1)
        custom = self._custom or opponent == self.defaults["opponent"]
        names = opponents(opponent, env)
        seats = [None if name == SELF else hosted_player(name, env, seed, custom) for name in names]
        seats.insert(seat, None)
        self.episode = Episode(env, seats, seed, self._settings)
        self._reward = reward
        self._plies = 0  # plies at the last feedback
        self.episode.advance()

    def step(self, answer: str) -> Feedback:
        """Play the move that an answer names, and those of the other seats. Errors name what is wrong."""
        from tensor_envs.evaluation.oracles import oracle_of  # imported late, as in `_start`
        from tensor_envs.referee.matches import COMPUTING

        episode = self.episode
        if episode.over:
            raise ValueError("the game is over; reset starts another one")
        mover = episode.player
        state = episode.state
        plies = len(episode.moves)
        error = episode.answer(answer)
        if len(episode.moves) == plies:  # the player has further tries
            return self._observed(mover, error=error)
        regret = None
        if self._reward != "result":
            with COMPUTING:
                judge = oracle_of(episode.env, self._simulations)
                regret = float(judge.regret(state, [episode.record.actions[plies]])[0])
        episode.advance()
        return self._observed(mover, regret, error=error)

    def _observed(self, mover: int | None, regret: float | None = None, **texts: str) -> Feedback:
        """Return the position, and the rewards since the last observation for the player who has answered."""
        episode = self.episode
        paid = episode.record.rewards
        rewards = _totals(paid[self._plies :], episode.env.num_players)
        self._plies = len(paid)
        reward = None
        if mover is not None:
            reward = (rewards[mover] if self._reward != "regret" else 0.0) - (regret or 0.0)
        seat = mover if episode.over and mover is not None else episode.player
        return Feedback(
            prompt=episode.prompt(seat),
            player=seat,
            legal_moves=episode.legal_moves() if self._settings.legal else [],
            rewards=rewards,
            regret=regret,
            returns=_totals(paid, episode.env.num_players),
            done=episode.over,
            reward=reward,
            image=episode.picture(seat) if self._image else None,
            **texts,
        )

    @property
    def record(self) -> Record:
        """Record of the game so far, with the notes of a match."""
        names = ["client" if seat is None else seat.name for seat in self.episode.seats]
        return replace(self.episode.record, notes={"players": names} | self.episode.notes)


def _totals(rewards: Sequence[Sequence[float]], num_players: int) -> list[float]:
    """Return the sums of rewards by player."""
    return [float(sum(paid[player] for paid in rewards)) for player in range(num_players)]
