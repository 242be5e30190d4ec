"""The console: its page, and the files of its build (``web/``, built into ``api/console``)."""

import gzip
from functools import cache, lru_cache
from mimetypes import guess_type
from pathlib import Path

from fastapi import Request, Response

from api.http.console_paths import CONSOLE_PAGES
from api.http.routing import Router
from core.errors.auth import NotFound

router = Router(include_in_schema=False)

_FOLDER = Path(__file__).parents[1] / "console"
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_COMPRESSED = (".js", ".mjs", ".css", ".svg", ".html", ".json")


async def _page(request: Request) -> Response:
    """The console's one page, whose script shows what the address names."""
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
    return _file_response(request, "index.html", headers)


async def _icon(request: Request) -> Response:
    return _file_response(request, "favicon.svg", {"Cache-Control": "public, max-age=86400"})


async def _asset(request: Request) -> Response:
    """A script, style or font; its name holds a digest of its content."""
    name = request.path_params["name"]
    if name not in _asset_names():
        raise NotFound
    return _file_response(request, f"assets/{name}", {"Cache-Control": "public, max-age=31536000, immutable"})


# Plain routes: there is nothing to validate or to describe.
router.add_route("/", _page)
for _path in CONSOLE_PAGES:
    router.add_route(_path, _page)
    router.add_route(f"{_path}/{{rest:path}}", _page)
router.add_route("/favicon.svg", _icon)
router.add_route("/assets/{name}", _asset)


@cache
def _asset_names() -> frozenset[str]:
    return frozenset(path.name for path in (_FOLDER / "assets").iterdir())


def _file_response(request: Request, name: str, headers: dict[str, str]) -> Response:
    content = _read(name)
    headers = {**headers, "Vary": "Accept-Encoding"}
    if name.endswith(_COMPRESSED) and "gzip" in request.headers.get("accept-encoding", ""):
        content = _compress(name)
        headers["Content-Encoding"] = "gzip"
    media_type = "text/javascript" if name.endswith(".mjs") else guess_type(name)[0]
    return Response(content, headers=headers, media_type=media_type or "application/octet-stream")


# Read and compressed once in the life of the process: some megabytes in all.
@lru_cache(maxsize=256)
def _read(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


@lru_cache(maxsize=256)
def _compress(name: str) -> bytes:
    return gzip.compress(_read(name), mtime=0)
