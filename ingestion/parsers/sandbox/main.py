"""The parser child (``python -m ingestion.parsers.sandbox.main``), started by ``client``; speaks ``protocol``."""

import gc
import os
import sys
from pathlib import Path
from typing import BinaryIO

from ingestion.parsers import parser_for
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.image import ocr
from ingestion.parsers.image.ocr import OcrSettings
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox import limits as sandbox_limits
from ingestion.parsers.sandbox.progress import reporting_to
from ingestion.parsers.sandbox.protocol import (
    HEADER,
    ParseRequest,
    pack_isolation,
    pack_progress,
    pack_reply,
    unpack_request,
)
from ingestion.parsers.text.charset import forced_codec, is_valid_text, selectable_codecs

# Share of a parse's time. A parse with so much processor time was not delayed by others: a second attempt is
# pointless.
_PROCESSOR_SHARE = 0.9
# Failures of JSON or XML read in a wrong encoding.
_OF_WRONG_TEXT = frozenset({FailureReason.CORRUPT_FILE, FailureReason.EMPTY_TEXT})


def main() -> None:
    """Serve requests until the standard input ends."""
    ocr.configure(OcrSettings(*sys.argv[1:]), grant_time=sandbox_limits.limit_processor_time)
    requests, replies = _private_pipes()
    _send(replies, pack_isolation(sandbox_limits.enter_sandbox()))
    # A parse makes millions of objects and no cycles worth breaking before its end.
    gc.disable()
    while header := requests.read(HEADER.size):
        request = unpack_request(requests.read(HEADER.unpack(header)[0]))
        with reporting_to(lambda percent: _send(replies, pack_progress(percent))):
            outcome = _parse(request)
        _send(replies, pack_reply(outcome))
        gc.collect()
        # Only modules and their tables remain: later collections skip them.
        gc.freeze()


def _send(replies: BinaryIO, frame: bytes) -> None:
    replies.write(frame)
    replies.flush()


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the worker, moved away from where a library might print."""
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return requests, replies


def _parse(request: ParseRequest) -> ParsedDocument | ParseFailure:
    parse = parser_for(request.media_type)
    sandbox_limits.limit_processor_time(_PROCESSOR_SHARE * request.limits.seconds)
    sandbox_limits.limit_memory(request.limits.memory_bytes)
    try:
        with forced_codec(request.encoding):
            return parse(request.path, request.limits)
    except ParseFailure as failure:
        return _blame_chosen_encoding(failure, request.path, request.encoding)
    except MemoryError:
        return ParseFailure(FailureReason.PARSE_MEMORY)
    except RecursionError:
        return ParseFailure(FailureReason.TOO_COMPLEX)
    # The edge of a process: a defect in a parser fails this document, not the worker.
    except Exception as error:  # noqa: BLE001
        return ParseFailure(FailureReason.PARSER_CRASHED, type(error).__name__)


def _blame_chosen_encoding(failure: ParseFailure, path: Path, codec: str | None) -> ParseFailure:
    """The failure, or ``wrong_encoding`` if the file is not valid in the chosen encoding."""
    if failure.reason not in _OF_WRONG_TEXT or codec not in selectable_codecs() or is_valid_text(path, codec):
        return failure
    return ParseFailure(FailureReason.WRONG_ENCODING)


if __name__ == "__main__":
    main()
