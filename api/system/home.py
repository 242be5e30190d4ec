"""The landing page."""

from fastapi.responses import HTMLResponse

from api.http.routing import Router

router = Router(include_in_schema=False)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agentex</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, "Noto Sans CJK SC", sans-serif; }
  body { max-width: 44rem; margin: 10vh auto; padding: 0 1.5rem; }
  h1 { margin: 0; font-size: 2.2rem; letter-spacing: -.02em; }
  p { margin: .4rem 0; }
  section { margin-top: 2rem; }
  code { padding: .1rem .35rem; border-radius: .3rem; background: rgb(127 127 127 / 18%); }
  pre { padding: .9rem 1rem; border-radius: .5rem; background: rgb(127 127 127 / 14%);
        overflow-x: auto; line-height: 1.8; }
  pre code { background: none; padding: 0; }
  a { color: inherit; text-underline-offset: .2em; }
</style>
<h1>Agentex</h1>
<p>This server is running. Upload documents, search them, ask questions with citations.</p>
<p lang="zh">服务已启动：上传文档、检索、提问，回答带引用。</p>
<section>
<pre><code>agentex login
agentex kb create handbook
agentex ingest ./docs --kb handbook
agentex chat "What does the handbook say about backups?"</code></pre>
</section>
<section>
<p><a href="/docs">API documentation / 接口文档</a></p>
<p><a href="/openapi.json">OpenAPI</a> · <a href="/readyz">State of every part / 各部分状态</a></p>
<p>AG-UI: <code>POST /api/v1/agent/run</code></p>
</section>
</html>
"""


@router.get("/")
async def home() -> HTMLResponse:
    """Where to go from here, in English and Chinese."""
    return HTMLResponse(_PAGE, headers={"Content-Security-Policy": _POLICY})
