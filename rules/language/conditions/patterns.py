"""Regular expressions of RE2, which take time linear in the text whatever they are."""

from functools import lru_cache
from typing import Any, Protocol, cast

import re2
from pydantic import JsonValue

from rules.language.conditions.comparison import normalize
from rules.language.errors import InvalidPattern

LONGEST_PATTERN = 1_000
_PATTERN_BYTES = 1 << 20


class Pattern(Protocol):
    """A regular expression, compiled."""

    def search(self, text: str) -> object | None:
        """The first match anywhere in the text."""
        ...


# It has no types.
_re2 = cast(Any, re2)


def compile_pattern(value: JsonValue) -> Pattern:
    """Compile the pattern that a condition compares with.

    Raises:
        InvalidPattern: it is no text, too long, or nothing that RE2 can do in linear time and a megabyte.
    """
    if not isinstance(value, str) or not value:
        raise InvalidPattern("Use a regular expression", "请使用正则表达式")
    if len(value) > LONGEST_PATTERN:
        words = f"A regular expression has at most {LONGEST_PATTERN} characters"
        raise InvalidPattern(words, f"正则表达式最多 {LONGEST_PATTERN} 个字符")
    return _compile(normalize(value))


@lru_cache(maxsize=1024)
def _compile(text: str) -> Pattern:
    options = _re2.Options()
    options.max_mem = _PATTERN_BYTES
    options.log_errors = False
    try:
        return cast(Pattern, _re2.compile(text, options))
    except (_re2.error, UnicodeEncodeError) as error:
        cause = _cause(error)
        raise InvalidPattern(
            f"The regular expression is not valid in RE2 (no look-around, no back-references): {cause}",
            f"RE2 不支持该正则表达式（不支持环视和反向引用）：{cause}",
        ) from error


def _cause(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "half a character"
    cause: object = error.args[0] if error.args else ""
    return cause.decode(errors="replace") if isinstance(cause, bytes) else str(cause)
