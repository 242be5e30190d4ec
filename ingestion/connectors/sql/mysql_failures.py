"""Why a MySQL or MariaDB server gives no rows, by the number of its error."""

import re
from collections.abc import Mapping

from ingestion.connectors.base import ReadFailure
from ingestion.connectors.sql import failures

UNSAFE_LOGIN = ReadFailure(
    "unsafe_login",
    "The server asks for the password in a way that anybody between could read, and did not get it",
    "服务器要求以中间人可读取的方式发送密码，已拒绝",
    "Set tls to verify, or give the user another way to log in, such as caching_sha2_password",
    "请将 tls 设为 verify，或为该用户改用其他登录方式，如 caching_sha2_password",
)
UNKNOWN_LOGIN = ReadFailure(
    "unknown_login",
    "The user logs in to the database in a way that Agentex does not know",
    "该用户的数据库登录方式不受支持",
    "Let the user log in by caching_sha2_password, sha256_password or mysql_native_password",
    "请让该用户使用 caching_sha2_password、sha256_password 或 mysql_native_password 登录",
)
_NO_DATABASE = ReadFailure(
    "no_database",
    "The server has no database of this name, or none that the user may use",
    "服务器上没有该名称的数据库，或该用户无权使用",
    "Check the name behind the last slash of the address, and GRANT SELECT ON its tables",
    "请检查地址中最后一个斜杠之后的名称，并授予读取权限：GRANT SELECT ON 相应的表",
)
_HOST_REFUSED = ReadFailure(
    "host_refused",
    "The database takes no connections from this server",
    "数据库不接受来自本服务器的连接",
    "Allow the address of Agentex's worker there (CREATE USER name@address), or lift its block (FLUSH HOSTS)",
    "请在数据库中允许 Agentex 工作进程的地址（CREATE USER name@address），或解除封锁（FLUSH HOSTS）",
)
# Those of clients, of a connection that does not come about or breaks off.
_CLIENT_CODES = range(2000, 3000)
_REPEATED_COLUMN = 1060
_SYNTAX = 1064
_QUOTED = re.compile(r"'([^']*)'")
_BY_CODE: Mapping[int, ReadFailure] = {
    **dict.fromkeys((1045, 1251, 1524, 1698, 1820, 1862, 3118, 4151), failures.WRONG_CREDENTIALS),
    2059: UNKNOWN_LOGIN,
    **dict.fromkeys((1044, 1049), _NO_DATABASE),
    **dict.fromkeys((1142, 1143, 1227, 1370), failures.DENIED),
    **dict.fromkeys((1290, 1792, 1836), failures.WRITES),
    **dict.fromkeys((1317, 1969, 3024), failures.TIMEOUT),
    **dict.fromkeys((1040, 1053, 1203, 1226), failures.BUSY),
    **dict.fromkeys((1129, 1130), _HOST_REFUSED),
}
# What these errors say is about the words of the query; others could hold a row's data.
_REASONS: Mapping[int, str] = {
    **dict.fromkeys((1109, 1146), "no_table"),
    1054: "no_column",
    **dict.fromkeys((1052, 1055, 1056, 1064, 1111, 1140, 1222, 1235, 1241, 1248, 1305, 1582, 1583), "wrong_query"),
}


def mysql_failure(code: int, message: str) -> ReadFailure:
    """Why a server refuses (https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html)."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code == _REPEATED_COLUMN:
        return failures.repeated_columns(_QUOTED.findall(message)[:1])
    if code == _SYNTAX and "near ';" in message:
        return failures.SEVERAL_STATEMENTS
    if code in _REASONS:
        return failures.query_failure(_REASONS[code], message)
    return failures.NO_ANSWER if code in _CLIENT_CODES or code == 0 else failures.refused(f"error {code}")
