"""Swagger UI page of the API, with nothing from other hosts."""

import re

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from api.http.content_security import digest_source
from api.middleware import DOCS_ASSETS, DOCS_PATH

_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def install_docs_page(app: FastAPI) -> None:
    """Serve the page and its files, which the package fastapi-offline carries."""
    app.mount(DOCS_ASSETS, StaticFiles(packages=[("fastapi_offline", "static")]), name="docs-assets")

    @app.api_route(DOCS_PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def docs_page(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        page = get_swagger_ui_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=f"{app.title} API",
            swagger_js_url=f"{root}{DOCS_ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{root}{DOCS_ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{root}/favicon.svg",
        )
        page.headers["Content-Security-Policy"] = _policy(bytes(page.body).decode())
        return page


def _policy(page: str) -> str:
    """Policy that admits the page's own inline scripts."""
    scripts = " ".join(["'self'", *map(digest_source, _INLINE_SCRIPT.findall(page))])
    return (
        f"default-src 'self'; script-src {scripts}; img-src 'self' data:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
