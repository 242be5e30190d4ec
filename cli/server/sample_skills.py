"""The skills that come with Agentex, given to everybody at the first start."""

from core.auth.principal import Principal
from core.db.unit_of_work import UnitOfWork
from core.settings import Settings
from skills.lint.validate import judge
from skills.starters import LANGUAGES, starters
from skills.store import service as skill_service
from skills.store.metadata import Entry
from skills.store.service import Desk, Provenance, Wanted
from skills.store.versions import Change, Limits

_NOTE = "Comes with Agentex / 随 Agentex 提供"


async def add(work: UnitOfWork, settings: Settings, admin: Principal) -> None:
    """Make the starters public skills of the administrator, who may change or delete them.

    Args:
        work: the transaction of the first start.
        settings: say how much one user may keep.
        admin: whose they are.
    """
    desk = Desk(work, admin, Limits(settings.skills_per_user, settings.skill_bytes_per_user))
    for language in LANGUAGES:
        for one in starters(language):
            slug = one.key if language == LANGUAGES[0] else f"{one.key}-{language}"
            wanted = Wanted(
                await judge(one.content),
                Entry(is_public=True),
                Change(_NOTE),
                Provenance(likes_slug=slug),
            )
            await skill_service.create(desk, wanted)
