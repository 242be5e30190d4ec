"""The statement that reads the rows of a query within bounds."""

import re
from collections.abc import Sequence

LONGEST_KEY = 500
_LONGEST_TITLE = 300
_LONGEST_ATTRIBUTE = 1000
_LONGEST_FINGERPRINT = 1000
_FIRST_WORD = re.compile(r"[A-Za-z]+")
_QUERIES = frozenset({"select", "with", "values", "table"})


def is_query(text: str) -> bool:
    """Whether a statement begins as one that gives rows, behind comments and brackets."""
    position = 0
    while position < len(text):
        if text[position].isspace() or text[position] == "(":
            position += 1
        elif text.startswith("--", position):
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


def rows_statement(
    query: str,
    keys: Sequence[str],
    title: str,
    fingerprint: str,
    attributes: Sequence[str],
    contents: Sequence[str],
    most_bytes: int,
) -> str:
    """The statement that reads keys, title, fingerprint, attributes, contents and the size of the contents.

    All values are texts as the database writes them. The contents of a row beyond ``most_bytes`` don't leave the
    server; keys, titles and the like are cut there. ``title`` and ``fingerprint`` may be empty for none.
    """
    casts = [f"{_quoted(name)}::text AS k{number}" for number, name in enumerate(keys)]
    casts += [f"{_quoted(title)}::text AS t" if title else "NULL::text AS t"]
    casts += [f"{_quoted(fingerprint)}::text AS f" if fingerprint else "NULL::text AS f"]
    casts += [f"{_quoted(name)}::text AS a{number}" for number, name in enumerate(attributes)]
    casts += [f"{_quoted(name)}::text AS c{number}" for number, name in enumerate(contents)]
    sizes = [f"coalesce(octet_length(c{number})::bigint, 0)" for number in range(len(contents))]
    results = [f"left(k{number}, {LONGEST_KEY + 1})" for number in range(len(keys))]
    results += [f"left(t, {_LONGEST_TITLE})", f"left(f, {_LONGEST_FINGERPRINT})"]
    results += [f"left(a{number}, {_LONGEST_ATTRIBUTE + 1})" for number in range(len(attributes))]
    results += [f"CASE WHEN size <= {most_bytes} THEN c{number} END" for number in range(len(contents))]
    # OFFSET 0 keeps each value from being computed twice.
    texts = f"(SELECT {', '.join(casts)} FROM {as_subquery(query)} OFFSET 0) AS texts"  # noqa: S608
    sized = f"(SELECT *, {' + '.join(sizes) or '0::bigint'} AS size FROM {texts} OFFSET 0) AS sized"  # noqa: S608
    return f"SELECT {', '.join(results)}, size FROM {sized}"  # noqa: S608


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
