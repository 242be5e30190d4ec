"""Why a reader of LlamaIndex gives no documents, and what to do about it."""

import re
from collections.abc import Mapping, Sequence

from ingestion.connectors.base import ReadFailure
from ingestion.connectors.llama_index.wire import ReaderFailure

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_TRY_EN = "Try the reader with these arguments in Python on the server"
_TRY_ZH = "请在服务器上用 Python 以相同参数测试该读取器"

TIMEOUT = ReadFailure(
    "reader_timeout",
    "The reader took longer than the source allows",
    "读取器耗时超过该来源的上限",
    "Give it less to read, or set a larger timeout_seconds",
    "请缩小读取范围，或调大 timeout_seconds",
)
MEMORY = ReadFailure(
    "reader_memory",
    "The reader took more memory than is allowed",
    "读取器占用的内存超过上限",
    "Give it less to read, or ask your operator for a larger AGENTEX_PARSE_MEMORY_BYTES",
    "请缩小读取范围，或联系管理员提高 AGENTEX_PARSE_MEMORY_BYTES",
)
CRASHED = ReadFailure("reader_crashed", "The reader ended its process", "读取器的进程意外结束", _TRY_EN, _TRY_ZH)
TOO_MUCH_DATA = ReadFailure(
    "too_much_data",
    "The reader gives more data than a source may bring",
    "读取器返回的数据超过来源的上限",
    "Give it less to read, or ask your operator for a larger AGENTEX_MAX_SOURCE_CACHE_BYTES",
    "请缩小读取范围，或联系管理员提高 AGENTEX_MAX_SOURCE_CACHE_BYTES",
)
NO_IDS = ReadFailure(
    "no_stable_ids",
    "This reader gives each document another id at each sync, so that documents are told apart by their contents: one "
    "that changes comes as a new document, and the old one goes",
    "该读取器每次给出的文档 ID 都不同，因此按内容区分文档：内容变化的文档会作为新文档出现，旧文档被删除",
    "Set id_key to a key of the metadata that stays the same, such as file_path or url, if the reader has one",
    "若元数据中有不变的键（如 file_path 或 url），请将 id_key 设为该键",
)

_NO_DOCUMENTS = ReadFailure(
    "reader_no_documents",
    "The reader lists it, and gives no document of it",
    "读取器列出了它，但没有给出文档",
    "Let the reader raise its errors if it can (raise_on_error), or leave it out",
    "若读取器支持，请让其抛出错误（raise_on_error），或将其排除",
)

_REASONS: Mapping[str, tuple[str, str, str, str]] = {
    "missing": (
        "The server has no Python module {}",
        "服务器上没有 Python 模块 {}",
        "Ask your operator to install the package of the reader, such as llama-index-readers-json",
        "请联系管理员安装该读取器的软件包，例如 llama-index-readers-json",
    ),
    "no_reader": (
        "{} is no reader of LlamaIndex",
        "{} 不是 LlamaIndex 的读取器",
        "Name a class that inherits from BaseReader, with its module",
        "请填写继承自 BaseReader 的类及其模块",
    ),
    "no_resources": (
        "The reader {} does not list resources",
        "读取器 {} 不支持列出资源",
        "Set read to auto or load_data",
        "请将 read 设为 auto 或 load_data",
    ),
    "wrong_arguments": (
        "The reader does not take these arguments: {}",
        "读取器不接受这些参数：{}",
        "Correct arguments and load_arguments by the documentation of the reader",
        "请按读取器的文档更正 arguments 和 load_arguments",
    ),
    "failed": ("The reader failed with {}", "读取器失败：{}", _TRY_EN, _TRY_ZH),
}


def reader_failure(failure: ReaderFailure) -> ReadFailure:
    """What a child says of its reader."""
    en, zh, action, action_zh = _REASONS[failure["reason"]]
    detail = _UNPRINTABLE.sub(" ", failure["detail"])
    return ReadFailure(f"reader_{failure['reason']}", en.format(detail), zh.format(detail), action, action_zh)


def resource_failure(error: str) -> ReadFailure:
    """The failure of a resource that the reader could not load."""
    return reader_failure({"kind": "failure", "reason": "failed", "detail": error}) if error else _NO_DOCUMENTS


def not_allowed_reader(allowed: Sequence[str]) -> ReadFailure:
    """The failure of a reader that the operator does not allow."""
    names = ", ".join(allowed) or "-"
    return ReadFailure(
        "not_allowed",
        f"This reader is not allowed. Allowed are those of: {names}. Your operator lists them in "
        "AGENTEX_LLAMA_INDEX_READERS",
        f"不允许使用该读取器。允许的模块：{names}。管理员可在 AGENTEX_LLAMA_INDEX_READERS 中配置",
        "Ask your operator to list its module in AGENTEX_LLAMA_INDEX_READERS",
        "请联系管理员将其模块加入 AGENTEX_LLAMA_INDEX_READERS",
    )


def missing_id(id_key: str) -> ReadFailure:
    """The failure of a reader whose documents have not the metadata that tell them apart."""
    return ReadFailure(
        "missing_id",
        f"A document of the reader has no {id_key[:100]} in its metadata",
        f"读取器给出的一个文档的元数据中没有 {id_key[:100]}",
        "Set id_key to a key that all documents have, or leave it out",
        "请将 id_key 设为所有文档都有的键，或将其去掉",
    )


def too_large_document(limit: int) -> ReadFailure:
    """The failure of a document beyond what is read of one."""
    return ReadFailure(
        "too_large",
        f"The document has more than {limit} bytes of text",
        f"文档文本超过 {limit} 字节",
        "Let the reader divide it, or leave it out",
        "请让读取器将其拆分，或将其排除",
    )


def too_many_documents(limit: int) -> ReadFailure:
    """The failure of a reader that gives more documents than a source may have."""
    return ReadFailure(
        "too_many_items",
        f"The reader gives more than {limit} documents",
        f"读取器返回的文档超过 {limit} 个",
        "Give it less to read, or divide it into several sources",
        "请缩小读取范围，或拆分为多个来源",
    )
