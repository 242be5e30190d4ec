"""YAML values with places; anchors, aliases, tags and repeated keys are refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from skills.diagnostics import Finding

DEEPEST = 8
"""How deep lists and mappings may stand in each other."""

# The reader in C where the wheel carries it: ten times as fast, the same events.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ONLY_YAML_BREAKS = "\x85\u2028\u2029"
# More signs than a frontmatter of the greatest size can hold.
_PRIVATE_USE = range(0xE000, 0xF900)
_REFUSED_ZH = {"anchor": "锚点", "alias": "别名", "tag": "标签"}


class YamlRefused(Exception):
    """A document with refused syntax; ``finding`` says what and where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.code)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class YamlValue:
    """A value with its place, counted from 1, up to the column behind its last character.

    ``text`` is a scalar without quotes and folding, ``scalar`` as YAML reads it; ``flow``: written as ``[…]`` or
    ``{…}``; ``unquoted``: a text that YAML reads only in quotes.
    """

    kind: Literal["scalar", "list", "map"]
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""
    scalar: object = None
    items: tuple["YamlValue", ...] = ()
    entries: tuple["YamlField", ...] = ()
    flow: bool = False
    unquoted: bool = False

    @property
    def is_text(self) -> bool:
        return self.kind == "scalar" and isinstance(self.scalar, str)


@dataclass(frozen=True, slots=True)
class YamlField:
    """A field of a mapping: its key with its place, and its value; ``end_line`` is its last line."""

    key: str
    line: int
    column: int
    value: YamlValue

    @property
    def end_line(self) -> int:
        return max(self.line, self.value.end_line)


def read(text: str, *, first_line: int, findings: list[Finding]) -> YamlValue | None:
    """The first document of a text with ``\\n`` line ends, starting at ``first_line`` of the file; ``None`` for none.

    SK016 goes to ``findings`` for repeated keys, whose first value is kept.

    Raises:
        YamlRefused: an anchor, alias or tag, or too deep (SK017).
        yaml.YAMLError: not YAML.
    """
    stand_ins = _stand_ins(text)
    reader = _EventReader(first_line, findings, {ord(to): sign for sign, to in stand_ins.items()})
    for event in _events(text.translate(str.maketrans(stand_ins))):
        reader.take(event)
    return reader.document


def _stand_ins(text: str) -> dict[str, str]:
    """Unused characters to replace those that only YAML takes for line ends."""
    free = (chr(code) for code in _PRIVATE_USE if chr(code) not in text)
    return {sign: next(free) for sign in _ONLY_YAML_BREAKS if sign in text}


def _events(text: str) -> Iterator[Any]:
    loader = _Loader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


@dataclass(slots=True)
class _OpenCollection:
    start: yaml.CollectionStartEvent
    items: list[YamlValue]


class _EventReader:
    """Builds values from events without recursion."""

    def __init__(self, first_line: int, findings: list[Finding], written: Mapping[int, str]) -> None:
        self.document: YamlValue | None = None
        self._first_line = first_line
        self._findings = findings
        self._written = written
        self._open: list[_OpenCollection] = []

    def take(self, event: yaml.Event) -> None:
        self._refuse(event)
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open.append(_OpenCollection(event, []))
            if len(self._open) > DEEPEST:
                facts = {"limit": DEEPEST}
                raise YamlRefused(self._finding("SK017", event, facts, variant="depth"))
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self._open.pop()
            self._add(self._collection(done, event))

    def _refuse(self, event: yaml.Event) -> None:
        construct = text = ""
        if isinstance(event, yaml.AliasEvent):
            construct, text = "alias", f"*{event.anchor}"
        elif anchor := getattr(event, "anchor", None):
            construct, text = "anchor", f"&{anchor}"
        elif tag := getattr(event, "tag", None):
            construct, text = "tag", str(tag)
        if construct:
            facts = {"what": construct, "what_zh": _REFUSED_ZH[construct], "text": text}
            raise YamlRefused(self._finding("SK017", event, facts))

    def _finding(self, code: str, event: yaml.Event, facts: Mapping[str, object], *, variant: str = "") -> Finding:
        line, column, _, _ = self._place(event, event)
        return Finding(code, line, column, facts=facts, variant=variant)

    def _place(self, first: yaml.Event, last: yaml.Event) -> tuple[int, int, int, int]:
        start: Any = first.start_mark
        end: Any = last.end_mark
        last_line, end_column = end.line, end.column
        # A block text ends where the next line begins.
        if end_column == 0 and last_line > start.line:
            last_line -= 1
        return (self._first_line + start.line, start.column + 1, self._first_line + last_line, end_column + 1)

    def _scalar(self, event: yaml.ScalarEvent) -> YamlValue:
        text: str = event.value.translate(self._written)
        scalar = _typed(text, plain=bool(event.implicit[0]))
        return YamlValue("scalar", *self._place(event, event), text=text, scalar=scalar)

    def _collection(self, done: _OpenCollection, end: yaml.CollectionEndEvent) -> YamlValue:
        flow = bool(done.start.flow_style)
        items = done.items
        place = self._place(done.start, end if flow or not items else done.start)
        if items and not flow:
            # The end of a block is noticed only at what follows it: its last member ends it.
            place = (place[0], place[1], items[-1].end_line, items[-1].end_column)
        if isinstance(done.start, yaml.SequenceStartEvent):
            return YamlValue("list", *place, items=tuple(items), flow=flow)
        return YamlValue("map", *place, entries=self._entries(items), flow=flow)

    def _entries(self, items: list[YamlValue]) -> tuple[YamlField, ...]:
        entries: dict[str, YamlField] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            name = key.text.strip()
            if name in entries:
                facts = {"key": name, "first": entries[name].line}
                self._findings.append(Finding("SK016", key.line, key.column, facts=facts))
            else:
                entries[name] = YamlField(name, key.line, key.column, value)
        return tuple(entries.values())

    def _add(self, value: YamlValue) -> None:
        if self._open:
            self._open[-1].items.append(value)
        elif self.document is None:
            self.document = value


_RESOLVER: Any = yaml.SafeLoader("")
"""Knows what a plain scalar stands for."""


def _typed(text: str, *, plain: bool) -> object:
    """A scalar as YAML reads it; failed numbers and dates stay texts."""
    if not plain:
        return text
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    if tag == "tag:yaml.org,2002:str":
        return text
    # A constructor keeps all that it ever made, so each value has its own.
    constructor: Any = yaml.SafeLoader("")
    try:
        return constructor.construct_object(yaml.ScalarNode(tag, text))
    except (ValueError, OverflowError, yaml.YAMLError):
        return text
