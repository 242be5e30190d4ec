"""Incremental nesting of JSON: parsing the whole text at every piece takes quadratic time."""

import re

_MARKS = re.compile(r'["\\{}\[\]]')


class JsonNesting:
    """How deep a JSON text is nested so far; ``end`` is the place behind its first whole value, -1 before."""

    def __init__(self) -> None:
        self.end = -1
        self._depth = 0
        self._in_string = False
        self._length = 0
        # Position of the character that a backslash escapes.
        self._escaped = -1

    @property
    def is_open(self) -> bool:
        return self._in_string or self._depth > 0

    def feed(self, text: str) -> None:
        for match in _MARKS.finditer(text):
            mark, place = match.group(), self._length + match.start()
            if place == self._escaped:
                continue
            if self._in_string:
                self._in_string = mark != '"'
                self._escaped = place + 1 if mark == "\\" else -1
            elif mark == '"':
                self._in_string = True
            else:
                self._depth += (mark in "{[") - (mark in "}]")
                if self._depth == 0 and self.end < 0:
                    self.end = place + 1
        self._length += len(text)
