"""The statement that reads the rows of a query within bounds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LONGEST_KEY = 500
_LONGEST_TITLE = 300
_LONGEST_ATTRIBUTE = 1000
_LONGEST_FINGERPRINT = 1000
_FIRST_WORD = re.compile(r"[A-Za-z]+")
_QUERIES = frozenset({"select", "with", "values", "table"})


@dataclass(frozen=True)
class Dialect:
    """What databases write differently; ``{}`` stands for a value, in ``left`` for a number of characters, too.

    ``fence`` keeps each value from being computed twice; ``quote`` stands around names.
    """

    text: str
    left: str
    size: str
    fence: str
    quote: str = '"'


POSTGRESQL = Dialect("{}::text", "left({}, {})", "octet_length({})::bigint", "OFFSET 0")
SQLITE = Dialect("CAST({} AS TEXT)", "substr({}, 1, {})", "length(CAST({} AS BLOB))", "LIMIT -1 OFFSET 0")
# Without a fence: one would have the server write the whole result down twice. Values are cheap, and sizes are bounded
# where they come in, too.
MYSQL = Dialect("CAST({} AS CHAR)", "LEFT({}, {})", "LENGTH({})", "", "`")


def is_query(text: str) -> bool:
    """Whether a statement begins as one that gives rows, behind comments and brackets."""
    position = 0
    while position < len(text):
        if text[position].isspace() or text[position] == "(":
            position += 1
        elif text.startswith(("--", "#"), position):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif text.startswith("/*", position):
            end = text.find("*/", position)
            position = len(text) if end < 0 else end + 2
        else:
            break
    word = _FIRST_WORD.match(text, position)
    return word is not None and word.group().lower() in _QUERIES


def as_subquery(query: str) -> str:
    """A query as a part of another one; two statements, and what changes data, can't be such a part."""
    # On a line of its own: the query may end with a comment.
    return f"(\n{query.strip().rstrip(';')}\n) AS query"


def columns_statement(query: str) -> str:
    """The statement whose description names the columns of a query; it need not be run."""
    return f"SELECT * FROM {as_subquery(query)}"  # noqa: S608 (it is the user's own, and may only read)


@dataclass(frozen=True)
class RowColumns:
    """The columns of a query that are read; ``title`` and ``fingerprint`` may be empty for none.

    ``forms`` says of some how their text is written, where that is not as the dialect has it.
    """

    keys: Sequence[str]
    title: str
    fingerprint: str
    attributes: Sequence[str]
    contents: Sequence[str]
    forms: Mapping[str, str] = field(default_factory=dict[str, str])


def rows_statement(dialect: Dialect, query: str, columns: RowColumns, most_bytes: int) -> str:
    """The statement that reads keys, title, fingerprint, attributes, contents and the size of the contents.

    All values are texts as the database writes them. The contents of a row beyond ``most_bytes`` don't leave the
    server; keys, titles and the like are cut there.
    """
    keys, attributes, contents = columns.keys, columns.attributes, columns.contents

    def text(name: str) -> str:
        form = columns.forms.get(name, dialect.text)
        return form.format(_quoted(name, dialect.quote) if name else "NULL")

    def texts(letter: str, names: Sequence[str]) -> list[str]:
        values = map(text, names)
        return [f"{value} AS {letter}{number}" for number, value in enumerate(values)]

    def cut(letter: str, number: int, length: int) -> list[str]:
        return [dialect.left.format(f"{letter}{each}", length) for each in range(number)]

    casts = texts("k", keys) + texts("t", [columns.title]) + texts("f", [columns.fingerprint])
    casts += texts("a", attributes) + texts("c", contents)
    results = cut("k", len(keys), LONGEST_KEY + 1) + cut("t", 1, _LONGEST_TITLE) + cut("f", 1, _LONGEST_FINGERPRINT)
    results += cut("a", len(attributes), _LONGEST_ATTRIBUTE + 1)
    results += [f"CASE WHEN size <= {most_bytes} THEN c{number} END" for number in range(len(contents))]
    sizes = [f"coalesce({dialect.size.format(f'c{number}')}, 0)" for number in range(len(contents))]
    inner = f"(SELECT {', '.join(casts)} FROM {as_subquery(query)} {dialect.fence}) AS texts"  # noqa: S608
    sized = f"(SELECT *, {' + '.join(sizes) or '0'} AS size FROM {inner} {dialect.fence}) AS sized"  # noqa: S608
    return f"SELECT {', '.join(results)}, size FROM {sized}"  # noqa: S608


def _quoted(name: str, quote: str) -> str:
    return quote + name.replace(quote, quote * 2) + quote
