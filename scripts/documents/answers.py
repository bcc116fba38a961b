"""Questions of users, and the pages among the first three results of the site's search that answer them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ANSWERS = {  # words that are typed into the search: page of the site
    "install": "install/",
    "citation": "contents/",
    "legal action indices": "how_to/",
    "FEN": "how_to/",
    "seed": "how_to/",
    "episode limit": "how_to/",
    "reward shaping": "how_to/",
    "JAX": "how_to/",
    "DLPack": "how_to/",
    "PyTorch network in the search": "search/",
    "both seats in an adapter": "how_to/",
    "opponent policy": "how_to/",
    "league": "how_to/",
    "two networks against each other": "how_to/",
    "logging": "how_to/",
    "TensorBoard": "how_to/",
    "checkpoint and resume": "how_to/",
    "training on several processes": "how_to/",
    "several GPUs": "how_to/",
    "save a state": "how_to/",
    "SGF": "how_to/",
    "PGN": "how_to/",
    "PHH": "how_to/",
    "record a video": "how_to/",
    "GIF": "how_to/",
    "language model": "how_to/",
    "custom game": "own/",
    "illegal action": "questions/",
    "exploitability": "reference/search/",
    "how many threads": "devices/",
    "WebAssembly": "browser/",
}
RESULTS = 3


def unanswered(site: Path) -> dict[str, list[str]]:
    """Ask the search of a built site every question.

    Args:
        site: folder of the site.

    Returns:
        The first pages that are found, by question whose answer is not among them.
    """
    from lunr import lunr

    sections = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    texts = [section | {"text": re.sub(r"<[^>]+>", " ", section["text"])} for section in sections]  # as the theme does
    fields: list[Any] = [{"field_name": "title", "boost": 1000}, "text"]
    index = lunr(ref="location", fields=fields, documents=texts)
    missed = {}
    for question, answer in ANSWERS.items():
        pages = [hit["ref"].partition("#")[0] for hit in index.search(question)]
        first = list(dict.fromkeys(pages))[:RESULTS]
        if answer not in first:
            missed[question] = first
    return missed
