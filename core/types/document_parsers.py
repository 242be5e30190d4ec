"""The registry of parsers that an operator may switch on beside the built-in ones."""

from dataclasses import dataclass

BUILT_IN = "built_in"
"""The parsers of ``ingestion.parsers.FORMATS``, which are always there."""
AUTO_STRATEGY = "auto"
"""The parser chooses by the document."""
CONVERTER = "libreoffice"
"""Named in the same setting; it converts documents for the built-in parsers and is not chosen itself."""


@dataclass(frozen=True, slots=True)
class OptionalParser:
    """A parser that ``AGENTEX_PARSERS`` may name and that a knowledge base or a document may then choose.

    Attributes:
        name: In the setting, in the API and in the database; at most 50 characters.
        module: Has ``reads(media_type)`` and ``open_parser(settings)`` (``ingestion.parsers.external``).
        strategies: Ways to read a document that may be chosen, ``AUTO_STRATEGY`` first; empty where there is one way.
    """

    name: str
    module: str
    strategies: tuple[str, ...] = ()


OPTIONAL_PARSERS = (
    OptionalParser(
        "unstructured", "ingestion.parsers.unstructured.parser", (AUTO_STRATEGY, "fast", "ocr_only", "hi_res")
    ),
    OptionalParser(
        "unstructured_api", "ingestion.parsers.remote.unstructured_api", (AUTO_STRATEGY, "fast", "ocr_only", "hi_res")
    ),
    OptionalParser("docling", "ingestion.parsers.remote.docling", (AUTO_STRATEGY, "force_ocr")),
    OptionalParser("mineru", "ingestion.parsers.remote.mineru", (AUTO_STRATEGY, "txt", "ocr")),
)
PARSERS_BY_NAME = {parser.name: parser for parser in OPTIONAL_PARSERS}
SWITCHABLE = frozenset({CONVERTER, *PARSERS_BY_NAME})
"""What ``AGENTEX_PARSERS`` may name."""
