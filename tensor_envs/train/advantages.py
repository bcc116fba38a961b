"""Credit among players, for learners in NumPy, tinygrad and PyTorch alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import instance, number, shown

Array = Any  # a NumPy array, a torch.Tensor or a tinygrad Tensor: only what all of them have is used


def advantages(
    steps: Sequence[tuple[Array, ...]], next_player: Array, next_value: Array, gamma: float, lam: float
) -> tuple[list[Array], list[Array]]:
    """Generalised advantage estimation for any number of players, zero-sum or not, who move in any order.

    One network plays every player, and its value V is what the player to move expects to be paid from there on. A
    player's decisions within an episode are a chain of their own: decision k at step t_k, the next at t_{k+1}, whatever
    others do in between. With rewards r_t of [B, P], what step t pays to each player,

        R_k = sum of r_t[player] over t_k <= t < t_{k+1}        (to the end of the game if there is no next decision)
        delta_k = R_k + gamma V_{k+1} - V_k                     (V_{k+1} = 0 if the game ended before)
        A_k = delta_k + gamma lambda A_{k+1}                    (A_{k+1} = 0 there)

    So an opponent's winning move is paid to the decision of its victim's before it. Where the rollout stops, or a limit
    cuts a game off (truncated), no next decision is known but that of whoever moves next: the others' last decisions
    there are not learned from, and their chains start from their values.

    Args:
        steps: of a rollout, in order; each is (rewards, player, value, terminated, truncated), all float32: rewards
            [B, P]; player [B, P], 1 for who decides and 0 for the rest (0 for all, if nobody does); value [B] of the
            decision; terminated and truncated [B], 1 where the step ended the game by its rules or by a limit.
        next_player: [B, P], who decides after the last step.
        next_value: [B], the value of that decision.
        gamma: the discount from one decision of a player to the next.
        lam: the lambda of the estimate, 0..1.

    Returns:
        The advantage of every decision, and whether it is known (1 or 0), float32 [B] each, step by step. An advantage
        that is not known is 0.

    Raises:
        ValueError: there are no steps, or one of them has other parts or shapes.

    Examples:
        Player 0 moves, then player 1, who wins: that is paid to both. Values are 0.

        >>> import numpy as np
        >>> first, second, zero = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.zeros(1)
        >>> steps = [(np.zeros((1, 2)), first, zero, zero, zero), (second - first, second, zero, zero + 1, zero)]
        >>> found, known = te.advantages(steps, first, zero, gamma=1.0, lam=0.95)
        >>> [float(a[0]) for a in found], [float(k[0]) for k in known]
        ([-1.0, 1.0], [1.0, 1.0])
    """
    number("gamma", gamma, 0, 1)
    number("lam", lam, 0, 1)
    instance("steps", steps, Sequence)
    if len(getattr(next_player, "shape", ())) != 2:
        raise ValueError(f"next_player must be an array [B, P], got {shown(next_player)}")
    batch, players = next_player.shape
    shapes = [(batch, players), (batch, players), (batch,), (batch,), (batch,)]
    for t, step in enumerate(steps):
        found = (
            [tuple(getattr(part, "shape", ())) for part in step] if isinstance(step, (tuple, list)) else []
        )
        if found != shapes:
            got = ", ".join(map(str, found)) or shown(step)
            raise ValueError(f"steps[{t}] must have parts of shapes {shapes} as next_player has, got {got}")
    if not steps:
        raise ValueError("steps must be one or more, got none")
    if tuple(getattr(next_value, "shape", ())) != (batch,):
        raise ValueError(f"next_value must be an array [{batch}], got {shown(next_value)}")
    # of every player's next decision, [B, P]: its value, its advantage, what is paid before it, whether it is known
    value, known = next_player * next_value[:, None], next_player
    ahead, paid = value * 0, value * 0
    advantage, certain = [], []
    for rewards, player, own, terminated, truncated in reversed(steps):
        on, rest = ((1 - terminated) * (1 - truncated))[:, None], 1 - player
        value, ahead, paid = value * on, ahead * on, paid * on + rewards
        known = known * on + terminated[:, None]
        certain.append((known * player).sum(1))
        delta = ((paid + gamma * value + gamma * lam * ahead) * player).sum(1) - own
        advantage.append(delta * certain[-1])
        value, ahead = value * rest + player * own[:, None], ahead * rest + player * advantage[-1][:, None]
        paid, known = paid * rest, known * rest + player
    return advantage[::-1], certain[::-1]
