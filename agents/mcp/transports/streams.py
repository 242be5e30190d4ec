"""What every transport of an MCP session gives."""

from contextlib import AbstractAsyncContextManager

from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]
Opened = AbstractAsyncContextManager[Streams]
