"""Tools that a run can't offer to its model, and why."""

from dataclasses import dataclass

from pydantic import JsonValue

from agents.llm.tool_schemas import SchemaFault

MOST_TOOLS = 128
"""Tools in one request; more are refused by OpenAI's endpoint as a whole."""


@dataclass(frozen=True, slots=True)
class UnofferedTool:
    """A tool by the name that its owner gave it, and the reason in English and Chinese."""

    name: str
    reason: str
    reason_zh: str

    def to_json(self) -> dict[str, JsonValue]:
        return {"name": self.name, "reason": self.reason, "reason_zh": self.reason_zh}


def unusable(name: str, fault: SchemaFault) -> UnofferedTool:
    """A tool whose schema no endpoint takes."""
    return UnofferedTool(name, fault.en, fault.zh)


def shadowed(name: str) -> UnofferedTool:
    """A frontend's tool that comes after another of its name."""
    reason = "another tool of the run has this name: give it another one"
    return UnofferedTool(name, reason, "本次运行中已有同名工具：请换一个名称")


def too_many(name: str) -> UnofferedTool:
    """A tool for which there is no room beside the others."""
    return UnofferedTool(
        name,
        f"a run offers at most {MOST_TOOLS} tools: bring fewer, or name the connections that the run shall use",
        f"一次运行最多提供 {MOST_TOOLS} 个工具：请减少工具，或指定本次运行使用的连接",
    )
