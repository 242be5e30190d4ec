"""The messages and shared state of a client that received a run's events."""

from pydantic import JsonValue

from agents.agui.json_patch import apply_patch
from agents.events import PROGRESS, RUNNING, WireEvent
from core.json_access import as_list, as_object, as_text

WireMessage = dict[str, JsonValue]
"""An AG-UI 1.0 message, camelCase."""
_KEPT_BY_CLIENTS = frozenset({"reasoning", "activity"})


class MessageReducer:
    """Builds a thread from its user messages and its runs' events, by the stock client's rules.

    A snapshot made from it changes nothing for a client that followed every run.
    """

    def __init__(self) -> None:
        self._messages: dict[str, WireMessage] = {}
        self._calls: dict[str, WireMessage] = {}
        self.state: JsonValue = {}

    @property
    def messages(self) -> list[WireMessage]:
        """All messages in order of their start, without reasoning and activities.

        Clients keep those of their own if a snapshot has none of their kind.
        """
        return [
            message
            for message in self._messages.values()
            if message["role"] not in _KEPT_BY_CLIENTS and not _is_empty(message)
        ]

    @property
    def all_messages(self) -> list[WireMessage]:
        """All messages with reasoning and activities, for a new client."""
        return [message for message in self._messages.values() if not _is_empty(message)]

    def ask(self, message_id: str, text: str) -> None:
        self._messages.setdefault(message_id, {"id": message_id, "role": "user", "content": text})

    def forget(self, ids: frozenset[str]) -> None:
        """Remove messages and calls that were started again under other ids."""
        for name in ids:
            self._messages.pop(name, None)
            self._calls.pop(name, None)
        for message in self._messages.values():
            calls = as_list(message.get("toolCalls"))
            remaining = [call for call in calls if as_object(call).get("id") not in ids]
            if calls and not remaining:
                del message["toolCalls"]
            elif calls:
                message["toolCalls"] = remaining
        unanswered = [name for name, m in self._messages.items() if as_text(m.get("toolCallId")) in ids]
        for name in unanswered:
            del self._messages[name]

    def observe(self, event: WireEvent) -> None:
        name = as_text(event.get("messageId"))
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self._speaker(name)
            case "TEXT_MESSAGE_CONTENT":
                self._grow(name, as_text(event["delta"]))
            case "TEXT_MESSAGE_END":
                if metadata := as_object(event.get("metadata")):
                    message = self._speaker(name)
                    message["metadata"] = {**as_object(message.get("metadata")), **metadata}
            case "REASONING_MESSAGE_START":
                self._messages[name] = {"id": name, "role": "reasoning", "content": ""}
            case "REASONING_MESSAGE_CONTENT":
                self._grow(name, as_text(event["delta"]))
            case "MESSAGES_SNAPSHOT":
                self._replace(as_list(event["messages"]))
            case _:
                self._observe_data(name, event)

    def _observe_data(self, name: str, event: WireEvent) -> None:
        match event["type"]:
            case "STATE_SNAPSHOT":
                self.state = event["snapshot"]
            case "STATE_DELTA":
                self.state = apply_patch(self.state, as_list(event["delta"]))
            case "ACTIVITY_SNAPSHOT":
                kind, content = event["activityType"], event["content"]
                about: WireMessage = {"role": "activity", "activityType": kind, "content": content}
                self._messages[name] = {"id": name, **about}
            case "ACTIVITY_DELTA" if name in self._messages:
                activity = self._messages[name]
                activity["content"] = apply_patch(activity["content"], as_list(event["patch"]))
            case _:
                self._observe_call(event)

    def _observe_call(self, event: WireEvent) -> None:
        call_id = as_text(event.get("toolCallId"))
        match event["type"]:
            case "TOOL_CALL_START":
                function: WireMessage = {"name": event["toolCallName"], "arguments": ""}
                call: WireMessage = {"id": call_id, "type": "function", "function": function}
                parent = self._speaker(as_text(event.get("parentMessageId")) or call_id)
                parent["toolCalls"] = [*as_list(parent.get("toolCalls")), call]
                self._calls[call_id] = function
            case "TOOL_CALL_ARGS":
                function = self._calls[call_id]
                function["arguments"] = as_text(function["arguments"]) + as_text(event["delta"])
            case "TOOL_CALL_RESULT":
                message_id = as_text(event["messageId"])
                self._messages[message_id] = {
                    "id": message_id,
                    "role": "tool",
                    "content": event["content"],
                    "toolCallId": call_id,
                }
            case _:
                pass

    def _speaker(self, name: str) -> WireMessage:
        return self._messages.setdefault(name, {"id": name, "role": "assistant", "content": ""})

    def _grow(self, name: str, delta: str) -> None:
        message = self._speaker(name)
        message["content"] = as_text(message.get("content")) + delta

    def _replace(self, messages: list[JsonValue]) -> None:
        snapshot = {as_text(as_object(m).get("id")): as_object(m) for m in messages}
        merged: dict[str, WireMessage] = {}
        for name, message in self._messages.items():
            if name in snapshot:
                merged[name] = snapshot.pop(name)
            elif message["role"] in _KEPT_BY_CLIENTS:
                merged[name] = message
        self._messages = {**merged, **snapshot}


def is_running(message: WireMessage) -> bool:
    """Whether a message is an activity of a running run."""
    is_progress = message.get("activityType") == PROGRESS
    return is_progress and as_object(message["content"]).get("status") == RUNNING


def _is_empty(message: WireMessage) -> bool:
    return message["role"] == "assistant" and not message.get("content") and not message.get("toolCalls")
