"""Build the documents of this repository as a static site, with boards to play on.

    python scripts/documents.py site                       # boards for every game; takes some minutes
    python scripts/documents.py site --env othello hex     # boards for these games
    python -m http.server -d site                          # serves http://127.0.0.1:8000/

Needs the extra 'site'. Warnings of MkDocs, such as a broken link, are errors, and so are questions
that the site's search does not answer (answers.py). Games under other rules need Python in the
browser: see --pyodide in `python -m tensor_envs.web --help`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from documents import answers
from documents.pages import ROOT, nav, write
from tensor_envs import web
from tensor_envs._command import Failure, add_games, busy, command_parser, new_folder, run
from tensor_envs._validate import need

HERE = Path(__file__).resolve().parent
COMPLAINT = re.compile(r"WARNING|ERROR")


def work(options: argparse.Namespace) -> None:
    need("mkdocs", "the site", "site")
    need("lunr", "the questions to its search", "site")
    with TemporaryDirectory(prefix="tensor_envs-") as folder:
        docs = Path(folder, "docs")
        with busy("the boards are built, up to a minute a game"):
            web.build(docs / "play", options.env, options.pyodide)
        write(docs, options.env)
        shutil.copy(HERE / "site.css", docs)
        config = Path(folder, "mkdocs.yml")
        config.write_text(f"{(HERE / 'mkdocs.yml').read_text()}nav: {json.dumps(nav())}\n")
        with busy("the pages are built"):
            build(config, Path(folder, "site"))
        if missed := answers.unanswered(Path(folder, "site")):
            misses = "; ".join(
                f"{question!r} finds {pages}, not {answers.ANSWERS[question]!r}" for question, pages in missed.items()
            )
            raise Failure(f"the site's search: {misses}")
        shutil.copytree(Path(folder, "site"), options.out, dirs_exist_ok=True)
    print(f"python -m http.server -d {options.out} serves it")


def build(config: Path, out: Path) -> None:
    """Run MkDocs in a separate process. Raise Failure for errors and warnings."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(out)]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))  # for docstrings
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        lines = done.stderr.splitlines()  # themes print notices there, too
        raise Failure(f"MkDocs: {' '.join(filter(COMPLAINT.match, lines)) or done.stderr[-1000:]}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/documents.py", __doc__)
    parser.add_argument(
        "out", type=new_folder, metavar="OUT", help="output folder, which is created; files in it are overwritten"
    )
    add_games(parser)
    parser.add_argument("--pyodide", type=Path, metavar="DIR", help="the folder of Pyodide's npm package")
    run(parser, work, arguments)
