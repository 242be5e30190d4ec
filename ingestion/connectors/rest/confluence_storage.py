"""The storage format of Confluence as an HTML page.

Its elements are those of confluence.atlassian.com/doc/confluence-storage-format-790796544.html: XHTML with macros, links
and images of its own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from html.entities import html5

from ingestion.parsers.office.xml import stream_xml

_BLOCK = 64 * 1024
_CDATA = re.compile(r"(<!\[CDATA\[.*?\]\]>)", re.DOTALL)
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
# What no XML may hold.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_TAGS = frozenset(
    [
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "th",
        "td",
        "a",
        "strong",
        "b",
        "em",
        "i",
        "u",
        "s",
        "del",
        "code",
        "pre",
        "blockquote",
        "br",
        "hr",
        "div",
        "span",
        "sub",
        "sup",
        "dl",
        "dt",
        "dd",
        "caption",
    ]
)
_EMPTY_TAGS = frozenset({"br", "hr"})
_ATTRIBUTES = frozenset({"colspan", "rowspan"})
_SILENT = frozenset({"placeholder", "task-id", "task-uuid"})
# Elements of Confluence's own, and the HTML that stands for them.
_STAND_INS: Mapping[str, str] = {
    "rich-text-body": "div",
    "task-list": "ul",
    "task": "li",
    "layout-section": "div",
    "layout-cell": "div",
}
# Parameters that people see, by the macro that they belong to.
_SHOWN_PARAMETERS: Mapping[str, str] = {
    "status": "title",
    "jira": "key",
    "info": "title",
    "note": "title",
    "tip": "title",
    "warning": "title",
    "panel": "title",
    "expand": "title",
    "code": "title",
}
# What stands for elements without text, and for links without one.
_SHOWN_ATTRIBUTES: Mapping[str, str] = {
    "image": "ac:alt",
    "time": "datetime",
    "emoticon": "ac:emoji-fallback",
}
_TARGETS: Mapping[str, str] = {
    "page": "ri:content-title",
    "blog-post": "ri:content-title",
    "attachment": "ri:filename",
    "space": "ri:space-key",
}
_INLINE = frozenset({"status", "jira"})


def storage_page(title: str, storage: str) -> str:
    """A page with its title as the heading; ParseFailure where the text is not in storage format."""
    writer = _StorageWriter()
    text = _wrapped(storage)
    for _ in stream_xml((text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK)), writer):
        pass
    heading = escape(title)
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{heading}</title></head>'
        f"<body><h1>{heading}</h1>\n{''.join(writer.parts)}\n</body></html>\n"
    )


def _wrapped(storage: str) -> str:
    """The text as one element, with characters for HTML's entities, which XML does not know."""
    parts = _CDATA.split(_CONTROL.sub("", storage))
    texts = (part if part.startswith("<![CDATA[") else _ENTITY.sub(_character, part) for part in parts)
    return f"<storage>{''.join(texts)}</storage>"


def _character(match: re.Match[str]) -> str:
    name = match[1]
    if name in _XML_ENTITIES:
        return match[0]
    return html5.get(f"{name};") or f"&amp;{name};"


@dataclass
class _Macro:
    name: str
    parameter: str = ""


@dataclass
class _PendingLink:
    """A link, the number of parts before it, and what is shown where it has no text."""

    start: int
    target: str = ""


@dataclass
class _StorageWriter:
    """Receives the elements, and writes HTML."""

    parts: list[str] = field(default_factory=list[str])
    _names: list[str] = field(default_factory=list[str])
    _macros: list[_Macro] = field(default_factory=list[_Macro])
    _links: list[_PendingLink] = field(default_factory=list[_PendingLink])
    _silent: int = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._names.append(name)
        match name:
            case "structured-macro" | "macro":
                self._macros.append(_Macro(attributes.get("ac:name", "")))
            case "parameter":
                self._start_parameter(attributes.get("ac:name", ""))
            case "plain-text-body":
                self.parts.append("<pre>")
            case "link":
                self._links.append(_PendingLink(len(self.parts)))
            case _ if name in _TARGETS and self._links:
                self._links[-1].target = attributes.get(_TARGETS[name], "")
            case _ if name in _SHOWN_ATTRIBUTES:
                self.parts.append(escape(attributes.get(_SHOWN_ATTRIBUTES[name], "")))
            case _ if name in _SILENT:
                self._silent += 1
            case _:
                self._start_tag(_STAND_INS.get(name, name), attributes)

    def end(self, name: str) -> None:
        self._names.pop()
        match name:
            case "structured-macro" | "macro":
                self._macros.pop()
            case "parameter":
                self._end_parameter()
            case "plain-text-body":
                self.parts.append("</pre>")
            case "link":
                link = self._links.pop()
                if not "".join(self.parts[link.start :]).strip():
                    self.parts.append(escape(link.target))
            case _ if name in _SILENT:
                self._silent -= 1
            case _:
                tag = _STAND_INS.get(name, name)
                if tag in _TAGS and tag not in _EMPTY_TAGS:
                    self.parts.append(f"</{tag}>")

    def text(self, data: str) -> None:
        if self._silent:
            return
        if self._names and self._names[-1] == "task-status":
            self.parts.append("[x] " if data.strip() == "complete" else "[ ] ")
            return
        self.parts.append(escape(data, quote=False))

    def _start_tag(self, tag: str, attributes: dict[str, str]) -> None:
        if tag not in _TAGS:
            return
        values = {name: value for name, value in attributes.items() if name in _ATTRIBUTES}
        if tag == "a" and attributes.get("href", "").startswith(("http://", "https://")):
            values["href"] = attributes["href"]
        self.parts.append("".join([f"<{tag}", *(f' {name}="{escape(value)}"' for name, value in values.items()), ">"]))

    def _start_parameter(self, name: str) -> None:
        macro = self._macros[-1] if self._macros else _Macro("")
        macro.parameter = name
        if _SHOWN_PARAMETERS.get(macro.name) != name:
            self._silent += 1
        elif macro.name not in _INLINE:
            self.parts.append("<p><strong>")

    def _end_parameter(self) -> None:
        macro = self._macros[-1] if self._macros else _Macro("")
        if _SHOWN_PARAMETERS.get(macro.name) != macro.parameter:
            self._silent -= 1
        elif macro.name not in _INLINE:
            self.parts.append("</strong></p>")
