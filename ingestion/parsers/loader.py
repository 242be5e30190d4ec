"""What a parser is, and how the one for a media type is found."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

from ingestion.parsers import PARSERS
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument

Parse = Callable[[Path, ParseLimits], ParsedDocument]
"""Reads one file; raises ``ParseFailure`` for what the file or its limits do not allow."""


def parser_for(media_type: str) -> Parse:
    """The ``parse`` function of a media type; its libraries are loaded at the first call.

    Raises:
        KeyError: No such media type is registered.
    """
    module = import_module(PARSERS[media_type].module)
    # The contract suite checks that each registered module has this function.
    return cast("Parse", module.parse)
