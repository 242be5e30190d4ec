"""What the logs of a task's runs tell together: a task that waited goes on in a run of its own."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.transcript import Transcript
from agents.tables import AgentRun


async def told_calls(session: AsyncSession, task_id: str) -> set[str]:
    """Ids of the calls of a task whose result some event tells."""
    return {
        str(event["toolCallId"])
        for key in await _runs_of(session, task_id)
        for event in await event_log.read_all(session, key)
        if event["type"] == "TOOL_CALL_RESULT"
    }


async def transcript_before(session: AsyncSession, run: AgentRun) -> Transcript:
    """What earlier runs of a run's task did and no message of theirs tells."""
    transcript = Transcript()
    if run.task_id in {"", run.id}:
        # Most runs began their task themselves; those of old versions know none.
        return transcript
    for key in await _runs_of(session, run.task_id):
        if key == run.id:
            break
        earlier, transcript = transcript, Transcript()
        transcript.carry_over(earlier)
        for event in await event_log.read_all(session, key):
            transcript.observe(event)
    return transcript


async def _runs_of(session: AsyncSession, task_id: str) -> list[str]:
    """Keys of a task's runs, in the order in which they began."""
    query = select(AgentRun.id).where(AgentRun.task_id == task_id)
    in_order = query.order_by(col(AgentRun.created_at), col(AgentRun.id))
    return list((await session.exec(in_order)).all())
