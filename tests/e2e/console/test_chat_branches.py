"""Branches of a conversation in the console: an earlier question in other words, and the way back."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.console.chat_page import ChatPage, new_chat, wait_until_held, whole
from tests.e2e.console.conftest import Console, Look, OpenConsole
from tests.e2e.runs.test_message_documents import asking, document_part
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import run

FAILING = "Hello? #unauthorized"
FIRST, SECOND, EDITED = "Who are you? #plain", "And then? #tokens-3", "Who is there? #tokens-2"
_BUTTONS = {
    "edit": "message.edit",
    "again": "message.ask_again",
    "previous": "message.previous_branch",
    "next": "message.next_branch",
    "cancel": "common:action.cancel",
}


@dataclass
class Branches:
    """The branches of a conversation in a console."""

    chat: ChatPage

    def __post_init__(self) -> None:
        self.page = self.chat.page
        self.words = self.chat.words

    def turn(self, question: str) -> Locator:
        return self.chat.turns.filter(has=self.page.get_by_text(question, exact=True))

    def button(self, question: str, name: str) -> Locator:
        return self.turn(question).get_by_role("button", name=self.words(_BUTTONS[name]), exact=True)

    def edit(self, question: str, text: str) -> None:
        self.button(question, "edit").click()
        field = self.page.get_by_role("textbox", name=self.words("message.edited"))
        expect(field).to_be_focused()
        expect(field).to_have_value(question)
        field.fill(text)
        field.press("Enter")
        expect(field).to_have_count(0)

    def check(self, *questions: str) -> None:
        """These are the questions of the branch that is shown."""
        expect(self.chat.turns).to_have_count(len(questions))
        for number, question in enumerate(questions):
            expect(self.chat.turns.nth(number)).to_contain_text(question)

    def check_place(self, question: str, place: str) -> None:
        expect(self.turn(question).get_by_text(place, exact=True)).to_be_visible()


@pytest.fixture
def person(llm_product: Server) -> Api:
    """Somebody who has signed in and has no documents."""
    return llm_product.member()


def ask_twice(person: Api, console: Console) -> Branches:
    chat = new_chat(person, console, agent_type="react")
    for count, question in enumerate((FIRST, SECOND), start=1):
        chat.ask(question)
        chat.wait_for_answer(count)
    return Branches(chat)


def test_edited_question_is_a_branch_and_the_way_back_is_kept(
    browser_thread,
    llm_product: Server,
    person: Api,
    open_console: OpenConsole,
    look: Look,
):
    console = open_console(llm_product, person, look)
    branches = ask_twice(person, console)
    page, origin = branches.page, branches.page.url
    branches.edit(FIRST, EDITED)
    branches.chat.wait_for_answer()
    branches.check(EDITED)
    branches.check_place(EDITED, "2 / 2")
    expect(branches.button(EDITED, "next")).to_be_disabled()
    branch = page.url
    assert branch != origin
    console.picture("chat-branch")

    branches.button(EDITED, "previous").click()
    branches.check(FIRST, SECOND)
    branches.check_place(FIRST, "1 / 2")
    assert page.url == origin
    # Who goes by keyboard goes back with the same hands.
    expect(branches.button(FIRST, "next")).to_be_focused()
    console.picture("chat-branch-origin")
    page.reload()
    branches.check(FIRST, SECOND)
    branches.check_place(FIRST, "1 / 2")

    branches.button(FIRST, "next").press("Enter")
    branches.check(EDITED)
    assert page.url == branch
    page.reload()
    branches.check(EDITED)
    branches.chat.ask("Go on #plain")
    branches.chat.wait_for_answer(2)
    branches.check(EDITED, "Go on #plain")
    branches.check_place(EDITED, "2 / 2")


def test_question_is_asked_again_in_a_branch_of_the_same_beginning(
    browser_thread, llm_product: Server, person: Api, scripted_llm: ModelServer, open_console: OpenConsole
):
    console = open_console(llm_product, person)
    branches = ask_twice(person, console)
    branches.button(SECOND, "again").click()
    branches.check_place(SECOND, "2 / 2")
    branches.chat.wait_for_answer(2)
    branches.check(FIRST, SECOND)
    asked = [str(message["content"]) for message in scripted_llm.run_requests[-1].messages if message["role"] == "user"]
    assert [text for text in asked if "#" in text] == [FIRST, SECOND]
    # Of the list, a conversation is one line.
    assert person.get("/sessions")["total"] == 1

    branches.edit(SECOND, "Or then? #plain")
    branches.check_place("Or then? #plain", "3 / 3")
    branches.chat.wait_for_answer(2)
    branches.button("Or then? #plain", "previous").click()
    branches.check_place(SECOND, "2 / 3")
    branches.button(SECOND, "previous").click()
    branches.check_place(SECOND, "1 / 3")


def test_failed_run_is_tried_again_in_a_branch(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    chat = new_chat(person, open_console(llm_product, person), agent_type="react")
    chat.ask(FIRST)
    chat.wait_for_answer()
    chat.ask(FAILING)
    failure = chat.page.get_by_role("alert")
    expect(failure).to_contain_text("HTTP 401")
    expect(failure).to_contain_text("Error LLM_ERROR")
    origin = chat.page.url
    failure.get_by_role("button", name="Try again").click()
    branches = Branches(chat)
    branches.check_place(FAILING, "2 / 2")
    expect(failure).to_contain_text("HTTP 401")
    # No failed attempt stands before another.
    branches.check(FIRST, FAILING)
    assert chat.page.url != origin
    branches.button(FAILING, "previous").click()
    branches.check_place(FAILING, "1 / 2")
    branches.check(FIRST, FAILING)
    assert chat.page.url == origin


def test_failed_first_run_is_tried_again_in_a_branch(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    branches = Branches(new_chat(person, open_console(llm_product, person), agent_type="react"))
    branches.chat.ask(FAILING)
    failure = branches.page.get_by_role("alert")
    for place in ("2 / 2", "3 / 3"):
        failure.get_by_role("button", name="Try again").click()
        branches.check_place(FAILING, place)
        expect(failure).to_contain_text("HTTP 401")
        branches.check(FAILING)
    listed = person.get("/sessions")
    assert ([row["title"] for row in listed["items"]], listed["total"]) == ([FAILING], 1)


def test_refused_question_of_a_branch_stays_in_the_editor_and_its_branch_goes(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    kb = person.post("/knowledge-bases", {"name": "Handbook"})["id"]
    chat = new_chat(person, open_console(llm_product, person), agent_type="react", knowledge_base_ids=[kb])
    chat.ask(FIRST)
    chat.wait_for_answer()
    branches, origin = Branches(chat), chat.page.url
    person.delete(f"/knowledge-bases/{kb}")
    branches.button(FIRST, "edit").click()
    field = branches.page.get_by_role("textbox", name=branches.words("message.edited"))
    field.fill(EDITED)
    with chat.console.answers("/api/v1/sessions/", "DELETE"):
        field.press("Enter")
    expect(branches.page.get_by_role("region", name="Notices")).to_contain_text("Knowledge base not found")
    expect(field).to_have_value(EDITED)
    assert chat.page.url == origin
    assert llm_product.count("chat_session", owner_id=person.user_id) == 1


def test_document_of_a_question_goes_with_its_edited_form(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    # It was asked somewhere else: this tab has never had the document's bytes.
    asked = asking("Which port? #attached", document_part(name="relay.md"))
    run(person, asked)
    branches = Branches(ChatPage(open_console(llm_product, person), asked["threadId"]).open())
    question = "Which port? #attached"
    expect(branches.turn(question).get_by_text("relay.md", exact=True).first).to_be_visible()
    branches.edit(question, EDITED)
    branches.check_place(EDITED, "2 / 2")
    branches.chat.wait_for_answer()
    edited, _ = person.get(f"/sessions/{branches.page.url.rpartition('/')[2]}/messages")["items"]
    assert (edited["content"], [file["name"] for file in edited["metadata"]["documents"]]) == (EDITED, ["relay.md"])


def test_run_goes_on_while_another_branch_is_asked_in(
    browser_thread, llm_product: Server, person: Api, scripted_llm: ModelServer, open_console: OpenConsole
):
    branches = Branches(new_chat(person, open_console(llm_product, person), agent_type="react"))
    branches.chat.ask(FIRST)
    branches.chat.wait_for_answer()
    branches.chat.ask("Slowly #react-slow")
    wait_until_held(scripted_llm)
    branches.edit(FIRST, EDITED)
    branches.chat.wait_for_answer()
    branches.button(EDITED, "previous").click()
    branches.check(FIRST, "Slowly #react-slow")
    scripted_llm.release.set()
    branches.chat.wait_for_answer(2)
    expect(branches.turn("Slowly #react-slow")).to_contain_text("The port is 7070")


def test_edit_is_given_up_with_escape_and_changes_nothing(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    branches = ask_twice(person, open_console(llm_product, person))
    branches.button(FIRST, "edit").click()
    field = branches.page.get_by_role("textbox", name=whole(branches.chat.words("message.edited")))
    field.fill("Never mind")
    field.press("Escape")
    expect(field).to_have_count(0)
    expect(branches.button(FIRST, "edit")).to_be_focused()
    branches.check(FIRST, SECOND)
    assert person.get("/sessions")["items"][0]["conversation_id"] is None


def test_conversation_with_branches_is_deleted_from_any_of_them(
    browser_thread, llm_product: Server, person: Api, open_console: OpenConsole
):
    other = person.post("/sessions", {"title": "Something else"})
    branches = ask_twice(person, open_console(llm_product, person))
    branches.edit(FIRST, EDITED)
    branches.chat.wait_for_answer()
    branches.button(EDITED, "previous").click()
    branches.check(FIRST, SECOND)
    page = branches.page
    expect(page.get_by_role("link", name=other["title"])).not_to_have_attribute("aria-current", "page")
    listed = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=FIRST))
    expect(listed).to_have_count(1)
    # The list leads to the branch that was used last; what is shown is another one of the same conversation.
    expect(listed.get_by_role("link")).to_have_attribute("aria-current", "page")
    listed.get_by_role("button").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    assert [session["id"] for session in person.get("/sessions")["items"]] == [other["id"]]
