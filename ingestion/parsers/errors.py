"""Reasons why a document could not be read, with messages for people."""

from dataclasses import dataclass
from enum import StrEnum


class FailureReason(StrEnum):
    """The closed set of reasons in a document's status."""

    ARCHIVE_LIMITS = "archive_limits"
    CONVERSION_FAILED = "conversion_failed"
    CONVERTER_MISSING = "converter_missing"
    CORRUPT_FILE = "corrupt_file"
    CORRUPT_IMAGE = "corrupt_image"
    DECODER_MISSING = "decoder_missing"
    EMPTY_TEXT = "empty_text"
    IMAGE_TOO_LARGE = "image_too_large"
    NO_TEXT_LAYER = "no_text_layer"
    OUTPUT_TOO_LARGE = "output_too_large"
    PARSE_MEMORY = "parse_memory"
    PARSE_TIMEOUT = "parse_timeout"
    PARSER_CRASHED = "parser_crashed"
    PARSER_MISSING = "parser_missing"
    PARSER_NOT_ENABLED = "parser_not_enabled"
    PARSER_SERVICE_FAILED = "parser_service_failed"
    PARSER_SERVICE_KEY_REFUSED = "parser_service_key_refused"
    PARSER_SERVICE_REFUSED = "parser_service_refused"
    PARSER_SERVICE_UNEXPECTED = "parser_service_unexpected"
    RECOGNITION_MISSING = "recognition_missing"
    # A reason's name, not a password.
    PASSWORD_PROTECTED = "password_protected"  # noqa: S105
    TOO_COMPLEX = "too_complex"
    TOO_MANY_PAGES = "too_many_pages"
    UNSAFE_XML = "unsafe_xml"
    WRONG_ENCODING = "wrong_encoding"


@dataclass(frozen=True, slots=True)
class _FailureText:
    message: str
    next_action: str
    message_zh: str
    next_action_zh: str


_TEXTS = {
    FailureReason.ARCHIVE_LIMITS: _FailureText(
        "The file unpacks to more data than is allowed",
        "Remove large embedded parts or split the document, then upload it again",
        "文件解压后的数据超出允许范围",
        "请删除较大的嵌入内容或拆分文档后重新上传",
    ),
    FailureReason.CONVERSION_FAILED: _FailureText(
        "LibreOffice on this server could not convert the file",
        "Open it in its own program, save it as docx, xlsx or pptx and upload that",
        "服务器上的 LibreOffice 无法转换该文件",
        "请用原程序打开，另存为 docx、xlsx 或 pptx 后上传",
    ),
    FailureReason.CONVERTER_MISSING: _FailureText(
        "Reading old Office files needs LibreOffice, which is switched off or not installed on this server",
        "Ask your operator to set AGENTEX_PARSERS=libreoffice and to install LibreOffice, then retry; "
        "or save the file as docx, xlsx or pptx and upload that",
        "读取旧版 Office 文件需要 LibreOffice，服务器未启用或未安装",
        "请管理员设置 AGENTEX_PARSERS=libreoffice 并安装 LibreOffice 后重试；或另存为 docx、xlsx 或 pptx 后上传",
    ),
    FailureReason.CORRUPT_FILE: _FailureText(
        "The file is damaged or incomplete",
        "Open the file in its own program, save it again and upload the new copy",
        "文件已损坏或不完整",
        "请用原程序打开并重新保存文件，然后上传新的副本",
    ),
    FailureReason.CORRUPT_IMAGE: _FailureText(
        "The picture is damaged or incomplete",
        "Open the picture in a viewer, save it again and upload the new copy",
        "图片已损坏或不完整",
        "请用看图软件打开并重新保存图片，然后上传新的副本",
    ),
    FailureReason.DECODER_MISSING: _FailureText(
        "Reading this kind of photo (HEIC, AVIF) needs a decoder that is not installed on this server",
        "Ask your operator to install agentex[heic], then retry; or save the photo as JPEG or PNG and upload that",
        "读取这种照片（HEIC、AVIF）需要解码器，服务器尚未安装",
        "请管理员安装 agentex[heic] 后重试；或另存为 JPEG 或 PNG 后上传",
    ),
    FailureReason.EMPTY_TEXT: _FailureText(
        "No text was found in the file",
        "Check that the file holds text and not only pictures or blanks",
        "文件中没有找到文字",
        "请确认文件包含文字，而不仅是图片或空白",
    ),
    FailureReason.IMAGE_TOO_LARGE: _FailureText(
        "The picture has more pixels than is allowed",
        "Scale the picture down or cut it into parts, then upload it again",
        "图片的像素超出限制",
        "请缩小或裁切图片后重新上传",
    ),
    FailureReason.NO_TEXT_LAYER: _FailureText(
        "The pages are pictures without a text layer",
        "Run text recognition (OCR) over the file and upload the result, or have it done here: "
        "your operator installs agentex[ocr]",
        "页面是图片，没有文字层",
        "请先对文件做文字识别（OCR）再上传结果，或请管理员安装 agentex[ocr] 由服务器识别",
    ),
    FailureReason.OUTPUT_TOO_LARGE: _FailureText(
        "The file holds more text than one document may have",
        "Split the document into smaller files",
        "文件的文字量超过单个文档的上限",
        "请将文档拆分为较小的文件",
    ),
    FailureReason.PARSE_MEMORY: _FailureText(
        "Reading the file took more memory than is allowed",
        "Split the document into smaller files or simplify it",
        "读取文件所需内存超出限制",
        "请拆分或简化文档",
    ),
    FailureReason.PARSE_TIMEOUT: _FailureText(
        "Reading the file took longer than is allowed",
        "Try again later; if it fails again, split or simplify the document",
        "读取文件超时",
        "请稍后重试；若仍失败，请拆分或简化文档",
    ),
    FailureReason.PARSER_CRASHED: _FailureText(
        "The parser stopped while it read the file",
        "Try again; if it fails again, save the file anew or convert it to another format",
        "解析程序在读取文件时异常退出",
        "请重试；若仍失败，请重新保存文件或转换为其他格式",
    ),
    FailureReason.PARSER_MISSING: _FailureText(
        "The parser chosen for the file, or what it needs for the chosen strategy, is not installed on this server",
        "Ask your operator to install it (the guide's settings, AGENTEX_PARSERS), or choose another parser or strategy, "
        "then retry",
        "服务器尚未安装所选解析器，或缺少所选策略（strategy）需要的组件",
        "请管理员安装（见用户指南的设置，AGENTEX_PARSERS），或更换解析器或策略后重试",
    ),
    FailureReason.PARSER_NOT_ENABLED: _FailureText(
        "The parser chosen for the file is not switched on on this server",
        "Choose another parser for the document or its knowledge base, or ask your operator to name it in "
        "AGENTEX_PARSERS, then retry",
        "服务器未启用为该文件选择的解析器",
        "请为文档或知识库选择其他解析器，或请管理员在 AGENTEX_PARSERS 中启用后重试",
    ),
    FailureReason.PARSER_SERVICE_FAILED: _FailureText(
        "The parsing service that the file was sent to could not read it",
        "Open the file in its own program, save it again and upload the new copy, or choose another parser; your operator "
        "finds the cause in the log of the service",
        "文件所交由的解析服务未能读取该文件",
        "请用原程序打开并重新保存后上传，或选择其他解析器；管理员可在该服务的日志中查看原因",
    ),
    FailureReason.PARSER_SERVICE_KEY_REFUSED: _FailureText(
        "The parsing service refuses the key of this server",
        "Ask your operator to correct the key of the service in the settings (AGENTEX_UNSTRUCTURED_API_KEY, "
        "AGENTEX_DOCLING_API_KEY or AGENTEX_MINERU_API_KEY), then retry",
        "解析服务拒绝了本服务器的密钥",
        "请管理员修正该服务的密钥设置（AGENTEX_UNSTRUCTURED_API_KEY、AGENTEX_DOCLING_API_KEY 或 AGENTEX_MINERU_API_KEY）后重试",
    ),
    FailureReason.PARSER_SERVICE_REFUSED: _FailureText(
        "The parsing service that the file was sent to does not accept it",
        "Choose another parser or strategy for the document, or save the file in another format",
        "文件所交由的解析服务不接受该文件",
        "请为文档选择其他解析器或策略，或将文件另存为其他格式",
    ),
    FailureReason.PARSER_SERVICE_UNEXPECTED: _FailureText(
        "What answers at the address of the parsing service is not that service, or another version of it",
        "Ask your operator to check the address of the service in the settings (AGENTEX_UNSTRUCTURED_API_URL, "
        "AGENTEX_DOCLING_URL or AGENTEX_MINERU_URL; agentex doctor checks it), then retry",
        "解析服务的地址上应答的不是该服务，或版本不符",
        "请管理员检查该服务的地址设置（AGENTEX_UNSTRUCTURED_API_URL、AGENTEX_DOCLING_URL 或 AGENTEX_MINERU_URL，可用 "
        "agentex doctor 检查）后重试",
    ),
    FailureReason.PASSWORD_PROTECTED: _FailureText(
        "The file is protected by a password",
        "Remove the password and upload the file again",
        "文件受密码保护",
        "请取消密码保护后重新上传",
    ),
    FailureReason.RECOGNITION_MISSING: _FailureText(
        "Reading pictures needs text recognition (OCR), which is not installed on this server",
        "Ask your operator to install agentex[ocr] and Tesseract's language data, then retry",
        "读取图片需要文字识别（OCR），服务器尚未安装",
        "请管理员安装 agentex[ocr] 和 Tesseract 语言数据后重试",
    ),
    FailureReason.TOO_COMPLEX: _FailureText(
        "The file is nested too deeply or has too many parts",
        "Simplify the document, or save it as plain text",
        "文件嵌套过深或组成部分过多",
        "请简化文档，或另存为纯文本",
    ),
    FailureReason.TOO_MANY_PAGES: _FailureText(
        "The file has more pages than is allowed",
        "Split the document into smaller files",
        "文件页数超出限制",
        "请将文档拆分为较小的文件",
    ),
    FailureReason.UNSAFE_XML: _FailureText(
        "The file holds XML declarations that are not allowed (DOCTYPE or entities)",
        "Save the document anew with its own program and upload the new copy",
        "文件包含不允许的 XML 声明（DOCTYPE 或实体）",
        "请用原程序重新保存文档后上传新的副本",
    ),
    FailureReason.WRONG_ENCODING: _FailureText(
        "The file is no valid text in the encoding that was chosen",
        "Choose another encoding for the document, or auto to have it found out",
        "按所选编码，文件不是有效的文本",
        "请为文档选择其他编码，或选择 auto 自动识别",
    ),
}
_RETRYABLE = frozenset({FailureReason.PARSER_CRASHED, FailureReason.PARSER_SERVICE_FAILED, FailureReason.PARSE_TIMEOUT})


class ParseFailure(Exception):
    """A document that could not be read.

    Attributes:
        message: For people; never holds document or exception text.
        retryable: Whether a second try of the same bytes may succeed.
        detail: A word for the log (a signal or an exception's class), never document text.
    """

    def __init__(self, reason: FailureReason, detail: str = "", *, is_final: bool = False) -> None:
        words = _TEXTS[reason]
        super().__init__(words.message)
        self.reason = reason
        self.message = words.message
        self.next_action = words.next_action
        self.message_zh = words.message_zh
        self.next_action_zh = words.next_action_zh
        self.retryable = reason in _RETRYABLE and not is_final
        self.detail = detail
