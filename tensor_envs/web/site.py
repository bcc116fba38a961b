"""Build the page: a folder for any server of files, with every game's kernels and metadata."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

from tensor_envs._validate import file_path, shown, wrong_type
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import is_built_in
from tensor_envs.files.arrays import write_arrays
from tensor_envs.lab.about import about
from tensor_envs.search.policies import checked_exploration
from tensor_envs.text import describe, rulebook
from tensor_envs.web import javascript
from tensor_envs.web.batch import page_metadata
from tensor_envs.web.example import example
from tensor_envs.web.kernels import of_batch, of_player, of_table
from tensor_envs.web.variants import PERFECT, TRAINED, Variant, catalogue_entry, kinds, variant
from tensor_envs.web.views import views_of

HERE = Path(__file__).parent
TABLE_FORMAT = "tensor_envs page's table 1"
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# This program imports the modules of a page's Python and prints their files. Its arguments are a folder and, by ids,
# words of states.
IMPORTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import bridge, playground
for id, words in json.loads(sys.argv[2]).items():
    bridge.view(id, words, 0, [], [], [], False)
for id in list(bridge.GAMES):
    form = playground.form(id)
    name = playground.named(form["id"], {field["name"]: field["text"] for field in form["fields"]})["game"]
    playground.play(name, *playground.begin(name, 0).values(), None)
    break
files = [(name, getattr(module, "__file__", None)) for name, module in sys.modules.items()]
print(json.dumps({name: file for name, file in files if file and name.split(".")[0] in ("tensor_envs", "tinygrad")}))
"""


def build(
    out: str | Path,
    ids: Sequence[str] = ("tic_tac_toe",),
    pyodide: str | Path | None = None,
    exploration: float | None = None,
) -> dict[str, int]:
    """Write a page that plays games in a browser. Files in its folder are overwritten.

    Args:
        out: a folder, created if it does not exist.
        ids: names of `variants.VARIANTS`, registered ids or "package.module:Name".
        pyodide: the folder of Pyodide's npm package, for the playground.
        exploration: weight of the exploration of the players by playout search; None is 4.

    Returns:
        The compressed size of every game's kernels in bytes, by id.

    Raises:
        ValueError, TypeError: no game, an unknown game, or a folder that is not Pyodide's.
        NotImplementedError: a game whose states are too large.
        RuntimeError: the compiler has no WebAssembly.
        OSError: a file that cannot be written.

    Examples:
        >>> from tensor_envs.web import build
        >>> build("site", ["othello"])  # doctest: +SKIP
        {'othello': 13219}
    """
    out = file_path("out", out)
    pyodide = None if pyodide is None else file_path("pyodide", pyodide)
    weight = checked_exploration(exploration)
    if out.exists() and not out.is_dir():
        raise ValueError(f"out must be a folder, got the file {str(out)!r}")
    # games are made before anything is written, so that a wrong one leaves no site
    if not isinstance(ids, (list, tuple)):
        raise wrong_type("ids", "a list of ids", ids)
    if not ids:
        raise ValueError("ids must name one game or more, got none")
    variants = {id: variant(id) for id in ids}
    for id, (_, env) in variants.items():
        if env.engine.game.has_memory:
            raise NotImplementedError(f"{id!r} is too large for a page")
    # a folder that is not the unpacked package would fail in the browser alone
    if pyodide is not None and (missing := [name for name in PYODIDE if not Path(pyodide, name).is_file()]):
        raise ValueError(
            f"pyodide must be the folder of its npm package, and {shown(str(pyodide))} has no {missing[0]}"
        )
    (out / "games").mkdir(parents=True, exist_ok=True)
    games, sizes = [], {}
    # files of each game, and its line of the catalogue
    for id, (which, env) in variants.items():
        file = out / "games" / id.replace(":", ".")
        sizes[id] = write_game(id, which, env, file, weight)
        rules = f"games/{file.name}.txt"
        # the page cannot run networks, and plays perfectly only from a table
        left_out = {TRAINED} if has_table(env) else {TRAINED, PERFECT}
        available = [kind for kind in kinds(env) if kind not in left_out]
        entry = catalogue_entry(id, which, env, rules, available, f"games/{file.name}.svg")
        games.append({**entry, "file": f"games/{file.name}"})
    # the page, which is the same for every site, and Python for the playground
    for page in (HERE / "page").iterdir():
        (out / page.name).write_bytes(page.read_bytes())
    (out / "games.json").write_text(json.dumps({"games": games, "python": pyodide is not None}))
    if pyodide is not None:
        (out / "python").mkdir(exist_ok=True)
        for name in PYODIDE:
            (out / "python" / name).write_bytes(Path(pyodide, name).read_bytes())
        write_package(variants, out / "python")
    return sizes


def has_table(env: Env) -> bool:
    """Return whether a page has the values of all positions of a game."""
    return PERFECT in kinds(env) and env.entry.find("oracle") is not None


def write_game(id: str, which: Variant, env: Env, path: Path, exploration: float | None = None) -> int:
    """Write a game's files and return the compressed size of its kernels in bytes."""
    kernels = {"": of_batch(env), "player.": of_player(env, exploration)}
    own = env.entry.find("oracle") if has_table(env) else None
    if own is not None:
        kernels["table."] = of_table(env, own)
        table = path.with_name(f"{path.name}.table.safetensors")
        write_arrays(table, TABLE_FORMAT, {}, own.compact_tables(env.rules))
    game = {**page_metadata(env), "id": id, "hidden": which.secret, "custom": which.custom, "table": own is not None}
    views = views_of(env.id, env.rules, env.entry.load("notation"), env.entry.load("render"), env.engine.layout)
    texts = {"txt": describe(env) + about(env), "svg": example(env), "js": javascript.module(views, "../runtime.js")}
    files = {suffix: text.encode() for suffix, text in texts.items()}
    # these are compressed here: not every server of files does so, and the first board waits for them
    for part, (wasm, metadata) in kernels.items():
        content = metadata if part else {**game, **metadata}
        described = json.dumps(content, separators=(",", ":")).encode()
        files |= {
            f"{part}wasm.gz": gzip.compress(wasm, 9, mtime=0),
            f"{part}json.gz": gzip.compress(described, 9, mtime=0),
        }
    for suffix, data in files.items():
        path.with_name(f"{path.name}.{suffix}").write_bytes(data)
    return sum(len(files[f"{part}wasm.gz"]) for part in kernels)


def _package(env: Env) -> str:
    """Return the folder of a game of this package, as a module's name."""
    return type(env.rules).__module__.rpartition(".")[0]


def write_package(variants: Mapping[str, tuple[Variant, Env]], folder: Path) -> None:
    """Write the archive of the playground's Python: its modules, those that they import, and metadata of the games."""
    with_python = {id: both for id, both in variants.items() if is_built_in(both[1])}
    games = {
        id: (_package(env), {**env.entry.presets.get(env.id, {}), **which.fields}, which.secret, env.id)
        for id, (which, env) in with_python.items()
    }
    books = {f"{_package(env).replace('.', '/')}/RULES.md": rulebook(env.rules) for _, env in with_python.values()}
    states = {id: env.init(1) for id, (_, env) in with_python.items()}
    words = {id: state.buffers.layout.download(state.tensors[0])[0].tolist() for id, state in states.items()}
    texts = {path.name: path.read_text() for path in (HERE / "python").glob("*.py")} | {"games.json": json.dumps(games)}
    with TemporaryDirectory(prefix="tensor_envs-") as temporary:
        for name, text in texts.items():
            Path(temporary, name).write_text(text)
        Path(temporary, "tensor_envs").symlink_to(HERE.parent)
        command = [sys.executable, "-c", IMPORTS, temporary, json.dumps(words)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}, check=False
        )
        if done.returncode:
            raise RuntimeError(f"the page's Python cannot be imported: {done.stderr.strip()[-200:]}")
        with ZipFile(folder / "package.zip", "w", ZIP_DEFLATED, compresslevel=9) as archive:
            for name, text in (texts | books).items():
                archive.writestr(name, text)
            for name, file in json.loads(done.stdout).items():
                is_package = Path(file).name == "__init__.py"
                archive.write(file, name.replace(".", "/") + ("/__init__.py" if is_package else ".py"))
