"""Saved questions of a knowledge base and the passages that would answer them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import QuestionNotFound
from core.errors.requests import InvalidRequest
from kb_service.document_names import lock_names
from kb_service.models import Document, KnowledgeBase, Question
from kb_service.visibility import SYSTEM_VIEWER, Viewer, restricted_ids_by_name, sees_all, visible_ids

MAX_QUESTIONS = 2000
"""Questions of one knowledge base; asking them all takes about ten seconds."""
MAX_QUESTION_CHARACTERS = 1000
MAX_EXPECTED = 20
MAX_TEXT_CHARACTERS = 4000
MAX_NAME_CHARACTERS = 255

SORT_FIELDS = ("created_at", "updated_at")

PassageSpec = dict[str, str]
"""``document``, a name, and optionally ``text``, words of the passage."""


@dataclass(frozen=True)
class QuestionDraft:
    """An unchecked question from a caller.

    Args:
        restricted_to: on import: the documents that ``Question.restricted_to`` had; keeps it apart from others of its
            text.
    """

    text: str
    expected: Sequence[PassageSpec]
    restricted_to: Sequence[str] = ()


@dataclass(frozen=True)
class QuestionListing:
    """One page of questions, and the total."""

    items: Sequence[Question]
    total: int


@dataclass(frozen=True)
class ImportCounts:
    """How many imported questions were new, got more passages, or already existed."""

    added: int
    extended: int
    unchanged: int


def validate_draft(draft: QuestionDraft) -> QuestionDraft:
    """Strip the question and its passages, remove duplicates and check the lengths."""
    text = " ".join(draft.text.split())
    if not 0 < len(text) <= MAX_QUESTION_CHARACTERS:
        raise _wrong_length("question", 1, MAX_QUESTION_CHARACTERS)
    passages = [_checked_passage(passage) for passage in draft.expected]
    distinct = _distinct(passages)
    if not 0 < len(distinct) <= MAX_EXPECTED:
        en, zh = f"Name 1 to {MAX_EXPECTED} passages", f"请给出 1 到 {MAX_EXPECTED} 个段落"
        raise InvalidRequest("expected", en, zh)
    return replace(draft, text=text, expected=distinct)


def _wrong_length(field: str, least: int, most: int) -> InvalidRequest:
    words = f"{least} to {most}" if least else f"at most {most}"
    zh = f"应为 {least} 到 {most} 个字符" if least else f"最多 {most} 个字符"
    return InvalidRequest(field, f"Use {words} characters", zh)


def _distinct(passages: Sequence[PassageSpec]) -> list[PassageSpec]:
    return [passage for number, passage in enumerate(passages) if passage not in passages[:number]]


def _checked_passage(passage: PassageSpec) -> PassageSpec:
    document = passage.get("document", "").strip()
    if not 0 < len(document) <= MAX_NAME_CHARACTERS:
        raise _wrong_length("document", 1, MAX_NAME_CHARACTERS)
    text = passage.get("text", "").strip()
    if len(text) > MAX_TEXT_CHARACTERS:
        raise _wrong_length("text", 0, MAX_TEXT_CHARACTERS)
    # Text without a letter or a digit would match every passage.
    if text and not any(character.isalnum() for character in text):
        raise InvalidRequest("text", "Use words of the passage", "请使用段落中的文字")
    return {"document": document, **({"text": text} if text else {})}


async def get(session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, question_id: str) -> Question:
    """Load a question of a knowledge base that already passed the gate."""
    query = (
        select(Question)
        .where(Question.id == question_id, Question.knowledge_base_id == knowledge_base.id)
        .execution_options(populate_existing=True)
    )
    rows = await _visible(session, viewer, knowledge_base, (await session.exec(query)).all())
    if not rows:
        raise QuestionNotFound
    return rows[0]


async def _visible(
    session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, rows: Sequence[Question]
) -> Sequence[Question]:
    """Filter out questions about documents that are hidden from the viewer.

    A question about a restricted document that was deleted since is the owner's alone.
    """
    about = {id_ for row in rows for id_ in row.restricted_to}
    if not about or sees_all(knowledge_base, viewer):
        return rows
    read = await visible_ids(session, viewer, about)
    return [row for row in rows if read.issuperset(row.restricted_to)]


async def _bind(session: AsyncSession, viewer: Viewer, knowledge_base_id: str, rows: Sequence[Question]) -> None:
    """Tie new questions to the restricted documents that they are about, as their author sees them."""
    names = {passage["document"] for row in rows for passage in row.expected}
    restricted = await restricted_ids_by_name(session, viewer, knowledge_base_id, names)
    for row in rows:
        ids = {id_ for passage in row.expected for id_ in restricted.get(passage["document"], ())}
        # A tie survives the removal of a passage: the question's own words stay.
        row.restricted_to = sorted({*row.restricted_to, *ids})
        session.add(row)


async def restrict_questions(session: AsyncSession, document: Document) -> None:
    """Tie the questions about a document to it after it was restricted."""
    mine = col(Question.knowledge_base_id) == document.knowledge_base_id
    for row in (await session.exec(select(Question).where(mine))).all():
        if any(passage["document"] == document.name for passage in row.expected):
            row.restricted_to = sorted({*row.restricted_to, document.id})
            session.add(row)


async def rename_document(session: AsyncSession, document: Document, before: str) -> None:
    """Update a renamed document's name in questions, in the transaction that holds the lock on names.

    A question tied to restricted namesakes is taken to be about those. If the renamed document is open, such a question
    is also tied to it, in case it is restricted later.
    """
    mine = col(Question.knowledge_base_id) == document.knowledge_base_id
    rows = (await session.exec(select(Question).where(mine))).all()
    affected = [row for row in rows if any(passage["document"] == before for passage in row.expected)]
    if not affected:
        return
    namesakes = await _namesakes(session, document, before)
    for row in affected:
        about = set(row.restricted_to)
        if document.restricted and document.id not in about:
            continue
        if not document.restricted and about & namesakes:
            row.restricted_to = sorted({*about, document.id})
        else:
            renamed = [
                {**passage, "document": document.name} if passage["document"] == before else passage
                for passage in row.expected
            ]
            row.expected = _distinct(renamed)
        session.add(row)


async def _namesakes(session: AsyncSession, document: Document, name: str) -> set[str]:
    query = select(Document.id).where(
        col(Document.knowledge_base_id) == document.knowledge_base_id,
        col(Document.name) == name,
        col(Document.restricted).is_(True),
        col(Document.id) != document.id,
    )
    return set((await session.exec(query)).all())


async def list_questions(
    session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase, page: PageRequest
) -> QuestionListing:
    """One page of a knowledge base's questions that the viewer may see."""
    mine = select(Question).where(col(Question.knowledge_base_id) == knowledge_base.id)
    columns = {"created_at": col(Question.created_at), "updated_at": col(Question.updated_at)}
    if sees_all(knowledge_base, viewer):
        query = paginate(mine, page, columns=columns, tie=col(Question.id))
        total = select(func.count()).select_from(mine.subquery())
        return QuestionListing((await session.exec(query)).all(), (await session.exec(total)).one())
    # Not in SQL: the two databases differ in JSON queries, and questions are few.
    whole = replace(page, number=1, size=MAX_QUESTIONS)
    all_rows = (await session.exec(paginate(mine, whole, columns=columns, tie=col(Question.id)))).all()
    rows = await _visible(session, viewer, knowledge_base, all_rows)
    start = (page.number - 1) * page.size
    return QuestionListing(rows[start : start + page.size], len(rows))


async def list_all(session: AsyncSession, viewer: Viewer, knowledge_base: KnowledgeBase) -> Sequence[Question]:
    """All questions that the viewer may see, oldest first; at most ``MAX_QUESTIONS``."""
    query = (
        select(Question)
        .where(col(Question.knowledge_base_id) == knowledge_base.id)
        .order_by(col(Question.created_at), col(Question.id))
    )
    return await _visible(session, viewer, knowledge_base, (await session.exec(query)).all())


async def add_questions(
    work: UnitOfWork, viewer: Viewer, knowledge_base: KnowledgeBase, drafts: Sequence[QuestionDraft]
) -> ImportCounts:
    """Save questions, all or none; an existing one gets the passages that are new."""
    await _lock_names(work, knowledge_base)
    rows = await list_all(work.session, SYSTEM_VIEWER, knowledge_base)
    visible = await _visible(work.session, viewer, knowledge_base, rows)
    present: dict[tuple[str, tuple[str, ...]], Question] = {(row.text, ()): row for row in visible}
    touched: dict[str, Question] = {}
    counts = {"added": 0, "extended": 0, "unchanged": 0}
    for draft in map(validate_draft, drafts):
        key = (draft.text, tuple(sorted(draft.restricted_to)))
        row = present.get(key)
        if row is None:
            row = Question(
                knowledge_base_id=knowledge_base.id,
                text=draft.text,
                expected=[dict(passage) for passage in draft.expected],
                restricted_to=[*key[1]],
            )
            present[key] = row
            counts["added"] += 1
        else:
            counts["extended" if _extend(row, draft.expected) else "unchanged"] += 1
        touched[row.id] = row
    if len(rows) + counts["added"] > MAX_QUESTIONS:
        zh = f"一个知识库最多保存 {MAX_QUESTIONS} 个问题"
        raise InvalidRequest("questions", f"A knowledge base holds at most {MAX_QUESTIONS}", zh)
    await _bind(work.session, viewer, knowledge_base.id, [*touched.values()])
    if any(row.restricted_to for row in touched.values()) and not knowledge_base.narrowed:
        # Even if the documents are open or deleted by now, these questions need the visibility check.
        knowledge_base.narrowed = True
        work.session.add(knowledge_base)
    await work.session.flush()
    return ImportCounts(**counts)


async def _lock_names(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Lock names and permissions, and refresh ``narrowed``, which other transactions may have set."""
    turn = await lock_names(work.session, knowledge_base.id)
    if turn.narrowed and not knowledge_base.narrowed:
        await work.session.refresh(knowledge_base, ["narrowed"])


def _extend(row: Question, passages: Sequence[PassageSpec]) -> bool:
    fresh = [dict(passage) for passage in passages if passage not in row.expected]
    if not fresh:
        return False
    draft = validate_draft(QuestionDraft(row.text, [*row.expected, *fresh]))
    row.expected, row.updated_at = [dict(passage) for passage in draft.expected], utc_now()
    return True


async def create(work: UnitOfWork, viewer: Viewer, knowledge_base: KnowledgeBase, draft: QuestionDraft) -> Question:
    """Save one question; an existing one gets the passages that are new."""
    await add_questions(work, viewer, knowledge_base, [draft])
    clean = validate_draft(draft)
    query = select(Question).where(Question.knowledge_base_id == knowledge_base.id, Question.text == clean.text)
    # There may be another question of this text that is hidden from the viewer.
    rows = (await work.session.exec(query)).all()
    visible = await _visible(work.session, viewer, knowledge_base, rows)
    return next(row for row in visible if all(passage in row.expected for passage in clean.expected))


async def change(
    work: UnitOfWork, viewer: Viewer, knowledge_base: KnowledgeBase, row: Question, draft: QuestionDraft
) -> Question:
    """Replace a question's text and passages."""
    clean = validate_draft(draft)
    await _lock_names(work, knowledge_base)
    row = await get(work.session, viewer, knowledge_base, row.id)
    others = await list_all(work.session, viewer, knowledge_base)
    if any(other.text == clean.text and other.id != row.id for other in others):
        zh = "已有文字相同的另一个问题"
        raise InvalidRequest("question", "Another saved question has this text", zh)
    if not any(passage in row.expected for passage in clean.expected):
        row.restricted_to = []
    row.text, row.expected = clean.text, [dict(passage) for passage in clean.expected]
    row.updated_at = utc_now()
    await _bind(work.session, viewer, knowledge_base.id, [row])
    return row


async def delete(work: UnitOfWork, row: Question) -> None:
    """Delete a question; past measurements stay as they are."""
    await work.session.delete(row)


async def delete_all(work: UnitOfWork, viewer: Viewer, knowledge_base: KnowledgeBase) -> None:
    """Delete all questions of a knowledge base that the viewer may see."""
    for row in await list_all(work.session, viewer, knowledge_base):
        await work.session.delete(row)
    await work.session.flush()
