"""Fields of frontmatter, written so that all YAML readers, strict ones included, agree."""

import json
import re
from collections.abc import Mapping

# What YAML takes for a line end or refuses where it stands as itself.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
# The reference validator ends the frontmatter at the first of these, wherever it stands.
_CUT = "---"
_UNCUT = "--\\u002d"


def quoted(text: str) -> str:
    """A text as a double-quoted scalar on one line: a JSON string, letters of all scripts kept."""
    written = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda sign: f"\\u{ord(sign[0]):04x}", written).replace(_CUT, _UNCUT)


def field(key: str, value: str | Mapping[str, str]) -> str:
    """A text or a mapping of texts as a field in block style, its last line ended."""
    if isinstance(value, str):
        return f"{plain_key(key)}: {quoted(value)}\n"
    lines = "".join(f"  {plain_key(name)}: {quoted(text)}\n" for name, text in value.items())
    return f"{plain_key(key)}:\n{lines}"


def plain_key(key: str) -> str:
    """A key, quoted unless it is a plain word."""
    return key if re.fullmatch(r"[A-Za-z_][\w-]*", key) and _CUT not in key else quoted(key)
