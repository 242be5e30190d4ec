"""The skills of a new installation."""

from core.auth.principal import Principal
from core.db.unit_of_work import UnitOfWork
from core.settings import Settings
from skills.starters import LANGUAGES, starters
from skills.store import service as skill_service
from skills.store.metadata import CatalogMetadata
from skills.store.service import NewSkill, Origin, SkillContext
from skills.store.versions import SkillLimits, VersionChange
from skills.validation import validate

_NOTE = "Comes with Agentex / 随 Agentex 提供"


async def add(work: UnitOfWork, settings: Settings, admin: Principal) -> None:
    """Add the sample skills as public skills of the administrator, who may change or delete them."""
    context = SkillContext(work, admin, SkillLimits(settings.skills_per_user, settings.skill_bytes_per_user))
    for language in LANGUAGES:
        for starter in starters(language):
            slug = starter.key if language == LANGUAGES[0] else f"{starter.key}-{language}"
            new = NewSkill(
                await validate(starter.content),
                CatalogMetadata(is_public=True),
                VersionChange(_NOTE),
                Origin(preferred_slug=slug),
            )
            await skill_service.create(context, new)
