"""The registry of splitters, one entry each; those of LlamaIndex have the names of their classes."""

from collections.abc import Callable
from dataclasses import dataclass

from ingestion.splitters import fixed, heading_recursive, markdown_sections, node_parsers, parent_child, sentence
from ingestion.splitters.base import Splitter
from kb_service.text.token_counter import TokenCounter


def _no_windows(_text: str, _counter: TokenCounter) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class SplitterEntry:
    """A splitter, and its dense windows of an edited passage."""

    split: Splitter
    windows: Callable[[str, TokenCounter], tuple[str, ...]] = _no_windows


SPLITTERS = {
    "heading_recursive": SplitterEntry(heading_recursive.split),
    "sentence": SplitterEntry(sentence.split),
    "fixed": SplitterEntry(fixed.split),
    "markdown_sections": SplitterEntry(markdown_sections.split),
    "parent_child": SplitterEntry(parent_child.split, parent_child.windows),
    "llama_index:SentenceSplitter": SplitterEntry(
        node_parsers.node_splitter(node_parsers.sentence_nodes, by_section=False)
    ),
    "llama_index:TokenTextSplitter": SplitterEntry(
        node_parsers.node_splitter(node_parsers.token_nodes, by_section=False)
    ),
    "llama_index:SentenceWindowNodeParser": SplitterEntry(
        node_parsers.node_splitter(node_parsers.window_nodes, by_section=True, windows=node_parsers.sentence_windows),
        node_parsers.sentence_windows,
    ),
    "llama_index:MarkdownNodeParser": SplitterEntry(
        node_parsers.node_splitter(node_parsers.markdown_nodes, by_section=True, is_table_text=True)
    ),
}
