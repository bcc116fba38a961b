"""Sessions of a client that learns by playing: its answers, their rewards, and the moves of the other seats."""

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
    """Position, with the information of the player who is to answer, and the reward of the last answer.

    Attributes:
        prompt: position, moves so far and legal moves as text.
        player: seat that is to answer; once the game is over, the last seat that has answered.
        legal_moves: names of the legal moves, empty if prompts omit them.
        rewards: the game's rewards of all seats since the last feedback.
        returns: the game's rewards of all seats since its start.
        done: whether the game is over.
        reward: reward of the player who has answered; None after a reset.
        regret: regret of the last answer, if the reward includes it.
        rules: rules of the game, only after a reset.
        error: error of the last answer, or "".
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
        opponent: player of the other seats, or "self" for the client; a list has one player for each of these seats.
        player: the client's seat; None: the seed chooses it, each seat in turn.
        reward: "result" for the game's rewards; "regret" for minus the regret of each move; "both" for their sum.
        settings: contents of prompts and number of tries. None: one try, and no random opening.
        num_simulations: simulations of the search for regrets in games without exact values.
        custom: whether clients may name games of modules, and players of modules and files.
        image: whether feedback has a picture of the position, which needs Pillow (extra `draw`).

    Attributes:
        defaults: `game`, `rules`, `opponent`, `player` and `reward` of games that `reset` starts without them.
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
            self.episode.picture()  # raises an error if Pillow is missing

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

        Arguments other than None replace the defaults. With another `game`, the default `rules` are not used.
        """
        arguments = {"game": game, "rules": rules, "opponent": opponent, "player": player, "reward": reward}
        options = self.defaults | {name: value for name, value in arguments.items() if value is not None}
        if game is not None and rules is None:
            options["rules"] = {}
        self._start(randbits(SEED_BITS) if seed is None else seed, **options)
        return self._feedback(None, rules=self.episode.skin.rules())

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
        # imported here, since the package's longest chain of imports is at its limit
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
        """Play the move that an answer names, and then the moves of the other seats. ValueError if the game is over."""
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
            return self._feedback(mover, error=error)
        regret = None
        if self._reward != "result":
            with COMPUTING:
                judge = oracle_of(episode.env, self._simulations)
                regret = float(judge.regret(state, [episode.record.actions[plies]])[0])
        episode.advance()
        return self._feedback(mover, regret, error=error)

    def _feedback(self, mover: int | None, regret: float | None = None, **texts: str) -> Feedback:
        """Return the position, and the rewards since the last feedback, for the player who has answered, `mover`."""
        from tensor_envs.files.records import sum_rewards  # imported late, as in `_start`

        episode = self.episode
        all_rewards = episode.record.rewards
        rewards = sum_rewards(all_rewards[self._plies :], episode.env.num_players)
        self._plies = len(all_rewards)
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
            returns=sum_rewards(all_rewards, episode.env.num_players),
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
