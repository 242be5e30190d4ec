"""Trigger tests: which requests choose a skill among its siblings, and their stored reports."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, and_, delete, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.auth.locks import lock_owner
from core.auth.models import User
from core.db.pagination import PageRequest, paginate
from core.db.unit_of_work import UnitOfWork
from kb_service.embeddings.protocol import Encoder
from kb_service.visibility import Viewer
from skills.models import Skill, SkillTriggerTest, SkillVersion
from skills.selection.selector import prepare_selector
from skills.store import catalog
from skills.store.access import SkillView
from skills.store.catalog import CatalogCard
from skills.store.summary import SkillCard

# Encoding takes long: only what shares words with the requests can be mistaken for the skill.
_MOST_NEIGHBOURS = 40
_LIKELIEST = 5
_VALIDATION_SHARE = 0.4


@dataclass(frozen=True)
class TriggerQuery:
    """A request, and whether it should choose the skill."""

    query: str
    should_trigger: bool


@dataclass(frozen=True)
class TriggerAnswer:
    """What one request chose.

    Args:
        query: the request.
        should_trigger: whether it should choose the skill.
        triggered: whether it does: without a model, when it is the best one; with one, when it is
            loaded in at least half of the trials.
        score: how well the skill fits, from 0 to 1; with a model, in how many of the trials it was
            loaded.
        chosen: slug of what it chooses, as ``owner/slug`` for others' skills; None for nothing.
        split: ``train``, to write the description by, or ``validation``, to judge it by.
    """

    query: str
    should_trigger: bool
    triggered: bool
    score: float
    chosen: str | None
    split: str


@dataclass(frozen=True)
class Rates:
    """How often the choice was right; None where there is nothing to judge by.

    Args:
        queries: how many there were.
        recall: of those that should choose the skill, how many do.
        precision: of those that do, how many should.
    """

    queries: int
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class TriggerReport:
    """The outcome for one version of a skill.

    Args:
        version: of the skill.
        model: that chose, by its name; None for the offline selector.
        runs: how often each request was asked.
        neighbours: how many other skills it was tested among.
        all: over all requests.
        train: over three fifths of them.
        validation: over the others.
        confusion: how many requests that should choose the skill chose another one, by that one.
        answers: request by request.
    """

    version: int
    model: str | None
    runs: int
    neighbours: int
    all: Rates
    train: Rates
    validation: Rates
    confusion: dict[str, int]
    answers: tuple[TriggerAnswer, ...]


@dataclass(frozen=True)
class TriggerCandidates:
    """The skill in the version under test, and the others that a reader's agents choose among."""

    tested: CatalogCard
    siblings: tuple[CatalogCard, ...]
    reader_id: str

    def name_of(self, card: CatalogCard) -> str:
        """A skill's slug; ``owner/slug`` for others' skills."""
        is_own = card.owner_id == self.reader_id
        return card.slug if is_own else f"{card.owner}/{card.slug}"


async def read_candidates(
    session: AsyncSession, reader: Viewer, view: SkillView, version: SkillVersion
) -> TriggerCandidates:
    """The skills that a reader's agents choose among, the tested one in this version."""
    owner = await session.get(User, view.skill.owner_id)
    tested = CatalogCard.of(view.skill, version, "" if owner is None else owner.username)
    readable = await catalog.list_readable(session, reader)
    siblings = tuple(card for card in readable if card.id != tested.id)
    return TriggerCandidates(tested, siblings, reader.user_id)


async def run_offline(
    candidates: TriggerCandidates, queries: Sequence[TriggerQuery], encoder: Encoder | None
) -> TriggerReport:
    """Ask the offline selector, once for each request since it is deterministic; no encoder: words alone decide."""
    tested = candidates.tested
    # By place in memory: choices give the very cards back.
    names = {id(card): candidates.name_of(card) for card in (tested, *candidates.siblings)}
    selector = await prepare_selector([tested, *await _likeliest_siblings(candidates.siblings, queries)], encoder)
    answers: list[TriggerAnswer] = []
    for query, split in zip(queries, split_queries(queries), strict=True):
        ranked = await selector.rank(query.query)
        best = ranked[0]
        answers.append(
            TriggerAnswer(
                query=query.query,
                should_trigger=query.should_trigger,
                triggered=best.is_chosen and best.card is tested,
                score=next(choice.score for choice in ranked if choice.card is tested),
                chosen=names[id(best.card)] if best.is_chosen else None,
                split=split,
            )
        )
    return make_report(candidates, answers)


def make_report(
    candidates: TriggerCandidates, answers: Sequence[TriggerAnswer], *, model: str | None = None, runs: int = 1
) -> TriggerReport:
    """The report on one answer for each request; without a model the offline selector chose."""
    missed = (answer for answer in answers if answer.should_trigger and not answer.triggered)
    confusion = Counter(answer.chosen for answer in missed if answer.chosen is not None)
    return TriggerReport(
        version=candidates.tested.version,
        model=model,
        runs=runs,
        neighbours=len(candidates.siblings),
        all=compute_rates(answers),
        train=compute_rates([answer for answer in answers if answer.split == "train"]),
        validation=compute_rates([answer for answer in answers if answer.split == "validation"]),
        confusion=dict(confusion.most_common()),
        answers=tuple(answers),
    )


async def _likeliest_siblings(siblings: Sequence[SkillCard], queries: Sequence[TriggerQuery]) -> Sequence[SkillCard]:
    if len(siblings) <= _MOST_NEIGHBOURS:
        return siblings
    selector = await prepare_selector(siblings)
    best_scores: Counter[int] = Counter()
    for query in queries:
        for choice in (await selector.rank(query.query))[:_LIKELIEST]:
            key = id(choice.card)
            best_scores[key] = max(best_scores[key], round(choice.score * 1000) + 1)
    likely = {key for key, _ in best_scores.most_common(_MOST_NEIGHBOURS)}
    return [card for card in siblings if id(card) in likely]


def split_queries(queries: Sequence[TriggerQuery]) -> list[str]:
    """Train or validation for each request: deterministic, with both kinds in both."""
    splits = ["train"] * len(queries)
    for kind in (True, False):
        places = [at for at, query in enumerate(queries) if query.should_trigger is kind]
        places.sort(key=lambda at: hashlib.sha256(queries[at].query.encode()).digest())
        for at in places[: round(len(places) * _VALIDATION_SHARE)]:
            splits[at] = "validation"
    return splits


def compute_rates(answers: Sequence[TriggerAnswer]) -> Rates:
    """Recall and precision of answers."""
    right = sum(answer.triggered and answer.should_trigger for answer in answers)
    should = sum(answer.should_trigger for answer in answers)
    chosen = sum(answer.triggered for answer in answers)
    return Rates(len(answers), right / should if should else None, right / chosen if chosen else None)


MOST_KEPT = 50
"""Tests of one user and skill; the oldest are deleted."""

SORT_FIELDS = ("created_at", "version")
_REPORT = TypeAdapter(TriggerReport)


@dataclass(frozen=True)
class TriggerTestListing:
    """One page of tests, and how many there are in all."""

    items: Sequence[SkillTriggerTest]
    total: int


async def save_report(work: UnitOfWork, skill_id: str, user_id: str, report: TriggerReport) -> SkillTriggerTest | None:
    """Store a report for the user who ran the test; None if the skill was deleted meanwhile."""
    # Accounts come before skills wherever both are taken, here because the row refers to both.
    await lock_owner(work.session, user_id)
    present = select(Skill.id).where(Skill.id == skill_id)
    present = present.with_for_update(read=True, key_share=True)
    if (await work.session.exec(present)).first() is None:
        return None
    row = SkillTriggerTest(
        skill_id=skill_id,
        user_id=user_id,
        version=report.version,
        model=report.model or "",
        report=_REPORT.dump_python(report, mode="json"),
    )
    work.session.add(row)
    await work.session.flush()
    mine = _tests_of(skill_id, user_id)
    newest = select(SkillTriggerTest.id).where(mine)
    newest = newest.order_by(col(SkillTriggerTest.created_at).desc(), col(SkillTriggerTest.id))
    newest_ids = (await work.session.exec(newest.limit(MOST_KEPT))).all()
    await work.session.exec(delete(SkillTriggerTest).where(mine, col(SkillTriggerTest.id).not_in(newest_ids)))
    return row


def load_report(row: SkillTriggerTest) -> TriggerReport:
    """The report of a stored test."""
    return _REPORT.validate_python(row.report)


async def list_tests(
    session: AsyncSession, skill_id: str, user_id: str, page: PageRequest, version: int | None = None
) -> TriggerTestListing:
    """One page of a user's tests of a skill, or of one version of it."""
    condition = _tests_of(skill_id, user_id)
    if version is not None:
        condition = and_(condition, col(SkillTriggerTest.version) == version)
    count = select(func.count()).select_from(SkillTriggerTest).where(condition)
    query = paginate(
        select(SkillTriggerTest).where(condition),
        page,
        columns={name: col(getattr(SkillTriggerTest, name)) for name in SORT_FIELDS},
        tie=col(SkillTriggerTest.id),
    )
    return TriggerTestListing((await session.exec(query)).all(), (await session.exec(count)).one())


def _tests_of(skill_id: str, user_id: str) -> ColumnElement[bool]:
    return and_(col(SkillTriggerTest.skill_id) == skill_id, col(SkillTriggerTest.user_id) == user_id)
