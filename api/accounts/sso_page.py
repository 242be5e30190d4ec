"""HTML error page of single sign-on."""

from html import escape

from fastapi import Request
from fastapi.responses import HTMLResponse

from api.http.content_security import digest_source
from core.errors.base import AgentexError
from core.errors.requests import TooManyRequests

# The colours of the console's sign-in page (web/src/theme/tokens.css).
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.6 system-ui, "Noto Sans CJK SC", sans-serif; }
body { display: grid; place-items: center; min-height: 100vh; margin: 0;
  background: light-dark(#f5f7f7, #101314); color: light-dark(#172023, #e8eced); }
main { box-sizing: border-box; width: min(26rem, 100% - 2rem); padding: 2rem; border-radius: 12px;
  border: 1px solid light-dark(#dce1e3, #2d353a); background: light-dark(#fff, #181c1e); }
h1 { margin: 0 0 1rem; font-size: 1.25rem; }
p { margin: 0 0 .5rem; }
small { color: light-dark(#4d5a60, #a9b4b9); }
a { display: block; margin-top: 1.5rem; padding: .5rem 1rem; border-radius: 8px; text-align: center;
  text-decoration: none; font-weight: 600; background: light-dark(#0f766e, #3cc4b6); color: light-dark(#fff, #062421); }
"""
_POLICY = f"default-src 'none'; style-src {digest_source(_STYLE)}; base-uri 'none'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agentex</title>
<style>{style}</style>
<main>
<h1>Not signed in / 登录失败</h1>
<p>{message}</p>
<p lang="zh">{message_zh}</p>
<p><small>{code}</small></p>
<a href="/sign-in">Sign in again / 重新登录</a>
</main>
</html>
"""


def wants_page(request: Request) -> bool:
    """Whether the client is a browser rather than a program."""
    return "text/html" in request.headers.get("accept", "")


def sign_in_page(error: AgentexError) -> HTMLResponse:
    """The error in both languages, with its narrower reason."""
    reason = error.details.get("reason")
    code = f"Error / 错误 {error.code}" + (f" · {reason}" if isinstance(reason, str) else "")
    message, message_zh = escape(error.message), escape(error.message_zh)
    page = _PAGE.format(style=_STYLE, message=message, message_zh=message_zh, code=escape(code))
    headers = {"Content-Security-Policy": _POLICY}
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(error.details.get("retry_after", 1))
    return HTMLResponse(page, status_code=error.status, headers=headers)
