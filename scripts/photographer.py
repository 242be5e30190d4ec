"""Photographer of the console: pages opened, controls found by the words of the catalogues, pictures kept."""

import io
import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page

from benchmarks.console_browser import TimedPage

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
CATALOGUES = ROOT / "web" / "src" / "i18n"
ANSWER_MS = 60_000
_COLOURS = 128
_LOCALES = {"en": "en-US", "zh": "zh-CN"}


@dataclass(frozen=True)
class Photographer:
    """A tab in one language, whose pictures go to ``docs/pictures``.

    Attributes:
        base: the address of the product, without a slash at its end.
    """

    page: Page
    base: str
    language: str

    def words(self, key: str, **values: object) -> str:
        """The console's words: ``words("chat:message.edit")``."""
        area, _, path = key.partition(":")
        text = json.loads((CATALOGUES / self.language / f"{area}.json").read_text())
        for part in path.split("."):
            text = text[part]
        for name, value in values.items():
            text = text.replace(f"{{{{{name}}}}}", str(value))
        return str(text)

    def open(self, path: str) -> Page:
        """Go to a page of the console."""
        self.page.goto(self.base + path)
        self.page.get_by_role("heading", level=1).wait_for()
        return self.page

    def button(self, key: str, place: Page | Locator | None = None, **values: object) -> Locator:
        """The button with these words of the console."""
        return (place or self.page).get_by_role("button", name=self.words(key, **values), exact=True)

    def wait_for_mark(self, name: str) -> None:
        """Wait until a passage or quote of a document is marked, which has been drawn by then."""
        self.page.wait_for_function("name => (CSS.highlights.get(name)?.size ?? 0) > 0", arg=name, timeout=ANSWER_MS)

    def save(self, name: str) -> None:
        """Keep what is shown, in few colours."""
        # Skeletons and the panel's slide are over by then.
        self.page.wait_for_timeout(1000)
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        folder = PICTURES / self.language
        folder.mkdir(parents=True, exist_ok=True)
        picture.quantize(_COLOURS).save(folder / f"{name}.png", optimize=True)


@contextmanager
def tab(signed_in: TimedPage, language: str) -> Generator[Page]:
    """A tab in a language, for whoever is signed in."""
    browser, state = signed_in.page.context.browser, signed_in.page.context.storage_state()
    if browser is None:
        raise SystemExit("the browser was closed")
    page = browser.new_page(viewport={"width": 1280, "height": 800}, locale=_LOCALES[language], storage_state=state)
    yield page
    page.close()
