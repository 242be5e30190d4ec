"""The very first visit: a suggested question is answered with a source, though nothing was read yet."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.console.conftest import OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import ADMIN_PASSWORD, Server, running_server

# Some twenty seconds on two cores that others use as well (docs/benchmarks.md); machines of tests are busier.
_PATIENCE_MS = 240_000


def ask(page: Page, suggestion: str, source: str) -> None:
    page.get_by_role("button", name=suggestion).click()
    page.wait_for_url("**/chat/*", timeout=_PATIENCE_MS)
    expect(page.get_by_role("button", name=source).first).to_be_visible(timeout=_PATIENCE_MS)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A product at its first start; no other test has set up a language model in it."""
    variables = {"AGENTEX_DOCUMENTATION_ENABLED": "true"}
    with running_server(tmp_path_factory.mktemp("fresh"), variables=variables) as server:
        yield server


@pytest.fixture
def colleague(fresh: Server) -> Api:
    return fresh.member()


def test_suggestion_waits_for_the_documentation_and_is_answered_with_a_source(
    browser_thread, fresh: Server, open_console: OpenConsole
):
    admin = fresh.api().log_in(fresh.settings.admin_username, ADMIN_PASSWORD)
    console = open_console(fresh, admin)
    page = console.page
    console.open("/")
    expect(page.get_by_role("progressbar", name="Progress of the documentation")).to_be_visible()
    expect(page.get_by_role("link", name="Agentex documentation")).to_be_visible()
    console.picture("home-first-start")
    suggestion = page.get_by_role("button", name="How do I upload a document?")
    suggestion.click()
    expect(page.get_by_text("is asked as soon as Agentex has read its documentation")).to_be_visible()
    page.get_by_role("button", name="Don't ask").click()
    expect(page.get_by_text("is asked as soon as Agentex has read its documentation")).to_be_hidden()
    console.picture("home-first-question-waits")
    ask(page, "How do I upload a document?", "Source 1: en-")
    console.picture("first-answer")
    for name in ("Which languages does the search read?", "How do I write a skill?"):
        console.open("/")
        ask(page, name, "Source 1: en-")

    console = open_console(fresh, admin, language="zh", theme="dark")
    for name in ("如何上传文档？", "搜索支持哪些语言？", "如何编写技能？"):
        console.open("/")
        ask(console.page, name, "zh-")
    console.picture("first-answer")


def test_notice_of_no_language_model_leads_whom_it_can_help(
    browser_thread, fresh: Server, colleague: Api, open_console: OpenConsole
):
    user = open_console(fresh, colleague)
    user.open("/")
    expect(user.page.get_by_text("Ask an administrator to add one")).to_be_visible()
    expect(user.page.get_by_role("link", name="Add a language model")).to_have_count(0)

    console = open_console(fresh, fresh.api().log_in(fresh.settings.admin_username, ADMIN_PASSWORD))
    console.open("/")
    console.page.get_by_role("link", name="Add a language model").click()
    expect(console.page.get_by_role("dialog")).to_be_visible()
    expect(console.page.get_by_role("dialog").get_by_role("textbox").first).to_be_visible()
    console.picture("add-a-language-model")


def test_nothing_is_suggested_where_the_documentation_is_not(
    browser_thread, embedded: Server, member: Api, open_console: OpenConsole
):
    console = open_console(embedded, member)
    console.open("/")
    expect(console.page.get_by_role("textbox", name="Ask a question")).to_be_visible()
    expect(console.page.get_by_role("button", name="How do I upload a document?")).to_have_count(0)
