"""Search over one's own sessions: words of a title, or of what was asked and answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, tuple_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.tables import ChatMessage, ChatSession
from kb_service.text.clusters import boundary

_BEFORE = 40
_EXCERPT = 160


@dataclass(frozen=True)
class Match:
    """The newest message of a session that has the words.

    Attributes:
        message_id: its id on the wire.
        role: who said it.
        excerpt: the words with what stands around them, in one line.
    """

    message_id: str
    role: str
    excerpt: str


def has_words(words: str) -> ColumnElement[bool]:
    """Whether a session has the words in its title or in one of its messages.

    They are looked for as they stand, also within longer words, so that Chinese needs no
    splitting; case does not count as far as the database knows it. No index serves this: what is
    read are the sessions of the one owner whom the rest of the query names.
    """
    said = select(ChatMessage.id).where(ChatMessage.session_id == ChatSession.id, _has(words))
    return col(ChatSession.title).icontains(words, autoescape=True) | said.exists()


def _has(words: str) -> ColumnElement[bool]:
    return col(ChatMessage.content).icontains(words, autoescape=True)


async def find_matches(
    session: AsyncSession, rows: Sequence[ChatSession], words: str
) -> Mapping[str, Match]:
    """Where sessions have the words, by ``ChatSession.id``; none where only a title has them.

    Args:
        session: to read from.
        rows: sessions that the caller may see.
        words: as in :func:`has_words`.
    """
    newest = (
        select(ChatMessage.session_id, func.max(ChatMessage.position))
        .where(col(ChatMessage.session_id).in_([row.id for row in rows]), _has(words))
        .group_by(col(ChatMessage.session_id))
    )
    place = tuple_(col(ChatMessage.session_id), col(ChatMessage.position))
    messages = (await session.exec(select(ChatMessage).where(place.in_(newest)))).all()
    return {
        message.session_id: Match(message.message_id, message.role, excerpt(message.content, words))
        for message in messages
    }


def excerpt(text: str, words: str) -> str:
    """The first place of the words with what stands around it, in one line.

    Args:
        text: that has them, in whatever case.
        words: looked for.
    """
    # Lower case may be longer than the text itself (İ): the place is one of the text then, too.
    lowered = text.lower()
    place = lowered.find(words.lower()) if len(lowered) == len(text) else text.find(words)
    start = boundary(text, max(0, place - _BEFORE))
    end = boundary(text, start + _EXCERPT + len(words)) or len(text)
    inner = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{inner}{'…' if end < len(text) else ''}"
