"""Documents: taking them in durably, reading their state, and what may be done with them."""

from kb_service.documents.actions import (
    ACTIONS,
    ActionName,
    ActionOutcome,
    act,
    act_on_many,
    delete_rows,
    ids_of_status,
)
from kb_service.documents.attributes import Attributes, checked_attributes, parse_attributes
from kb_service.documents.files import FileType, StoredFile, store_upload
from kb_service.documents.intake import (
    Intake,
    OnConflict,
    Upload,
    UploadOutcome,
    add,
    take_in,
)
from kb_service.documents.jobs import (
    CLEAR_JOB,
    ERASE_JOB,
    INGEST_JOB,
    clear_key,
    enqueue_clear,
    enqueue_erase,
    erase_key,
)
from kb_service.documents.names import clean_name
from kb_service.documents.pausing import pause_all, resume_all
from kb_service.documents.progress import (
    Progress,
    count_ahead,
    eta_seconds,
    summarise,
    why_waiting,
)
from kb_service.documents.quota import Storage, check_quota, storage_of, take_turn
from kb_service.documents.reading import (
    SORT_FIELDS,
    DocumentFilter,
    DocumentListing,
    changed_since,
    get,
    last_change,
    list_documents,
    list_open,
    stored_keys,
    unshown_revisions,
)

__all__ = [
    "ACTIONS",
    "CLEAR_JOB",
    "ERASE_JOB",
    "INGEST_JOB",
    "SORT_FIELDS",
    "ActionName",
    "ActionOutcome",
    "Attributes",
    "DocumentFilter",
    "DocumentListing",
    "FileType",
    "Intake",
    "OnConflict",
    "Progress",
    "Storage",
    "StoredFile",
    "Upload",
    "UploadOutcome",
    "act",
    "act_on_many",
    "add",
    "changed_since",
    "check_quota",
    "checked_attributes",
    "clean_name",
    "clear_key",
    "count_ahead",
    "delete_rows",
    "enqueue_clear",
    "enqueue_erase",
    "erase_key",
    "eta_seconds",
    "get",
    "ids_of_status",
    "last_change",
    "list_documents",
    "list_open",
    "parse_attributes",
    "pause_all",
    "resume_all",
    "storage_of",
    "store_upload",
    "stored_keys",
    "summarise",
    "take_in",
    "take_turn",
    "unshown_revisions",
    "why_waiting",
]
