"""Re-encoding of uploaded images in a child process."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from agents.attachments.reencode_main import FOR_MODELS, MOST_PIXELS, SECONDS
from core.errors.requests import CorruptImage, EmptyFile, ImageTooLarge, UnsupportedFileType
from core.logging import get_logger

log = get_logger(__name__)

_MODULE = "agents.attachments.reencode_main"
# For starting and reading, which are no processor time of the child.
_MARGIN_SECONDS = 10
_AT_ONCE = 2
_LONGEST_LINE = 1000
MIME_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")


@dataclass(frozen=True)
class SanitizedImage:
    """A re-encoded image; ``mime_type`` is one of ``MIME_TYPES``."""

    mime_type: str
    width: int
    height: int
    content: bytes


def detect_type(head: bytes) -> str | None:
    """The media type by the first bytes; None if it is not supported."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


class ImageSanitizer:
    """Re-encodes images, a few at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def sanitize(self, content: bytes, *, for_models: bool = False) -> SanitizedImage:
        """Re-encode an image: upright, first frame only, nothing but pixels; for models, as a JPEG of accepted size.

        Raises:
            EmptyFile: no bytes.
            UnsupportedFileType: not PNG, JPEG, WebP or GIF by its first bytes.
            ImageTooLarge: too many pixels; nothing was decoded.
            CorruptImage: it can't be decoded within the limits of time and memory.
        """
        if not content:
            raise EmptyFile(field="file")
        mime_type = detect_type(content[:16])
        if mime_type is None:
            raise UnsupportedFileType(field="file", error=f"Send one of {', '.join(MIME_TYPES)}")
        async with self._turn:
            reply = await _in_child(content, *((FOR_MODELS,) if for_models else ()))
        line = reply[:_LONGEST_LINE].partition(b"\n")[0]
        drawn = reply[len(line) + 1 :]
        reply_fields = cast(dict[str, object], json.loads(line)) if line else {"fault": "killed"}
        fault = reply_fields.get("fault")
        if fault == "too_many_pixels":
            raise ImageTooLarge(max_pixels=MOST_PIXELS)
        expected = "image/jpeg" if for_models else mime_type
        if fault is not None or reply_fields["mime_type"] != expected:
            log.info("attachment.not_drawn", fault=fault)
            raise CorruptImage(field="file")
        return SanitizedImage(expected, cast(int, reply_fields["width"]), cast(int, reply_fields["height"]), drawn)


async def _in_child(content: bytes, *arguments: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-B", "-m", _MODULE, *arguments),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        # No variables of this process.
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS + _MARGIN_SECONDS):
            reply, _ = await process.communicate(content)
    except TimeoutError:
        return b""
    finally:
        await _end(process)
    return reply if process.returncode == 0 else b""


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Its pipes must be drained before wait() returns.
        if process.stdout is not None:
            while await process.stdout.read(2**20):
                pass
        await process.wait()
