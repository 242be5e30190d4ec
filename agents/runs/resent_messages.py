"""Messages of a request that its thread stores already, under the same or under other ids.

Clients send all of a conversation or only what is new, and some number their messages anew each time.
"""

from bisect import bisect_left
from collections.abc import Sequence

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import ChatMessage, ChatSession
from agents.run_request import RunRequest, UserMessage
from agents.sessions.service import last_question
from core.errors.requests import InvalidRunInput

FOREIGN_ID = "the last one has the id of another message of this thread", "最后一条消息使用了本线程中另一条消息的 ID"
# Variables per statement, below the limits of all databases.
_AT_ONCE = 500


def match_in_order(
    stored: Sequence[tuple[str, str]], sent: Sequence[UserMessage], known_ids: set[str]
) -> list[UserMessage]:
    """Those of the sent messages that are not stored.

    A message is stored if its id is, or if its text is that of a stored one that no sent message has the id of,
    behind the stored one that the sent message before it is.

    Args:
        stored: Id and text of the thread's user messages, in order.
        known_ids: Ids of the thread's messages of all roles.
    """
    sent_ids = {message.id for message in sent}
    by_id = {message_id: place for place, (message_id, _) in enumerate(stored)}
    by_text: dict[str, list[int]] = {}
    for place, (message_id, text) in enumerate(stored):
        if message_id not in sent_ids:
            by_text.setdefault(text, []).append(place)
    new: list[UserMessage] = []
    begin = 0
    for message in sent:
        if message.id in known_ids:
            begin = max(begin, by_id.get(message.id, -1) + 1)
            continue
        places = by_text.get(message.text, [])
        index = bisect_left(places, begin)
        if index == len(places):
            new.append(message)
        else:
            begin = places[index] + 1
    return new


async def find_unknown(
    session: AsyncSession, session_key: str, messages: Sequence[UserMessage]
) -> Sequence[UserMessage]:
    """Those messages before a question that its thread lacks, matched by id, or by order and text."""
    known_ids = await _known_ids(session, session_key, messages)
    if all(message.id in known_ids for message in messages):
        return []
    query = select(ChatMessage.message_id, ChatMessage.content).where(
        ChatMessage.session_id == session_key, ChatMessage.role == "user"
    )
    stored = (await session.exec(query.order_by(col(ChatMessage.position)))).all()
    return match_in_order(stored, messages, known_ids)


async def find_new(session: AsyncSession, thread: ChatSession | None, request: RunRequest) -> tuple[UserMessage, ...]:
    """The messages beside answers that came after the thread's last question.

    What follows everything that others said is only matched by its id: a history of old ends before it. Before
    that, the last question may come again under another id.

    Raises ``InvalidRunInput`` if the last message has the id of another one.
    """
    messages = request.messages
    if thread is None or not messages:
        return messages
    await _check_id(session, thread.id, messages[-1])
    known_ids = await _known_ids(session, thread.id, messages)
    asked_last = await last_question(session, thread.id)
    end = len(messages) - request.trailing
    repeated = [
        place for place, message in enumerate(messages[:end]) if message.id in known_ids or message.text == asked_last
    ]
    begin = repeated[-1] + 1 if repeated else 0
    return (*messages[begin:end], *(message for message in messages[end:] if message.id not in known_ids))


async def _check_id(session: AsyncSession, session_key: str, message: UserMessage) -> None:
    query = select(ChatMessage.role, ChatMessage.content).where(
        ChatMessage.session_id == session_key, ChatMessage.message_id == message.id
    )
    stored = (await session.exec(query)).first()
    if stored is not None and tuple(stored) != ("user", message.text):
        raise InvalidRunInput("messages", *FOREIGN_ID)


async def _known_ids(session: AsyncSession, session_key: str, messages: Sequence[UserMessage]) -> set[str]:
    """Ids that are stored already."""
    if not messages:
        return set()
    ids = select(ChatMessage.message_id).where(ChatMessage.session_id == session_key)
    if len(messages) <= _AT_ONCE:
        ids = ids.where(col(ChatMessage.message_id).in_([message.id for message in messages]))
    return set((await session.exec(ids)).all())
