"""UiSchema 2.0: the nodes a client renders, each of a known type and bounded (seed 000)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

NodeStatus = Literal["info", "success", "warning", "error", "pending"]
Words = Annotated[str, Field(min_length=1, max_length=4000)]
Label = Annotated[str, Field(min_length=1, max_length=400)]
Cell = Annotated[str, Field(max_length=400)]
WebUrl = Annotated[str, Field(pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://", max_length=2000)]


class _Node(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )


class TextNode(_Node):
    """A paragraph of plain text."""

    type: Literal["text"] = "text"
    content: Words
    role: Literal["title", "subtitle", "body", "caption", "quote", "code"] = "body"


class BadgeNode(_Node):
    """A short mark of a status."""

    type: Literal["badge"] = "badge"
    label: Label
    status: NodeStatus


class ListNode(_Node):
    """Short texts one below the other."""

    type: Literal["list"] = "list"
    items: Annotated[list[Words], Field(min_length=1, max_length=50)]
    ordered: bool = False
    role: Literal["key_points", "actions"] = "key_points"


class TableNode(_Node):
    """A table; each row has as many cells as there are columns."""

    type: Literal["table"] = "table"
    columns: Annotated[list[Cell], Field(min_length=1, max_length=12)]
    rows: Annotated[
        list[Annotated[list[Cell], Field(min_length=1, max_length=12)]], Field(max_length=50)
    ]


class LinkNode(_Node):
    """A link into the web."""

    type: Literal["link"] = "link"
    label: Label
    url: WebUrl


class CitationNode(_Node):
    """A source of the answer: what its ``[number]`` stands for."""

    type: Literal["citation"] = "citation"
    number: int
    label: Label
    quote: Annotated[str, Field(max_length=400)]
    document_id: Annotated[str, Field(max_length=200)]
    knowledge_base_id: Annotated[str, Field(max_length=200)]
    page: int | None = None


UiNode = Annotated[
    TextNode | BadgeNode | ListNode | TableNode | LinkNode | CitationNode,
    Field(discriminator="type"),
]


class StackNode(_Node):
    """Nodes one below the other."""

    type: Literal["stack"] = "stack"
    appearance: Literal["card", "plain"] = "card"
    children: Annotated[list["UiNode | StackNode"], Field(max_length=120)]


class UiSchemaRenderer(_Node):
    """What a client renders for an answer."""

    version: Literal["2.0"] = "2.0"
    locale: Literal["zh-CN", "en-US"]
    status: NodeStatus
    theme: Literal["default", "light", "dark"] = "default"
    root: StackNode
