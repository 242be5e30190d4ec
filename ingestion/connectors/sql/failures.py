"""Why a query of a database gives no rows, and what to do about it."""

import re
from collections.abc import Mapping, Sequence

from ingestion.connectors.base import ReadFailure

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_LONGEST_MESSAGE = 300
_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
# Syntax errors, wrong names and what is not supported: the server's words are about the query, and hold nothing of the
# rows.
_ABOUT_QUERY = ("42", "0A")
_KEYS_EN = "Give the source new credentials: agentex kb source credentials, or PUT with credentials"
_KEYS_ZH = "请为该来源填写新的凭据：agentex kb source credentials，或在 PUT 请求中提供 credentials"

NO_CREDENTIALS = ReadFailure(
    "no_credentials", "The source has no credentials for this address", "该来源没有用于该地址的凭据", _KEYS_EN, _KEYS_ZH
)
WRONG_CREDENTIALS = ReadFailure(
    "wrong_credentials",
    "The database does not accept the user name or the password",
    "数据库不接受该用户名或密码",
    _KEYS_EN,
    _KEYS_ZH,
)
NO_DATABASE = ReadFailure(
    "no_database",
    "The server has no database of this name",
    "服务器上没有该名称的数据库",
    "Check the name behind the last slash of the address",
    "请检查地址中最后一个斜杠之后的名称",
)
DENIED = ReadFailure(
    "access_denied",
    "The user may not read what the query asks for",
    "该用户无权读取查询所涉及的数据",
    "Let the user read it: GRANT SELECT ON the tables",
    "请授予读取权限：GRANT SELECT ON 相应的表",
)
WRITES = ReadFailure(
    "writes",
    "The query wants to change data, and may only read",
    "查询试图修改数据，但只允许读取",
    "Give one SELECT that only reads",
    "请提供一条只读的 SELECT",
)
SEVERAL_STATEMENTS = ReadFailure(
    "several_statements",
    "The query has more than one statement",
    "查询包含多条语句",
    "Give one SELECT, without a semicolon in it",
    "请只提供一条 SELECT，中间不要有分号",
)
TIMEOUT = ReadFailure(
    "query_timeout",
    "The query took longer than the source allows",
    "查询耗时超过该来源的上限",
    "Make the query faster or narrower, or set a larger timeout_seconds",
    "请优化或缩小查询，或调大 timeout_seconds",
)
BUSY = ReadFailure(
    "busy",
    "The database takes no further connections now",
    "数据库目前无法接受更多连接",
    "Nothing: the next sync tries again",
    "无需操作：下次同步会重试",
)
NO_ANSWER = ReadFailure(
    "no_answer",
    "No database server of this kind answers at this address, or it broke off",
    "该地址没有这类数据库服务器响应，或连接中断",
    "See that the address is right and reachable from the server",
    "请确认地址正确，且服务器可以访问",
)
NO_TLS = ReadFailure(
    "no_tls",
    "The server offers no encrypted connection",
    "服务器不提供加密连接",
    "Switch TLS on there; in a network that you trust, set tls to off",
    "请在服务器上启用 TLS；在可信网络中可将 tls 设为 off",
)
UNTRUSTED = ReadFailure(
    "untrusted_certificate",
    "The certificate of the server is not valid for this address",
    "服务器证书对该地址无效",
    "Give the certificate of its authority as ca_certificate, and the name that the server's certificate is for as the host",
    "请用 ca_certificate 提供其 CA 证书，并使用服务器证书中的主机名",
)
TOO_MUCH_DATA = ReadFailure(
    "too_much_data",
    "The query gives more data than a source may bring",
    "查询返回的数据超过来源的上限",
    "Narrow the query, divide it into several sources, or ask your operator for a larger AGENTEX_MAX_SOURCE_CACHE_BYTES",
    "请缩小查询范围、拆分为多个来源，或联系管理员提高 AGENTEX_MAX_SOURCE_CACHE_BYTES",
)

_BY_STATE: Mapping[str, ReadFailure] = {
    "3D000": NO_DATABASE,
    "42501": DENIED,
    "25006": WRITES,
    "57014": TIMEOUT,
    "53300": BUSY,
    "57P03": BUSY,
}
_REASONS: Mapping[str, str] = {"42P01": "no_table", "3F000": "no_table", "42703": "no_column"}
_WORDS: Mapping[str, tuple[str, str]] = {
    "no_table": ("The database has no such table", "数据库中没有该表"),
    "no_column": ("The tables have no such column", "表中没有该列"),
    "wrong_query": ("The database does not understand the query", "数据库无法理解该查询"),
}
_TRY_EN = "Try the query in a client of the database, such as psql, mysql or sqlite3, as the same user"
_TRY_ZH = "请用同一用户在数据库客户端（如 psql、mysql 或 sqlite3）中测试该查询"


def server_failure(sqlstate: str, message: str) -> ReadFailure:
    """Why a server refuses, by its SQLSTATE (appendix A of PostgreSQL's manual).

    Its own words are shown only where they are about the query: others could hold a row's data.
    """
    state = sqlstate if _SQLSTATE.fullmatch(sqlstate) else "?"
    if state in _BY_STATE:
        return _BY_STATE[state]
    if state.startswith("28"):
        return WRONG_CREDENTIALS
    if state == "42601" and '";"' in message:
        return SEVERAL_STATEMENTS
    if state in _REASONS or state.startswith(_ABOUT_QUERY):
        return query_failure(_REASONS.get(state, "wrong_query"), message)
    return refused(f"SQLSTATE {state}")


def refused(code: str) -> ReadFailure:
    """The failure of a query that a server refuses for a reason of its own; ``code`` is how it calls that."""
    return ReadFailure(
        "refused",
        f"The database refuses the query ({code})",
        f"数据库拒绝执行查询（{code}）",
        _TRY_EN,
        _TRY_ZH,
    )


def query_failure(reason: str, message: str) -> ReadFailure:
    """The failure of a query that is wrong (``no_table``, ``no_column``, ``wrong_query``), in the database's words."""
    en, zh = _WORDS[reason]
    words = _UNPRINTABLE.sub(" ", message)[:_LONGEST_MESSAGE]
    return ReadFailure(reason, f"{en}: {words}", f"{zh}：{words}", _TRY_EN, _TRY_ZH)


def missing_columns(names: Sequence[str], present: Sequence[str]) -> ReadFailure:
    """The failure of settings that name columns which the query does not give."""
    missing, columns = _joined(names), _joined(present)
    return ReadFailure(
        "missing_column",
        f"The query gives no column {missing}; it gives {columns}",
        f"查询结果中没有列 {missing}；现有的列：{columns}",
        "Correct the names in the settings, or let the query give these columns (AS)",
        "请更正设置中的列名，或在查询中用 AS 给出这些列",
    )


def repeated_columns(names: Sequence[str]) -> ReadFailure:
    """The failure of a query that gives two columns of one name."""
    return ReadFailure(
        "repeated_column",
        f"The query gives several columns of the name {_joined(names)}",
        f"查询结果中有多个同名列：{_joined(names)}",
        "Give each column a name of its own (AS)",
        "请用 AS 为每列指定不同的名称",
    )


def binary_columns(names: Sequence[str]) -> ReadFailure:
    """The failure of settings that name columns of bytes."""
    return ReadFailure(
        "binary_column",
        f"The column {_joined(names)} holds bytes, not text",
        f"列 {_joined(names)} 是二进制数据，不是文本",
        "Leave it out, or let the query turn it into text (convert_from, CONVERT … USING utf8mb4)",
        "请去掉该列，或在查询中将其转换为文本（convert_from、CONVERT … USING utf8mb4）",
    )


def empty_key(columns: Sequence[str]) -> ReadFailure:
    """The failure of a query that gives a row without a key."""
    return ReadFailure(
        "empty_key",
        f"A row has no value in the key column {_joined(columns)}",
        f"有一行的键列 {_joined(columns)} 没有值",
        "Choose key columns that are never empty, or leave such rows out (WHERE … IS NOT NULL)",
        "请选择不为空的键列，或用 WHERE … IS NOT NULL 排除这些行",
    )


def repeated_key(key: str) -> ReadFailure:
    """The failure of a query that gives two rows of one key."""
    return ReadFailure(
        "repeated_key",
        f"Several rows have the key {key[:100]}",
        f"多行具有相同的键 {key[:100]}",
        "Choose key columns that tell all rows apart, or let the query give each row once",
        "请选择能区分所有行的键列，或让查询中每行只出现一次",
    )


def long_key(limit: int) -> ReadFailure:
    """The failure of a query that gives a key beyond what rows are told apart by."""
    return ReadFailure(
        "long_key",
        f"A row has a key of more than {limit} characters",
        f"有一行的键超过 {limit} 个字符",
        "Choose a shorter key column, or let the query give a hash of it (md5)",
        "请选择更短的键列，或让查询给出其哈希值（md5）",
    )


def too_large_row(limit: int) -> ReadFailure:
    """The failure of a row beyond what is read of one."""
    return ReadFailure(
        "too_large",
        f"The row has more than {limit} bytes of text",
        f"该行的文本超过 {limit} 字节",
        "Leave long columns out, or leave the row out (WHERE)",
        "请去掉过长的列，或用 WHERE 排除该行",
    )


def too_many_rows(limit: int) -> ReadFailure:
    """The failure of a query that gives more rows than a source may have."""
    return ReadFailure(
        "too_many_items",
        f"The query gives more than {limit} rows",
        f"查询返回的行数超过 {limit}",
        "Narrow it with WHERE, or divide it into several sources",
        "请用 WHERE 缩小范围，或拆分为多个来源",
    )


def _joined(names: Sequence[str]) -> str:
    return ", ".join(_UNPRINTABLE.sub(" ", name)[:100] for name in names[:20])
