"""Resources and prompts of MCP servers: their lists and their texts, within bounds."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

if TYPE_CHECKING:
    # The protocol is loaded with the first session: it takes half a second.
    import mcp_types

TextKind = Literal["resources", "prompts"]
TEXT_KINDS: tuple[TextKind, ...] = ("resources", "prompts")
LIST_RESOURCES, READ_RESOURCE = "mcp_list_resources", "mcp_read_resource"
LIST_PROMPTS, GET_PROMPT = "mcp_list_prompts", "mcp_get_prompt"
TEXT_TOOLS = (LIST_RESOURCES, READ_RESOURCE, LIST_PROMPTS, GET_PROMPT)
"""The tools of runs that list and read them."""
MOST_ENTRIES = 500
"""How many resources or prompts of one server are listed."""
LONGEST_URI = 2000
_LONGEST_NAME, _LONGEST_DESCRIPTION, _LONGEST_TYPE = 256, 1000, 100
_MOST_ARGUMENTS = 50


@dataclass(frozen=True, slots=True)
class McpResource:
    """A resource as its server describes it; of a template, the ``uri`` has parts in braces."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class McpPromptArgument:
    """An argument of a prompt, which is a text."""

    name: str
    description: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class McpPrompt:
    """A prompt as its server describes it."""

    name: str
    description: str = ""
    arguments: tuple[McpPromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerText:
    """A part of a resource or a prompt; ``text`` is None of one that is no text, which has ``size`` bytes.

    ``source`` is the URI of a resource, and the role of a prompt's message.
    """

    source: str
    mime_type: str
    text: str | None
    size: int

    def to_json(self) -> dict[str, JsonValue]:
        return asdict(self)


def read_resource_entry(entry: "mcp_types.Resource | mcp_types.ResourceTemplate") -> McpResource | None:
    """A resource or a template of a list; None if its URI is empty or too long."""
    uri = getattr(entry, "uri", "") or getattr(entry, "uri_template", "")
    if not 0 < len(uri) <= LONGEST_URI:
        return None
    return McpResource(
        uri,
        (entry.title or entry.name)[:_LONGEST_NAME],
        (entry.description or "")[:_LONGEST_DESCRIPTION],
        (entry.mime_type or "")[:_LONGEST_TYPE],
        is_template=not hasattr(entry, "uri"),
    )


def read_prompt_entry(entry: "mcp_types.Prompt") -> McpPrompt | None:
    """A prompt of a list; None if its name is empty or too long."""
    if not 0 < len(entry.name) <= _LONGEST_NAME:
        return None
    arguments = tuple(
        McpPromptArgument(
            argument.name, (argument.description or "")[:_LONGEST_DESCRIPTION], is_required=bool(argument.required)
        )
        for argument in (entry.arguments or [])[:_MOST_ARGUMENTS]
        if 0 < len(argument.name) <= _LONGEST_NAME
    )
    return McpPrompt(entry.name, (entry.description or entry.title or "")[:_LONGEST_DESCRIPTION], arguments)


def read_resource_texts(result: "mcp_types.ReadResourceResult") -> tuple[ServerText, ...]:
    """The parts of a resource."""
    return tuple(_of_contents(contents) for contents in result.contents)


def read_prompt_texts(result: "mcp_types.GetPromptResult") -> tuple[ServerText, ...]:
    """The messages of a prompt."""
    return tuple(_of_message(message) for message in result.messages)


def cut_texts(texts: Sequence[ServerText], characters: int) -> tuple[list[ServerText], bool]:
    """The parts with so many characters in all, and whether some are missing."""
    parts: list[ServerText] = []
    for text in texts:
        if text.text is None:
            parts.append(text)
            continue
        parts.append(ServerText(text.source, text.mime_type, text.text[:characters], text.size))
        if len(text.text) > characters:
            return parts, True
        characters -= len(text.text)
    return parts, False


def _of_contents(contents: "mcp_types.TextResourceContents | mcp_types.BlobResourceContents") -> ServerText:
    uri, mime_type = str(contents.uri)[:LONGEST_URI], (contents.mime_type or "")[:_LONGEST_TYPE]
    text: str | None = getattr(contents, "text", None)
    if text is not None:
        return ServerText(uri, mime_type, text, len(text.encode()))
    return ServerText(uri, mime_type, None, _size(getattr(contents, "blob", "")))


def _of_message(message: "mcp_types.PromptMessage") -> ServerText:
    block = message.content
    if block.type == "text":
        return ServerText(message.role, "text/plain", block.text, len(block.text.encode()))
    if block.type == "resource":
        inner = _of_contents(block.resource)
        return ServerText(message.role, inner.mime_type, inner.text, inner.size)
    if block.type == "resource_link":
        text = json.dumps({"link": str(block.uri)[:LONGEST_URI], "name": block.name[:_LONGEST_NAME]})
        return ServerText(message.role, "application/json", text, len(text))
    return ServerText(message.role, block.mime_type[:_LONGEST_TYPE], None, _size(block.data))


def _size(encoded: str) -> int:
    try:
        return len(base64.b64decode(encoded, validate=True))
    except binascii.Error:
        return len(encoded)
