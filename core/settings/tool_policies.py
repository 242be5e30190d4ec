"""Policies for tool calls, and the setting ``AGENTEX_TOOL_POLICIES``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ToolPolicy = Literal["auto", "ask", "never"]
"""``auto`` runs at once, ``ask`` needs a person's consent, ``never`` is switched off."""
_STRICTNESS: Mapping[ToolPolicy, int] = {"auto": 0, "ask": 1, "never": 2}


def is_freer(policy: ToolPolicy, than: ToolPolicy) -> bool:
    """Whether a policy allows more than another one."""
    return _STRICTNESS[policy] < _STRICTNESS[than]


@dataclass(frozen=True, slots=True)
class ServerPolicies:
    """A server's default policy per tool, and the operator's bounds: people may only be stricter than these."""

    defaults: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])
    bounds: Mapping[str, ToolPolicy] = field(default_factory=dict[str, ToolPolicy])

    @property
    def forbidden(self) -> frozenset[str]:
        """The tools that the operator has switched off for everybody."""
        return frozenset(name for name, policy in self.bounds.items() if policy == "never")

    def in_force(self, name: str, own: ToolPolicy | None) -> ToolPolicy:
        """The policy of a tool for a person; ``own`` is their choice, if any."""
        bound = self.bounds.get(name)
        if bound is None:
            return own or self.defaults[name]
        return bound if own is None or is_freer(own, bound) else own
