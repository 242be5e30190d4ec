"""A model server that streams at a given pace: ``python -m benchmarks.runs.model PORT``.

It speaks OpenAI's streaming chat completions and nothing else. The script stands in the question,
so that one server and one model name serve every measurement.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice

import uvloop

MODEL = "scripted"
_SCRIPT = re.compile(r"Stream (\d+) (words|moments|pieces), (\d+) a second, after (\d+) ms\.")
_WORDS = (
    "The",
    " relay",
    " keeps",
    " its",
    " state",
    " on",
    " disk",
    ",",
    " and",
    " restarts",
    ".\n",
)
_RICH = """## Ports of the relay

The relay listens on port 7070 [1], and its *operators* use `relay ctl` for **everything else** [1].

- It keeps its state on disk.
- It restarts within three seconds.
    1. First the queue,
    2. then the listeners.

| part | port | what for |
|---|---:|---|
| relay | 7070 | clients |
| vault | 7071 | keys, `$HOME/keys` |

```python
def restart(relay: Relay, *, patience: float = 3.0) -> None:
    # Waits until it listens again.
    relay.stop()
    while not relay.listens():
        sleep(patience / 10)  # it takes a moment
```

The wait grows as $w_n = w_0 \\cdot 2^n$, so that

$$
\\sum_{n=0}^{k} w_n = w_0 \\left(2^{k+1} - 1\\right)
$$

> Logs are kept for thirty days.

"""
_PIECES = re.findall(r"\s*\S{1,5}|\s+$", _RICH)
_SEARCH = {"name": "search_knowledge_base", "arguments": '{"query": "port of the relay"}'}
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
_USAGE = {"prompt_tokens": 20, "completion_tokens": 100, "total_tokens": 120}


@dataclass(frozen=True)
class Script:
    """What the model does with a question.

    Args:
        tokens: how many it says, each in a chunk of its own.
        per_second: its pace; 0 for as fast as they are taken.
        wait_ms: how long it is silent before the first byte.
        tells_time: whether each token is the millisecond at which it is sent.
        is_rich: whether it searches first, and answers with tables, code, formulas and citations.
    """

    tokens: int
    per_second: int = 0
    wait_ms: int = 0
    tells_time: bool = False
    is_rich: bool = False

    @property
    def question(self) -> str:
        """The question that has the model do it."""
        unit = "pieces" if self.is_rich else "moments" if self.tells_time else "words"
        pace = f"{self.per_second} a second, after {self.wait_ms} ms."
        return f"Stream {self.tokens} {unit}, {pace}"

    @classmethod
    def read(cls, question: str) -> "Script":
        """The script in a question; a question without one is answered in two words."""
        found = _SCRIPT.search(question)
        if found is None:
            return cls(2)
        tokens, unit, per_second, wait_ms = found.groups()
        return cls(int(tokens), int(per_second), int(wait_ms), unit == "moments", unit == "pieces")

    def texts(self) -> Iterator[str]:
        """The tokens, each made when it is asked for."""
        if self.tells_time:
            return (f"{time.time_ns() // 1_000_000} " for _ in range(self.tokens))
        return islice(cycle(_PIECES if self.is_rich else _WORDS), self.tokens)

    @property
    def characters(self) -> int:
        """How long the text is in all."""
        return sum(map(len, self.texts()))


def _chunk(choices: list[dict], **more: object) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    event = b"data: %s\n\n" % json.dumps({**head, "choices": choices, **more}).encode()
    return b"%x\r\n%s\r\n" % (len(event), event)


def _said(text: str) -> bytes:
    return _chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}])


def _end(reason: str) -> bytes:
    finish = _chunk([{"index": 0, "delta": {}, "finish_reason": reason}])
    return finish + _chunk([], usage=_USAGE) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


async def _play(script: Script, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(script.wait_ms / 1000)
    writer.write(_HEAD)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number, text in enumerate(script.texts()):
        if script.per_second:
            await asyncio.sleep(begun + number / script.per_second - loop.time())
        writer.write(_said(text))
        await writer.drain()
    writer.write(_end("stop"))
    await writer.drain()


async def _search(writer: asyncio.StreamWriter) -> None:
    call = {"index": 0, "id": "call_0", "type": "function", "function": _SEARCH}
    writer.write(_HEAD + _chunk([{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]))
    writer.write(_end("tool_calls"))
    await writer.drain()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = json.loads(await reader.readexactly(size))
        messages = body["messages"]
        script = Script.read(next((str(m["content"]) for m in reversed(messages) if m["role"] == "user"), ""))
        if script.is_rich and "tools" in body and messages[-1]["role"] == "user":
            await _search(writer)
        else:
            await _play(script, writer)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def _serve(port: int) -> None:
    # Many are asked at one moment.
    server = await asyncio.start_server(_answer, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
