"""Web addresses in the settings of sources."""

import httpx

from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, which credentials are given for; raises ``UrlNotAllowed``."""
    target = read_url(url)
    return f"{httpx.URL(url).scheme}://{target.host}:{target.port}"


def check_address(url: str, field: str = "settings.url") -> None:
    """Refuse credentials, a query and a fragment in an address: ``InvalidRequest``; what is none: ``UrlNotAllowed``."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        parsed = httpx.URL()
    if parsed.scheme in {"http", "https"} and parsed.userinfo:
        raise InvalidRequest(
            field,
            "Leave the name and the password out of the address: give them as credentials, which are stored encrypted",
            "请勿在地址中填写用户名和密码：请填入 credentials，它们会加密保存",
        )
    read_url(url)
    if parsed.query or parsed.fragment:
        raise InvalidRequest(field, "Leave out the query and the fragment", "请去掉查询参数和片段")
