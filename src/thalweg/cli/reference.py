"""`thalweg help`: the reference of the SQL, whole or by what it is about."""

from __future__ import annotations

import re
from pathlib import Path

import thalweg
from thalweg.cli.screen import Screen
from thalweg.errors import EnvironmentProblem
from thalweg.model.catalog import known

SHIPPED, IN_THE_REPOSITORY = "sql.md", "docs/sql.md"
# What people look for, and the first words of the paragraph that has it.
PARTS = {"aggregates": "| aggregate |", "functions": "Expressions: "}


def show_help(topic: str | None) -> None:
    """Print the reference, or one part of it."""
    text = reference()
    screen = Screen()
    if topic is None:
        screen.say(text.rstrip())
        return
    found = topics(text)
    known(topic.lower(), found, "topic")
    screen.say(found[topic.lower()].rstrip())


def reference() -> str:
    """The reference as it was shipped, or as it stands in the repository."""
    package = Path(thalweg.__file__).parent
    for path in (package / SHIPPED, package.parent.parent / IN_THE_REPOSITORY):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise EnvironmentProblem(
        f"{package / SHIPPED}: the reference of the SQL is missing", "install thalweg again"
    )


def topics(text: str) -> dict[str, str]:
    """The parts of the reference by name: its sections, and what people look for in them."""
    sections: dict[str, str] = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name = section.partition("\n")[0].split()[0].lower()
        sections[name] = f"{sections.get(name, '')}## {section}"
    blocks = text.split("\n\n")
    for name, words in PARTS.items():
        first = next((i for i, b in enumerate(blocks) if b.startswith(words)), None)
        if first is not None:
            more = (
                1
                if blocks[first + 1 : first + 2] and blocks[first + 1].startswith("|") and name == "functions"
                else 0
            )
            sections[name] = "\n\n".join(blocks[first : first + 1 + more])
    return sections
