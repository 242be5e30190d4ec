"""Full-text search in one's own sessions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, tuple_
from sqlalchemy import select as select_columns
from sqlalchemy.orm import Mapped
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

from agents.models import ChatMessage, ChatSession
from agents.sessions.branches import shown_once
from core.text.graphemes import grapheme_boundary

_BEFORE = 40
_EXCERPT = 160
_Query = Select[ChatSession, Any, int]


@dataclass(frozen=True)
class MessageMatch:
    """The newest message of a session with the words, and an excerpt in one line."""

    message_id: str
    role: str
    excerpt: str


@dataclass(frozen=True)
class SessionSearchResult:
    """One page of sessions with the words; ``matches`` by ``ChatSession.id`` lack those found by title only."""

    rows: Sequence[ChatSession]
    total: int
    matches: Mapping[str, MessageMatch]


async def search_sessions(
    session: AsyncSession, conditions: Sequence[ColumnElement[bool]], words: str, arranged: Callable[[_Query], _Query]
) -> SessionSearchResult:
    """The sessions with the words in their title or in a message; ``arranged`` adds order and limits to a query.

    Matches are substrings, so that Chinese needs no segmentation; case is ignored as far as the database can. There is
    no index: the owner's messages are scanned.
    """
    newest = (
        select(ChatMessage.session_id, func.max(ChatMessage.position).label("position"))
        .join(ChatSession, col(ChatSession.id) == col(ChatMessage.session_id))
        .where(*conditions, _has(col(ChatMessage.content), words))
        .group_by(col(ChatMessage.session_id))
        .cte()
    )
    has_words = _has(col(ChatSession.title), words) | col(ChatSession.id).in_(select_columns(newest.c.session_id))
    query = (
        select(ChatSession, newest.c.position, func.count().over())
        .join(newest, newest.c.session_id == col(ChatSession.id), isouter=True)
        .where(*conditions, has_words, shown_once([*conditions, has_words]))
    )
    rows = (await session.exec(arranged(query))).all()
    places = {row.id: place for row, place, _ in rows if place is not None}
    matches = await _matches(session, places, words)
    return SessionSearchResult([row for row, *_ in rows], rows[0][2] if rows else 0, matches)


def _has(text: Mapped[str], words: str) -> ColumnElement[bool]:
    return text.icontains(words, autoescape=True)


async def _matches(session: AsyncSession, places: Mapping[str, int], words: str) -> Mapping[str, MessageMatch]:
    if not places:
        return {}
    place = tuple_(col(ChatMessage.session_id), col(ChatMessage.position))
    query = select(ChatMessage).where(place.in_(list(places.items())))
    return {
        message.session_id: MessageMatch(message.message_id, message.role, excerpt(message.content, words))
        for message in (await session.exec(query)).all()
    }


def excerpt(text: str, words: str) -> str:
    """The first occurrence of the words with its surroundings, in one line."""
    # Lower case may be longer than the text itself (İ): the place is one of the text then, too.
    lowered = text.lower()
    place = lowered.find(words.lower()) if len(lowered) == len(text) else text.find(words)
    start = grapheme_boundary(text, max(0, place - _BEFORE))
    end = grapheme_boundary(text, start + _EXCERPT + len(words)) or len(text)
    inner = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{inner}{'…' if end < len(text) else ''}"
