"""Pictures of the sources of a knowledge base and of backups, with servers on this machine behind the sources."""

import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, Route

from benchmarks.console_browser import TimedPage
from benchmarks.product import Product
from scripts.photographer import ANSWER_MS, ROOT, Photographer, tab

_ENDED = {"completed", "failed", "confirm"}
_WAIT_SECONDS = 120
# A port at which nothing listens: the mailbox of a server that is away.
_CLOSED_PORT = 1
_SOURCE_NAMES = {
    "en": {"web": "Handbook", "folder": "Product manuals", "rss": "News", "sqlite": "Articles", "imap": "Support mail"},
    "zh": {"web": "员工手册", "folder": "产品手册", "rss": "新闻", "sqlite": "知识文章", "imap": "客服邮件"},
}
_TEXTS: dict[str, Any] = {
    "en": {
        "base": "Product support",
        "damaged": "old-scan.pdf",
        "page": "{} – what everybody in the company should know about it.",
        "pages": {"holidays": "Holidays", "travel": "Travel", "security": "Security", "remote-work": "Remote work"},
        "new_page": {"equipment": "Equipment"},
        "manuals": ("relay-7070.md", "pump-310.md", "sensor-12.md", "valve-88.md", "controller-4.md", "fan-21.md"),
        "new_manual": "heater-9.md",
        "manual": "# {}\n\nPress the green button for three seconds. The lamp goes out when the device is ready.",
        "articles": ("How do I return a device?", "Which devices have a longer warranty?"),
        "article": "Write to the support with the number on the type plate. You get an answer within a day.",
        "news": ("A new relay", "Opening hours in summer", "Works council elected"),
    },
    "zh": {
        "base": "产品支持",
        "damaged": "旧扫描件.pdf",
        "page": "{}——公司里每个人都应了解的内容。",
        "pages": {"holidays": "休假", "travel": "出差", "security": "安全", "remote-work": "远程办公"},
        "new_page": {"equipment": "办公设备"},
        "manuals": ("继电器-7070.md", "水泵-310.md", "传感器-12.md", "阀门-88.md", "控制器-4.md", "风扇-21.md"),
        "new_manual": "加热器-9.md",
        "manual": "# {}\n\n按住绿色按钮三秒钟。指示灯熄灭后，设备即已就绪。",
        "articles": ("怎么退回设备？", "哪些设备的保修期更长？"),
        "article": "请把铭牌上的编号发给客服，一天之内会得到答复。",
        "news": ("新款继电器", "夏季营业时间", "职工代表选举结果"),
    },
}


def take_sources(product: Product, signed_in: TimedPage, folder: Path) -> None:
    """The list of sources, the form, a preview, the history, and a sync that waits for a person, in both languages."""
    for language in _TEXTS:
        root = folder / "sources" / language
        (root / "site").mkdir(parents=True)
        with _site(root / "site") as port, _client(product) as client, tab(signed_in, language) as page:
            scene = SourceScene(root, port, language)
            scene.build()
            _allow(client, port, _CLOSED_PORT)
            base = SourceBase(client, scene.texts["base"])
            for body in scene.bodies():
                base.add(body)
            _show_as(page, scene.shown_as)
            _take_sources(SourcePhotographer(page, signed_in.base, language, scene, base))


def take_backups(product: Product, signed_in: TimedPage, folder: Path) -> None:
    """The page of backups in both languages."""
    with _client(product) as client:
        _make_backups(client)
    for language in _TEXTS:
        with tab(signed_in, language) as page:
            _show_as(page, {str(folder / "backups"): "/srv/backups"})
            photographer = Photographer(page, signed_in.base, language)
            photographer.open("/admin/backups").get_by_role("table").wait_for()
            photographer.save("backups")


class SourceScene:
    """What the sources of one knowledge base read: a site, a feed, a folder and a database.

    Args:
        root: a folder in one that the server reads sources from.
        port: of the site, whose pages are below ``root / "site"``.
    """

    def __init__(self, root: Path, port: int, language: str) -> None:
        self.root, self.port, self.texts = root, port, _TEXTS[language]
        self.names = _SOURCE_NAMES[language]
        self.manuals = root / "manuals"
        self.handbook = root / "site" / "handbook"

    @property
    def origin(self) -> str:
        """Of the site and the feed."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def shown_as(self) -> dict[str, str]:
        """What stands in the pictures for places on this machine."""
        return {
            self.origin: "https://www.example.org",
            f"imaps://127.0.0.1:{_CLOSED_PORT}": "imaps://imap.example.org:993",
            "127.0.0.1": "www.example.org",
            str(self.root): "/srv",
        }

    def build(self) -> None:
        """Write everything for the first syncs."""
        self.manuals.mkdir(parents=True)
        self.handbook.mkdir(parents=True)
        self.write_pages(self.texts["pages"])
        for name in self.texts["manuals"]:
            self.write_manual(name)
        (self.manuals / self.texts["damaged"]).write_text("no PDF")
        entries = "".join(
            f"<item><title>{title}</title><guid>{title}</guid><description>{title}</description></item>"
            for title in self.texts["news"]
        )
        feed = f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{entries}</channel></rss>'
        (self.handbook.parent / "news.xml").write_text(feed)
        with closing(sqlite3.connect(self.root / "articles.db")) as database:
            database.execute("CREATE TABLE article (id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
            rows = [(title, self.texts["article"]) for title in self.texts["articles"]]
            database.executemany("INSERT INTO article (title, body) VALUES (?, ?)", rows)
            database.commit()

    def write_pages(self, pages: Mapping[str, str]) -> None:
        """Make these the pages of the handbook, with an index of them."""
        shutil.rmtree(self.handbook)
        self.handbook.mkdir()
        links = "".join(f'<li><a href="{name}.html">{title}</a></li>' for name, title in pages.items())
        bodies = {"index": f"<ul>{links}</ul>"} | {name: self.texts["page"].format(t) for name, t in pages.items()}
        for name, body in bodies.items():
            text = f'<!doctype html><meta charset="utf-8"><h1>{pages.get(name, self.names["web"])}</h1><p>{body}</p>'
            (self.handbook / f"{name}.html").write_text(text)

    def write_manual(self, name: str, addition: str = "") -> None:
        """Write a file of the folder."""
        (self.manuals / name).write_text(self.texts["manual"].format(Path(name).stem) + addition)

    def bodies(self) -> list[dict[str, Any]]:
        """The sources as the API takes them."""
        query = {"query": "SELECT id, title, body FROM article", "key_columns": ["id"], "title_column": "title"}
        places = {
            "web": ({"url": f"{self.origin}/handbook/"}, 60),
            "folder": ({"path": str(self.manuals)}, 5),
            "rss": ({"url": f"{self.origin}/news.xml", "linked_pages": False}, 1440),
            "sqlite": ({"path": str(self.root / "articles.db"), **query}, None),
            "imap": ({"host": "127.0.0.1", "port": _CLOSED_PORT}, 15),
        }
        secrets = {"imap": {"username": "support", "password": "secret"}}
        return [
            {
                "name": self.names[connector],
                "connector": connector,
                "settings": settings,
                "sync_every_minutes": every,
                "credentials": secrets.get(connector),
            }
            for connector, (settings, every) in places.items()
        ]


class SourceBase:
    """A knowledge base that is kept in step with sources, over the API."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self._client = client
        self.id = str(_call(client, "POST", "/knowledge-bases", {"name": name})["id"])
        self._path = f"/knowledge-bases/{self.id}/sources"
        self._ids: dict[str, str] = {}

    def add(self, body: dict[str, Any]) -> None:
        """Add a source, and wait for its first sync."""
        row = _call(self._client, "POST", self._path, body)
        self._ids[row["connector"]] = row["id"]
        self._wait(row["id"])

    def sync(self, connector: str) -> None:
        """Synchronize a source, and wait for the end."""
        _call(self._client, "POST", f"{self._path}/{self._ids[connector]}/syncs", {"preview": False})
        self._wait(self._ids[connector])

    def _wait(self, source_id: str) -> None:
        def ended() -> bool:
            sync = _call(self._client, "GET", f"{self._path}/{source_id}")["last_sync"]
            return sync is not None and sync["status"] in _ENDED

        _wait_until(ended)


@dataclass(frozen=True)
class SourcePhotographer(Photographer):
    """A tab whose pictures are of the sources of a knowledge base."""

    scene: SourceScene
    base_of_sources: SourceBase

    def row(self, connector: str) -> Locator:
        """The source of a kind in the list."""
        return self.page.get_by_role("listitem").filter(has_text=self.scene.names[connector])

    def choose(self, connector: str, entry: str) -> Locator:
        """Choose an entry of a source's menu, which opens a dialog."""
        self.button("knowledge:source.more", name=self.scene.names[connector]).click()
        self.page.get_by_role("menuitem", name=self.words(entry), exact=True).click()
        return self.page.get_by_role("dialog")


def _take_sources(photographer: SourcePhotographer) -> None:
    page, words, scene = photographer.page, photographer.words, photographer.scene
    base = photographer.base_of_sources
    path = f"/knowledge-bases/{base.id}/sources"
    photographer.open(path)
    photographer.row("imap").wait_for()
    photographer.save("sources")

    photographer.button("knowledge:source.add").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(words("knowledge:source.setting.url"), exact=True).fill("https://www.example.org/handbook/")
    photographer.save("source-form")
    page.keyboard.press("Escape")

    pages = dict(scene.texts["pages"])
    (gone, _), (changed, title), *_ = pages.items()
    scene.write_pages({**pages, **scene.texts["new_page"], changed: f"{title} 2"})
    (scene.handbook / f"{gone}.html").unlink()
    dialog = photographer.choose("web", "knowledge:source.preview")
    dialog.get_by_text(words("knowledge:source.would")).wait_for(timeout=ANSWER_MS)
    photographer.save("source-preview")
    page.keyboard.press("Escape")

    scene.write_manual(scene.texts["new_manual"])
    base.sync("folder")
    for name in scene.texts["manuals"][:2]:
        scene.write_manual(name, "\n\n## 2\n")
    base.sync("folder")
    photographer.open(path)
    photographer.choose("folder", "knowledge:source.history").get_by_role("table").wait_for()
    dialog.get_by_text(words("knowledge:source.failures")).wait_for()
    photographer.save("source-history")
    page.keyboard.press("Escape")

    for name in scene.texts["manuals"][1:]:
        (scene.manuals / name).unlink()
    base.sync("folder")
    photographer.open(path)
    photographer.row("folder").get_by_text(words("knowledge:source.status.confirm")).wait_for()
    photographer.row("folder").scroll_into_view_if_needed()
    photographer.save("source-deletions")


def _make_backups(client: httpx.Client) -> None:
    """Two backups with documents between them, the second one checked."""

    def make() -> str:
        before = {row["id"] for row in _call(client, "GET", "/admin/backups")["items"]}
        _call(client, "POST", "/admin/backups")
        _wait_until(lambda: not _is_moving(client))
        (made,) = {row["id"] for row in _call(client, "GET", "/admin/backups")["items"]} - before
        return made

    kb_id = _call(client, "POST", "/knowledge-bases", {"name": "Backed up"})["id"]
    make()
    for path in sorted((ROOT / "docs" / "guide" / "en").glob("*.md"))[:5]:
        uploads = {"file": (path.name, path.read_bytes())}
        client.post(f"/knowledge-bases/{kb_id}/documents", files=uploads).raise_for_status()
    path = f"/knowledge-bases/{kb_id}/documents?page_size=1"
    for status in ("pending", "processing"):
        _wait_until(lambda status=status: _call(client, "GET", f"{path}&status={status}")["total"] == 0)
    _call(client, "POST", f"/admin/backups/{make()}/verify")
    _wait_until(lambda: not _is_moving(client))


def _is_moving(client: httpx.Client) -> bool:
    jobs = _call(client, "GET", "/admin/backups/jobs")["items"]
    return any(job["status"] in ("pending", "running") for job in jobs)


@contextmanager
def _client(product: Product) -> Generator[httpx.Client]:
    with httpx.Client(base_url=f"{product.url}/api/v1", timeout=120) as client:
        login = {"username": product.username, "password": product.password}
        token = _call(client, "POST", "/auth/login", login)["access_token"]
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


def _call(client: httpx.Client, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - an answer of the API
    answer = client.request(method, path, json=body)
    answer.raise_for_status()
    return answer.json()["data"]


def _allow(client: httpx.Client, *ports: int) -> None:
    targets = [f"127.0.0.1:{port}" for port in ports]
    _call(client, "PUT", "/admin/system/config/allowed_private_targets", {"value": targets})


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"it did not come about within {_WAIT_SECONDS} s")
        time.sleep(0.25)


@contextmanager
def _site(folder: Path) -> Generator[int]:
    """Serve the files of a folder; gives the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def _show_as(page: Page, places: Mapping[str, str]) -> None:
    """Write other places in the answers about sources and backups than those on this machine."""

    def answer(route: Route) -> None:
        fetched = route.fetch()
        text = fetched.text()
        for place, substitute in places.items():
            text = text.replace(place, substitute)
        route.fulfill(response=fetched, body=text)

    page.route(re.compile(r"/api/v1/(knowledge-bases/[^/]+/sources|admin/backups$)"), answer)
