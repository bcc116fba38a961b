"""The site's pages: which there are, in which order, and what of this repository each is made from."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from documents import games, reference

ROOT = Path(__file__).resolve().parents[2]
PICTURES = (".svg", ".png")
CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
# a line right above a list or a table, between which mkdocs wants an empty one; or a block of code
LIST = re.compile(r"^ *```.*?^ *```$|^(?![-|#\s])[^\n]+\n(?=- |\| )", re.M | re.S)
BRACKETS = re.compile(r"\](\s*)\[")  # which mkdocs would take for a reference
# by section and page its source: a page of the repository, a notebook, or a function that writes it
SECTIONS: dict[str, dict[str, str | Callable[[], str]]] = {
    "Start": {
        "index.md": "README.md",
        "start.md": "scripts/notebooks/start.ipynb",
        "guide.md": "tensor_envs/GUIDE.md",
        "coming_from.md": "scripts/documents/coming_from.md",
        "adapters.md": "tensor_envs/adapters/README.md",
        "devices.md": "scripts/documents/devices.md",
        "questions.md": "scripts/documents/questions.md",
        "export.md": "tensor_envs/export/README.md",
        "browser.md": "tensor_envs/web/README.md",
        "scripts.md": "scripts/README.md",
        "contributing.md": ".github/CONTRIBUTING.md",
        "compiler.md": "tensor_envs/_compiler/README.md",
        "changes.md": ".github/CHANGELOG.md",
    },
    "Games": {
        "games/index.md": games.index,
        **{f"games/{folder}.md": f"tensor_envs/games/{folder}/RULES.md" for folder in games.folders()},
        "games/known_results.md": "scripts/known_results/README.md",
    },
    "Your own game": {
        "own/index.md": "tensor_envs/rules/README.md",
        "own/connect_four.md": "scripts/notebooks/own_game.ipynb",
        "own/language.md": reference.language,
        "own/lines.md": "tensor_envs/ops/README.md",
    },
    "Search and training": {
        "search/index.md": "tensor_envs/search/README.md",
        "search/players.md": "tensor_envs/weights/README.md",
        "search/monte_carlo.md": "scripts/measured/monte_carlo.md",
    },
    "Speed": {
        "speed/index.md": "scripts/benchmark/README.md",
        "speed/tic_tac_toe.md": "scripts/measured/tic_tac_toe.md",
        "speed/games.md": "scripts/measured/games.md",
        "speed/batch_sizes.md": "scripts/measured/batch_sizes.md",
        "speed/devices.md": "scripts/measured/devices.md",
        "speed/kernels.md": "scripts/measured/kernels.md",
        "speed/gpu_kernels.md": "scripts/measured/gpu_kernels.md",
        "speed/gpu_model.md": "scripts/measured/gpu_model.md",
    },
    "Reference": {**reference.pages()},
}
PAGES = {target: source for pages in SECTIONS.values() for target, source in pages.items()}
TARGETS = {source: target for target, source in PAGES.items() if isinstance(source, str)}


def write(docs: Path, boards: Sequence[str]) -> None:
    """Write all pages, as mkdocs wants them, and the pictures in them, with frames for the boards that there are.

    Raises:
        ValueError: a page links to something that is not in the site.
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
    """As mkdocs wants it; titles are those of the pages."""
    found: list[dict[str, str | list[str]]] = [{title: list(pages)} for title, pages in SECTIONS.items()]
    return [found[0], {"Play": "play/index.html"}, *found[1:]]


def linked(text: str, source: str, target: str, docs: Path) -> str:
    """The text of a page of the repository, with links to where other pages and pictures are in the site.

    Raises:
        ValueError: a link to something that is not in the site.
    """

    def relative(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2] or ""
        if "://" in link or not link:
            return match[0]
        file = (ROOT / source).parent.joinpath(link).resolve()
        name = (file / "README.md" if file.is_dir() else file).relative_to(ROOT).as_posix()
        found = TARGETS.get(name)
        if found is None and file.suffix in PICTURES:
            found = picture(docs, file.name, file.read_bytes())
        if found is None:
            raise ValueError(f"{source} links to {link}, which is no page of the site: add it to pages.py")
        return f"]({os.path.relpath(found, Path(target).parent)}{anchor})"

    spaced = LIST.sub(lambda match: match[0] + "\n" * match[0].endswith("\n"), text)
    parts = CODE.split(spaced)
    parts[::2] = [BRACKETS.sub(r"]\1\[", LINK.sub(relative, part)) for part in parts[::2]]
    return "".join(parts)


def picture(docs: Path, name: str, data: bytes) -> str:
    """Write a picture -> where it lies in the site."""
    (docs / "pictures").mkdir(exist_ok=True)
    (docs / "pictures" / name).write_bytes(data)
    return f"pictures/{name}"


def notebook(path: Path, docs: Path) -> str:
    """A notebook as a page: its text, its code and what that printed and drew."""
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
                file = picture(docs, f"{path.stem}_{number}.svg", svg.encode())
                drawn = [f"![What is drawn]({os.path.relpath(file, Path(TARGETS[source]).parent)})"]
            else:
                shown += "".join(output.get("text", "")) or data["text/plain"]
        if shown:
            parts.append(f"``` {{ .text .output }}\n{shown.rstrip()}\n```")
        parts += drawn
    return "\n\n".join(parts) + "\n"
