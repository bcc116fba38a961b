"""Generalised advantage estimation for games of any number of players, on NumPy, tinygrad and PyTorch arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import instance, number, renames, shown

AnyArray = Any  # an array of NumPy, tinygrad, PyTorch or JAX


@renames(steps="outcomes", lam="gae_lambda")
def advantages(
    outcomes: Sequence[tuple[AnyArray, ...]],
    next_player: AnyArray,
    next_value: AnyArray,
    gamma: float,
    gae_lambda: float,
) -> tuple[list[AnyArray], list[AnyArray]]:
    """Estimate advantages (GAE) for any number of players, zero-sum or not, who move in any order.

    One network plays every player; its value V is the return that the player to move expects from there on. The
    decisions of one player within an episode form a chain: decision k at step t_k, the next one at t_{k+1}, whatever
    the others do in between. With rewards r_t [B, P] of step t,

        R_k = sum of r_t[player] over t_k <= t < t_{k+1}        (to the end of the game if there is no next decision)
        delta_k = R_k + gamma V_{k+1} - V_k                     (V_{k+1} = 0 if the game ended before)
        A_k = delta_k + gamma lambda A_{k+1}                    (A_{k+1} = 0 there)

    So an opponent's winning move is charged to the loser's decision before it. If the rollout stops or a limit
    truncates the game, only the player to move has a next decision. The last decisions of the other players are then
    invalid, and their earlier decisions bootstrap from the values of the last ones.

    Args:
        outcomes: those of a rollout's steps in order, each a tuple of float32 arrays: rewards [B, P]; player [B, P],
            one-hot of the player who decides, or all 0 if no player does; value [B] of the decision; terminated and
            truncated [B], 1 if the step ended the game by its rules or by a limit.
        next_player: one-hot of the player who decides after the last step, [B, P].
        next_value: value of that decision, [B].
        gamma: discount from one decision of a player to the next, 0..1.
        gae_lambda: lambda of the estimate, 0..1.

    Returns:
        The advantage of every decision and whether it is valid (1 or 0), float32 [B] each, step by step. An invalid
        advantage is 0.

    Raises:
        ValueError: there are no steps, or a step has other parts or shapes.

    Examples:
        Player 0 moves, then player 1 wins: both decisions are credited. All values are 0.

        >>> first, second, zero = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.zeros(1)
        >>> outcomes = [(np.zeros((1, 2)), first, zero, zero, zero), (second - first, second, zero, zero + 1, zero)]
        >>> advantages, valid = te.advantages(outcomes, first, zero, gamma=1.0, gae_lambda=0.95)
        >>> [float(a[0]) for a in advantages], [float(v[0]) for v in valid]
        ([-1.0, 1.0], [1.0, 1.0])
    """
    gamma = number("gamma", gamma, 0, 1)
    gae_lambda = number("gae_lambda", gae_lambda, 0, 1)
    instance("outcomes", outcomes, Sequence)
    if len(getattr(next_player, "shape", ())) != 2:
        raise ValueError(f"next_player must be an array [B, P], got {shown(next_player)}")
    batch, players = next_player.shape
    shapes = [(batch, players), (batch, players), (batch,), (batch,), (batch,)]
    for t, step in enumerate(outcomes):
        parts = step if isinstance(step, (tuple, list)) else []
        actual = [tuple(getattr(part, "shape", ())) for part in parts]
        if actual != shapes:
            got = ", ".join(map(str, actual)) or shown(step)
            raise ValueError(f"outcomes[{t}] must have parts of shapes {shapes} as next_player has, got {got}")
    if not outcomes:
        raise ValueError("outcomes must be one or more, got none")
    if tuple(getattr(next_value, "shape", ())) != (batch,):
        raise ValueError(f"next_value must be an array [{batch}], got {shown(next_value)}")
    # every player's next decision, [B, P]: its value and advantage, the rewards until it, and whether it is known
    value = next_player * next_value[:, None]
    known = next_player
    later = value * 0
    earned = value * 0
    advantage = []
    valid = []
    for rewards, player, estimate, terminated, truncated in reversed(outcomes):
        # no decision follows the end of a game; after an end by the rules that is known
        goes_on = ((1 - terminated) * (1 - truncated))[:, None]
        value = value * goes_on
        later = later * goes_on
        earned = earned * goes_on + rewards
        known = known * goes_on + terminated[:, None]
        # R_k + gamma V_{k+1} + gamma lambda A_{k+1} - V_k, for the player who decides
        valid.append((known * player).sum(1))
        delta = ((earned + gamma * value + gamma * gae_lambda * later) * player).sum(1) - estimate
        advantage.append(delta * valid[-1])
        # to earlier steps this decision is the player's next one
        others = 1 - player
        value = value * others + player * estimate[:, None]
        later = later * others + player * advantage[-1][:, None]
        earned = earned * others
        known = known * others + player
    return advantage[::-1], valid[::-1]
