"""Which device is tinygrad's default, played without a card."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tinygrad.helpers import DEV

from tensor_envs._runtime import opening

NVRTC = "libnvrtc.so.12"


@pytest.mark.parametrize(
    ("setting", "cards", "nvrtc", "expected"),
    [("", 1, NVRTC, "CUDA"), ("", 0, NVRTC, ""), ("", 1, None, ""), ("CPU", 1, NVRTC, "CPU")],
)
def test_a_card_with_nvrtc_is_cudas(
    monkeypatch: pytest.MonkeyPatch, setting: str, cards: int, nvrtc: str | None, expected: str
) -> None:
    """Without a choice of the user's tinygrad would take its driver NV, whose memory nobody else shares."""

    def count_devices(count: Any) -> int:
        count._obj.value = cards
        return 0

    monkeypatch.delenv("NVRTC_PATH", raising=False)
    monkeypatch.setattr(opening, "nvrtc_library", lambda: nvrtc)
    monkeypatch.setattr(opening, "driver", lambda: SimpleNamespace(cuDeviceGetCount=count_devices))
    monkeypatch.setattr(opening, "retry_without_cache", lambda open_device: None)
    monkeypatch.setattr(DEV, "value", setting)
    opening._open_default.__wrapped__()
    assert (DEV.device or "") == expected


def test_without_a_driver_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(opening, "nvrtc_library", lambda: NVRTC)
    monkeypatch.setattr(opening, "driver", missing)
    assert not opening._has_cuda()
