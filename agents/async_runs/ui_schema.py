"""Compiles a report into UiSchema 2.0: what a client without a markdown renderer shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agents.async_runs.answer_summary import Report, cut, leads_to_actions
from agents.async_runs.markdown_blocks import Block, Link
from agents.async_runs.ui_nodes import (
    BadgeNode,
    CitationNode,
    LinkNode,
    ListNode,
    NodeStatus,
    StackNode,
    TableNode,
    TextNode,
    UiNode,
    UiSchemaRenderer,
)
from core.json_access import as_count, as_text

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
class _Words:
    """What a card says of itself."""

    locale: str
    answer: str
    partial: str
    question: str
    failure: str
    actions: str
    sources: str
    links: str
    cut: str


_ENGLISH = _Words(
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
_CHINESE = _Words(
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


def compile_ui_schema(report: Report) -> dict[str, JsonValue]:
    """The card of an answer: title, badge, body, next actions, sources and links.

    Every text becomes a plain text of a known node and is cut to the node's bounds, so that
    nothing in an answer can make anything else of the card.
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
        children += _section(
            words.actions, [ListNode(items=list(report.suggested_actions), role="actions")]
        )
    children += _section(words.sources, list(_sources(report.answer.citations)))
    links = dict.fromkeys(link for block in report.blocks for link in block.links)
    children += _section(words.links, list(_links(links)))
    card = UiSchemaRenderer.model_validate(
        {"locale": words.locale, "status": status, "root": StackNode(children=children)}
    )
    return card.model_dump(mode="json", by_alias=True, exclude_none=True)


def _status(report: Report) -> NodeStatus:
    if report.status == "failed":
        return "error"
    if report.status == "partial_success":
        return "warning"
    return "success" if report.result_type == "execution_report" else "info"


def _default_title(report: Report, words: _Words) -> str:
    if report.status == "failed":
        return words.failure
    if report.status == "partial_success":
        return words.partial
    return words.question if report.result_type == "clarification" else words.answer


def _body(blocks: Sequence[Block], words: _Words, *, is_asking: bool) -> Iterator[UiNode]:
    before: Block | None = None
    for block in blocks[:_MOST_BLOCKS]:
        if block.kind == "list":
            yield _list(block, is_next=is_asking or leads_to_actions(before))
        elif block.kind == "table":
            yield _table(block)
        else:
            yield TextNode.model_validate(
                {"content": cut(block.text, _LONGEST_TEXT), "role": _ROLES[block.kind]}
            )
            before = block if block.kind != "quote" else before
    if len(blocks) > _MOST_BLOCKS:
        yield TextNode(content=words.cut, role="caption")


def _list(block: Block, *, is_next: bool) -> ListNode:
    items = [cut(item, _LONGEST_TEXT) for item in block.items[:_MOST_ITEMS]]
    role = "actions" if is_next else "key_points"
    return ListNode(items=items, ordered=block.is_ordered, role=role)


def _table(block: Block) -> TableNode:
    def cells(row: Sequence[str]) -> list[str]:
        return [cut(cell, _LONGEST_LABEL) for cell in row[:_MOST_COLUMNS]]

    return TableNode(
        columns=cells(block.columns), rows=[cells(r) for r in block.rows[:_MOST_ITEMS]]
    )


def _section(title: str, nodes: Sequence[UiNode]) -> list[UiNode | StackNode]:
    if not nodes:
        return []
    return [
        StackNode(appearance="plain", children=[TextNode(content=title, role="caption"), *nodes])
    ]


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


def _links(links: dict[Link, None]) -> Iterator[LinkNode]:
    # Half an address leads somewhere else: a long one is left out.
    fitting = [link for link in links if len(link.url) <= _LONGEST_URL]
    for link in fitting[:_MOST_LINKS]:
        yield LinkNode(label=cut(link.label, _LONGEST_LABEL), url=link.url)
