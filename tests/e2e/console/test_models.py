"""Language models in the console: registered, tested before they are saved, given to people, used and paid for."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.console.conftest import OpenConsole
from tests.fixtures.http.client import Api, unique
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import ADMIN_PASSWORD, Server
from tests.fixtures.runs.agent_runs import NOBODY

KEY = "sk-canary-of-the-console"
_PAINTED = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let place = 0; place < data.length; place += 4)
        if (data[place + 3] === 255) colours.add(data.slice(place, place + 3).join());
    return colours.size;
}"""


@pytest.fixture
def manager(llm_product: Server) -> Iterator[Api]:
    """The administrator, who leaves no registered model behind."""
    admin = llm_product.api().log_in(llm_product.settings.admin_username, ADMIN_PASSWORD)
    yield admin
    for model in admin.get("/admin/models")["items"]:
        admin.delete(f"/admin/models/{model['id']}")


@pytest.fixture
def people(llm_product: Server) -> tuple[Api, Api]:
    """Two people who have logged in and manage nothing."""
    return llm_product.member(), llm_product.member()


def fill_endpoint(form: Locator, address: str, model: str) -> None:
    form.get_by_label("Provider").select_option(label="Other, OpenAI-compatible")
    form.get_by_label("Address").fill(address)
    form.get_by_label("Model", exact=True).fill(model)
    form.get_by_label("API key").fill(KEY)


def try_form(form: Locator, words: str) -> None:
    """Ask the model that the form describes, and read what came of it."""
    form.get_by_role("button", name="Test connection").click()
    outcome = form.get_by_role("status").or_(form.get_by_role("alert"))
    expect(outcome.filter(has_text=words)).to_be_visible()


def ask(page: Page, base: str, question: str, model: str) -> None:
    page.goto(f"{base}/chat")
    page.get_by_role("button", name="Agent and sources").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Agent", exact=True).select_option(value="react")
    dialog.get_by_label("Language model").select_option(label=model)
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("textbox", name="Your question").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/*")


def test_model_is_tested_registered_for_one_person_used_and_counted(
    browser_thread,
    manager: Api,
    people: tuple[Api, Api],
    llm_product: Server,
    scripted_llm: ModelServer,
    open_console: OpenConsole,
):
    (member, other), name = people, unique("Fast")
    console = open_console(llm_product, manager)
    page = console.page
    console.open("/models")
    page.get_by_role("button", name="Add a model").click()
    form = console.dialog
    fill_endpoint(form, scripted_llm.base_url, "unauthorized")
    try_form(form, "refuses the key")
    form.get_by_label("Model", exact=True).fill("unknown-model")
    expect(form.get_by_text("refuses the key")).to_have_count(0)
    try_form(form, "correct its model_id")
    form.get_by_label("Address").fill(f"http://{NOBODY}/v1")
    try_form(form, "can't be reached")
    form.get_by_label("Address").fill("http://169.254.169.254/v1")
    try_form(form, "Only public addresses")
    console.picture("model-form-refused")
    assert manager.get("/admin/models")["items"] == []

    form.get_by_label("Address").fill(scripted_llm.base_url)
    form.get_by_label("Model", exact=True).fill("plain")
    form.get_by_label("Name in the console").fill(name)
    form.get_by_text("Limits, prices, options").click()
    form.get_by_label("Price per million tokens in").fill("2")
    form.get_by_label("Price per million tokens out").fill("10")
    form.get_by_role("switch", name="Only for some roles or people").click()
    form.get_by_label("Look for a person").fill(member.name)
    form.get_by_role("button", name=f"Add {member.name}").click()
    try_form(form, "It answers")
    form.get_by_role("button", name="Save").click()
    expect(form).to_be_hidden()
    expect(page.get_by_role("listitem").filter(has_text=name)).to_contain_text("some roles or people")
    [model] = manager.get("/admin/models")["items"]
    assert (model["user_access"], model["role_access"], model["has_secret"]) == ([member.user_id], [], True)
    assert KEY not in page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")

    theirs = open_console(llm_product, member)
    ask(theirs.page, theirs.base, "Hi #unauthorized", name)
    expect(theirs.page.get_by_text("Hello from the model.")).to_be_visible(timeout=60_000)
    theirs.open("/models?measure=cost")
    plot = theirs.page.get_by_role("img", name="Cost by day and model")
    expect(plot.locator("canvas")).to_be_visible()
    assert theirs.page.evaluate(_PAINTED, plot.locator("canvas").element_handle()) > 1
    expect(theirs.page.get_by_role("row", name=name)).to_contain_text("0.0001")
    expect(theirs.page.get_by_role("button", name="Add a model")).to_have_count(0)
    theirs.picture("models-usage")

    apart = open_console(llm_product, other)
    apart.open("/models")
    expect(apart.page.get_by_text("by-question")).to_be_visible()
    expect(apart.page.get_by_text(name)).to_have_count(0)


def test_model_is_changed_with_its_key_kept_made_the_default_and_deleted(
    browser_thread, manager: Api, llm_product: Server, scripted_llm: ModelServer, open_console: OpenConsole
):
    roles = {role["name"]: role["id"] for role in manager.get("/admin/roles")["items"]}
    draft = {"name": unique("Old"), "provider": "openai-compatible", "base_url": scripted_llm.base_url}
    manager.post("/admin/models", {**draft, "model_id": "plain", "api_key": KEY})
    name, asked = unique("New"), len(scripted_llm.requests)
    console = open_console(llm_product, manager)
    page = console.page
    console.open("/models")
    page.get_by_role("button", name=f"More for {draft['name']}").click()
    page.get_by_role("menuitem", name="Edit").click()
    form = console.dialog
    expect(form.get_by_label("API key")).to_have_value("")
    form.get_by_label("Name in the console").fill(name)
    form.get_by_role("switch", name="Only for some roles or people").click()
    form.get_by_role("checkbox", name="Developer").check()
    try_form(form, "It answers")
    assert scripted_llm.requests[asked].headers["authorization"] == f"Bearer {KEY}"
    form.get_by_role("button", name="Save").click()
    expect(form).to_be_hidden()
    [model] = manager.get("/admin/models")["items"]
    assert (model["name"], model["has_secret"], model["role_access"]) == (name, True, [roles["developer"]])

    # What is given up leaves nothing behind.
    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Edit").click()
    form.get_by_label("Name in the console").fill("Given up")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Edit").click()
    expect(form.get_by_label("Name in the console")).to_have_value(name)
    page.keyboard.press("Escape")

    row = page.get_by_role("listitem").filter(has_text=name)
    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Make it the default").click()
    expect(row).to_contain_text("Default")
    page.get_by_role("button", name=f"More for {name}").click()
    page.get_by_role("menuitem", name="Delete").click()
    form.get_by_role("button", name="Delete").click()
    expect(form).to_be_hidden()
    expect(row).to_have_count(0)
    assert manager.get("/admin/models")["items"] == []
