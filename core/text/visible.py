"""A text as it may be shown: without characters that nobody sees and that change what is read.

Documents keep them, as they keep everything; an answer, a citation and a prompt don't have them: a
direction override shows a sentence as another one, and tag characters are read by models alone.
"""

import re

from core.text.invisible import FLAG, FLAGS, HIDDEN

_BLACK_FLAG = "\U0001f3f4"
_HIDDEN = re.compile(f"{FLAG}|[{HIDDEN}]+")


def visible(text: str) -> str:
    """The text without hidden characters; the same text where it has none.

    Args:
        text: of a document, of any length; linear time.
    """
    if text.isascii():
        return text
    return _HIDDEN.sub(_seen, text)


def _seen(found: re.Match[str]) -> str:
    run = found[0]
    if run in FLAGS:
        return run
    return _BLACK_FLAG if run.startswith(_BLACK_FLAG) else ""
