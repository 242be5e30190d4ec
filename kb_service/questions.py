"""Saved questions of a knowledge base and the passages that would answer them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete as delete_from
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.database.paging import Page, paged
from core.database.types import utc_now
from core.database.unit_of_work import UnitOfWork
from core.errors import InvalidRequest, QuestionNotFound
from kb_service.models import KnowledgeBase, Question

MAX_QUESTIONS = 2000
"""Questions of one knowledge base; asking them all takes about ten seconds."""
MAX_QUESTION_CHARACTERS = 1000
MAX_EXPECTED = 20
MAX_TEXT_CHARACTERS = 4000
MAX_NAME_CHARACTERS = 255

SORT_FIELDS = ("created_at", "updated_at")

Passage = dict[str, str]
"""``document``, the name of a document, and where it matters ``text``, words of the passage."""


@dataclass(frozen=True)
class QuestionDraft:
    """A question as a caller gives it; checked before it is saved."""

    text: str
    expected: Sequence[Passage]


@dataclass(frozen=True)
class QuestionListing:
    """One page of questions and how many there are in all."""

    items: Sequence[Question]
    total: int


@dataclass(frozen=True)
class Added:
    """What became of a file of questions: how many came new, grew, or were already there."""

    added: int
    extended: int
    unchanged: int


def checked(draft: QuestionDraft) -> QuestionDraft:
    """The question without blanks around its parts and without repeated passages.

    Raises:
        InvalidRequest: a part is empty or too long, or nothing is expected.
    """
    text = " ".join(draft.text.split())
    if not 0 < len(text) <= MAX_QUESTION_CHARACTERS:
        raise InvalidRequest("question", f"Use 1 to {MAX_QUESTION_CHARACTERS} characters")
    passages = [_checked_passage(passage) for passage in draft.expected]
    distinct = [one for number, one in enumerate(passages) if one not in passages[:number]]
    if not 0 < len(distinct) <= MAX_EXPECTED:
        raise InvalidRequest("expected", f"Name 1 to {MAX_EXPECTED} passages")
    return QuestionDraft(text, distinct)


def _checked_passage(passage: Passage) -> Passage:
    document = passage.get("document", "").strip()
    if not 0 < len(document) <= MAX_NAME_CHARACTERS:
        raise InvalidRequest("document", f"Use 1 to {MAX_NAME_CHARACTERS} characters")
    text = passage.get("text", "").strip()
    if len(text) > MAX_TEXT_CHARACTERS:
        raise InvalidRequest("text", f"Use at most {MAX_TEXT_CHARACTERS} characters")
    # Words without a letter or a digit would fit every passage.
    if text and not any(character.isalnum() for character in text):
        raise InvalidRequest("text", "Use words of the passage")
    return {"document": document, **({"text": text} if text else {})}


async def get(session: AsyncSession, knowledge_base_id: str, question_id: str) -> Question:
    """Load a question of a knowledge base that already passed the gate.

    Raises:
        QuestionNotFound: there is none in this knowledge base.
    """
    query = select(Question).where(
        Question.id == question_id, Question.knowledge_base_id == knowledge_base_id
    )
    found = (await session.exec(query)).first()
    if found is None:
        raise QuestionNotFound
    return found


async def list_questions(
    session: AsyncSession, knowledge_base_id: str, page: Page
) -> QuestionListing:
    """One page of a knowledge base's questions."""
    mine = col(Question.knowledge_base_id) == knowledge_base_id
    columns = {"created_at": col(Question.created_at), "updated_at": col(Question.updated_at)}
    query = paged(select(Question).where(mine), page, columns=columns, tie=col(Question.id))
    total = select(func.count()).select_from(Question).where(mine)
    return QuestionListing((await session.exec(query)).all(), (await session.exec(total)).one())


async def list_all(session: AsyncSession, knowledge_base_id: str) -> Sequence[Question]:
    """All questions in the order in which they came; at most ``MAX_QUESTIONS``."""
    query = (
        select(Question)
        .where(col(Question.knowledge_base_id) == knowledge_base_id)
        .order_by(col(Question.created_at), col(Question.id))
    )
    return (await session.exec(query)).all()


async def add(
    work: UnitOfWork, knowledge_base: KnowledgeBase, drafts: Sequence[QuestionDraft]
) -> Added:
    """Save questions; one that is already there gets the passages that are new.

    Raises:
        InvalidRequest: a question can't be used, or they would be too many; none is saved.
    """
    present = {row.text: row for row in await list_all(work.session, knowledge_base.id)}
    counts = {"added": 0, "extended": 0, "unchanged": 0}
    for draft in map(checked, drafts):
        row = present.get(draft.text)
        if row is None:
            expected = [dict(passage) for passage in draft.expected]
            row = Question(knowledge_base_id=knowledge_base.id, text=draft.text, expected=expected)
            present[draft.text] = row
            counts["added"] += 1
        else:
            counts["extended" if _extend(row, draft.expected) else "unchanged"] += 1
        work.session.add(row)
    if len(present) > MAX_QUESTIONS:
        raise InvalidRequest("questions", f"A knowledge base holds at most {MAX_QUESTIONS}")
    await work.session.flush()
    return Added(**counts)


def _extend(row: Question, passages: Sequence[Passage]) -> bool:
    fresh = [dict(passage) for passage in passages if passage not in row.expected]
    if not fresh:
        return False
    draft = checked(QuestionDraft(row.text, [*row.expected, *fresh]))
    row.expected, row.updated_at = [dict(passage) for passage in draft.expected], utc_now()
    return True


async def create(work: UnitOfWork, knowledge_base: KnowledgeBase, draft: QuestionDraft) -> Question:
    """Save one question, which is new or gets more expected passages.

    Raises:
        InvalidRequest: it can't be used, or the knowledge base is full.
    """
    await add(work, knowledge_base, [draft])
    query = select(Question).where(
        Question.knowledge_base_id == knowledge_base.id, Question.text == checked(draft).text
    )
    return (await work.session.exec(query)).one()


async def change(work: UnitOfWork, row: Question, draft: QuestionDraft) -> Question:
    """Put another text or other passages in place of a question's.

    Raises:
        InvalidRequest: it can't be used, or another question has this text.
    """
    clean = checked(draft)
    twin = select(Question.id).where(
        Question.knowledge_base_id == row.knowledge_base_id,
        Question.text == clean.text,
        Question.id != row.id,
    )
    if (await work.session.exec(twin)).first() is not None:
        raise InvalidRequest("question", "Another saved question has this text")
    row.text, row.expected = clean.text, [dict(passage) for passage in clean.expected]
    row.updated_at = utc_now()
    work.session.add(row)
    return row


async def delete(work: UnitOfWork, row: Question) -> None:
    """Remove a question; measurements that asked it stay as they are."""
    await work.session.delete(row)


async def delete_all(work: UnitOfWork, knowledge_base_id: str) -> None:
    """Remove all questions of a knowledge base."""
    mine = col(Question.knowledge_base_id) == knowledge_base_id
    await work.session.exec(delete_from(Question).where(mine))
