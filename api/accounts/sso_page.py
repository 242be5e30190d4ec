"""HTML error page of single sign-on."""

from html import escape

from fastapi import Request
from fastapi.responses import HTMLResponse

from core.errors.base import AgentexError
from core.errors.requests import TooManyRequests

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agentex</title>
<style>
  :root {{ color-scheme: light dark; font: 16px/1.6 system-ui, "Noto Sans CJK SC", sans-serif; }}
  body {{ max-width: 36rem; margin: 10vh auto; padding: 0 1.5rem; }}
  a {{ color: inherit; }}
</style>
<h1>Not signed in / 登录失败</h1>
<p>{message}</p>
<p lang="zh">{message_zh}</p>
<p><small>{code}</small></p>
<p><a href="/sign-in">Sign in again / 重新登录</a></p>
</html>
"""


def wants_page(request: Request) -> bool:
    """Whether the client is a browser rather than a program."""
    return "text/html" in request.headers.get("accept", "")


def sign_in_page(error: AgentexError) -> HTMLResponse:
    """The error in both languages, with its narrower reason."""
    reason = error.details.get("reason")
    code = f"{error.code} {reason}" if isinstance(reason, str) else str(error.code)
    page = _PAGE.format(message=escape(error.message), message_zh=escape(error.message_zh), code=escape(code))
    headers = {"Content-Security-Policy": _POLICY}
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(error.details.get("retry_after", 1))
    return HTMLResponse(page, status_code=error.status, headers=headers)
