"""Token usage and cost, counted by person, model and day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from sqlalchemy import ColumnElement, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm_registry.models import ModelUsage, RegisteredModel
from agents.models import AgentRun
from core.auth.models import User
from core.db.insert import insert_into
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now

SORT_FIELDS = ("day", "runs", "prompt_tokens", "completion_tokens", "cost")
_PRICED_TOKENS = 1_000_000


@dataclass(frozen=True)
class SpentTokens:
    """Spent tokens, and on how many runs."""

    prompt_tokens: int
    completion_tokens: int
    runs: int = 0


class UsageSource(Protocol):
    """A run or trial that spends tokens; an empty ``model_id`` is not counted."""

    owner_id: str
    model_id: str
    model: str


@dataclass
class TrialUsage:
    """A usage source without a run."""

    owner_id: str
    model_id: str
    model: str


@dataclass(frozen=True)
class UsageFilter:
    """Days, both inclusive, and the person; None for everybody."""

    since: date
    until: date
    user_id: str | None


@dataclass(frozen=True)
class UsageRow:
    """Usage of one day, person and model; names are None if the account or model is gone."""

    usage: ModelUsage
    username: str | None
    name: str | None


@dataclass(frozen=True)
class UsageTotals:
    """Sums; ``cost`` is None without prices."""

    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


@dataclass(frozen=True)
class UsageListing:
    """One page of usage, the number of all rows, and sums over them."""

    rows: Sequence[UsageRow]
    total: int
    totals: UsageTotals


async def record_run(session: AsyncSession, run: AgentRun) -> None:
    """Count an ended run in the transaction that ends it.

    The row of a continued task has the tokens of the whole task, so those of earlier runs are subtracted.
    """
    before = (0, 0)
    if run.task_id != run.id:
        sums = select(func.max(AgentRun.prompt_tokens), func.max(AgentRun.completion_tokens))
        earlier = sums.where(
            AgentRun.session_id == run.session_id, AgentRun.task_id == run.task_id, AgentRun.id != run.id
        )
        prompt, completion = (await session.exec(earlier)).one()
        before = (prompt or 0, completion or 0)
    spent = SpentTokens(max(0, run.prompt_tokens - before[0]), max(0, run.completion_tokens - before[1]), runs=1)
    await record(session, run, spent)


async def record(session: AsyncSession, spender: UsageSource, spent: SpentTokens) -> None:
    """Add tokens to a person's day, at the current price."""
    if not spender.model_id:
        return
    cost = _cost(await session.get(RegisteredModel, spender.model_id), spent)
    values = {
        "day": utc_now().date(),
        "user_id": spender.owner_id,
        "model_id": spender.model_id,
        "model": spender.model,
        "runs": spent.runs,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost": cost,
    }
    row = insert_into(session, ModelUsage).values(values)
    added: dict[str, object] = {
        name: col(getattr(ModelUsage, name)) + row.excluded[name]
        for name in ("runs", "prompt_tokens", "completion_tokens")
    }
    if cost is not None:
        added["cost"] = func.coalesce(ModelUsage.cost, 0.0) + row.excluded.cost
    keys = ["day", "user_id", "model_id", "model"]
    await session.exec(row.on_conflict_do_update(index_elements=keys, set_=added))


def _cost(row: RegisteredModel | None, spent: SpentTokens) -> float | None:
    if row is None or (row.input_price is None and row.output_price is None):
        return None
    input_cost = spent.prompt_tokens * (row.input_price or 0.0)
    return (input_cost + spent.completion_tokens * (row.output_price or 0.0)) / _PRICED_TOKENS


async def list_usage(session: AsyncSession, usage_filter: UsageFilter, page: PageRequest) -> UsageListing:
    """One page of usage with sums over all rows."""
    conditions: list[ColumnElement[bool]] = [
        col(ModelUsage.day) >= usage_filter.since,
        col(ModelUsage.day) <= usage_filter.until,
    ]
    if usage_filter.user_id is not None:
        conditions.append(col(ModelUsage.user_id) == usage_filter.user_id)
    query = paginate(
        select(ModelUsage).where(*conditions),
        page,
        columns={name: col(getattr(ModelUsage, name)) for name in SORT_FIELDS},
        tie=col(ModelUsage.model_id),
    ).order_by(col(ModelUsage.day), col(ModelUsage.user_id), col(ModelUsage.model))
    rows = (await session.exec(query)).all()
    users = select(User.id, User.username).where(col(User.id).in_({row.user_id for row in rows}))
    names = dict((await session.exec(users)).all())
    models = select(RegisteredModel.id, RegisteredModel.name)
    titles = dict((await session.exec(models)).all())
    sums = select(
        func.count(),
        func.sum(ModelUsage.runs),
        func.sum(ModelUsage.prompt_tokens),
        func.sum(ModelUsage.completion_tokens),
    ).where(*conditions)
    total, runs, prompt_tokens, completion_tokens = (await session.exec(sums)).one()
    costs = select(func.sum(ModelUsage.cost)).where(*conditions)
    cost = (await session.exec(costs)).one()
    totals = UsageTotals(runs or 0, prompt_tokens or 0, completion_tokens or 0, cost)
    listed = [UsageRow(row, names.get(row.user_id), titles.get(row.model_id)) for row in rows]
    return UsageListing(listed, total, totals)
