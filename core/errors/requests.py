"""Errors in a request: 400xx, 413xx, 422xx and 429xx."""

from core.errors.base import AgentexError

PRIVATE_TARGETS = "allowed_private_targets"
"""The setting that lists private addresses; administrators change it while the server runs."""
PRIVATE_TARGETS_VARIABLE = f"AGENTEX_{PRIVATE_TARGETS.upper()}"


class InvalidRequest(AgentexError):
    """A field of the request has an invalid value; ``error`` says what is wrong or what is allowed."""

    code = 40001
    message = "Invalid request parameters"
    message_zh = "请求参数错误"

    def __init__(self, field: str, error: str, error_zh: str = "") -> None:
        super().__init__(field=field, error=error, **({"error_zh": error_zh} if error_zh else {}))


class MalformedJson(AgentexError):
    """The body can't be read as JSON."""

    code = 40002
    message = "The request body is not valid JSON"
    message_zh = "请求体不是有效的 JSON"


class InvalidPagination(AgentexError):
    """A page, page size or sort field is out of range."""

    code = 40003
    message = "Invalid pagination or sorting"
    message_zh = "分页或排序参数错误"


class EmptyFile(AgentexError):
    """An upload of zero bytes or of blanks only."""

    code = 40010
    message = "The uploaded file is empty"
    message_zh = "上传的文件为空"


class UnsupportedFileType(AgentexError):
    """No parser reads this kind of file."""

    code = 40011
    message = "This file type is not supported"
    message_zh = "不支持该文件类型"


class OldOfficeFile(UnsupportedFileType):
    """An Office file of a binary format (before Office 2007), under whatever name; has the number of its base."""

    message = "Old Office files (doc, xls, ppt) are not read: save the file as docx, xlsx or pptx and upload that"
    message_zh = "不读取旧版 Office 文件（doc、xls、ppt）：请另存为 docx、xlsx 或 pptx 后上传"


class FileTypeMismatch(AgentexError):
    """The bytes are of another type than the name says."""

    code = 40012
    message = "The file's content does not match its name"
    message_zh = "文件内容与文件名不符"


class CorruptImage(AgentexError):
    """An image that can't be decoded within the limits of time and memory."""

    code = 40060
    message = "The image is damaged and can't be read"
    message_zh = "图片已损坏，无法读取"


class ImageTooLarge(AgentexError):
    """An image with too many pixels."""

    code = 41360
    message = "The image has too many pixels"
    message_zh = "图片像素过多"


class TextTooLarge(AgentexError):
    """A plain text with more characters than one document may have."""

    code = 41361
    message = "The file holds more text than one document may have: split it"
    message_zh = "文件文字过多，超出单个文档的上限，请拆分"


class TextRecognitionMissing(AgentexError):
    """A picture was uploaded, but the extra that reads pictures is not installed."""

    code = 40031
    message = "Pictures are read by text recognition, which is not installed here: install agentex[ocr]"
    message_zh = "读取图片需要文字识别，服务器尚未安装：请安装 agentex[ocr]"


class ArchiveLimits(AgentexError):
    """An archive, or a document that is one, exceeds the limits on members, data or ratio."""

    code = 40032
    message = "The file has too many parts or unpacks to more data than is allowed"
    message_zh = "文件内的组成部分过多，或解压后的数据超出允许范围"


class ArchiveMemberRefused(AgentexError):
    """An archive member that is a link, a duplicate, encrypted or an archive."""

    code = 40033
    message = "This member of the archive is not taken in"
    message_zh = "压缩包中的该文件不予接收"


class CorruptArchive(AgentexError):
    """An archive that can't be read."""

    code = 40034
    message = "The archive is damaged or incomplete"
    message_zh = "压缩包已损坏或不完整"


class ParserNotEnabled(AgentexError):
    """A parser was chosen that the operator has not switched on; the details name those that may be chosen."""

    code = 40035
    message = "This parser is not switched on here: choose another, or have the operator name it in AGENTEX_PARSERS"
    message_zh = "服务器未启用该解析器：请选择其他解析器，或请管理员在 AGENTEX_PARSERS 中启用"


class InvalidFileName(AgentexError):
    """Nothing usable is left of the file name."""

    code = 40013
    message = "The file name can't be used"
    message_zh = "文件名无效"


class UnreadableFile(AgentexError):
    """A file has no text, is broken or takes too long; the details say which and what helps."""

    code = 40040
    message = "No text can be read from this file"
    message_zh = "无法从该文件读取文本"


class PreviewBusy(AgentexError):
    """The preview waited too long for others."""

    code = 42910
    message = "Other previews are under way: try again in a moment"
    message_zh = "正在生成其他预览，请稍后重试"


class QueryTooLong(AgentexError):
    """The query has more characters than the limit in the details."""

    code = 40014
    message = "The query is too long"
    message_zh = "查询过长"


class EmptyQuery(AgentexError):
    """The query has no characters to search for."""

    code = 40015
    message = "The query is empty"
    message_zh = "查询为空"


class UnknownEmbeddingModel(AgentexError):
    """No encoder has this name."""

    code = 40016
    message = "Unknown embedding model"
    message_zh = "未知的嵌入模型"


class WeakPassword(AgentexError):
    """The password breaks the rule in the details."""

    code = 40017
    message = "The password does not meet the rules"
    message_zh = "密码不符合要求"


class UnknownAgentType(AgentexError):
    """No strategy is registered under this agent type."""

    code = 40018
    message = "Unknown agent type"
    message_zh = "未知的智能体类型"


class InvalidRunInput(AgentexError):
    """The AG-UI run input is invalid; the details name the field, and say in both languages what is wrong with it."""

    code = 40019
    message = "The run input is not valid"
    message_zh = "运行输入无效"

    def __init__(self, field: str, error: str, error_zh: str, **details: object) -> None:
        super().__init__(field=field, error=error, error_zh=error_zh, **details)


class RejectedRunInput(AgentexError):
    """The input of an asynchronous run breaks a rule of docs/reference/run-input.md, section "Validation rules".

    Args:
        message: the contract's wording, the same in every language.
        message_zh: the same in Chinese, for the details.
    """

    code = 42201
    message = "The RunAgentInput breaks a rule"
    message_zh = "RunAgentInput 不符合校验规则"

    def __init__(self, message: str, *, message_zh: str, field: str, **details: object) -> None:
        super().__init__(field=field, message_zh=message_zh, **details)
        self.contract_message = message


class InvalidCursor(AgentexError):
    """A cursor that does not belong to this event stream; nothing is skipped instead."""

    code = 40041
    message = "This is no place in this event stream"
    message_zh = "该位置不属于此事件流"


class InvalidArchive(AgentexError):
    """A file that is no knowledge base of a known version, or breaks a limit; ``reason`` is in English."""

    code = 40030
    message = "This file is not a knowledge base that can be imported"
    message_zh = "该文件不是可导入的知识库"

    def __init__(self, reason: str) -> None:
        super().__init__(field="file", error=reason)


class FileTooLarge(AgentexError):
    """An upload over the limit in the details (bytes)."""

    code = 41301
    message = "The file is too large"
    message_zh = "文件过大"


class QuotaExceeded(AgentexError):
    """An upload exceeds its owner's quota; the details hold used and limit (bytes)."""

    code = 41304
    message = "Your storage quota is used up"
    message_zh = "存储配额已用尽"


class RequestTooLarge(AgentexError):
    """A request body over the limit in the details (bytes)."""

    code = 41302
    message = "The request is too large"
    message_zh = "请求过大"


class UrlNotAllowed(AgentexError):
    """A URL that is malformed or not public; ``reason`` never says what was found at the address.

    Args:
        target: the ``host:port`` that the operator may list; empty where no list helps. The details then hold
            ``setting`` and ``value``.
    """

    code = 40050
    message = "This address is not allowed"
    message_zh = "不允许使用该地址"

    def __init__(self, reason: str, reason_zh: str, *, target: str = "") -> None:
        if not target:
            super().__init__(field="url", error=reason, error_zh=reason_zh)
            return
        super().__init__(
            field="url",
            error=f"{reason}. To allow this one, add {target} to {PRIVATE_TARGETS_VARIABLE}, "
            f"or as an administrator to {PRIVATE_TARGETS} while the server runs",
            error_zh=f"{reason_zh}。如需允许，请将 {target} 加入 {PRIVATE_TARGETS_VARIABLE}，"
            f"或由管理员在服务器运行时加入 {PRIVATE_TARGETS}",
            setting=PRIVATE_TARGETS_VARIABLE,
            value=target,
        )


class FileNotFetched(AgentexError):
    """A file behind a user's address that can't be fetched; ``error`` says why, in both languages."""

    code = 40051
    message = "The file behind this address can't be fetched: send its bytes instead"
    message_zh = "无法获取该地址的文件：请直接发送文件内容"

    def __init__(self, error: str, error_zh: str) -> None:
        super().__init__(field="url", error=error, error_zh=error_zh)


class InterruptAnswerInvalid(AgentexError):
    """The details say what does not fit; nothing was done."""

    code = 40042
    message = "The answer does not fit what was asked: see the interrupt's responseSchema"
    message_zh = "答复与所问不符：请参照中断的 responseSchema"


class TooManyRequests(AgentexError):
    """The caller or their address has used up its requests; ``retry_after`` is in whole seconds."""

    code = 42901
    message = "Too many requests: try again later"
    message_zh = "请求过于频繁，请稍后再试"

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after=retry_after)


class TooManyLogins(TooManyRequests):
    """Too many wrong passwords."""

    code = 42902
    message = "Too many wrong passwords: try again later"
    message_zh = "密码错误次数过多，请稍后再试"


class TooManyEvents(TooManyRequests):
    """An event source is ahead of the rules, or sends more often than is allowed."""

    code = 42903
    message = "The source sends more events than are taken in: send this one again later"
    message_zh = "事件源发送的事件过多，请稍后重发"


class UnreadableSkill(AgentexError):
    """A content that no skill can be read from; the details hold its diagnostics."""

    code = 40070
    message = "No skill can be read from this content: see the diagnostics"
    message_zh = "无法从该内容读取技能：请查看诊断信息"


class SkillFilesRefused(AgentexError):
    """A skill's files were refused; the details hold every problem."""

    code = 40071
    message = "Files of the skill are not taken in: see the problems"
    message_zh = "技能的文件未被接收：请查看问题列表"


class SkillNotEditable(AgentexError):
    """A part of a skill can't be written so that it reads back unchanged; nothing was changed.

    The details name the part (``field``) and say why (``error``, ``error_zh``).
    """

    code = 40072
    message = "This part of the skill can't be written so that it is read back as it is: see the error"
    message_zh = "技能的这一部分无法写成能被原样读回的形式：请查看 error"


class MethodNotAllowed(AgentexError):
    """The path has no such method."""

    code = 40501
    message = "This method is not allowed here"
    message_zh = "不允许使用该方法"


class NoSuchPart(AgentexError):
    """The range lies outside the file."""

    code = 41601
    message = "The file has no such part"
    message_zh = "文件没有该部分"
