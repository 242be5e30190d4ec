"""The journal of a task in the database."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

import orjson
from pydantic import JsonValue
from sqlalchemy import insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.events import RunUsage
from agents.journal import Effect, EffectStatus
from agents.models import RunEffect
from core.json_access import as_count, as_list, as_object

_COUNTED = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_prompt_tokens")


async def write(session: AsyncSession, task_id: str, effects: Sequence[Effect], *, stored: int) -> int:
    """Store new effects and statuses, in the transaction of their events; returns the stored count."""
    rows = [
        {
            "task_id": task_id,
            "position": effect.index,
            "key": effect.key,
            "status": effect.status,
            "outcome": orjson.dumps(effect.outcome).decode(),
            "seconds": effect.seconds,
        }
        for effect in effects
    ]
    new = [row for row in rows if int(row["position"]) >= stored]
    for row in rows:
        if row not in new:
            place = (col(RunEffect.task_id) == task_id, col(RunEffect.position) == row["position"])
            await session.exec(update(RunEffect).where(*place).values(**row))
    if new:
        await session.exec(insert(RunEffect), params=new)
    return stored + len(new)


async def read(session: AsyncSession, task_id: str) -> list[Effect]:
    """The whole journal of a task, in order."""
    query = select(RunEffect).where(RunEffect.task_id == task_id)
    rows = (await session.exec(query.order_by(col(RunEffect.position)))).all()
    return [
        Effect(
            row.position,
            row.key,
            cast(EffectStatus, row.status),
            cast(dict[str, JsonValue], orjson.loads(row.outcome)),
            row.seconds,
        )
        for row in rows
    ]


async def read_usage(session: AsyncSession, task_id: str) -> RunUsage:
    """Tokens of all turns in a task's journal, without the model's name."""
    turns = select(RunEffect.outcome).where(RunEffect.task_id == task_id, col(RunEffect.key).startswith("turn:"))
    total: Counter[str] = Counter()
    is_estimated = False
    for outcome in (await session.exec(turns)).all():
        for spent in map(as_object, as_list(as_object(orjson.loads(outcome)).get("usage"))):
            total.update({name: as_count(spent.get(name)) for name in _COUNTED})
            is_estimated = is_estimated or spent.get("is_estimated") is True
    # A count that was never made is 0.
    prompt, completion, reasoning, cached = (total[name] for name in _COUNTED)
    return RunUsage(prompt, completion, reasoning, cached, is_estimated=is_estimated)
