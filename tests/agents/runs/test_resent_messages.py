"""Messages of a request that its thread stores already, as laws of their matching."""

from hypothesis import given
from hypothesis import strategies as st

from agents.run_request import UserMessage
from agents.runs.resent_messages import match_in_order

TEXTS = st.lists(st.sampled_from(["hello", "yes", "Which port?", "端口？"]), max_size=12)
Stored = list[tuple[str, str]]


def stored_as(texts: list[str]) -> Stored:
    return [(f"old-{number}", text) for number, text in enumerate(texts)]


def renumbered(texts: list[str]) -> list[UserMessage]:
    return [UserMessage(f"new-{number}", text) for number, text in enumerate(texts)]


@given(TEXTS, st.data())
def test_any_part_of_a_history_in_its_order_adds_nothing(texts: list[str], data: st.DataObject):
    chosen = [text for text in texts if data.draw(st.booleans())]
    assert match_in_order(stored_as(texts), renumbered(chosen), set()) == []


@given(TEXTS, st.data())
def test_messages_with_their_own_ids_add_nothing_beside_renumbered_ones(texts: list[str], data: st.DataObject):
    stored = stored_as(texts)
    fresh = [data.draw(st.booleans()) for _ in texts]
    sent = [
        UserMessage(f"new-{place}" if is_fresh else stored[place][0], text)
        for place, (text, is_fresh) in enumerate(zip(texts, fresh, strict=True))
    ]
    assert match_in_order(stored, sent, {message_id for message_id, _ in stored}) == []


@given(TEXTS, TEXTS)
def test_what_is_new_is_left_in_its_order_and_no_stored_message_counts_twice(texts: list[str], sent_texts: list[str]):
    sent = renumbered(sent_texts)
    new = match_in_order(stored_as(texts), sent, set())
    assert new == [message for message in sent if message in new]
    matched = [message.text for message in sent if message not in new]
    rest = iter(texts)
    assert all(text in rest for text in matched)


def test_words_that_were_never_stored_are_new():
    sent = renumbered(["hello", "goodbye", "yes"])
    assert match_in_order(stored_as(["hello", "yes"]), sent, set()) == [sent[1]]


def test_stored_message_that_is_sent_under_its_id_is_not_another_one():
    sent = [UserMessage("new", "hello"), UserMessage("old-0", "hello")]
    assert match_in_order(stored_as(["hello"]), sent, {"old-0"}) == [sent[0]]
