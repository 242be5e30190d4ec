"""What skills of runs are referred to by."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SkillVersionRef:
    """A version of a skill.

    Args:
        id: of the skill.
        version: its number.
        sha: SHA-256 of its content, hexadecimal.
    """

    id: str
    version: int
    sha: str


@dataclass(frozen=True, slots=True)
class TaskOfOwner:
    """A task of runs (``AgentRun.task_id``), and the account whose it is."""

    id: str
    owner_id: str
