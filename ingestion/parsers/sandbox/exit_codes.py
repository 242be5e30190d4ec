"""Exit codes of child processes that read documents."""

import signal

from ingestion.parsers.errors import FailureReason, ParseFailure

# A child this close to its bound when a signal ended it had run out of memory.
_NEARLY_ALL = 0.8


def exit_failure(code: int, memory_share: float) -> ParseFailure:
    """Why a child ended before it had an answer.

    Args:
        memory_share: the highest share of its memory's bound that it held.
    """
    if code == -signal.SIGXCPU:
        # It had the processor all the time: a retry would take as long.
        return ParseFailure(FailureReason.PARSE_TIMEOUT, "SIGXCPU", is_final=True)
    # SIGKILL comes from the memory watch or from the kernel when memory runs out.
    if code == -signal.SIGKILL or (code < 0 and memory_share > _NEARLY_ALL):
        return ParseFailure(FailureReason.PARSE_MEMORY)
    detail = signal.Signals(-code).name if code < 0 else f"exit {code}"
    return ParseFailure(FailureReason.PARSER_CRASHED, detail)
