"""``python -m benchmarks.console_start``: how soon the console's first pages can be used on a slow processor.

Each visit is one of a browser that has loaded nothing yet, over loopback, with a quarter of the processor.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.console_browser import TimedPage, fresh_page, timed_page
from benchmarks.product import Product, running_product
from benchmarks.table import Row, show

_VISITS = 7
_SLOWER = 4
_GOAL_SECONDS = 1.5
_GOAL_SCRIPT_BYTES = 300_000
_GOAL_TASK_MS = 200
_KB = 1000

# When something is there for the first time and the picture with it was drawn; milliseconds from the visit's begin.
_KEEP_USEFUL = """
window.useful = null;
new MutationObserver((changes, observer) => {
    if (!document.querySelector(SELECTOR)) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.useful = performance.now(); }));
}).observe(document, { childList: true, subtree: true, attributes: true });
"""
_SCRIPT_BYTES = """() => performance.getEntriesByType("resource")
    .filter(({ name, startTime }) => new URL(name).pathname.endsWith(".js") && startTime < window.useful)
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""


@dataclass(frozen=True)
class _Start:
    """What makes a page useful: home has its greeting and the box for a question, the other one its form."""

    what: str
    path: str
    selector: str
    is_signed_in: bool


_STARTS = (
    _Start("sign-in", "/sign-in", "form button[type=submit]", is_signed_in=False),
    _Start("home", "/", "main form input", is_signed_in=True),
)


@dataclass(frozen=True)
class _Visit:
    """One visit: seconds to the first useful picture, compressed bytes of scripts up to then, longest task in ms."""

    seconds: float
    script_bytes: int
    task_ms: float


def run(product: Product) -> Iterator[Row]:
    """Both pages against their goals, by the visit that other load disturbed least; a ratio above 1 beats the goal."""
    with timed_page(product) as timed:
        for start in _STARTS:
            visits = [_visit(timed, start) for _ in range(_VISITS)]
            seconds = min(visit.seconds for visit in visits)
            script = max(visit.script_bytes for visit in visits)
            task = min(visit.task_ms for visit in visits)
            goal = f"goal {_GOAL_SECONDS} s"
            yield Row(f"{start.what}: first useful picture", f"{seconds:.2f} s", goal, _GOAL_SECONDS / seconds)
            goal = f"goal {_GOAL_SCRIPT_BYTES // _KB} KB"
            yield Row(f"{start.what}: scripts until then", f"{script // _KB} KB", goal, _GOAL_SCRIPT_BYTES / script)
            goal = f"goal {_GOAL_TASK_MS} ms"
            yield Row(f"{start.what}: longest task", f"{task:.0f} ms", goal, _GOAL_TASK_MS / max(task, 1))


def _visit(timed: TimedPage, start: _Start) -> _Visit:
    with fresh_page(timed, is_signed_in=start.is_signed_in) as fresh:
        page = fresh.page
        page.add_init_script(_KEEP_USEFUL.replace("SELECTOR", repr(start.selector)))
        fresh.slow_down(_SLOWER)
        page.goto(f"{fresh.base}{start.path}")
        page.wait_for_selector(start.selector)
        # What a person would feel who begins to type at once.
        page.wait_for_timeout(1000)
        milliseconds, script = page.evaluate("window.useful"), page.evaluate(_SCRIPT_BYTES)
        return _Visit(milliseconds / 1000, int(script), fresh.longest_task())


if __name__ == "__main__":
    with running_product() as product:
        show(run(product))
