"""What a model is given of the run's skills: the index, and the text of those that are active."""

from collections.abc import Container, Sequence
from dataclasses import replace

from agents.llm.base import Message
from agents.skills.run_skills import LOAD, SkillShelf


def equipped(
    skills: SkillShelf | None, messages: Sequence[Message], tools: Container[str]
) -> list[Message]:
    """The messages with the active skills in them.

    Args:
        skills: the run's; None for none.
        messages: a system message first.
        tools: those that the model may call; while it may load skills it is told which there are.
    """
    if skills is None:
        return list(messages)
    told = skills.exchange_for(messages)
    if LOAD in tools and skills.index.text and told and told[0].role == "system":
        told[0] = replace(told[0], content=f"{told[0].content}\n\n{skills.told_index()}")
    return told
