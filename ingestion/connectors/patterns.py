"""Include and exclude patterns of sources."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

Pattern = Annotated[str, Field(min_length=1, max_length=200)]
Patterns = Annotated[tuple[Pattern, ...], Field(max_length=50, strict=False)]
"""Shell patterns; ``*`` stands for any characters, ``/`` included."""


def is_included(text: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether a path or address matches one of ``include``, which may be empty, and none of ``exclude``."""
    is_named = not include or any(fnmatchcase(text, pattern) for pattern in include)
    return is_named and not any(fnmatchcase(text, pattern) for pattern in exclude)
