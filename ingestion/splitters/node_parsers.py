"""Node parsers of LlamaIndex as splitters.

A node parser reads text and returns texts, without a bound on memory or on its pieces. Here it gets the document in runs of
bounded length; its nodes are found again in the document, and ``lawful_pieces`` makes pieces of them that keep the laws.
LlamaIndex is loaded at the first split.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from ingestion.splitters import parent_child
from ingestion.splitters.base import ParsedText, PassageEmbedder, Piece, SplitSizes, Splitter
from ingestion.splitters.node_runs import TextRun, runs
from ingestion.splitters.node_spans import NodeSpan, Windows, find_spans, lawful_pieces
from ingestion.splitters.sections import SectionIndex
from ingestion.splitters.units import max_characters, sentences
from kb_service.text.token_counter import TokenCounter

SENTENCES_AROUND = 3
"""Sentences on either side of one, as in LlamaIndex's ``SentenceWindowNodeParser``."""

SENTENCES_COMPARED = 1_000
"""Most sentences whose vectors are held at once; a run of ordinary text has fewer."""

_MARKUP = re.compile(r"^([^\S\n]*)[#`]", re.MULTILINE)
# Of the same length, so that places stay the same.
_NO_MARKUP = "\\1\ue000"
_VISIBLE = re.compile(r"\S")

Nodes = Callable[[TextRun, SplitSizes, TokenCounter], Iterator[NodeSpan]]
"""The nodes of one run, as spans of the document's text."""


def node_splitter(
    nodes: Nodes, *, by_section: bool, is_table_text: bool = False, windows: Windows | None = None
) -> Splitter:
    """A splitter of a node parser.

    Args:
        by_section: Whether its nodes stay within a heading's section.
        is_table_text: Whether it gets tables as text; otherwise they are cut between rows, each piece with the header.
        windows: The dense windows of a piece; None where it is found as a whole.
    """
    return partial(_split, nodes, by_section, is_table_text, windows)


def _split(
    nodes: Nodes,
    by_section: bool,
    is_table_text: bool,
    windows: Windows | None,
    parsed: ParsedText,
    *,
    sizes: SplitSizes,
    counter: TokenCounter,
) -> Iterator[Piece]:
    outline = SectionIndex(parsed)
    node_runs = (
        (run, () if run.is_own else nodes(run, sizes, counter))
        for run in runs(outline, parsed.text, by_section=by_section, is_table_text=is_table_text)
    )
    return lawful_pieces(outline, parsed.text, node_runs, sizes=sizes, counter=counter, windows=windows)


def sentence_nodes(run: TextRun, sizes: SplitSizes, counter: TokenCounter) -> Iterator[NodeSpan]:
    """Chunks of ``SentenceSplitter``: paragraphs, then sentences (of Chinese, too), filled up to the size."""
    parser = _parser(
        "SentenceSplitter",
        chunk_size=sizes.chunk_size,
        chunk_overlap=sizes.chunk_overlap,
        tokenizer=_tokens(sizes, counter),
        paragraph_separator="\n\n",
        # The parser's own knows no Chinese and looks for data to download.
        chunking_tokenizer_fn=sentences,
    )
    return find_spans(run, parser.split_text(run.text))


def token_nodes(run: TextRun, sizes: SplitSizes, counter: TokenCounter) -> Iterator[NodeSpan]:
    """Chunks of ``TokenTextSplitter``: words filled up to the size; a longer one is cut between characters."""
    parser = _parser(
        "TokenTextSplitter",
        chunk_size=sizes.chunk_size,
        chunk_overlap=sizes.chunk_overlap,
        tokenizer=_tokens(sizes, counter),
    )
    return find_spans(run, parser.split_text(run.text))


def markdown_nodes(run: TextRun, _sizes: SplitSizes, _counter: TokenCounter) -> Iterator[NodeSpan]:
    """Nodes of ``MarkdownNodeParser``: one per heading, that of a heading without a body, too."""
    rendered, places = _as_markdown(run)
    parser = _parser("MarkdownNodeParser")
    nodes = parser.get_nodes_from_node(_document(rendered))
    for span in find_spans(TextRun(rendered, 0, ()), (node.text for node in nodes)):
        yield NodeSpan(places.find(span.start), places.find(span.end))


def window_nodes(run: TextRun, sizes: SplitSizes, counter: TokenCounter) -> Iterator[NodeSpan]:
    """Sentences of ``SentenceWindowNodeParser``, grouped so that each is found by its own vector.

    LlamaIndex keeps with each sentence those around it, and puts them in its place once it was found. Here a sentence
    and those around it are the passage, and its sentences the windows that find it.
    """
    parser = _parser("SentenceWindowNodeParser", sentence_splitter=sentences, window_size=SENTENCES_AROUND)
    nodes = parser.build_window_nodes_from_documents([_document(run.text)])
    group: list[NodeSpan] = []
    for span in find_spans(run, (node.text for node in nodes)):
        is_full = len(group) > 2 * SENTENCES_AROUND
        if group and (is_full or not _fits(run, group[0].start, span.end, sizes, counter)):
            yield NodeSpan(group[0].start, group[-1].end)
            group = []
        group.append(span)
    if group:
        yield NodeSpan(group[0].start, group[-1].end)


def semantic_nodes(embed: PassageEmbedder) -> Nodes:
    """Nodes of ``SemanticSplitterNodeParser`` by these vectors, with LlamaIndex's defaults.

    A run ends a node: the sentences of each are compared with each other.
    """
    return partial(_semantic_nodes, embed)


def _semantic_nodes(
    embed: PassageEmbedder, run: TextRun, _sizes: SplitSizes, _counter: TokenCounter
) -> Iterator[NodeSpan]:
    # Loads LlamaIndex.
    embedding = import_module("ingestion.splitters.encoder_embedding").EncoderEmbedding(embed)
    parser = _parser("SemanticSplitterNodeParser", embed_model=embedding, sentence_splitter=sentences)
    parts = sentences(run.text)
    texts = ("".join(parts[start : start + SENTENCES_COMPARED]) for start in range(0, len(parts), SENTENCES_COMPARED))
    nodes = (node.text for text in texts for node in parser.build_semantic_nodes_from_documents([_document(text)]))
    return find_spans(run, nodes)


def sentence_windows(text: str, counter: TokenCounter) -> tuple[str, ...]:
    """The dense windows of a passage of ``SentenceWindowNodeParser``: its sentences; none if it is a single short one."""
    parts = [part.strip() for part in sentences(text)]
    windows = [
        window for part in parts if counter.count(part) for window in parent_child.windows(part, counter) or (part,)
    ]
    return tuple(windows) if len(windows) > 1 else ()


def _fits(run: TextRun, start: int, end: int, sizes: SplitSizes, counter: TokenCounter) -> bool:
    size = sizes.chunk_size
    return end - start <= max_characters(size) and counter.count(run.slice(start, end)) <= size


def _parser(name: str, **options: object) -> Any:  # noqa: ANN401
    """A node parser by its class's name; LlamaIndex's classes are typed loosely."""
    return getattr(import_module("llama_index.core.node_parser"), name)(**options)


def _document(text: str) -> Any:  # noqa: ANN401
    return import_module("llama_index.core.schema").Document(text=text)


def _tokens(sizes: SplitSizes, counter: TokenCounter) -> Callable[[str], Sequence[int]]:
    """LlamaIndex's tokenizer: only the length of its result counts."""
    lengths: dict[str, int] = {}

    def tokenize(text: str) -> Sequence[int]:
        if len(text) > 1:
            return range(counter.count(text))
        if text not in lengths:
            # A character can't be cut: it always fits.
            lengths[text] = min(counter.count(text), sizes.chunk_size)
        return range(lengths[text])

    return tokenize


@dataclass(slots=True)
class _Places:
    """Where spans of a rendered text are in the document."""

    rendered: list[int]
    original: list[int]

    def add(self, rendered: int, original: int) -> None:
        self.rendered.append(rendered)
        self.original.append(original)

    def find(self, rendered: int) -> int:
        index = bisect_right(self.rendered, rendered) - 1
        return self.original[index] + rendered - self.rendered[index]


def _as_markdown(run: TextRun) -> tuple[str, _Places]:
    """The run with its headings, and nothing else, marked as Markdown does; and where its places are in the document."""
    parts: list[str] = []
    places = _Places([0], [run.start])
    length = 0
    for block in run.blocks:
        text = _MARKUP.sub(_NO_MARKUP, run.slice(block.start, block.end))
        visible = _VISIBLE.search(text)
        if block.kind == "heading" and visible:
            front, text = text[: visible.start()], text[visible.start() :]
            # Behind a line feed, where the parser looks for them.
            parts += [front, "# "]
            length += len(front) + 2
            places.add(length, block.start + len(front))
        parts.append(text)
        length += len(text)
    return "".join(parts), places
