"""Errors of login through an OpenID Connect provider."""

from core.errors.base import AgentexError


class OidcStateInvalid(AgentexError):
    """The state belongs to no open sign-in of this browser: forged, foreign, or used."""

    code = 40110
    message = "This sign-in was begun in another browser or is over already: begin it again"
    message_zh = "此登录并非在该浏览器中发起，或已结束：请重新发起登录"


class OidcExpired(AgentexError):
    """The person came back from the provider too late."""

    code = 40111
    message = "The sign-in took too long: begin it again"
    message_zh = "登录超时，请重新发起登录"


class OidcRefused(AgentexError):
    """The provider refused; ``reason`` is its error code if the protocol defines that."""

    code = 40112
    message = "The identity provider did not let you in: begin the sign-in again"
    message_zh = "身份提供方未允许登录：请重新发起登录"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class OidcTokenInvalid(AgentexError):
    """The provider's response or ID token failed a check; ``reason`` names the check."""

    code = 40113
    message = "The identity provider's answer can't be trusted"
    message_zh = "身份提供方的应答不可信"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class OidcCodeInvalid(AgentexError):
    """The one-time code can't be exchanged: unknown, used, expired, or somebody else's."""

    code = 40114
    message = "The sign-in code is not valid, was used or has expired"
    message_zh = "登录代码无效、已被使用或已过期"


class OidcEmailRefused(AgentexError):
    """The address is missing, not verified or of another domain; ``reason`` says which."""

    code = 40320
    message = "Your e-mail address may not sign in here"
    message_zh = "您的邮箱地址不允许在此登录"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class OidcEmailTaken(AgentexError):
    """Another account has this person's e-mail address."""

    code = 40975
    message = "Another account has your e-mail address: log in to it as before, or ask an administrator"
    message_zh = "您的邮箱已属于另一账户：请用原有方式登录，或联系管理员"


class OidcOff(AgentexError):
    """No issuer is configured."""

    code = 40475
    message = "Single sign-on is not configured here"
    message_zh = "未配置单点登录"


class OidcUnavailable(AgentexError):
    """The provider can't be reached or its response can't be used; ``reason`` says which part."""

    code = 50275
    message = "The identity provider can't be used at the moment"
    message_zh = "身份提供方暂时不可用"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
