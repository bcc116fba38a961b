"""Build the documents of this repository as a site, with boards to play on: a folder for any server of files.

    python scripts/documents.py site                       # every game can be played; takes some minutes
    python scripts/documents.py site --env othello hex     # these can be played
    python -m http.server -d site                          # and look at http://127.0.0.1:8000/

Needs the extra 'site'. A warning of MkDocs, such as a link to nothing, is an error. Pictures to click and positions as
text on the boards need Python in the browser: see `python -m tensor_envs.web --help` about --pyodide.
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

from documents.pages import ROOT, nav, write
from tensor_envs import web
from tensor_envs._command import Failure, add_games, busy, command_parser, need, run

HERE = Path(__file__).resolve().parent
COMPLAINT = re.compile(r"WARNING|ERROR")


def work(options: argparse.Namespace) -> None:
    need("mkdocs", "the site", "site")
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
        shutil.copytree(Path(folder, "site"), options.out, dirs_exist_ok=True)
    print(f"python -m http.server -d {options.out} serves it")


def build(config: Path, out: Path) -> None:
    """MkDocs in a process of its own. Failure if it has anything to complain of."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(out)]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))  # where docstrings are
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        lines = done.stderr.splitlines()  # among them what themes have to tell
        raise Failure(f"MkDocs: {' '.join(filter(COMPLAINT.match, lines)) or done.stderr[-1000:]}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("documents.py", __doc__)
    about = "a folder, made if it is not there; what lies in it already is written over"
    parser.add_argument("out", type=Path, metavar="OUT", help=about)
    add_games(parser)
    parser.add_argument("--pyodide", type=Path, metavar="DIR", help="the folder of Pyodide's npm package")
    run(parser, work, arguments)
