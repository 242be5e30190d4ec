"""Checks of ``agentex doctor`` for database, Redis, vector store and issuer."""

from pydantic import BaseModel, ValidationError

from cli.commands.doctor.local import CheckResult, CheckVerdict, ask_child
from cli.ui.i18n import doctor as messages
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from core.settings import Settings

_MANY_JOBS = 1000


class BackendReport(BaseModel):
    """A part's report from :mod:`cli.commands.doctor.probe_backends`."""

    state: str
    level: str = ""
    newest: str = ""
    skew: float = 0.0
    workers: int = 0
    waiting: int = 0


class BackendReports(BaseModel):
    """The reports of all parts."""

    database: BackendReport
    redis: BackendReport
    vectors: BackendReport
    issuer: BackendReport


async def look_at_parts() -> BackendReports | None:
    """Run the probe; None if it fails."""
    try:
        return BackendReports.model_validate_json(await ask_child("cli.commands.doctor.probe_backends"))
    except ValidationError:
        return None


def check_kept_parts(output: Output, settings: Settings, parts: BackendReports | None) -> list[CheckResult]:
    """Database with its migration, Redis with its queue, vector store, and single sign-on."""
    if parts is None:
        hint = output.render(messages.PARTS_UNCHECKED_HINT)
        return [CheckResult("migrations", messages.DATABASE, CheckVerdict.FAILED, "-", hint)]
    return [
        _database(output, parts.database),
        _queue(output, parts.redis),
        _vectors(output, settings, parts.vectors),
        _issuer(output, settings, parts.issuer),
    ]


def _database(output: Output, part: BackendReport) -> CheckResult:
    facts = {"level": part.level, "newest": part.newest}
    outcomes: dict[str, tuple[CheckVerdict, Message, Message | None]] = {
        "ok": (CheckVerdict.OK, messages.DATABASE_AT, None),
        "new": (CheckVerdict.OK, messages.MADE_AT_START, None),
        "behind": (CheckVerdict.FAILED, messages.DATABASE_BEHIND, messages.DATABASE_BEHIND_HINT),
        "damaged": (CheckVerdict.FAILED, messages.DATABASE_DAMAGED, messages.DATABASE_DAMAGED_HINT),
        "ahead": (CheckVerdict.FAILED, messages.DATABASE_AHEAD, messages.DATABASE_AHEAD_HINT),
    }
    down = (CheckVerdict.FAILED, messages.UNREACHED, messages.DATABASE_DOWN_HINT)
    verdict, detail, hint = outcomes.get(part.state, down)
    words = output.render(hint) if hint else ""
    return CheckResult("migrations", messages.DATABASE, verdict, output.render(detail, **facts), words)


def _queue(output: Output, part: BackendReport) -> CheckResult:
    name, title = "queue", messages.QUEUE
    if part.state == "down":
        return CheckResult(name, title, CheckVerdict.SKIPPED, output.render(messages.QUEUE_PRIVATE))
    if part.state != "ok":
        hint = output.render(messages.QUEUE_DOWN_HINT)
        return CheckResult(name, title, CheckVerdict.FAILED, output.render(messages.UNREACHED), hint)
    return backlog(output, name, title, workers=part.workers, waiting=part.waiting)


def backlog(output: Output, name: str, title: Message, *, workers: int, waiting: int) -> CheckResult:
    """Whether the workers keep up with the queue."""
    detail = output.render(messages.QUEUE_FACTS, workers=workers, waiting=waiting)
    if waiting and not workers:
        return CheckResult(name, title, CheckVerdict.FAILED, detail, output.render(messages.NO_WORKER_HINT))
    if waiting > _MANY_JOBS * workers:
        return CheckResult(name, title, CheckVerdict.WARNING, detail, output.render(messages.MANY_JOBS_HINT))
    return CheckResult(name, title, CheckVerdict.OK, detail)


def _vectors(output: Output, settings: Settings, part: BackendReport) -> CheckResult:
    name, title = "vectors", messages.VECTORS
    if settings.qdrant_url is None:
        own = messages.MADE_AT_START if part.state == "new" else messages.VECTORS_OWN
        return CheckResult(name, title, CheckVerdict.OK, output.render(own))
    if part.state == "ok":
        return CheckResult(name, title, CheckVerdict.OK, output.render(messages.VECTORS_SERVER))
    detail = messages.REFUSED if part.state == "refused" else messages.UNREACHED
    hint = output.render(messages.VECTORS_HINT)
    return CheckResult(name, title, CheckVerdict.FAILED, output.render(detail), hint)


def _issuer(output: Output, settings: Settings, part: BackendReport) -> CheckResult:
    name, title = "single_sign_on", messages.ISSUER
    outcomes = {"off": messages.ISSUER_OFF, "ok": messages.ISSUER_ANSWERS}
    if part.state in outcomes:
        return CheckResult(name, title, CheckVerdict.OK, output.render(outcomes[part.state]))
    down = (messages.UNREACHED, messages.ISSUER_DOWN_HINT)
    faults = {
        "issuer": (messages.ISSUER_OTHER, messages.ISSUER_OTHER_HINT),
        "keys": (messages.ISSUER_KEYS, messages.ISSUER_DOWN_HINT),
    }
    detail, hint = faults.get(part.state, down)
    words = output.render(hint, issuer=settings.oidc_issuer)
    return CheckResult(name, title, CheckVerdict.FAILED, output.render(detail), words)
