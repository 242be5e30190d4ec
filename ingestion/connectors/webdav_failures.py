"""What WebDAV servers answer instead of files, and what to do about it."""

from collections.abc import Mapping

from ingestion.connectors.base import ReadFailure

_NOTHING_EN = "Nothing: the next sync tries again. Synchronize less often if it stays so"
_NOTHING_ZH = "无需操作：下次同步会重试。若持续如此，请降低同步频率"

NO_CREDENTIALS = ReadFailure(
    "no_credentials",
    "The server wants to know who asks (status 401)",
    "服务器要求登录（状态码 401）",
    "Give the source a username and a password: agentex kb source credentials, or PUT with credentials",
    "请为该来源填写用户名和密码：agentex kb source credentials，或在 PUT 请求中提供 credentials",
)
WRONG_CREDENTIALS = ReadFailure(
    "wrong_credentials",
    "The server does not accept the username and the password (status 401)",
    "服务器不接受该用户名和密码（状态码 401）",
    "Give new ones with agentex kb source credentials, or PUT with credentials; Nextcloud wants an app password where the "
    "account has a second factor",
    "请用 agentex kb source credentials 或在 PUT 请求的 credentials 中重新填写；Nextcloud 账户启用两步验证时须使用应用密码",
)
DENIED = ReadFailure(
    "access_denied",
    "The server denies access (status 403)",
    "服务器拒绝访问（状态码 403）",
    "Let the account of the credentials read it, or exclude it",
    "请为凭据所属账户授予读取权限，或将其排除",
)
NO_FOLDER = ReadFailure(
    "no_folder",
    "There is no such folder at this address (status 404)",
    "该地址没有这个文件夹（状态码 404）",
    "Check the address; that of a Nextcloud is https://HOST/remote.php/dav/files/USER/FOLDER/",
    "请检查地址；Nextcloud 的地址为 https://主机/remote.php/dav/files/用户名/文件夹/",
)
NOT_A_FOLDER = ReadFailure(
    "not_a_folder",
    "There is a file at this address, not a folder",
    "该地址是文件，不是文件夹",
    "Give the address of the folder that it is in; patterns choose files of it",
    "请填写其所在文件夹的地址，并用匹配模式选择文件",
)
OTHER_ACCOUNT = ReadFailure(
    "other_account",
    "The address is that of another account's files, of which Nextcloud shows nothing",
    "该地址属于另一个账户的文件，Nextcloud 不显示其中的内容",
    "Put the user name of the credentials' own account into the address (/remote.php/dav/files/USER/), as the settings of Files show "
    "it: it can be another one than the name to sign in with",
    "请在地址（/remote.php/dav/files/用户名/）中填写凭据所属账户的用户名，以“文件”的设置中显示的为准：它可能与登录名不同",
)
NOT_WEBDAV = ReadFailure(
    "not_webdav",
    "What answers at this address is not a WebDAV server",
    "该地址不是 WebDAV 服务器",
    "Give the WebDAV address of the folder, not that of its page; Nextcloud shows it in the settings of Files",
    "请填写文件夹的 WebDAV 地址，而不是网页地址；Nextcloud 在“文件”的设置中显示该地址",
)
WRONG_LISTING = ReadFailure(
    "wrong_listing",
    "The server lists something that is not in the folder that it was asked for",
    "服务器列出了不在所请求文件夹中的内容",
    "Check the address; a proxy before the server must keep its scheme, its host and its path",
    "请检查地址；服务器前的代理须保留协议、主机和路径",
)
TOO_DEEP = ReadFailure(
    "too_deep",
    "Folders are nested too deeply: perhaps one contains itself",
    "文件夹嵌套过深：可能有文件夹包含其自身",
    "Exclude the folder, such as with the pattern folder/*",
    "请排除该文件夹，例如使用模式 folder/*",
)
TOO_MANY_FOLDERS = ReadFailure(
    "too_many_folders",
    "There are more folders than one source may have: perhaps one contains itself",
    "文件夹数量超过单个来源的上限：可能有文件夹包含其自身",
    "Exclude some of them, such as with the pattern folder/*, or divide the source",
    "请排除部分文件夹（例如使用模式 folder/*），或拆分来源",
)
TOO_LARGE_LISTING = ReadFailure(
    "too_large_listing",
    "The list of one folder is larger than is read",
    "单个文件夹的列表过大",
    "Divide the folder into several ones",
    "请将该文件夹拆分为多个文件夹",
)
TOO_SLOW = ReadFailure(
    "too_slow",
    "The server does not answer fast enough",
    "服务器响应过慢",
    "Synchronize again when the server is less busy, or divide the source",
    "请在服务器空闲时重新同步，或拆分来源",
)
BUSY = ReadFailure(
    "busy",
    "The server asks for fewer requests (status 429)",
    "服务器要求减少请求（状态码 429）",
    _NOTHING_EN,
    _NOTHING_ZH,
)
AWAY = ReadFailure(
    "busy",
    "The server is busy or under maintenance (status 503)",
    "服务器繁忙或正在维护（状态码 503）",
    _NOTHING_EN,
    _NOTHING_ZH,
)
LOCKED = ReadFailure(
    "locked",
    "Somebody is writing or moving the file just now (status 423)",
    "文件正在被写入或移动（状态码 423）",
    "Nothing: the next sync tries again. Ask whoever runs the server to release the lock if it stays so",
    "无需操作：下次同步会重试。若持续如此，请联系服务器管理者解除锁定",
)
UNUSABLE_NAME = ReadFailure(
    "unusable_name",
    "The name has control characters, a slash, or a part that is . or .., which could lead to another file",
    "名称包含控制字符、斜杠，或含有 . 或 .. 部分，可能指向其他文件",
    "Rename it on the server, or exclude it",
    "请在服务器上重命名，或将其排除",
)

_BY_STATUS: Mapping[int, ReadFailure] = {
    401: WRONG_CREDENTIALS,
    403: DENIED,
    404: NO_FOLDER,
    405: NOT_WEBDAV,
    410: NO_FOLDER,
    423: LOCKED,
    429: BUSY,
    501: NOT_WEBDAV,
    503: AWAY,
}


def answer_failure(status: int, *, has_credentials: bool) -> ReadFailure:
    """Why a request failed, by the status of its answer."""
    if status == 401 and not has_credentials:
        return NO_CREDENTIALS
    return _BY_STATUS.get(status) or ReadFailure(
        "refused",
        f"The server answers with status {status}",
        f"服务器返回状态码 {status}",
        "Check the address; ask whoever runs the server if it stays so",
        "请检查地址；若持续如此，请联系服务器管理者",
    )


def elsewhere(origin: str) -> ReadFailure:
    """The failure of a request that is redirected to another server."""
    return ReadFailure(
        "elsewhere",
        f"It redirects to another server, {origin}, to which the credentials do not belong",
        f"请求被重定向到另一台服务器 {origin}，凭据不属于该服务器",
        "Give that address if it is the right one",
        "若该地址正确，请改填该地址",
    )
