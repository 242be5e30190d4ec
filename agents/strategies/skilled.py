"""What a model is given of the run's skills: the index, and the text of those that are active."""

from collections.abc import Sequence
from dataclasses import replace

from agents.models.port import Message
from agents.skill_use.shelf import SkillShelf


def equipped(
    skills: SkillShelf | None, messages: Sequence[Message], *, offers_tools: bool
) -> list[Message]:
    """The messages with the active skills in them.

    Args:
        skills: the run's; None for none.
        messages: a system message first.
        offers_tools: whether the model may load a skill: then it is told which there are.
    """
    if skills is None:
        return list(messages)
    told = skills.exchange_for(messages)
    if offers_tools and skills.index.text and told and told[0].role == "system":
        told[0] = replace(told[0], content=f"{told[0].content}\n\n{skills.index.text}")
    return told
