"""What ``agentex doctor`` finds of database, Redis, vector store and issuer, without a server too."""

from pydantic import BaseModel, ValidationError

from cli.commands.doctor.local import Check, Verdict, ask_child
from cli.ui.i18n import doctor as messages
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from core.settings import Settings

_MANY_JOBS = 1000


class Part(BaseModel):
    """A part as :mod:`cli.parts_check` tells it."""

    state: str
    level: str = ""
    newest: str = ""
    skew: float = 0.0
    workers: int = 0
    waiting: int = 0


class Parts(BaseModel):
    """All of them."""

    database: Part
    redis: Part
    vectors: Part
    issuer: Part


async def look_at_parts() -> Parts | None:
    """What is found; None if the look itself fails."""
    try:
        return Parts.model_validate_json(await ask_child("cli.commands.doctor.probe_backends"))
    except ValidationError:
        return None


def check_kept_parts(output: Output, settings: Settings, parts: Parts | None) -> list[Check]:
    """Database with its migration, Redis with its queue, vector store, and single sign-on."""
    if parts is None:
        hint = output.render(messages.PARTS_UNCHECKED_HINT)
        return [Check("migrations", messages.DATABASE, Verdict.FAILED, "-", hint)]
    return [
        _database(output, parts.database),
        _queue(output, parts.redis),
        _vectors(output, settings, parts.vectors),
        _issuer(output, settings, parts.issuer),
    ]


def _database(output: Output, part: Part) -> Check:
    facts = {"level": part.level, "newest": part.newest}
    known: dict[str, tuple[Verdict, Message, Message | None]] = {
        "ok": (Verdict.OK, messages.DATABASE_AT, None),
        "new": (Verdict.OK, messages.MADE_AT_START, None),
        "behind": (Verdict.FAILED, messages.DATABASE_BEHIND, messages.DATABASE_BEHIND_HINT),
        "damaged": (Verdict.FAILED, messages.DATABASE_DAMAGED, messages.DATABASE_DAMAGED_HINT),
        "ahead": (Verdict.FAILED, messages.DATABASE_AHEAD, messages.DATABASE_AHEAD_HINT),
    }
    down = (Verdict.FAILED, messages.UNREACHED, messages.DATABASE_DOWN_HINT)
    verdict, detail, hint = known.get(part.state, down)
    words = output.render(hint) if hint else ""
    return Check("migrations", messages.DATABASE, verdict, output.render(detail, **facts), words)


def _queue(output: Output, part: Part) -> Check:
    name, title = "queue", messages.QUEUE
    if part.state == "down":
        return Check(name, title, Verdict.SKIPPED, output.render(messages.QUEUE_PRIVATE))
    if part.state != "ok":
        hint = output.render(messages.QUEUE_DOWN_HINT)
        return Check(name, title, Verdict.FAILED, output.render(messages.UNREACHED), hint)
    return backlog(output, name, title, workers=part.workers, waiting=part.waiting)


def backlog(output: Output, name: str, title: Message, *, workers: int, waiting: int) -> Check:
    """Whether those who work keep up with what waits."""
    detail = output.render(messages.QUEUE_FACTS, workers=workers, waiting=waiting)
    if waiting and not workers:
        return Check(name, title, Verdict.FAILED, detail, output.render(messages.NO_WORKER_HINT))
    if waiting > _MANY_JOBS * workers:
        return Check(name, title, Verdict.WARNING, detail, output.render(messages.MANY_JOBS_HINT))
    return Check(name, title, Verdict.OK, detail)


def _vectors(output: Output, settings: Settings, part: Part) -> Check:
    name, title = "vectors", messages.VECTORS
    if settings.qdrant_url is None:
        own = messages.MADE_AT_START if part.state == "new" else messages.VECTORS_OWN
        return Check(name, title, Verdict.OK, output.render(own))
    if part.state == "ok":
        return Check(name, title, Verdict.OK, output.render(messages.VECTORS_SERVER))
    detail = messages.REFUSED if part.state == "refused" else messages.UNREACHED
    hint = output.render(messages.VECTORS_HINT)
    return Check(name, title, Verdict.FAILED, output.render(detail), hint)


def _issuer(output: Output, settings: Settings, part: Part) -> Check:
    name, title = "single_sign_on", messages.ISSUER
    known = {"off": messages.ISSUER_OFF, "ok": messages.ISSUER_ANSWERS}
    if part.state in known:
        return Check(name, title, Verdict.OK, output.render(known[part.state]))
    down = (messages.UNREACHED, messages.ISSUER_DOWN_HINT)
    faults = {
        "issuer": (messages.ISSUER_OTHER, messages.ISSUER_OTHER_HINT),
        "keys": (messages.ISSUER_KEYS, messages.ISSUER_DOWN_HINT),
    }
    detail, hint = faults.get(part.state, down)
    words = output.render(hint, issuer=settings.oidc_issuer)
    return Check(name, title, Verdict.FAILED, output.render(detail), words)
