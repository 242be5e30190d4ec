"""Re-indexing: another splitter or model, prepared in a shadow and put in force at one moment."""

from kb_service.reindex.cleanup import delete_unshown_chunks, forget_retired
from kb_service.reindex.locking import lock
from kb_service.reindex.quality_gate import is_held, is_measured, note_recall, note_waiting
from kb_service.reindex.service import (
    REINDEX_JOB,
    WINDOW,
    Cutover,
    Outcome,
    begin_next,
    cancel,
    close_way_back,
    cut_over,
    enqueue_reindex,
    is_due,
    reindex_key,
    request,
    roll_back,
)
from kb_service.reindex.status import FailedDocument, Report, State, Tally, count, report

__all__ = [
    "REINDEX_JOB",
    "WINDOW",
    "Cutover",
    "FailedDocument",
    "Outcome",
    "Report",
    "State",
    "Tally",
    "begin_next",
    "cancel",
    "close_way_back",
    "count",
    "cut_over",
    "delete_unshown_chunks",
    "enqueue_reindex",
    "forget_retired",
    "is_due",
    "is_held",
    "is_measured",
    "lock",
    "note_recall",
    "note_waiting",
    "reindex_key",
    "report",
    "request",
    "roll_back",
]
