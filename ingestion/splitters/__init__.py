"""The registry of splitters, one entry each; those of LlamaIndex have the names of their classes."""

from collections.abc import Callable
from dataclasses import dataclass

from ingestion.splitters import fixed, heading_recursive, markdown_sections, node_parsers, parent_child, sentence
from ingestion.splitters.base import PassageEmbedder, Splitter
from kb_service.text.token_counter import TokenCounter


def _no_windows(_text: str, _counter: TokenCounter) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class SplitterEntry:
    """A splitter, and its dense windows of an edited passage.

    Attributes:
        splitter: Gives the splitter, which encodes text with what it gets here, if it needs to.
        encodes: Whether it does.
    """

    splitter: Callable[[PassageEmbedder], Splitter]
    windows: Callable[[str, TokenCounter], tuple[str, ...]] = _no_windows
    encodes: bool = False


def _without_encoder(
    split: Splitter, windows: Callable[[str, TokenCounter], tuple[str, ...]] = _no_windows
) -> SplitterEntry:
    return SplitterEntry(lambda _embed: split, windows)


SPLITTERS = {
    "heading_recursive": _without_encoder(heading_recursive.split),
    "sentence": _without_encoder(sentence.split),
    "fixed": _without_encoder(fixed.split),
    "markdown_sections": _without_encoder(markdown_sections.split),
    "parent_child": _without_encoder(parent_child.split, parent_child.windows),
    "llama_index:SentenceSplitter": _without_encoder(
        node_parsers.node_splitter(node_parsers.sentence_nodes, by_section=False)
    ),
    "llama_index:TokenTextSplitter": _without_encoder(
        node_parsers.node_splitter(node_parsers.token_nodes, by_section=False)
    ),
    "llama_index:SentenceWindowNodeParser": _without_encoder(
        node_parsers.node_splitter(node_parsers.window_nodes, by_section=True, windows=node_parsers.sentence_windows),
        node_parsers.sentence_windows,
    ),
    "llama_index:MarkdownNodeParser": _without_encoder(
        node_parsers.node_splitter(node_parsers.markdown_nodes, by_section=True, is_table_text=True)
    ),
    "llama_index:SemanticSplitterNodeParser": SplitterEntry(
        lambda embed: node_parsers.node_splitter(node_parsers.semantic_nodes(embed), by_section=False),
        encodes=True,
    ),
}
