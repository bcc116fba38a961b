"""verifiers: an environment in which a language model plays a game turn by turn, with a reward for every turn.

The framework's user is the game: it shows the position, and answers with the moves of the other seats.
`load_environment` makes the environment. The framework's commands and its hub name it by a package, that of
`scripts/environments/tensor_envs_games`. This needs the extra `verifiers`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs.referee.players import content_of
from tensor_envs.referee.sessions import Feedback, Session
from tensor_envs.referee.settings import Settings

try:
    import httpx
    import verifiers.v1 as vf
    from pydantic import Field
    from verifiers.v1.dialects.chat import message_to_wire
except ImportError:
    raise ImportError("this adapter needs verifiers: pip install 'tensor_envs[verifiers]'") from None

__all__ = ["ChatHarness", "GameEnv", "GameTaskset", "load_environment"]

ID = "tensor_envs_games"  # package that registers these classes in the framework


class GameTasksetConfig(vf.TasksetConfig):
    """Arguments of `tensor_envs.referee.sessions.Session` and `Settings`, and the games' number and first seed."""

    game: str = "tic_tac_toe"
    rules: dict[str, Any] = Field(default_factory=dict)
    opponent: str | list[str] = "uniform"
    player: int | None = None
    reward: str = "both"
    num_simulations: int = 1024
    history: bool = True
    legal: bool = True
    tries: int = 1
    opening: int = 0
    limit: int = 10_000
    disguise: Sequence[str] = ()
    image: bool = False
    games: int = Field(1000, ge=1, le=2**32)
    seed: int = Field(0, ge=0, le=2**63)

    def session(self) -> Session:
        """Return a session of these settings. ValueError or TypeError for wrong ones."""
        settings = Settings(self.history, self.legal, self.tries, self.opening, self.limit, tuple(self.disguise))
        return Session(
            self.game,
            self.rules,
            self.opponent,
            self.player,
            self.reward,
            settings,
            self.num_simulations,
            image=self.image,
        )


class GameData(vf.TaskData):
    """Game of a seed."""

    seed: int


class GameTask(vf.Task[GameData, vf.State, vf.TaskConfig]):
    """Game to play."""


class GameTaskset(vf.Taskset[GameTask, GameTasksetConfig]):
    """Games of consecutive seeds."""

    def load(self) -> Iterator[GameTask]:
        """Yield the games, with rules and first position as the prompt."""
        session = self.config.session()
        for seed in range(self.config.seed, self.config.seed + self.config.games):
            first = session.reset(seed)
            if not first.done:  # a random opening or the other seats may have ended it
                name = f"{self.config.game}-{seed}"
                yield GameTask(GameData(name=name, prompt=_message(first), seed=seed), self.config.task)


def _message(feedback: Feedback) -> Any:
    """Return rules, error and position as a message of the user, with the picture if there is one."""
    text = "\n".join(filter(None, (feedback.rules, feedback.error, feedback.prompt)))
    return text if feedback.image is None else [{"role": "user", "content": content_of(text, feedback.image)}]


class GameEnvConfig(vf.EnvConfig):
    """Settings of the environment, with the agent that plays, which needs no machine of its own."""

    player: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class GameEnv(vf.Env[GameEnvConfig]):
    """Environment in which the agent `player` answers until the game is over.

    A trace has a reward `turn_N` for each of its answers, and all of them in order in `info["turn_rewards"]`.
    """

    async def run(self, task: GameTask, agents: vf.Agents) -> None:
        """Play the game of a task."""
        session = self.taskset.config.session()
        feedback = await asyncio.to_thread(session.reset, task.data.seed)
        rewards = list[float]()
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                feedback = await asyncio.to_thread(session.step, segment.last_reply)
                rewards.append(feedback.reward)
                if feedback.done:
                    break
                segment = await interaction.turn(_message(feedback))
        trace = interaction.trace
        for turn, reward in enumerate(rewards):
            trace.record_reward(f"turn_{turn}", reward)
        trace.record_metric("finished", float(feedback.done))
        trace.info["turn_rewards"] = rewards
        trace.info["record"] = session.record.to_json()


class ChatHarness(vf.Harness[vf.HarnessConfig]):
    """Harness that asks the model within this process, without tools and programs."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Ask for one answer."""
        system, prompt = self.resolve_prompt(data)
        messages = (
            [{"role": "user", "content": prompt}]
            if isinstance(prompt, str)
            else list(map(message_to_wire, prompt or []))
        )
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        body = {"model": ctx.model, "messages": messages}
        async with httpx.AsyncClient(timeout=None, headers={"Authorization": f"Bearer {secret}"}) as client:
            reply = await client.post(f"{endpoint}/chat/completions", json=body)
        return vf.ProgramResult(0 if reply.is_success else 1, "", reply.text)


def load_environment(**settings: Any) -> GameEnv:
    """Return the environment of some settings.

    Args:
        settings: fields of `GameTasksetConfig`, such as game="connect_four", opponent="playout:64", reward="regret".

    Raises:
        ValueError, TypeError: other settings, or a game, player or reward that does not exist.
    """
    # the framework imports the classes by the name of a package, which need not be installed for this
    sys.modules.setdefault(ID, sys.modules[__name__])
    config = GameTasksetConfig(id=ID, **settings)
    config.session()
    return GameEnv(GameEnvConfig(taskset=config))
