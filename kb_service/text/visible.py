"""A text as it may be shown: without characters that nobody sees and that change what is read.

Documents keep them, as they keep everything; an answer, a citation and a prompt don't have them: a
direction override shows a sentence as another one, and tag characters are read by models alone.
"""

import re

# The flags of England, Scotland and Wales are the only tag sequences in use.
_FLAG = re.compile(
    "\U0001f3f4(?:\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067"
    "|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f)"
)
# Zero width space, word joiner and invisible operators, Mongolian vowel separator, byte order mark,
# directions that are forced on what follows, isolates, tags. Joiners and direction marks stay: scripts
# are spelled with them.
_HIDDEN = re.compile(
    f"({_FLAG.pattern})|[\u200b\u2060-\u2064\u180e\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]+"
)


def visible(text: str) -> str:
    """The text without hidden characters; the same text where it has none.

    Args:
        text: of a document, of any length; linear time.
    """
    if text.isascii():
        return text
    return _HIDDEN.sub(lambda found: found[1] or "", text)
