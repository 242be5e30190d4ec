"""Faults of authorizations, in our own words."""

from enum import StrEnum

from core.errors.base import AgentexError
from core.errors.requests import UrlNotAllowed
from core.errors.server import McpAuthorizationFailed


class OAuthFault(StrEnum):
    """Why a server could not be authorised; the value is for people."""

    NOT_ALLOWED = "an address that it names is not allowed"
    NOT_SECURE = "an address that it names is not https"
    UNREACHABLE = "its authorization server can't be reached"
    NO_ANSWER = "its authorization server did not answer in time"
    NO_METADATA = "it does not say which authorization server it trusts, or that server does not describe itself"
    NO_PKCE = "its authorization server does not offer PKCE with S256"
    WRONG_ISSUER = "the answer names another authorization server than was asked"
    MISMATCHED = "its description of itself or of its authorization server names another server"
    ISSUER_CHANGED = "it now names another authorization server than the client id was given for: give the client again"
    NOT_REGISTERED = "its authorization server did not register Agentex: give a client id in the connection's settings"
    DENIED = "the authorization server refused"
    BAD_ANSWER = "its authorization server gave an answer that can't be used"


_ZH = {
    OAuthFault.NOT_ALLOWED: "不允许访问其给出的地址",
    OAuthFault.NOT_SECURE: "其给出的地址不是 https",
    OAuthFault.UNREACHABLE: "无法连接授权服务器",
    OAuthFault.NO_ANSWER: "授权服务器没有及时响应",
    OAuthFault.NO_METADATA: "未说明信任哪个授权服务器，或该授权服务器未提供说明",
    OAuthFault.NO_PKCE: "授权服务器不支持 PKCE（S256）",
    OAuthFault.WRONG_ISSUER: "应答来自另一个授权服务器",
    OAuthFault.MISMATCHED: "其自身或授权服务器的说明指向另一个服务器",
    OAuthFault.ISSUER_CHANGED: "它现在指定了另一个授权服务器，与客户端 ID 不符：请重新填写客户端",
    OAuthFault.NOT_REGISTERED: "授权服务器未登记 Agentex：请在连接设置中填写客户端 ID",
    OAuthFault.DENIED: "授权服务器拒绝了授权",
    OAuthFault.BAD_ANSWER: "授权服务器的应答无法使用",
}
# RFC 6749, sections 4.1.2.1 and 5.2, and RFC 8707, section 2: any other word of a server is not shown.
_CODES = frozenset(
    {
        "access_denied", "invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "invalid_target",
        "server_error", "temporarily_unavailable", "unauthorized_client", "unsupported_grant_type",
        "unsupported_response_type",
    }
)  # fmt: skip


class OAuthFailure(Exception):
    """An authorization or renewal that did not come about; ``code`` is the protocol's error, if there is one."""

    def __init__(self, fault: OAuthFault, code: str | None = None, *, refusal: UrlNotAllowed | None = None) -> None:
        super().__init__(fault.value)
        self.fault = fault
        self.code = code if code in _CODES else None
        self._refusal = refusal

    def error(self, connection_id: str) -> AgentexError:
        """What a caller sees of it."""
        reason, reason_zh = self.fault.value, _ZH[self.fault]
        details: dict[str, str] = {}
        if self._refusal is not None:
            allowed = {key: str(value) for key, value in self._refusal.details.items() if key != "field"}
            reason = f"{reason}: {allowed.pop('error')}"
            reason_zh = f"{reason_zh}：{allowed.pop('error_zh')}"
            details |= allowed
        if self.code is not None:
            reason, reason_zh = f"{reason}: {self.code}", f"{reason_zh}：{self.code}"
            details["error"] = self.code
        return McpAuthorizationFailed(
            reason=reason,
            reason_zh=reason_zh,
            fault=self.fault.name.lower(),
            connection_id=connection_id,
            **details,
        )
