"""The registry of splitters: name to function."""

from ingestion.splitters import (
    fixed,
    heading_recursive,
    markdown_sections,
    parent_child,
    sentence,
)
from ingestion.splitters.base import Splitter
from kb_service.text.token_counter import TokenCounter

SPLITTERS: dict[str, Splitter] = {
    "heading_recursive": heading_recursive.split,
    "sentence": sentence.split,
    "fixed": fixed.split,
    "markdown_sections": markdown_sections.split,
    "parent_child": parent_child.split,
}


def windows_of(name: str, text: str, counter: TokenCounter) -> tuple[str, ...]:
    """The dense windows that a splitter gives a passage whose text a person wrote.

    Args:
        name: of the splitter.
        text: the passage.
        counter: of the encoder.
    """
    return parent_child.windows(text, counter) if name == "parent_child" else ()
