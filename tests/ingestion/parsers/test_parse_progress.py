"""The progress of a parse, from the parser to the document row."""

from itertools import count

import pytest

from core.errors.server import VectorIndexUnavailable
from ingestion import pipeline
from ingestion.attempts.claim import claim
from ingestion.context import WorkerContext
from ingestion.parsers.sandbox import progress
from ingestion.parsers.sandbox.progress import reporting_to, track_progress
from ingestion.parsers.sandbox.protocol import HEADER, pack_progress, unpack_reply
from kb_service.documents import progress as document_progress
from kb_service.models import KnowledgeBase
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.knowledge.stored_documents import reread, upload

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """Each look at the clock is a tenth of a second later."""
    ticks = count()
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(ticks) / 10)


def test_parts_are_told_in_percent_but_not_each(clock: None):
    told: list[int] = []
    with reporting_to(told.append):
        assert list(track_progress("abcdefghij", 10)) == list("abcdefghij")
    assert told == [20, 50, 80]


def test_nobody_need_listen_and_a_listener_hears_only_its_own(clock: None):
    told: list[int] = []
    with reporting_to(told.append):
        pass
    list(track_progress(range(100), 100))
    assert told == []


@pytest.mark.parametrize("percent", [0, 1, 99])
def test_progress_goes_through_the_pipe(percent: int):
    assert unpack_reply(pack_progress(percent)[HEADER.size :]) == percent


async def test_progress_of_reading_is_on_the_row_and_a_part_that_is_down_does_not_end_it(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    document = await upload(context, b"# A\n\ntext")
    bundle = await claim(context, document.id, batch=None)
    monkeypatch.setattr(pipeline, "_PROGRESS_SECONDS", 0.0)
    written = pipeline._ProgressWriter(context, bundle)
    await written.report_parsing(40)
    row = await reread(context.database, document.id)
    assert (row.stage, row.progress) == ("parsing", 40)
    assert document_progress.eta_seconds(row) is not None
    async with context.database.reading() as session:
        base = await session.get_one(KnowledgeBase, row.knowledge_base_id)
        # It begins anew with the next stage: of the knowledge base, nothing is done by that.
        assert (await document_progress.get_progress(session, SYSTEM_VIEWER, base)).percent == 0

    async def is_down(*_: object, **__: object) -> bool:
        raise VectorIndexUnavailable

    monkeypatch.setattr(pipeline, "_renew", is_down)
    await written.report_parsing(60)
    monkeypatch.undo()
    assert (await reread(context.database, document.id)).progress == 40
