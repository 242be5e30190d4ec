"""The deletion of accounts: what an heir gets, what is erased, and what remains."""

from collections.abc import Callable
from dataclasses import asdict
from itertools import count

import pytest
from sqlalchemy import event
from sqlmodel import SQLModel, col, select

from agents.accounts import deletion
from agents.accounts.deletion import DeletionMode, DeletionResult, OwnedCounts, delete_account, purge
from agents.calendar.models import CalendarEvent, CalendarFeed
from agents.memory.models import Memory
from agents.models import AgentRun, ChatMessage, ChatSession, LoggedEvent
from agents.tool_policies.models import ChosenPolicy
from core.audit.models import AuditEntry
from core.auth.api_keys import ApiKeyDraft, create_api_key
from core.auth.authentication import principal_for_user
from core.auth.models import ApiKey, User
from core.auth.permissions import ADMIN_ROLE, DEFAULT_ROLE
from core.auth.principal import Principal
from core.auth.users import UserDraft, clean_username, create_user, ensure_roles, find_user_by_login
from core.db.database import Database
from core.db.outbox import OutboxJob
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import UserNotFound
from core.errors.conflicts import LastAdministrator, UserOwnsThings
from core.errors.requests import InvalidRequest
from kb_service.models import Attachment, Document, Evaluation, KnowledgeBase, RetrievalRecord, Transfer
from migrations.tables import all_tables
from tests.fixtures.database.databases import one_database, statements_of
from tests.fixtures.skills.skill_rows import add_skill

pytestmark = pytest.mark.anyio
OWNED = OwnedCounts(1, 1, 1, 2, 1, 1, 1)
PRIVATE = (ChatSession, AgentRun, ChatMessage, LoggedEvent, Memory, CalendarEvent, CalendarFeed,
           ChosenPolicy, RetrievalRecord, ApiKey)  # fmt: skip


async def add(database: Database, name: str, role: str = DEFAULT_ROLE) -> Principal:
    async with unit_of_work(database) as work:
        await ensure_roles(work.session)
        draft = UserDraft(name, f"{name}@example.com", "unused")
        user = await create_user(work.session, draft, role=role)
    async with database.reading() as session:
        return await principal_for_user(session, user.id)


def base_of(owner_id: str, name: str = "Docs") -> KnowledgeBase:
    return KnowledgeBase(
        owner_id=owner_id,
        name=name,
        name_key=name.casefold(),
        embedding_model="m",
        splitter="sentence",
        chunk_size=100,
        chunk_overlap=0,
    )


async def fill(database: Database, owner: Principal) -> tuple[str, str]:
    """One of everything, and a session whose run is under way: its key, and the run's."""
    user_id, base, now = owner.user_id, base_of(owner.user_id), utc_now()
    idle = ChatSession(owner_id=user_id, thread_id="idle")
    busy = ChatSession(owner_id=user_id, thread_id="busy")
    run = AgentRun(
        owner_id=user_id, run_id="r", session_id=busy.id, agent_type="react",
        lease_owner="api", lease_until=now,
    )  # fmt: skip
    busy.active_run_id = run.id
    document = Document(
        knowledge_base_id=base.id, name="a.md", file_type="markdown", file_size=1,
        media_type="text/markdown", sha256="0" * 64, storage_key="key",
    )  # fmt: skip
    async with unit_of_work(database) as work:
        for rows in (
            [base, idle, busy],
            [document, run],
            [
                Evaluation(knowledge_base_id=base.id, created_by=user_id, generation=1),
                Transfer(owner_id=user_id, knowledge_base_id=base.id, kind="copy", source="x"),
                ChatMessage(session_id=idle.id, message_id="1", position=1, role="user",
                            content="private"),
                LoggedEvent(run_id=run.id, seq=1, type="RUN_STARTED", payload="{}"),
                RetrievalRecord(user_id=user_id, run_id=run.id),
                Memory(owner_id=user_id, text="t", digest="d"),
                CalendarEvent(owner_id=user_id, title="t", starts_at=now, ends_at=now,
                              time_zone="UTC"),
                CalendarFeed(owner_id=user_id, token_hash="h"),
                ChosenPolicy(owner_id=user_id, tool="t", policy="ask"),
                Attachment(owner_id=user_id, session_id=idle.id, storage_key="image", width=1,
                           mime_type="image/png", size=1, height=1),
            ],
        ):  # fmt: skip
            work.session.add_all(rows)
            await work.session.flush()
        await add_skill(work, user_id, "mine")
        principal = await principal_for_user(work.session, user_id)
        await create_api_key(work.session, principal, ApiKeyDraft("k"))
    return busy.id, run.id


async def delete(database: Database, by: Principal, user: Principal, fate: DeletionMode) -> DeletionResult:
    async with unit_of_work(database) as work:
        return await delete_account(work, by, user.user_id, fate)


async def rows_of(database: Database, table: type[SQLModel]) -> list[SQLModel]:
    async with database.reading() as session:
        return [*(await session.exec(select(table))).all()]


def breaking_off(*, after: int) -> Callable[[object], None]:
    """Ends whoever commits, once there were so many commits."""
    commits = count(1)

    def note(_connection: object) -> None:
        if next(commits) == after:
            raise TimeoutError

    return note


async def end_run(database: Database, session_id: str) -> None:
    async with unit_of_work(database) as work:
        row = await work.session.get_one(ChatSession, session_id)
        row.active_run_id = None


async def test_account_that_owns_things_stays_until_it_is_said_what_becomes_of_them(
    database: Database,
):
    root, anna = await add(database, "root", ADMIN_ROLE), await add(database, "anna")
    await fill(database, anna)
    with pytest.raises(UserOwnsThings) as error:
        await delete(database, root, anna, DeletionMode())
    assert error.value.details == asdict(OWNED)
    for fate in (
        DeletionMode(transfer_to=root.user_id, erase=True),
        DeletionMode(transfer_to=anna.user_id),
        DeletionMode(transfer_to=new_id()),
    ):
        with pytest.raises(InvalidRequest):
            await delete(database, root, anna, fate)
    async with database.reading() as session:
        assert await principal_for_user(session, anna.user_id) == anna
    assert len(await rows_of(database, ChatSession)) == 2


async def test_heir_gets_the_knowledge_bases_and_nothing_private(database: Database):
    root, anna, ben = [
        await add(database, "root", ADMIN_ROLE),
        await add(database, "anna"),
        await add(database, "ben"),
    ]
    busy, run = await fill(database, anna)
    async with unit_of_work(database) as work:
        work.session.add_all([base_of(ben.user_id), base_of(ben.user_id, "Docs (anna)")])
    departure = await delete(database, root, anna, DeletionMode(transfer_to=ben.user_id))

    assert departure == DeletionResult(anna.user_id, "anna", ben.user_id, OWNED, 1)
    bases = await rows_of(database, KnowledgeBase)
    assert {base.owner_id for base in bases} == {ben.user_id}
    names = {base.name for base in bases if base.deleted_at is None}
    assert names == {"Docs", "Docs (anna)", "Docs (anna 2)"}
    assert [row.created_by for row in await rows_of(database, Evaluation)] == [ben.user_id]
    assert [row.owner_id for row in await rows_of(database, Transfer)] == [ben.user_id]
    # What a run still works with goes when that has ended.
    assert await purge(database) == 0
    assert [row.id for row in await rows_of(database, ChatSession)] == [busy]
    await end_run(database, busy)
    assert await purge(database) == 0
    for table in PRIVATE:
        assert await rows_of(database, table) == [], table
    (image,) = await rows_of(database, Attachment)
    assert image.deleted_at is not None
    async with unit_of_work(database) as work:
        await work.session.delete(await work.session.get_one(Attachment, image.id))
    assert await purge(database) == 1
    assert {row.username for row in await rows_of(database, User)} == {"root", "ben"}
    assert run not in {row.id for row in await rows_of(database, AgentRun)}
    (noted,) = [row for row in await rows_of(database, AuditEntry) if row.action == "user.deleted"]
    assert noted.object_name == "anna"
    assert noted.details == {"transferred_to": ben.user_id, "owned": asdict(OWNED)}


async def test_everything_is_erased_and_the_name_is_free_at_once(database: Database):
    root, anna = await add(database, "root", ADMIN_ROLE), await add(database, "anna")
    busy, _ = await fill(database, anna)
    departure = await delete(database, root, anna, DeletionMode(erase=True))

    assert (departure.heir_id, departure.owned) == (None, OWNED)
    (base,) = await rows_of(database, KnowledgeBase)
    (document,) = await rows_of(database, Document)
    assert None not in (base.deleted_at, document.deleted_at)
    assert [job.key for job in await rows_of(database, OutboxJob)] == [f"knowledge_base.erase:{base.id}"]
    async with database.reading() as session:
        assert await find_user_by_login(session, "anna") is None
        query = select(User).where(col(User.id) == anna.user_id)
        left = (await session.exec(query)).one()
    assert "anna" not in str(left.model_dump())
    again = await add(database, "anna")
    await end_run(database, busy)
    assert await purge(database) == 0
    async with unit_of_work(database) as work:
        for table in (Document, KnowledgeBase, Attachment):
            for row in (await work.session.exec(select(table))).all():
                await work.session.delete(row)
                await work.session.flush()
    assert await purge(database) == 1
    assert {row.id for row in await rows_of(database, User)} == {root.user_id, again.user_id}


async def test_many_rows_go_a_few_at_a_time_and_what_is_left_in_the_next_round(
    database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deletion, "_AT_ONCE", 10)
    root, anna = await add(database, "root", ADMIN_ROLE), await add(database, "anna")
    busy, run = await fill(database, anna)
    async with unit_of_work(database) as work:
        work.session.add_all(
            ChatMessage(session_id=busy, message_id=str(n), position=n, role="user", content="x") for n in range(1, 36)
        )
        work.session.add_all(LoggedEvent(run_id=run, seq=n, type="CUSTOM", payload="{}") for n in range(2, 26))
    await end_run(database, busy)
    with statements_of(database) as sent:
        await delete(database, root, anna, DeletionMode(erase=True))
    assert not [statement for statement in sent if "DELETE FROM chat_" in statement]

    # As when the process ends: after some of the work.
    event.listen(database.engine.sync_engine, "commit", breaking_off(after=4))
    with pytest.raises(TimeoutError):
        await purge(database)
    left = len(await rows_of(database, ChatMessage)) + len(await rows_of(database, LoggedEvent))
    assert 0 < left < 61
    with statements_of(database) as sent:
        await purge(database)
    deletions = [statement for statement in sent if "DELETE FROM chat_message" in statement]
    assert len(deletions) >= 3
    # What is gone is not looked for again in every turn.
    events = [one for one in sent if f"DELETE FROM {LoggedEvent.__tablename__}" in one]
    assert len(events) <= 2
    for table in PRIVATE:
        assert await rows_of(database, table) == [], table


@one_database
async def test_empty_account_goes_without_a_word_and_only_once(database: Database):
    root, anna = await add(database, "root", ADMIN_ROLE), await add(database, "anna")
    # Whoever guesses what it will be called can't have the name before.
    await add(database, f"deleted-{anna.user_id}")
    with pytest.raises(InvalidRequest):
        clean_username(f"deleted:{anna.user_id}")
    await delete(database, root, anna, DeletionMode())
    with pytest.raises(UserNotFound):
        await delete(database, root, anna, DeletionMode())
    assert await purge(database) == 1
    with pytest.raises(LastAdministrator):
        await delete(database, root, root, DeletionMode(erase=True))


def test_each_reference_to_an_account_is_seen_to_when_it_goes():
    """What does not go with the row by itself is named here and handled there."""
    references = {
        f"{table.name}.{key.parent.name}"
        for table in all_tables().tables.values()
        for key in table.foreign_keys
        if key.column.table.name == "user" and key.ondelete is None
    }
    assert references == {
        "agent_run.owner_id",
        "attachment.owner_id",
        "calendar_event.owner_id",
        "chat_session.owner_id",
        "evaluation.created_by",
        "knowledge_base.owner_id",
        "retrieval_record.user_id",
        "skill.owner_id",
        "transfer.owner_id",
    }
