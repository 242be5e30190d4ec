"""What can be wrong with a mailbox, and what to do about it."""

from collections.abc import Sequence

from ingestion.connectors.base import ItemUnreadable, ReadFailure

_SHOWN_FOLDERS = 10
_AGAIN_EN = "See that host, port and security are right and reachable from the server; the next sync tries again"
_AGAIN_ZH = "请确认主机、端口和加密方式正确，且服务器可以访问；下次同步会重试"
_KEYS_EN = (
    "Give the source a username and a password: agentex kb source credentials, or PUT with credentials; where the account "
    "has a second factor, it must be an app password"
)
_KEYS_ZH = "请为该来源填写用户名和密码：agentex kb source credentials，或在 PUT 请求中提供 credentials；账户启用两步验证时须使用应用密码"


class MailError(ItemUnreadable):
    """The mail server does not do what is asked; what was open is closed."""


class MailRefused(MailError):
    """The mail server answers a single command with NO or BAD; the connection goes on."""


NO_CREDENTIALS = ReadFailure(
    "no_credentials", "A mailbox is read with a username and a password", "读取邮箱需要用户名和密码", _KEYS_EN, _KEYS_ZH
)
WRONG_CREDENTIALS = ReadFailure(
    "wrong_credentials",
    "The mail server does not accept the username and the password",
    "邮件服务器不接受该用户名和密码",
    _KEYS_EN,
    _KEYS_ZH,
)
NO_PASSWORDS = ReadFailure(
    "no_passwords",
    "The mail server takes no passwords over this connection",
    "邮件服务器在此连接上不接受密码登录",
    "Choose the security tls or starttls; ask the provider whether IMAP with app passwords can be switched on for the account",
    "请选择 tls 或 starttls；并向服务商确认账户能否启用 IMAP 和应用密码",
)
UNTRUSTED = ReadFailure(
    "untrusted_certificate",
    "The mail server's certificate is not one that is trusted for this host",
    "邮件服务器的证书不受信任，或与主机名不符",
    "Give the host's name as it is in the certificate; ask your operator to trust a certificate authority of your own "
    "(SSL_CERT_FILE)",
    "请填写证书中的主机名；若使用自建证书颁发机构，请联系管理员将其设为受信任（SSL_CERT_FILE）",
)
NO_TLS = ReadFailure(
    "no_tls",
    "What answers on this port does not speak TLS as was asked",
    "该端口不支持所选的 TLS 加密方式",
    "Use tls with port 993, or starttls with port 143",
    "请使用 tls 和端口 993，或 starttls 和端口 143",
)
ONLY_PRIVATE = ReadFailure(
    "plain_in_public",
    "Without encryption only servers in the private network are read",
    "不加密时只能读取内网中的服务器",
    "Choose the security tls or starttls",
    "请选择 tls 或 starttls",
)
NOT_IMAP = ReadFailure(
    "not_imap",
    "What answers does not speak IMAP",
    "对方服务器不是 IMAP 服务器",
    "Give host and port of the IMAP server, not those of POP3, SMTP or a web page",
    "请填写 IMAP 服务器的主机和端口，而不是 POP3、SMTP 或网页的地址",
)
TOO_SLOW = ReadFailure(
    "too_slow",
    "The mail server does not answer fast enough",
    "邮件服务器响应过慢",
    "Nothing: the next sync tries again. Read fewer messages if it stays so",
    "无需操作：下次同步会重试。若持续如此，请减少读取的邮件数",
)
BUSY = ReadFailure(
    "busy",
    "The mail server asks for fewer requests, or is not available now",
    "邮件服务器要求减少请求，或暂时不可用",
    "Nothing: the next sync tries again. Synchronize less often if it stays so",
    "无需操作：下次同步会重试。若持续如此，请降低同步频率",
)
CHANGED = ReadFailure(
    "changed",
    "A folder was made anew while it was read",
    "读取期间文件夹被重建",
    "Nothing: the next sync tries again",
    "无需操作：下次同步会重试",
)
REFUSED = ReadFailure(
    "refused",
    "The mail server refuses to show it",
    "邮件服务器拒绝提供该内容",
    "See whether a mail program can open it with the same account, or exclude the folder",
    "请确认用同一账户的邮件程序能否打开，或将该文件夹排除",
)


def no_answer(error: Exception) -> ReadFailure:
    """No server answers, or it ends the connection."""
    kind = type(error).__name__
    return ReadFailure(
        "no_answer", f"The mail server does not answer ({kind})", f"邮件服务器没有响应（{kind}）", _AGAIN_EN, _AGAIN_ZH
    )


def refused_folder(name: str) -> ReadFailure:
    """The server does not let a folder be read that it lists."""
    return ReadFailure(
        REFUSED.reason,
        f"The mail server refuses to open a folder: {name[:100]}",
        f"邮件服务器拒绝打开文件夹：{name[:100]}",
        REFUSED.next_action,
        REFUSED.next_action_zh,
    )


def no_folder(names: Sequence[str]) -> ReadFailure:
    """No folder is as the patterns say; ``names`` are those that there are."""
    names_text = ", ".join(name[:100] for name in names[:_SHOWN_FOLDERS]) or "-"
    return ReadFailure(
        "no_folder",
        "No folder of the mailbox matches the patterns",
        "邮箱中没有符合匹配模式的文件夹",
        f"Change include and exclude. There are: {names_text}",
        f"请修改包含和排除模式。现有文件夹：{names_text}",
    )
