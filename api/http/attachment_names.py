"""Names of files that an answer is saved under (RFC 6266, RFC 8187)."""

import re
import unicodedata
from urllib.parse import quote

from core.text.graphemes import boundary

_LONGEST = 80
# What one of the usual file systems does not take in a name, and what hides in it.
_FORBIDDEN = re.compile(r'[\\/:*?"<>|]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def content_disposition(title: str, *, fallback: str, extension: str) -> str:
    """The header that saves an answer under a title, whatever the title is.

    Args:
        title: from a person; signs that a file name can't have become blanks.
        fallback: a name in ASCII, for clients that know no other and titles that leave nothing.
        extension: of the file, without a dot.
    """
    name = safe_name(title) or fallback
    ascii_name = f'filename="{fallback}.{extension}"'
    return f"attachment; {ascii_name}; filename*=UTF-8''{quote(f'{name}.{extension}', safe='')}"


def safe_name(title: str) -> str:
    """A title as a file name without its extension; empty where nothing of it can be used."""
    seen = "".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in title)
    name = " ".join(_FORBIDDEN.sub(" ", seen).split()).strip(". ")
    name = name[: boundary(name, _LONGEST)].rstrip(". ")
    return "" if _RESERVED.match(name) else name
