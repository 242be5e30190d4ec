"""Blocks and properties of a Notion page as Markdown (developers.notion.com/reference: Block, Rich text, Page properties)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ingestion.connectors.rest import markdown
from ingestion.connectors.rest.json_values import JsonMapping, as_items, as_mapping, as_text

_HEADINGS: Mapping[str, int] = {"heading_1": 2, "heading_2": 3, "heading_3": 4}
_MARKS: Mapping[str, str] = {"bulleted_list_item": "- ", "numbered_list_item": "1. "}
_LISTED = frozenset({*_MARKS, "to_do"})
_LINKS = frozenset({"bookmark", "embed", "link_preview"})
_FILES = frozenset({"image", "video", "file", "pdf", "audio"})
_TITLED = frozenset({"child_page", "child_database"})
_QUOTED = frozenset({"quote", "callout"})
# Other pages of their own: their text is not that of this one.
SEPARATE = _TITLED


@dataclass(frozen=True)
class NotionBlock:
    """A block and the blocks in it."""

    fields: JsonMapping
    children: list["NotionBlock"] = field(default_factory=list["NotionBlock"])

    @property
    def kind(self) -> str:
        return as_text(self.fields.get("type"))

    @property
    def content(self) -> JsonMapping:
        """The fields of its kind."""
        return as_mapping(self.fields.get(self.kind))


def title_of(properties: JsonMapping) -> str:
    """The title among a page's properties; empty without one."""
    for value in properties.values():
        fields = as_mapping(value)
        if fields.get("type") == "title":
            return _rich_text(fields.get("title"), is_plain=True)
    return ""


def page_markdown(properties: JsonMapping, blocks: Sequence[NotionBlock]) -> str:
    """A page with its properties, as those of a database have them."""
    facts = [
        f"{' '.join(name.split())}: {value}"
        for name, fields in properties.items()
        if (value := _property(as_mapping(fields)))
    ]
    title = markdown.heading(1, title_of(properties))
    return "\n\n".join(filter(None, [title, "  \n".join(facts), _children(blocks)])) + "\n"


def _children(blocks: Sequence[NotionBlock]) -> str:
    return markdown.joined((_block(block), block.kind in _LISTED) for block in blocks)


def _block(block: NotionBlock) -> str:
    kind = block.kind
    if kind == "table":
        rows = (as_items(row.content.get("cells")) for row in block.children)
        return markdown.table([[_rich_text(cell) for cell in row] for row in rows])
    own, below = _own_text(block), _children(block.children)
    if kind in _LISTED:
        mark = _MARKS.get(kind) or ("- [x] " if block.content.get("checked") is True else "- [ ] ")
        return markdown.list_item(mark, own, below)
    text = "\n\n".join(filter(None, [own, below]))
    return markdown.quoted(text) if text and kind in _QUOTED else text


def _own_text(block: NotionBlock) -> str:
    kind, content = block.kind, block.content
    text = _rich_text(content.get("rich_text"))
    if kind in _HEADINGS:
        return markdown.heading(_HEADINGS[kind], text)
    match kind:
        case "code":
            return markdown.fence(_rich_text(content.get("rich_text"), is_plain=True))
        case "equation":
            return f"$${as_text(content.get('expression')).strip()}$$"
        case "divider":
            return "---"
        case _ if kind in _TITLED:
            return as_text(content.get("title"))
        case _ if kind in _LINKS:
            url = as_text(content.get("url"))
            return markdown.link(_rich_text(content.get("caption")) or url, url)
        case _ if kind in _FILES:
            return _rich_text(content.get("caption")) or as_text(content.get("name"))
        case _:
            return markdown.paragraph(text)


def _rich_text(value: object, *, is_plain: bool = False) -> str:
    parts: list[str] = []
    for item in as_items(value):
        run = as_mapping(item)
        text, style = as_text(run.get("plain_text")), as_mapping(run.get("annotations"))
        if is_plain:
            parts.append(text)
            continue
        text = markdown.styled(text, is_code=style.get("code") is True, is_bold=style.get("bold") is True)
        parts.append(markdown.link(text, as_text(run.get("href"))))
    return "".join(parts)


def _property(fields: JsonMapping) -> str:
    """A property's value in one line; empty for those that are no text, and for the title."""
    kind = as_text(fields.get("type"))
    value = fields.get(kind)
    match kind:
        case "rich_text":
            text = _rich_text(value)
        case "select" | "status":
            text = as_text(as_mapping(value).get("name"))
        case "multi_select" | "people":
            text = ", ".join(filter(None, (as_text(as_mapping(item).get("name")) for item in as_items(value))))
        case "date":
            text = " – ".join(filter(None, (as_text(as_mapping(value).get(name)) for name in ("start", "end"))))
        case "number":
            text = str(value) if isinstance(value, int | float) else ""
        case "checkbox":
            text = "yes" if value is True else "no"
        case "url" | "email" | "phone_number":
            text = as_text(value)
        case _:
            text = ""
    return " ".join(text.split())
