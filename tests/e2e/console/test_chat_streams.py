"""An answer while it is written: stopped, reloaded, joined, cut off, several at once, failed."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.console.chat_page import ChatPage, new_chat, wait_until_held
from tests.e2e.console.conftest import Look, OpenConsole
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server

HELD = "The port"
WHOLE = "The port is 7070"


@pytest.fixture
def person(llm_product: Server) -> Api:
    """Somebody who has signed in and has no documents."""
    return llm_product.member()


def begin_slow_answer(chat: ChatPage, llm: ModelServer) -> None:
    """Ask, and wait until the answer stands still in its middle, on the page too."""
    chat.ask("Where does it listen? #react-slow")
    wait_until_held(llm)
    expect(chat.turns.get_by_text(HELD)).to_be_visible()


def check_once(chat: ChatPage) -> None:
    """The whole answer is there once, and so is its question."""
    chat.wait_for_answer()
    assert chat.turns.inner_text().count(HELD) == 1
    expect(chat.turns).to_contain_text(WHOLE)
    expect(
        chat.page.get_by_text("Where does it listen? #react-slow", exact=True).and_(chat.turns.locator("p"))
    ).to_have_count(1)


@pytest.mark.every_look
def test_stopped_answer_keeps_its_words_and_the_question_is_edited_and_asked_again(
    browser_thread,
    llm_product: Server,
    person: Api,
    scripted_llm: ModelServer,
    open_console: OpenConsole,
    look: Look,
):
    words = look.words("chat")
    console = open_console(llm_product, person, look)
    chat = new_chat(person, console, agent_type="react")
    begin_slow_answer(chat, scripted_llm)
    console.picture("running")
    chat.page.get_by_role("button", name=words("composer.stop")).click()
    expect(chat.turns.get_by_text(words("message.stopped"))).to_be_visible()
    expect(chat.turns).to_contain_text(HELD)
    assert scripted_llm.hung_up.wait(10)
    console.picture("stopped")

    chat.page.get_by_role("button", name=words("message.edit")).click()
    field = chat.page.get_by_role("textbox", name=words("message.edited"))
    expect(field).to_have_value("Where does it listen? #react-slow")
    field.fill("Where does it listen? #plain")
    field.press("Enter")
    expect(chat.page.get_by_text("Hello from the model.")).to_be_visible()


def test_past_turns_stay_as_they_are_while_another_answer_is_written(
    browser_thread, llm_product: Server, person: Api, scripted_llm: ModelServer, open_console: OpenConsole
):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    for count in (1, 2):
        chat.ask("Say something. #plain")
        chat.wait_for_answer(count)
    past = chat.turns.first
    past.evaluate(
        "(turn) => { window.changes = []; new MutationObserver((records) => window.changes.push(...records))"
        ".observe(turn, { subtree: true, childList: true, attributes: true, characterData: true }); }"
    )
    begin_slow_answer(chat, scripted_llm)
    scripted_llm.release.set()
    chat.wait_for_answer(3)
    assert chat.page.evaluate("window.changes.length") == 0


@pytest.mark.every_look
def test_reload_in_mid_stream_loses_and_doubles_nothing(
    browser_thread,
    llm_product: Server,
    person: Api,
    scripted_llm: ModelServer,
    open_console: OpenConsole,
    look: Look,
):
    chat = new_chat(person, open_console(llm_product, person, look), agent_type="react")
    begin_slow_answer(chat, scripted_llm)
    for _ in range(2):
        chat.page.reload()
        expect(chat.turns.get_by_text(HELD)).to_be_visible()
        expect(chat.page.get_by_role("button", name=look.words("chat")("composer.stop"))).to_be_visible()
    scripted_llm.release.set()
    check_once(chat)
    chat.page.reload()
    check_once(chat)


@pytest.mark.every_look
def test_second_tab_joins_the_running_answer(
    browser_thread,
    llm_product: Server,
    person: Api,
    scripted_llm: ModelServer,
    open_console: OpenConsole,
    look: Look,
):
    chat = new_chat(person, open_console(llm_product, person, look), agent_type="react")
    begin_slow_answer(chat, scripted_llm)
    other = ChatPage(open_console(llm_product, person, look), chat.thread).open()
    expect(other.turns.get_by_text(HELD)).to_be_visible()
    scripted_llm.release.set()
    check_once(chat)
    check_once(other)
    # A question that another tab has asked meanwhile.
    chat.ask("And now? #plain")
    expect(chat.page.get_by_text("Hello from the model.")).to_be_visible()
    other.page.reload()
    expect(other.page.get_by_text("Hello from the model.")).to_be_visible()


@pytest.mark.every_look
def test_answer_goes_on_when_the_network_is_lost_and_back(
    browser_thread,
    llm_product: Server,
    person: Api,
    scripted_llm: ModelServer,
    open_console: OpenConsole,
    look: Look,
):
    lost = look.words("chat")("connection.lost")
    chat = new_chat(person, open_console(llm_product, person, look), agent_type="react")
    begin_slow_answer(chat, scripted_llm)
    chat.console.set_offline(True)
    expect(chat.page.get_by_text(lost)).to_be_visible()
    chat.console.picture("offline")
    scripted_llm.release.set()
    chat.console.set_offline(False)
    check_once(chat)
    expect(chat.page.get_by_text(lost)).to_have_count(0)


def test_question_asked_without_network_is_sent_once_it_is_back(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    chat.console.set_offline(True)
    chat.ask("Hello? #plain")
    expect(chat.page.get_by_text("The connection is lost")).to_be_visible()
    chat.console.set_offline(False)
    chat.wait_for_answer()
    expect(chat.page.get_by_text("Hello from the model.")).to_have_count(1)
    assert [m["role"] for m in person.get(f"/sessions/{chat.thread}/messages")["items"]] == ["user", "assistant"]


def test_several_conversations_run_at_once(
    browser_thread, llm_product: Server, person: Api, scripted_llm: ModelServer, open_console: OpenConsole
):
    console = open_console(llm_product, person)
    page = console.page
    chats = [new_chat(person, console, agent_type="react")]
    begin_slow_answer(chats[0], scripted_llm)
    page.get_by_role("link", name="New conversation", exact=True).click()
    page.get_by_role("textbox", name="Your question").fill("The second #react-slow")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/*")
    expect(page.get_by_role("article").get_by_text(HELD)).to_be_visible()
    at_work = page.get_by_role("complementary", name="Conversations").get_by_text("At work")
    expect(at_work).to_have_count(2)
    console.picture("two-at-once")
    scripted_llm.release.set()
    expect(at_work).to_have_count(0)
    expect(page.get_by_role("article")).to_contain_text(WHOLE)
    page.get_by_role("link", name=re.compile("Where does it listen")).click()
    check_once(chats[0])


def test_failed_run_says_what_happened_and_what_to_do(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    chat.ask("Hello? #unauthorized")
    failure = chat.page.get_by_role("alert")
    expect(failure).to_contain_text("the endpoint refuses the key (HTTP 401)")
    expect(failure).to_contain_text(re.compile(r"request [0-9a-f-]{32,36}"))
    notice = failure.inner_text()
    chat.console.picture("failed")
    expect(failure.get_by_role("button", name="Try again")).to_be_visible()
    # Somebody who comes later learns the same, with the id that the log of the server has.
    chat.page.reload()
    expect(failure).to_have_text(notice, use_inner_text=True)
    assert len(person.get(f"/sessions/{chat.thread}/messages")["items"]) == 1
