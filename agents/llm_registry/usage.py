"""What people spend on models: counted by day where runs end, and read as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from sqlalchemy import ColumnElement, func
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm_registry.models import ModelUsage, RegisteredModel
from agents.models import AgentRun
from core.auth.models import User
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now

SORT_FIELDS = ("day", "runs", "prompt_tokens", "completion_tokens", "cost")
_INSERTS = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
_PRICED_TOKENS = 1_000_000


@dataclass(frozen=True)
class SpentTokens:
    """Tokens that were spent, and on how many runs."""

    prompt_tokens: int
    completion_tokens: int
    runs: int = 0


class UsageSource(Protocol):
    """Who spends, on which model: a run, or a trial.

    Attributes:
        model_id: in the registry, or of the installation's own; empty for none.
        model: its name at the endpoint.
    """

    owner_id: str
    model_id: str
    model: str


@dataclass
class TrialUsage:
    """A spender that is no run: somebody who tries something out on a model."""

    owner_id: str
    model_id: str
    model: str


@dataclass(frozen=True)
class UsageFilter:
    """Which usage is wanted.

    Args:
        user_id: whose; None for everybody's.
    """

    since: date
    until: date
    user_id: str | None


@dataclass(frozen=True)
class UsageRow:
    """One day of one person and one model.

    Args:
        username: None for an account that is gone.
        name: the model's in the registry; None for one that is not or no more in it.
    """

    usage: ModelUsage
    username: str | None
    name: str | None


@dataclass(frozen=True)
class UsageTotals:
    """Sums; ``cost`` is None where no price was known."""

    runs: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


@dataclass(frozen=True)
class UsageListing:
    """One page of usage, how many rows there are in all, and the sums over all of them."""

    rows: Sequence[UsageRow]
    total: int
    totals: UsageTotals


async def record_run(session: AsyncSession, run: AgentRun) -> None:
    """Count a run that has ended, in the transaction that ends it.

    A run that goes on with a task has the tokens of the whole task on its row: what the runs
    before it are counted for already is taken off.
    """
    before = (0, 0)
    if run.task_id != run.id:
        sums = select(func.max(AgentRun.prompt_tokens), func.max(AgentRun.completion_tokens))
        earlier = sums.where(
            AgentRun.session_id == run.session_id,
            AgentRun.task_id == run.task_id,
            AgentRun.id != run.id,
        )
        prompt, completion = (await session.exec(earlier)).one()
        before = (prompt or 0, completion or 0)
    spent = SpentTokens(
        max(0, run.prompt_tokens - before[0]), max(0, run.completion_tokens - before[1]), runs=1
    )
    await record(session, run, spent)


async def record(session: AsyncSession, spender: UsageSource, spent: SpentTokens) -> None:
    """Add what was spent on a model to a person's day, at the price of this moment."""
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
    row = _INSERTS[session.get_bind().dialect.name](ModelUsage).values(values)
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
    asked = spent.prompt_tokens * (row.input_price or 0.0)
    return (asked + spent.completion_tokens * (row.output_price or 0.0)) / _PRICED_TOKENS


async def list_usage(session: AsyncSession, wanted: UsageFilter, page: PageRequest) -> UsageListing:
    """One page of usage with the sums over all of it."""
    conditions: list[ColumnElement[bool]] = [
        col(ModelUsage.day) >= wanted.since,
        col(ModelUsage.day) <= wanted.until,
    ]
    if wanted.user_id is not None:
        conditions.append(col(ModelUsage.user_id) == wanted.user_id)
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
