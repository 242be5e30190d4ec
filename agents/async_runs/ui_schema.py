"""Compiler of answer summaries to UiSchema 2.0, for clients without a markdown renderer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from agents.async_runs.answer_summary import AnswerSummary, cut, leads_to_actions
from agents.async_runs.markdown_blocks import MarkdownBlock, MarkdownLink
from core.json_access import as_count, as_text

NodeStatus = Literal["info", "success", "warning", "error", "pending"]
Words = Annotated[str, Field(min_length=1, max_length=4000)]
Label = Annotated[str, Field(min_length=1, max_length=400)]
Cell = Annotated[str, Field(max_length=400)]
WebUrl = Annotated[str, Field(pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://", max_length=2000)]


class _Node(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


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
    rows: Annotated[list[Annotated[list[Cell], Field(min_length=1, max_length=12)]], Field(max_length=50)]


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


UiNode = Annotated[TextNode | BadgeNode | ListNode | TableNode | LinkNode | CitationNode, Field(discriminator="type")]


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


_MOST_BLOCKS = 80
_MOST_ITEMS = 50
_MOST_COLUMNS = 12
_MOST_LINKS = 20
_MOST_SOURCES = 20
_LONGEST_TEXT = 4000
_LONGEST_LABEL = 400
_LONGEST_URL = 2000
_LONGEST_ID = 200
_ROLES = {"heading": "subtitle", "paragraph": "body", "quote": "quote", "code": "code"}


@dataclass(frozen=True, slots=True)
class _Labels:
    locale: str
    answer: str
    partial: str
    question: str
    failure: str
    actions: str
    sources: str
    links: str
    cut: str


_ENGLISH = _Labels(
    locale="en-US",
    answer="Answer",
    partial="Incomplete answer",
    question="More is needed",
    failure="The run failed",
    actions="What you can do",
    sources="Sources",
    links="Links",
    cut="The answer goes on; its whole text is in the message.",
)
_CHINESE = _Labels(
    locale="zh-CN",
    answer="回答",
    partial="回答不完整",
    question="需要更多信息",
    failure="运行失败",
    actions="您可以",
    sources="来源",
    links="链接",
    cut="内容未完，全文见消息正文。",
)


def compile_ui_schema(report: AnswerSummary) -> dict[str, JsonValue]:
    """The card of an answer: title, badge, body, next actions, sources and links.

    Every text becomes plain text of a known node, cut to the node's bounds, so nothing in an answer
    can turn the card into something else.
    """
    words = _CHINESE if report.answer.is_chinese else _ENGLISH
    status = _status(report)
    blocks = list(report.blocks)
    title = _default_title(report, words)
    if blocks and blocks[0].kind == "heading":
        title = blocks.pop(0).text
    children: list[UiNode | StackNode] = [
        TextNode(content=cut(title, _LONGEST_LABEL), role="title"),
        BadgeNode(label=status.upper(), status=status),
        *_body(blocks, words, is_asking=report.result_type == "clarification"),
    ]
    if report.answer.failure:
        children.append(TextNode(content=cut(report.answer.failure, _LONGEST_TEXT)))
        children += _section(words.actions, [ListNode(items=list(report.suggested_actions), role="actions")])
    children += _section(words.sources, list(_sources(report.answer.citations)))
    links = dict.fromkeys(link for block in report.blocks for link in block.links)
    children += _section(words.links, list(_links(links)))
    card = UiSchemaRenderer.model_validate(
        {"locale": words.locale, "status": status, "root": StackNode(children=children)}
    )
    return card.model_dump(mode="json", by_alias=True, exclude_none=True)


def _status(report: AnswerSummary) -> NodeStatus:
    if report.status == "failed":
        return "error"
    if report.status == "partial_success":
        return "warning"
    return "success" if report.result_type == "execution_report" else "info"


def _default_title(report: AnswerSummary, words: _Labels) -> str:
    if report.status == "failed":
        return words.failure
    if report.status == "partial_success":
        return words.partial
    return words.question if report.result_type == "clarification" else words.answer


def _body(blocks: Sequence[MarkdownBlock], words: _Labels, *, is_asking: bool) -> Iterator[UiNode]:
    before: MarkdownBlock | None = None
    for block in blocks[:_MOST_BLOCKS]:
        if block.kind == "list":
            yield _list(block, is_next=is_asking or leads_to_actions(before))
        elif block.kind == "table":
            yield _table(block)
        else:
            yield TextNode.model_validate({"content": cut(block.text, _LONGEST_TEXT), "role": _ROLES[block.kind]})
            before = block if block.kind != "quote" else before
    if len(blocks) > _MOST_BLOCKS:
        yield TextNode(content=words.cut, role="caption")


def _list(block: MarkdownBlock, *, is_next: bool) -> ListNode:
    items = [cut(item, _LONGEST_TEXT) for item in block.items[:_MOST_ITEMS]]
    role = "actions" if is_next else "key_points"
    return ListNode(items=items, ordered=block.is_ordered, role=role)


def _table(block: MarkdownBlock) -> TableNode:
    def cells(row: Sequence[str]) -> list[str]:
        return [cut(cell, _LONGEST_LABEL) for cell in row[:_MOST_COLUMNS]]

    return TableNode(columns=cells(block.columns), rows=[cells(r) for r in block.rows[:_MOST_ITEMS]])


def _section(title: str, nodes: Sequence[UiNode]) -> list[UiNode | StackNode]:
    if not nodes:
        return []
    return [StackNode(appearance="plain", children=[TextNode(content=title, role="caption"), *nodes])]


def _sources(citations: Sequence[dict[str, JsonValue]]) -> Iterator[CitationNode]:
    for citation in citations[:_MOST_SOURCES]:
        name, number = as_text(citation.get("document_name")), as_count(citation.get("number"))
        headings = citation.get("heading_path")
        path = [as_text(part) for part in headings] if isinstance(headings, list) else []
        label = " › ".join(part for part in (name, *path) if part) or f"[{number}]"
        yield CitationNode(
            number=number,
            label=cut(label, _LONGEST_LABEL),
            quote=cut(as_text(citation.get("quote")), _LONGEST_LABEL),
            document_id=as_text(citation.get("document_id"))[:_LONGEST_ID],
            knowledge_base_id=as_text(citation.get("knowledge_base_id"))[:_LONGEST_ID],
            page=as_count(citation.get("page")) or None,
        )


def _links(links: dict[MarkdownLink, None]) -> Iterator[LinkNode]:
    # Long addresses are left out: a cut one leads elsewhere.
    fitting = [link for link in links if len(link.url) <= _LONGEST_URL]
    for link in fitting[:_MOST_LINKS]:
        yield LinkNode(label=cut(link.label, _LONGEST_LABEL), url=link.url)
