"""Reports of `benchmark.py`: the machine, tables in Markdown, and plots."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import subprocess
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from tensor_envs.render.drawing import Drawing

DISTRIBUTIONS = ("tensor_envs", "tinygrad", "numpy", "jax", "pgx", "envpool", "open_spiel")


def machine(options: argparse.Namespace) -> dict[str, Any]:
    from tensor_envs._runtime.clang import cpu_compiler, version

    names = [line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    versions = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "command": "python scripts/benchmark.py " + " ".join(options.arguments),
        "machine": f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores, {platform.platform()}",
        "pinned_to_core": options.core,
        "compiler": version(cpu_compiler()) if any(d.split(":")[0] == "CPU" for d in options.device) else None,
        "versions": versions,
        "runs": options.runs,
        "seconds_a_run": options.seconds,
    }


def commit() -> str:
    """Return the short id of the checkout's commit, with "-dirty" if files differ from it, or "unknown"."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


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


def markdown(metadata: dict[str, Any], rows: list[dict[str, Any]], ratios: list[dict[str, Any]]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in metadata["versions"].items())
    pinned = f"pinned to core {metadata['pinned_to_core']}" if metadata["pinned_to_core"] is not None else "not pinned"
    where = f"{metadata['date']}; commit {metadata['commit']}; {metadata['machine']}; {pinned}"
    lines = [f"`{metadata['command']}`", "", f"- {where}", f"- {versions}"]
    lines.append(
        f"- compiler: {metadata['compiler']}; {metadata['runs']} runs of {metadata['seconds_a_run']} s, medians"
    )
    heads = ["environment", "batch", "device", "threads", "who", "mode", "M steps/s", "min", "max", "k games/s"]
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


COLOURS = (
    *("#c0392b", "#e67e22", "#8e44ad", "#2471a3", "#148f77"),
    *("#7d6608", "#566573", "#000000", "#d81b60", "#5d4037"),
)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 60, 520, 60, 360
LINE = 16  # of text, in pixels


def plot(folder: Path, metadata: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Write an SVG per environment: steps/s against batch size, with a line per player, mode and device."""
    folder.mkdir(parents=True, exist_ok=True)
    for env in dict.fromkeys(r["env"] for r in rows):
        measured = [r for r in rows if r["env"] == env and "error" not in r]
        if measured:
            path = folder / f"throughput_{env.replace(':', '.')}.svg"
            path.write_text(draw(env, metadata, measured).to_svg(), encoding="utf-8")


def draw(env: str, metadata: dict[str, Any], rows: list[dict[str, Any]]) -> Drawing:
    """Draw a plot with logarithmic axes; names are next to the ends of the lines, sorted by rate."""
    devices = {r["device"] for r in rows}
    lines: dict[str, list[tuple[int, float]]] = {}
    for r in rows:
        name = f"{r['system']}, {r['mode']}" + (f", {r['device']}" if len(devices) > 1 else "")
        lines.setdefault(name, []).append((r["batch"], r["steps_per_second"]))
    batches = sorted({r["batch"] for r in rows})
    rates = [log10(rate) for points in lines.values() for _, rate in points]
    low, high = floor(min(rates)), ceil(max(rates))
    wide = max(log10(batches[-1] / batches[0]), 0.1)

    def place(batch: float, rate: float) -> tuple[float, float]:
        x = LEFT + (RIGHT - LEFT) * log10(batch / batches[0]) / wide
        return x, BOTTOM - (BOTTOM - TOP) * (log10(rate) - low) / max(high - low, 1)

    drawing = Drawing(WIDTH, HEIGHT, title=f"Steps per second of {env}")
    cores = "one core" if metadata["pinned_to_core"] is not None else ", ".join(sorted(devices))
    drawing.text((LEFT, 20), f"{env}: steps a second on {cores}", 16, anchor="start", bold=True)
    drawing.text((LEFT, 40), f"{metadata['date'][:10]}, {metadata['machine']}", 11, "#555555", "start")
    for power in range(low, high + 1):
        y = place(batches[0], 10**power)[1]
        drawing.line((LEFT, y), (RIGHT, y), stroke="#dddddd")
        drawing.text((LEFT - 6, y), f"{10**power:,}" if power < 4 else f"10^{power}", 12, anchor="end")
    for batch in batches:
        drawing.text((place(batch, 10**low)[0], BOTTOM + LINE), f"{batch:,}", 12)
    drawing.text(((LEFT + RIGHT) / 2, BOTTOM + 2.5 * LINE), "games at once", 12)
    ends = sorted(lines, key=lambda name: -max(lines[name])[1])
    below = 0.0
    for k, name in enumerate(ends):
        colour, points = COLOURS[k % len(COLOURS)], [place(*point) for point in sorted(lines[name])]
        drawing.line(*points, stroke=colour, width=2)
        for point in points:
            drawing.circle(point, 3, colour)
        below = max(below + LINE, points[-1][1])
        drawing.text((RIGHT + 10, below), name, 12, colour, "start")
    return drawing
