"""The diagrams of the agent types' steps in the documentation, compared with their workflows."""

import itertools
import re
from typing import Any

import pytest
from workflows.events import StartEvent, StopEvent

from agents.strategies import ROUTED
from tests.fixtures.paths import ROOT

DOC = (ROOT / "docs" / "agents.md").read_text()
_ARROW = re.compile(r'\s*(?:-- (?:"[^"]*"|[^-]*?) -->|-->)\s*')


def documented_edges(agent_type: str) -> set[tuple[str, str]]:
    """The arrows in the picture of an agent type."""
    (picture,) = re.findall(rf"^### {agent_type}\n\n```mermaid\n(.*?)```", DOC, re.DOTALL | re.MULTILINE)
    arrows: set[tuple[str, str]] = set()
    for line in picture.splitlines()[1:]:
        steps = _ARROW.split(line.strip())
        arrows |= set(itertools.pairwise(steps))
    return arrows


def workflow_edges(agent_type: str) -> set[tuple[str, str]]:
    """The ways from step to step that the workflow has."""
    configs: dict[str, Any] = {
        name: step._step_config for name, step in ROUTED[agent_type]._get_steps_from_class().items()
    }
    ends = {StopEvent, StartEvent, type(None)}
    return {
        (name, after)
        for name, config in configs.items()
        for after, next_config in configs.items()
        if set(config.return_types) & set(next_config.accepted_events) - ends
    }


@pytest.mark.parametrize("agent_type", ROUTED)
def test_picture_has_every_way_and_no_other(agent_type: str):
    names = {"make_attempt": "attempt"}
    ways = {(names.get(a, a), names.get(b, b)) for a, b in workflow_edges(agent_type)}

    assert ways
    assert documented_edges(agent_type) == ways
