"""Names for machines: lower-case ASCII words with hyphens."""

import re
import unicodedata

LONGEST = 64

_OTHER = re.compile(r"[^a-z0-9]+")


def slug_of(text: str) -> str:
    """A text's letters and digits as ASCII words joined by hyphens; empty where it has none."""
    folded = unicodedata.normalize("NFKD", text[: 4 * LONGEST]).lower()
    return (
        _OTHER.sub("-", folded.encode("ascii", "ignore").decode()).strip("-")[:LONGEST].strip("-")
    )
