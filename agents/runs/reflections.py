"""What earlier runs of a thread said to themselves about their attempts, read from their logs."""

from collections.abc import Sequence

import orjson
from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import AgentRun, LoggedEvent
from agents.runs.store import StartedRun
from core.json_access import as_list, as_object, as_text

MOST_REFLECTIONS = 10
LONGEST_REFLECTION = 500
_MOST_RUNS = 10
_PATH = "/reflections"


async def read_earlier(
    session: AsyncSession, run: StartedRun, agent_types: Sequence[str]
) -> tuple[str, ...]:
    """The newest reflections of the thread's earlier tasks, the oldest of them first.

    The logs are all there is of them: written before their runs ended, deleted with the thread.
    They stay the same for as long as a run holds the thread.

    Args:
        session: a reading session.
        run: whose thread; its own task is left out.
        agent_types: those that reflect.
    """
    earlier = (
        select(AgentRun.id)
        .where(
            AgentRun.session_id == run.session_key,
            AgentRun.task_id != run.task_id,
            col(AgentRun.agent_type).in_(agent_types),
        )
        .order_by(col(AgentRun.created_at).desc(), col(AgentRun.id).desc())
        .limit(_MOST_RUNS)
    )
    query = (
        select(AgentRun.task_id, LoggedEvent.payload)
        .join(LoggedEvent, col(LoggedEvent.run_id) == col(AgentRun.id))
        .where(
            col(AgentRun.id).in_(earlier),
            LoggedEvent.type == "STATE_DELTA",
            # The index gives the runs' events; this spares reading most of them.
            col(LoggedEvent.payload).contains(f'"{_PATH}"', autoescape=True),
        )
        .order_by(col(AgentRun.created_at), col(AgentRun.id), col(LoggedEvent.seq))
    )
    by_task: dict[str, list[str]] = {}
    for task_id, payload in (await session.exec(query)).all():
        event: JsonValue = orjson.loads(payload)
        for operation in map(as_object, as_list(as_object(event).get("delta"))):
            # Each change tells all of a task's so far.
            if operation.get("path") == _PATH:
                by_task[task_id] = [as_text(one) for one in as_list(operation.get("value"))]
    said = [reflection for reflections in by_task.values() for reflection in reflections]
    return tuple(_shortened(reflection) for reflection in said[-MOST_REFLECTIONS:])


def _shortened(text: str) -> str:
    is_short = len(text) <= LONGEST_REFLECTION
    return text if is_short else f"{text[: LONGEST_REFLECTION - 1]}…"
