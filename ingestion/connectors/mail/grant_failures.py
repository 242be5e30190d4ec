"""What can be wrong with signing in to a mailbox by OAuth, and what to do about it."""

from ingestion.connectors.base import ReadFailure

_CREDENTIALS_EN = "agentex kb source credentials, or PUT with credentials"
_CREDENTIALS_ZH = "agentex kb source credentials，或在 PUT 请求中提供 credentials"

NO_APP = ReadFailure(
    "no_credentials",
    "This mailbox is read with the client id of an application, and its secret or a refresh token",
    "读取该邮箱需要应用的 client_id，以及 client_secret 或 refresh_token",
    f"Give the source username, client_id and client_secret, and a refresh_token where a person signs in: {_CREDENTIALS_EN}",
    f"请为该来源填写 username、client_id、client_secret；由用户登录授权时还需 refresh_token：{_CREDENTIALS_ZH}",
)
REVOKED = ReadFailure(
    "credentials_revoked",
    "The provider does not honour the grant any more: it was revoked, has expired, or belongs to another application",
    "服务商不再接受该授权：授权已被撤销、已过期，或属于另一个应用",
    f"Sign in at the provider once more, and give the new refresh_token: {_CREDENTIALS_EN}",
    f"请在服务商处重新登录授权，并填写新的 refresh_token：{_CREDENTIALS_ZH}",
)
WRONG_CLIENT = ReadFailure(
    "wrong_client",
    "The provider does not accept the application: its client id or its secret is wrong, has expired, or it may not do this",
    "服务商不接受该应用：client_id 或 client_secret 不正确、已过期，或应用没有相应权限",
    f"Make a new client secret at the provider, and give it with the client id: {_CREDENTIALS_EN}; check the tenant",
    f"请在服务商处新建 client secret，并与 client_id 一起填写：{_CREDENTIALS_ZH}；同时检查租户",
)
NO_TOKENS = ReadFailure(
    "no_tokens",
    "The token endpoint gives no access token",
    "令牌端点没有返回访问令牌",
    "Check the tenant, or the token endpoint and the scope, and what the application is allowed to at the provider",
    "请检查租户，或令牌端点和 scope，以及该应用在服务商处的权限",
)
ENDPOINT_BUSY = ReadFailure(
    "busy",
    "The token endpoint asks for fewer requests, or is not available now",
    "令牌端点要求减少请求，或暂时不可用",
    "Nothing: the next sync tries again",
    "无需操作：下次同步会重试",
)
TOKEN_IN_CLEAR = ReadFailure(
    "not_secure",
    "Without https only a token endpoint in the private network gets secrets",
    "未使用 https 时，只能向内网中的令牌端点发送密钥",
    "Give the https address of the token endpoint",
    "请填写令牌端点的 https 地址",
)
NO_OAUTH = ReadFailure(
    "no_oauth",
    "The mail server takes no access tokens over this connection (neither XOAUTH2 nor OAUTHBEARER)",
    "邮件服务器在此连接上不接受访问令牌（XOAUTH2 和 OAUTHBEARER 均不支持）",
    "Choose the security tls; sign in with a password if the server takes no tokens at all",
    "请选择 tls 加密方式；若服务器不支持令牌，请使用密码登录",
)
TOKEN_REFUSED = ReadFailure(
    "token_refused",
    "The mail server does not accept the access token for this mailbox",
    "邮件服务器不接受用于该邮箱的访问令牌",
    "Give the mailbox's address as username; let the application read it: in Microsoft 365 the permission IMAP.AccessAsApp with "
    "admin consent and Add-MailboxPermission for its service principal, and IMAP switched on for the mailbox",
    "请将邮箱地址填为 username，并允许应用读取该邮箱：在 Microsoft 365 中需授予 IMAP.AccessAsApp 权限（管理员同意）、"
    "用 Add-MailboxPermission 授权其服务主体，并为邮箱启用 IMAP",
)


def refused_grant(failure: ReadFailure, code: str) -> ReadFailure:
    """A failure with the provider's code of it, which its documentation explains."""
    return ReadFailure(
        failure.reason,
        f"{failure.message} ({code})",
        f"{failure.message_zh}（{code}）",
        failure.next_action,
        failure.next_action_zh,
    )


def unreachable_endpoint(error: Exception) -> ReadFailure:
    """Nothing answers at the token endpoint, or not with HTTP."""
    kind = type(error).__name__
    return ReadFailure(
        "no_answer",
        f"The token endpoint does not answer ({kind})",
        f"令牌端点没有响应（{kind}）",
        "See that its address is right and reachable from the server; the next sync tries again",
        "请确认地址正确，且服务器可以访问；下次同步会重试",
    )
