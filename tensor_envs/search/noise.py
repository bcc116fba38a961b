"""Noise of a search, flat [B, numbers, A] (see `ActionSelection.noise_count`): Threefry of seed, row, episode, ply."""

from __future__ import annotations

import math

from tinygrad import Tensor, dtypes

from tensor_envs._engine.random import threefry
from tensor_envs.jit import jit
from tensor_envs.sampling import masked_logits
from tensor_envs.state import State

REFUSED = -1e9
TRIES = 8  # of a draw by rejection, each accepted three times of four


def _uniform(state: State, seed: Tensor, draws: int) -> Tensor:
    """Numbers in (0, 1), both ends excluded: float32 [B, draws, A], a function of seed, row, episode and ply.

    seed: uint32 [B * 2], the same two words for every game: one of several devices has them at hand.
    """
    games, shape = state.buffers, (state.batch, draws, state.env.num_actions)
    row = games.layout.view(games.row_keys, 2, 1)

    def spread(x: Tensor) -> Tensor:
        return x.cast(dtypes.uint32).reshape(-1, 1, 1).expand(shape)

    seed = seed.reshape(state.batch, 2)
    key = threefry((spread(seed[:, 0]), spread(seed[:, 1])), (spread(row), spread(state.episode)))
    one = spread(row).const_like(1)
    key = threefry(key, (spread(state.ply), one))
    index = (
        Tensor.arange(draws * state.env.num_actions, dtype=dtypes.uint32).reshape(1, *shape[1:]).expand(shape)
    )
    bits = threefry(key, (index, one))[0]
    return ((bits >> 8).cast(dtypes.float32) + 0.5) * 2.0**-24


def _gumbel(uniform: Tensor) -> Tensor:
    return -(-uniform.log()).log()


@jit
def gumbel_noise(state: State, seed: Tensor, scale: float) -> Tensor:
    return (_gumbel(_uniform(state, seed, 1)) * scale).flatten().contiguous()


@jit
def muzero_noise(state: State, seed: Tensor, alpha: float, scale: float) -> Tensor:
    """A sample of the Dirichlet distribution over the legal actions, and Gumbel noise."""
    # a gamma variate is a sum of exponential ones and of one for the rest, up to 1
    whole = math.ceil(alpha) - 1
    uniform = _uniform(state, seed, 1 + 2 * TRIES + whole).contiguous()  # else drawn again for every use
    gamma = _log_gamma(uniform[:, 1 : 1 + 2 * TRIES], alpha - whole)
    if whole:
        gamma = (gamma.exp() - uniform[:, 1 + 2 * TRIES :].log().sum(1)).log()
    # a kernel of its own: a softmax reads it three times
    dirichlet = masked_logits(gamma.contiguous(), state.legal_action_mask).softmax()
    return Tensor.stack(dirichlet, _gumbel(uniform[:, 0]) * scale, dim=1).flatten().contiguous()


def _log_gamma(uniform: Tensor, alpha: float) -> Tensor:
    """The logarithm of a gamma variate, alpha at most 1: of TRIES candidates the first that is accepted, else almost 0.

    Source: J. H. Ahrens, U. Dieter, "Computer methods for sampling from gamma, beta, Poisson and binomial
    distributions", 1974, algorithm GS, here with logarithms throughout.
    """
    b = (math.e + alpha) / math.e
    p, limit = uniform[:, :TRIES] * b, uniform[:, TRIES:].log()
    small, large = p.log() / alpha, (-((b - p) / alpha).log().minimum(-1e-9)).log()
    x = (p <= 1).where(small, large)
    accepted = (p <= 1).where(limit <= -small.exp(), limit <= (alpha - 1) * large)
    x = accepted.where(x, REFUSED).contiguous()
    chosen = x[:, -1]
    for k in range(TRIES - 2, -1, -1):
        chosen = (x[:, k] == REFUSED).where(chosen, x[:, k])
    return chosen
