"""Parsers that are not ours: one protocol for those on this machine and those elsewhere.

``choice`` says which one reads a document. A parser is a line in ``core.types.document_parsers.OPTIONAL_PARSERS``. Its module has three functions and loads no
library of its parser: the API asks it which formats are read, and what is missing.

- ``reads(media_type, settings) -> bool``
- ``missing_parts(strategy, settings) -> tuple[str, ...]``: what a strategy needs and this server lacks
- ``open_parser(settings) -> ExternalParser``: starts nothing before the first document.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from core.settings import Settings
from core.types.document_parsers import PARSERS_BY_NAME
from ingestion.parsers import PARSERS
from ingestion.parsers.conversion.formats import BY_MEDIA_TYPE
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.protocol import ParseRequest

ProgressListener = Callable[[int], Awaitable[None]]
"""Called with the percent that is done; what it raises ends the parse."""


class ExternalParser(Protocol):
    """A parser outside our own parser child."""

    async def parse(self, request: ParseRequest, listener: ProgressListener) -> ParsedDocument:
        """Read one file within ``request.limits``; cancellation ends the work at once.

        Args:
            request: the file, its media type and ``ending``, and the ``strategy``.

        Raises:
            ParseFailure: for what the file, its limits or the parser do not allow.
            AgentexError: of status 502 to 504, or OSError: part of the server is unavailable; the document is tried again later.
        """
        ...

    async def close(self) -> None:
        """End what runs."""
        ...


class _ParserModule(Protocol):
    def reads(self, media_type: str, settings: Settings) -> bool: ...

    def missing_parts(self, strategy: str, settings: Settings) -> tuple[str, ...]: ...

    def open_parser(self, settings: Settings) -> ExternalParser: ...


@cache
def _module(name: str) -> _ParserModule:
    return cast("_ParserModule", import_module(PARSERS_BY_NAME[name].module))


def reads(name: str, media_type: str, settings: Settings) -> bool:
    """Whether a parser of the registry reads a format on this server; False for an unknown name."""
    return name in PARSERS_BY_NAME and _module(name).reads(media_type, settings)


def missing_parts(name: str, settings: Settings) -> dict[str, tuple[str, ...]]:
    """What strategies of a parser of the registry need and this server lacks; without those that lack nothing."""
    strategies = PARSERS_BY_NAME[name].strategies
    missing = {strategy: _module(name).missing_parts(strategy, settings) for strategy in strategies}
    return {strategy: parts for strategy, parts in missing.items() if parts}


def file_ending(request: ParseRequest) -> str:
    """The ending of a file's name, without a dot, or the usual one: for parsers that go by names of files."""
    form = PARSERS.get(request.media_type) or BY_MEDIA_TYPE[request.media_type]
    return request.ending or form.endings.split()[0]


class ExternalParsers:
    """The parsers that the operator has switched on, each opened at its first document."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: dict[str, ExternalParser] = {}

    async def parse(self, request: ParseRequest, listener: ProgressListener) -> ParsedDocument | ParseFailure:
        """Have ``request.parser`` read a file; errors as ``ExternalParser.parse``, failures as a result."""
        try:
            parsed = await self._parser(request.parser).parse(request, listener)
        except ParseFailure as failure:
            return failure
        return replace(parsed, parser=request.parser)

    async def close(self) -> None:
        await asyncio.gather(*(parser.close() for parser in self._open.values()))

    def _parser(self, name: str) -> ExternalParser:
        if name not in self._settings.parsers or name not in PARSERS_BY_NAME:
            raise ParseFailure(FailureReason.PARSER_NOT_ENABLED, name)
        if name not in self._open:
            self._open[name] = _module(name).open_parser(self._settings)
        return self._open[name]
