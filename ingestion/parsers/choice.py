"""The choice of a parser: of a knowledge base, and of a document that differs from it."""

from collections.abc import Collection
from dataclasses import dataclass

from core.errors.requests import InvalidRequest, ParserNotEnabled
from core.settings import Settings
from core.types.document_parsers import AUTO_STRATEGY, BUILT_IN, PARSERS_BY_NAME
from ingestion.parsers import IMAGE_TYPES, PARSERS
from ingestion.parsers.conversion.availability import conversion_state
from ingestion.parsers.conversion.formats import BY_MEDIA_TYPE
from ingestion.parsers.conversion.state import Conversion
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.external import reads
from ingestion.parsers.format_support import FormatSupport
from ingestion.parsers.image.ocr import is_installed
from ingestion.parsers.image.photos import PHOTO_KINDS, is_decodable
from kb_service.models import Document, KnowledgeBase

INHERIT = "inherit"
"""In place of a document's parser: the knowledge base's."""


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """A parser and its way to read a document (``core.types.document_parsers``)."""

    parser: str = BUILT_IN
    strategy: str = AUTO_STRATEGY


def available_parsers(settings: Settings) -> list[str]:
    """Names of the parsers that may be chosen, the built-in ones first."""
    return [BUILT_IN, *(name for name in PARSERS_BY_NAME if name in settings.parsers)]


def check_choice(settings: Settings, parser: str | None, strategy: str | None, *, also: str = "") -> None:
    """Check what a person chose; None is no choice.

    Args:
        also: a word allowed in place of a parser.

    Raises:
        InvalidRequest: unknown, or a strategy without a parser that has it.
        ParserNotEnabled: the operator has not switched this parser on.
    """
    if parser is None and strategy is not None:
        raise InvalidRequest("strategy", "Name the parser that it is for", "请同时指定解析器（parser）")
    if parser is None or (also and parser == also and strategy is None):
        return
    kind = PARSERS_BY_NAME.get(parser)
    if kind is None and parser != BUILT_IN:
        raise _not_among("parser", [*filter(None, [also]), BUILT_IN, *PARSERS_BY_NAME])
    if kind is not None and kind.name not in settings.parsers:
        raise ParserNotEnabled(parser=kind.name, available=available_parsers(settings))
    strategies = (kind.strategies if kind is not None else ()) or (AUTO_STRATEGY,)
    if strategy is not None and strategy not in strategies:
        raise _not_among("strategy", strategies)


def check_document_choice(settings: Settings, media_type: str, parser: str | None, strategy: str | None) -> None:
    """Check a choice for one document, as ``check_choice``; InvalidRequest too if that parser does not read its format."""
    check_choice(settings, parser, strategy, also=INHERIT)
    if parser not in {None, INHERIT, BUILT_IN} and not reads(str(parser), media_type, settings):
        error = f"{parser} does not read {media_type}: leave the choice out"
        raise InvalidRequest("parser", error, f"{parser} 不读取 {media_type}：请不要指定该解析器")


def choice_for(
    settings: Settings, media_type: str, document: Document | None, knowledge_base: ParserChoice
) -> ParserChoice:
    """The parser that reads a file now.

    A knowledge base's parser reads the formats that it can, ours the others. What ours can't read either goes to the
    first one switched on that does.

    Args:
        document: that the file belongs to; None for a file that is only looked at.
        knowledge_base: its choice.

    Raises:
        ParseFailure: ``parser_not_enabled``.
    """
    chosen = knowledge_base
    if document is not None and document.chosen_parser is not None:
        chosen = ParserChoice(document.chosen_parser, document.chosen_strategy or AUTO_STRATEGY)
    if chosen.parser != BUILT_IN:
        if chosen.parser not in settings.parsers:
            raise ParseFailure(FailureReason.PARSER_NOT_ENABLED, chosen.parser)
        if reads(chosen.parser, media_type, settings):
            return chosen
    return ParserChoice(parser_beside(settings, media_type) or BUILT_IN)


def parser_beside(settings: Settings, media_type: str) -> str | None:
    """The parser for a format that neither ours nor a conversion reads; None if they do, or none does."""
    names = [name for name in PARSERS_BY_NAME if name in settings.parsers]
    is_read = _is_read_by_ours(media_type) if media_type in PARSERS else conversion_state(settings) is Conversion.ON
    if not names or is_read:
        return None
    return next((name for name in names if reads(name, media_type, settings)), None)


def _is_read_by_ours(media_type: str) -> bool:
    """Whether a parser of ours has all it needs here: pictures want text recognition, photos their decoder."""
    if media_type not in IMAGE_TYPES:
        return True
    kind = PHOTO_KINDS.get(media_type)
    return is_installed() and (kind is None or is_decodable(kind))


def format_support(settings: Settings) -> FormatSupport:
    """What this server reads beside the formats of our parsers."""
    also_read = frozenset(
        media_type for media_type in (*BY_MEDIA_TYPE, *IMAGE_TYPES) if parser_beside(settings, media_type)
    )
    return FormatSupport(conversion_state(settings), also_read)


def choice_of(knowledge_base: KnowledgeBase) -> ParserChoice:
    """A knowledge base's choice."""
    return ParserChoice(knowledge_base.parser, knowledge_base.strategy)


def _not_among(field: str, names: Collection[str]) -> InvalidRequest:
    listed = ", ".join(names)
    return InvalidRequest(field, f"Use one of {listed}", f"可用的值：{listed}")
