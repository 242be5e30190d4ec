"""How unstructured reads one file: its partitioner, its options, and what becomes of its exceptions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from ingestion.parsers.unstructured import recognition

OF_PAGES = frozenset({"pdf", "image"})
"""Partitioners that have strategies."""
_MAIL = frozenset({"email", "msg"})
_TEXTS = frozenset({"text", "html", "md", "csv", "tsv", "xml"})
_CORRUPT = frozenset(
    {
        "BadZipFile",
        "CompDocError",
        "CorruptedFileError",
        "FileFormatError",
        "InvalidFileException",
        "NotOleFileError",
        "OleFileError",
        "PDFObjectNotFound",
        "PDFPageCountError",
        "PDFSyntaxError",
        "PackageNotFoundError",
        "ParseError",
        "ParserError",
        "PdfReadError",
        "PdfStreamError",
        "PSEOF",
        "UnidentifiedImageError",
        "UnprocessableEntityError",
        "XLRDError",
        "XMLSyntaxError",
    }
)
_PROTECTED = frozenset({"FileNotDecryptedError", "PDFEncryptionError", "PDFPasswordIncorrect"})


# A program, or a model that would be fetched.
_MISSING = frozenset(
    {"LocalEntryNotFoundError", "OfflineModeIsEnabled", "PDFInfoNotInstalledError", "TesseractNotFoundError"}
)


def load(reader: str) -> None:
    """Import a partitioner before any document is there."""
    import_module(f"unstructured.partition.{reader}")
    if reader in OF_PAGES:
        recognition.use_text_of_tesseract()


def partition(
    path: str, reader: str, strategy: str, encoding: str | None, languages: Sequence[str]
) -> Iterable[Mapping[str, Any]]:
    """The elements of a file; raises whatever the library raises.

    Args:
        languages: of text recognition, as Tesseract names them.
    """
    function = cast(
        "Callable[..., Iterable[Any]]",
        getattr(import_module(f"unstructured.partition.{reader}"), f"partition_{reader}"),
    )
    options: dict[str, Any] = {"filename": path}
    if reader == "pdf":
        _refuse_protected(path)
    if reader in OF_PAGES:
        options |= {"strategy": strategy, "languages": list(languages) or None}
        if strategy == "hi_res":
            options["infer_table_structure"] = True
    elif reader in _MAIL:
        options["process_attachments"] = False
    if encoding is not None and reader in _TEXTS:
        options["encoding"] = encoding
    return (cast("Mapping[str, Any]", element.to_dict()) for element in function(**options))


def _refuse_protected(path: str) -> None:
    """Raise what pypdf raises for a password; the library takes the document for an empty one."""
    pypdf = import_module("pypdf")
    with Path(path).open("rb") as file:
        document = pypdf.PdfReader(file)
        if document.is_encrypted:
            document.decrypt("")
            # Raises if that was not the password.
            len(document.pages)


def reason_of(error: BaseException) -> str:
    """The ``FailureReason`` of an exception, by its class: its words may hold text of the document."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, MemoryError):
        return "parse_memory"
    if isinstance(error, RecursionError):
        return "too_complex"
    if isinstance(error, ImportError) or names & _MISSING or _is_of_hub(error):
        return "parser_missing"
    if "DecompressionBombError" in names:
        return "image_too_large"
    if names & _PROTECTED:
        return "password_protected"
    return "corrupt_file" if names & _CORRUPT else "parser_crashed"


def _is_of_hub(error: BaseException) -> bool:
    """Whether it comes of asking Hugging Face for a model, which fails in many ways where there is no network."""
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == "huggingface_hub":
            return True
        trace = trace.tb_next
    return False
