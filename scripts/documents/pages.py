"""Pages of the site, in order, and their sources in this repository."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from documents import games, reference

ROOT = Path(__file__).resolve().parents[2]
REPORTS = sorted((ROOT / "scripts" / "game_reports").glob("*.md"))
# folders of the site for linked files that are no pages, by suffix
COPIED = {suffix: "pictures" for suffix in (".svg", ".png", ".gif")} | {
    ".c": "programs",
    ".rs": "programs",
    ".mjs": "programs",
}
CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.M | re.S)
LINK = re.compile(r"""(\]\(|<img src="|srcset=")([^)#\s"]*)(#[^)\s]*)?([)"])""")
# a code block, or a line directly above a list or table, which mkdocs wants separated by an empty line
LIST = re.compile(r"^ *```.*?^ *```$|^(?![-|#\s])[^\n]+\n(?=- |\| )", re.M | re.S)
BRACKETS = re.compile(r"\](\s*)\[")  # mkdocs would read a reference
# source of each page, by section: a page of the repository, a notebook, or a function that returns the text
SECTIONS: dict[str, dict[str, str | Callable[[], str]]] = {
    "Start": {
        "index.md": "README.md",
        "contents.md": "scripts/documents/contents.md",
        "install.md": "scripts/documents/install.md",
        "coming_from.md": "scripts/documents/coming_from.md",
    },
    "Tutorials": {
        "start.md": "scripts/notebooks/start.ipynb",
        "train_an_agent.md": "scripts/documents/train_an_agent.md",
        "own/connect_four.md": "scripts/notebooks/own_game.ipynb",
    },
    "How to": {
        "how_to.md": "scripts/documents/how_to.md",
        "guide.md": "tensor_envs/GUIDE.md",
        "adapters.md": "tensor_envs/adapters/README.md",
        "referee.md": "tensor_envs/referee/README.md",
        "train_a_model.md": "scripts/documents/train_a_model.md",
        "search/index.md": "tensor_envs/search/README.md",
        "search/training.md": "tensor_envs/train/README.md",
        "search/solve.md": "tensor_envs/solve/README.md",
        "search/equilibria.md": "tensor_envs/equilibria/README.md",
        "own/index.md": "tensor_envs/rules/README.md",
        "own/laboratory.md": "tensor_envs/lab/README.md",
        "own/lines.md": "tensor_envs/ops/README.md",
        "devices.md": "scripts/documents/devices.md",
        "browser.md": "tensor_envs/web/README.md",
        "export.md": "tensor_envs/export/README.md",
        "scripts.md": "scripts/README.md",
        "verifiers.md": "scripts/environments/tensor_envs_games/README.md",
    },
    "Games": {
        "games/index.md": games.index,
        "catalogue.md": "scripts/documents/catalogue.md",
        **{f"games/{folder}.md": f"tensor_envs/games/{folder}/RULES.md" for folder in games.folders()},
        "games/known_results.md": "scripts/known_results/README.md",
        "search/exploitability.md": "scripts/exploitability/README.md",
        "search/players.md": "tensor_envs/weights/README.md",
        **{f"design/{path.name}": f"scripts/game_reports/{path.name}" for path in REPORTS},
    },
    "Reference": {**reference.pages(), "own/language.md": reference.language},
    "Explanation": {
        "how_it_works.md": "scripts/documents/how_it_works.md",
        "questions.md": "scripts/documents/questions.md",
        "own/costs.md": "scripts/documents/costs.md",
        "search/strength.md": "tensor_envs/search/STRENGTH.md",
        "speed/index.md": "scripts/benchmark/README.md",
        "speed/devices.md": "scripts/measured/devices.md",
        "speed/gpu_kernels.md": "scripts/measured/gpu_kernels.md",
        "speed/card.md": "scripts/measured/card.md",
    },
    "Project": {
        "contributing.md": ".github/CONTRIBUTING.md",
        "compiler.md": "tensor_envs/_compiler/README.md",
        "runtime.md": "tensor_envs/_runtime/README.md",
        "changes.md": ".github/CHANGELOG.md",
    },
}
PAGES = {target: source for pages in SECTIONS.values() for target, source in pages.items()}
TARGETS = {source: target for target, source in PAGES.items() if isinstance(source, str)}


def write(docs: Path, boards: Sequence[str]) -> None:
    """Write all pages for mkdocs, with their pictures and programs.

    Args:
        docs: the folder to write to.
        boards: ids of the games that have a board in the site.

    Raises:
        ValueError: a page links to a target outside the site.
    """
    for target, source in PAGES.items():
        path = docs / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(source):
            text = source()
        elif source.endswith(".ipynb"):
            text = notebook(ROOT / source, docs)
        else:
            text = (ROOT / source).read_text(encoding="utf-8")
            if source.endswith("/RULES.md"):
                text = games.page(Path(source).parent.name, text, boards)
            text = linked(text, source, target, docs)
        path.write_text(text, encoding="utf-8")


def nav() -> list[dict[str, str | list[str]]]:
    """Return the site's navigation for mkdocs, which takes titles from the pages."""
    sections: list[dict[str, str | list[str]]] = [{title: list(pages)} for title, pages in SECTIONS.items()]
    return [sections[0], {"Play": "play/index.html"}, *sections[1:]]


def linked(text: str, source: str, target: str, docs: Path) -> str:
    """Return the text of a page with its links changed to files of the site.

    Raises:
        ValueError: a link leads to a target outside the site.
    """

    def relative(match: re.Match[str]) -> str:
        opening, link, anchor, closing = match[1], match[2], match[3] or "", match[4]
        if "://" in link or not link:
            return match[0]
        file = (ROOT / source).parent.joinpath(link).resolve()
        name = (file / "README.md" if file.is_dir() else file).relative_to(ROOT).as_posix()
        location = TARGETS.get(name)
        if location is None and file.suffix in COPIED:
            location = copy(docs, file.name, file.read_bytes())
        if location is None:
            raise ValueError(f"{source} links to {link}, which is no page of the site: add it to pages.py")
        return f"{opening}{os.path.relpath(location, Path(target).parent)}{anchor}{closing}"

    spaced = LIST.sub(lambda match: match[0] + "\n" * match[0].endswith("\n"), text)
    parts = CODE.split(spaced)
    parts[::2] = [BRACKETS.sub(r"]\1\[", LINK.sub(relative, part)) for part in parts[::2]]
    return "".join(parts)


def copy(docs: Path, name: str, data: bytes) -> str:
    """Write a picture or a program and return its path in the site."""
    folder = COPIED[Path(name).suffix]
    (docs / folder).mkdir(exist_ok=True)
    (docs / folder / name).write_bytes(data)
    return f"{folder}/{name}"


def notebook(path: Path, docs: Path) -> str:
    """Convert a notebook to a page with its text, code, output and pictures."""
    parts, source = list[str](), path.relative_to(ROOT).as_posix()
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(linked(text, source, TARGETS[source], docs))
            continue
        parts.append(f"```python\n{text}\n```")
        shown, drawn = "", list[str]()
        for output in cell["outputs"]:
            data = {name: "".join(lines) for name, lines in output.get("data", {}).items()}
            if svg := data.get("image/svg+xml"):
                file = copy(docs, f"{path.stem}_{number}.svg", svg.encode())
                drawn = [f"![What is drawn]({os.path.relpath(file, Path(TARGETS[source]).parent)})"]
            else:
                shown += "".join(output.get("text", "")) or data["text/plain"]
        if shown:
            parts.append(f"``` {{ .text .output }}\n{shown.rstrip()}\n```")
        parts += drawn
    return "\n\n".join(parts) + "\n"
