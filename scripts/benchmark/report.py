"""What `benchmark.py` prints: the machine, tables in Markdown, and plots."""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

DISTRIBUTIONS = ("tensor_envs", "tinygrad", "numpy", "jax", "pgx", "envpool", "open_spiel")


def machine(options: argparse.Namespace) -> dict[str, Any]:
    from tensor_envs.core.backend.clang import describe

    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    versions = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": "python scripts/benchmark.py " + " ".join(options.arguments),
        "machine": f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, {platform.platform()}",
        "pinned_to_core": options.core,
        "compiler": describe() if any(d.split(":")[0] == "CPU" for d in options.device) else None,
        "versions": versions,
        "runs": options.runs,
        "seconds_a_run": options.seconds,
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().split("\n")
    except OSError:
        return []


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---" if i < 1 else "---:" for i in range(len(head))], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(value: float | None, scale: float = 1, digits: int = 1) -> str:
    return "" if value is None else f"{value / scale:,.{digits}f}"


def markdown(about: dict[str, Any], rows: list[dict[str, Any]], ratios: list[dict[str, Any]]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    pinned = (
        f"pinned to core {about['pinned_to_core']}" if about["pinned_to_core"] is not None else "not pinned"
    )
    lines = [f"`{about['command']}`", "", f"- {about['date']}; {about['machine']}; {pinned}", f"- {versions}"]
    lines.append(
        f"- compiler: {about['compiler']}; {about['runs']} runs of {about['seconds_a_run']} s, medians"
    )
    heads = [
        "environment",
        "batch",
        "device",
        "threads",
        "who",
        "mode",
        "M steps/s",
        "min",
        "max",
        "k games/s",
    ]
    heads += ["compile s", "kernels/step", "KB/step", "B/game", "peak MiB"]
    body = []
    for r in rows:
        mode = f"{r['mode']} {r['rollout_steps']}" if r["mode"] == "rollout" else r["mode"]
        who = f"{r['system']} ({how})" if (how := r.get("configuration")) else r["system"]
        line = [r["env"], f"{r['batch']:,}", r["device"], f"{r['threads']}", who, mode]
        if "error" in r:
            body.append([*line, r["error"], *[""] * (len(heads) - len(line) - 1)])
            continue
        line += [cell(r[key], 1e6, 2) for key in ("steps_per_second", "slowest", "fastest")]
        line += [cell(r["games_per_second"], 1e3), cell(r["compile_seconds"], digits=2)]
        line += [cell(r["kernels_per_step"], digits=2), cell(r["bytes_per_step"], 1e3)]
        body.append([*line, cell(r["state_bytes_per_game"], digits=0), cell(r["peak_mib"], digits=0)])
    parts = ["\n".join(lines), table(heads, body)]
    if ratios:
        compared = [
            [r["env"], f"{r['batch']:,}", r["mode"], r["peer"]]
            + [cell(r[key], digits=2) for key in ("ratio", "lowest", "highest")]
            for r in ratios
        ]
        heads = ["environment", "batch", "mode", "tensor_envs against", "times", "lowest", "highest"]
        parts.append(table(heads, compared))
    return "\n\n".join(parts) + "\n"


def plot(folder: Path, rows: list[dict[str, Any]]) -> None:
    """One PNG an environment: steps/s against batch size, a line for everybody's every mode and device."""
    importlib.import_module("matplotlib").use("Agg")
    plt = importlib.import_module("matplotlib.pyplot")

    folder.mkdir(parents=True, exist_ok=True)
    for env in dict.fromkeys(r["env"] for r in rows):
        figure, axes = plt.subplots(figsize=(7, 5))
        lines: dict[str, list[tuple[int, float]]] = {}
        for r in rows:
            if r["env"] == env and "error" not in r:
                lines.setdefault(f"{r['system']} {r['mode']} {r['device']}", []).append(
                    (r["batch"], r["steps_per_second"])
                )
        for name, points in lines.items():
            axes.plot(*zip(*sorted(points), strict=True), marker="o", label=name)
        axes.set(xscale="log", yscale="log", xlabel="batch size", ylabel="steps/s", title=env)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(folder / f"{env}.png", dpi=150)
        plt.close(figure)
