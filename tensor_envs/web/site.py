"""A folder for any server of files: the page, and for every game its kernels and what the page must know of it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from tensor_envs._validate import shown, wrong_type
from tensor_envs.env import Env
from tensor_envs.games.shed.solve import solve
from tensor_envs.text import describe, rulebook
from tensor_envs.web.batch import described
from tensor_envs.web.kernels import of_batch, of_player, of_table
from tensor_envs.web.variants import PERFECT, TRAINED, Variant, about, kinds, variant, weights_of

HERE = Path(__file__).parent
GAMES = "tensor_envs.games."  # where those stand whose Python is put into the page
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# imports what a page will, and says which files that were: those of `bridge`, and what `playground` needs besides; its
# arguments are a folder and words of states by ids
IMPORTS = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
def files():
    files = [(name, getattr(module, "__file__", None)) for name, module in sys.modules.items()]
    return {name: file for name, file in files if file and name.split(".")[0] in ("tensor_envs", "tinygrad")}
import bridge
for id, words in json.loads(sys.argv[2]).items():
    bridge.view(id, words, 0, [])
told = [files()]
import playground
for id in list(bridge.GAMES):
    said = playground.form(id)
    name = playground.named(said["id"], {field["name"]: field["text"] for field in said["fields"]})["game"]
    playground.play(name, *playground.begin(name, 0).values(), None)
    playground.kernels(name, 64, ["uniform"])
    break
print(json.dumps([*told, {name: file for name, file in files().items() if name not in told[0]}]))
"""
PARTS = "bridge", "playground"  # of the page's Python


def build(
    out: str | Path, ids: Sequence[str] = ("tic_tac_toe",), pyodide: str | Path | None = None
) -> dict[str, int]:
    """Write a page that plays games in a browser; what lies in its folder already is written over.

    Args:
        out: a folder, made if it is not there.
        ids: the games, each a name of `variants.VARIANTS`, a registered id or "package.module:Name".
        pyodide: the folder of Pyodide's npm package, for pictures and text by the games' own Python.

    Returns:
        The bytes of every game's kernels, compressed, by its id.

    Raises:
        ValueError, TypeError: no game, an unknown one, or a folder that is not Pyodide's.
        NotImplementedError: a game whose states are too large.
        RuntimeError: the compiler does not make WebAssembly.
        OSError: a file that cannot be written.

    Examples:
        >>> from tensor_envs.web import build
        >>> build("site", ["othello"])  # doctest: +SKIP
        {'othello': 13219}
    """
    if not isinstance(ids, (list, tuple)):
        raise wrong_type("ids", "a list of ids", ids)
    if not ids:
        raise ValueError("ids must name one game or more, got none")
    found = {id: variant(id) for id in ids}
    envs = {id: env for id, (_, env) in found.items()}
    for id, env in envs.items():
        if env.engine.game.has_memory:
            raise NotImplementedError(f"{id!r} is too large for a page")
    if pyodide is not None and (gone := [name for name in PYODIDE if not Path(pyodide, name).is_file()]):
        raise ValueError(
            f"pyodide must be the folder of its npm package, and {shown(str(pyodide))} has no {gone[0]}"
        )
    out = Path(out)
    (out / "games").mkdir(parents=True, exist_ok=True)
    games, sizes = [], {}
    for id, (which, env) in found.items():
        file = out / "games" / id.replace(":", ".")
        sizes[id] = write_game(id, which, env, file)
        rules = f"games/{file.name}.txt"
        games.append({**about(id, which, env, rules, kinds(env)), "file": f"games/{file.name}"})
    for page in (HERE / "page").iterdir():
        (out / page.name).write_bytes(page.read_bytes())
    (out / "games.json").write_text(json.dumps({"games": games, "python": pyodide is not None}))
    if pyodide is not None:
        (out / "python").mkdir(exist_ok=True)
        for name in PYODIDE:
            (out / "python" / name).write_bytes(Path(pyodide, name).read_bytes())
        write_packages(found, out / "python")
    return sizes


def write_game(id: str, which: Variant, env: Env, path: Path) -> int:
    """Write a game's files -> the bytes of its kernels, compressed."""
    made = {"": of_batch(env), "player.": of_player(env)}
    # what ends by its rules alone is played perfectly by trying all; Shed does not, which has a table
    table = PERFECT in kinds(env) and env.spec.max_plies is not None
    if table:
        made["table."] = of_table(env)
        solve(env.rules.cards, progress=False).write(path.with_name(f"{path.name}.table.safetensors"))
    told = {**described(env), "id": id, "hidden": which.secret, "python": _has_python(env)}
    files: dict[str, bytes] = {"txt": describe(env).encode()}
    for part, kernels in made.items():
        more = {} if part else {**told, "table": table}
        files |= {f"{part}wasm": kernels.wasm, f"{part}json": _json({**more, **kernels.metadata})}
    if TRAINED in kinds(env):
        files["safetensors"] = weights_of(env).read_bytes()
    for end, content in files.items():
        path.with_name(f"{path.name}.{end}").write_bytes(content)
    return sum(len(gzip.compress(kernels.wasm, 9, mtime=0)) for kernels in made.values())


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _has_python(env: Env) -> bool:
    """Whether the page has the game's own Python."""
    return env.entry.render.startswith(GAMES)


def write_packages(found: Mapping[str, tuple[Variant, Env]], folder: Path) -> None:
    """Write what the page's Python needs: the modules that its parts import, and what is known of the games."""
    own = {id: both for id, both in found.items() if _has_python(both[1])}
    games = {
        id: (
            env.entry.render.rpartition(".")[0],
            {**env.entry.presets.get(env.id, {}), **which.fields},
            described(env)["slots"],
            which.secret,
        )
        for id, (which, env) in own.items()
    }
    books = {
        f"{env.entry.render.rpartition('.')[0].replace('.', '/')}/RULES.md": rulebook(env.rules)
        for _, env in own.values()
    }
    states = {id: env.init(1) for id, (_, env) in own.items()}
    words = {id: state.buffers.layout.table(state.tensors[0])[0].tolist() for id, state in states.items()}
    texts = [{f"{part}.py": (HERE / "python" / f"{part}.py").read_text()} for part in PARTS]
    texts[0] |= {"games.json": json.dumps(games)}
    with TemporaryDirectory(prefix="tensor_envs-") as where:
        for name, text in (texts[0] | texts[1]).items():
            Path(where, name).write_text(text)
        Path(where, "tensor_envs").symlink_to(HERE.parent)
        command = [sys.executable, "-c", IMPORTS, where, json.dumps(words)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}, check=False
        )
        if done.returncode:
            raise RuntimeError(f"the page's Python cannot be put together: {done.stderr.strip()[-200:]}")
        texts[1] |= books
        for part, files, more in zip(PARTS, json.loads(done.stdout), texts, strict=True):
            with ZipFile(folder / f"{part}.zip", "w", ZIP_DEFLATED, compresslevel=9) as archive:
                for name, text in more.items():
                    archive.writestr(name, text)
                for name, file in files.items():
                    is_package = Path(file).name == "__init__.py"
                    archive.write(file, name.replace(".", "/") + ("/__init__.py" if is_package else ".py"))
