"""A kernel gets the arrays that it reads or writes, each in its own place."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad import UOp

from tensor_envs.core.backend.device import download, upload
from tensor_envs.core.backend.launch import launch
from tensor_envs.rules.control import loop


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
def test_arrays_of_one_size_are_not_taken_for_each_other(device: str) -> None:
    """The first of three is not read: the others move up, into a place that one of them has had."""
    arrays = [upload(np.arange(4, dtype=np.int32) + 10 * k, device) for k in range(3)]

    def body(_: UOp, new: UOp, old: UOp) -> UOp:
        k = loop(4)
        return new[k].store(old[k].load() + 100).end(k)

    after = launch("copied", body, *arrays)
    after[1].realize()
    assert download(after[1]).tolist() == [120, 121, 122, 123]
    assert [download(arrays[k]).tolist()[0] for k in (0, 2)] == [0, 20]
