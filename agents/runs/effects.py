"""The journal of a task in the database."""

from collections.abc import Sequence
from typing import cast

import orjson
from pydantic import JsonValue
from sqlalchemy import insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.journal import Effect, EffectStatus
from agents.tables import RunEffect


async def write(
    session: AsyncSession, task_id: str, effects: Sequence[Effect], *, stored: int
) -> int:
    """Store what a journal learned, in the transaction of the events that tell it.

    Args:
        session: a writing session.
        task_id: whose journal.
        effects: new ones, and old ones in a new status.
        stored: how many are stored already.

    Returns:
        How many are stored now.
    """
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
            place = (
                col(RunEffect.task_id) == task_id,
                col(RunEffect.position) == row["position"],
            )
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
