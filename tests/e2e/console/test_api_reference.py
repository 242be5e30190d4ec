"""The API's page at /docs in a browser."""

from playwright.sync_api import expect

from tests.e2e.console.conftest import OpenConsole
from tests.fixtures.product.server import Server


def test_a_request_is_tried_out_on_the_page_under_its_policy(
    browser_thread, embedded: Server, open_console: OpenConsole
):
    console = open_console(embedded)
    page = console.page
    page.goto(f"{console.base}/docs")
    operation = page.locator(".opblock", has_text="/healthz")
    operation.get_by_role("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table")).to_contain_text("200")
    console.picture("request")
