"""Settings of the skill library."""

from pydantic import BaseModel, Field


class SkillSettings(BaseModel):
    """Limits on skills, and the skills of a new installation."""

    skills_per_user: int = Field(default=1000, ge=1, le=100_000, description="Most skills kept for one user.")
    skill_bytes_per_user: int = Field(
        default=512 * 2**20, ge=2**20, description="Bytes of one user's skills, with all versions and files."
    )
    starter_skills_enabled: bool = Field(
        default=True, description="Make the skills that come with Agentex public ones at first start."
    )
    skills_over_mcp_enabled: bool = Field(
        default=True, description="Serve callers the skills that their agents may use over MCP, at /api/v1/mcp."
    )
