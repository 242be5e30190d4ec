"""Work whose client hangs up."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect, Request

from api.http.disconnects import while_connected

pytestmark = pytest.mark.anyio


def request_of(messages: list[str]) -> Request:
    """A request that gets these messages and then none."""

    async def receive() -> dict[str, str]:
        if not messages:
            await asyncio.Event().wait()
        return {"type": messages.pop(0)}

    return Request({"type": "http"}, receive)


async def test_work_is_done_while_the_client_waits_and_fails_as_it_does():
    async def work() -> str:
        await asyncio.sleep(0.6)
        return "done"

    async def fault() -> str:
        raise LookupError

    assert await while_connected(request_of(["http.request"]), work()) == "done"
    with pytest.raises(LookupError):
        await while_connected(request_of([]), fault())


async def test_work_has_ended_when_its_client_is_gone():
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            steps.append("tidied")

    with pytest.raises(ClientDisconnect):
        await while_connected(request_of(["http.request", "http.disconnect"]), work())
    assert steps == ["tidied"]
