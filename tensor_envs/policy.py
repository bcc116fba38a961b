"""From logits and masks to actions, and the uniform policy. All of it is lazy, so it fuses into what surrounds it."""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from tensor_envs.core.random import join, split
from tensor_envs.core.state import State

FLOOR = -1e9  # finite, so that a softmax over a row without legal actions is uniform and never NaN


def masked_logits(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits [..., A] with a finite floor where the mask (bool, same shape) is False.

    The floor is -1e9, or the lowest finite value of a float16. A row without legal actions becomes constant, so that
    its softmax is uniform, never NaN. TypeError unless logits are floats and the mask is bool, ValueError unless the
    shapes agree.
    """
    if not dtypes.is_float(logits.dtype):
        raise TypeError(f"logits must have a float dtype, got {logits.dtype}")
    if mask.dtype is not dtypes.bool:
        raise TypeError(f"mask must be bool, got {mask.dtype}")
    if logits.shape != mask.shape:
        raise ValueError(f"logits and mask must have one shape, got {logits.shape} and {mask.shape}")
    floor = -65504.0 if logits.dtype is dtypes.float16 else FLOOR
    return mask.where(logits, logits.const_like(floor))


def sample_action(logits: Tensor, mask: Tensor, key: Tensor, counter: Tensor | int) -> Tensor:
    """One action a row, int32 [B], drawn from the softmax of the legal logits [B, A] by Gumbel-max.

    key: uint32 [B, 2], a key a row, such as `state.policy_key`. counter: int or uint32 [B]; a key and counter always
    give the same draw, so use another one for every decision (`state.ply`, say). Row i depends on row i alone. A row
    without legal actions gets some action.
    """
    batch, actions = logits.shape
    if key.shape != (batch, 2) or key.dtype is not dtypes.uint32:
        raise ValueError(f"key must be uint32 of shape ({batch}, 2), got {key.dtype} of shape {key.shape}")
    index = Tensor.arange(actions, dtype=dtypes.uint32).reshape(1, actions).expand(batch, actions)
    count = (
        counter.cast(dtypes.uint32).reshape(batch, 1)
        if isinstance(counter, Tensor)
        else index.const_like(counter)
    )
    words = join(count.expand(batch, actions), index + 1)  # word 1 is 0 in the uniform policy's own counters
    bits = split(words.threefry(join(key[:, :1], key[:, 1:]).expand(batch, actions)))[0]
    uniform = ((bits >> 8).cast(dtypes.float32) + 0.5) * 2.0**-24  # in (0, 1), both ends excluded
    noisy = masked_logits(logits.cast(dtypes.float32), mask) - (-uniform.log()).log()
    # a mask of all False leaves noise alone: some action; else the floor is out of the noise's reach
    return noisy.argmax(1).cast(dtypes.int32)


def random_policy(state: State) -> Tensor:
    """A random legal action a row, int32 [B], a function of its seed, row, episode and ply; 0 where none is legal."""
    return state.env.uniform_actions(state)
