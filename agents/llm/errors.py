"""Failures of model calls, in our own words: the fact and the next step."""

import re
from enum import Enum

from core.errors.requests import UrlNotAllowed
from core.errors.server import ModelFailed

_FIELDS = {
    "AGENTEX_LLM_BASE_URL": ("the model's base_url", "模型的 base_url"),
    "AGENTEX_LLM_API_KEY": ("the model's api_key", "模型的 api_key"),
    "AGENTEX_LLM_MODEL": ("its model_id", "其 model_id"),
    "AGENTEX_LLM_OPTIONS": ("the model's options", "模型的 options"),
}
_UNKNOWN_MODEL = re.compile(
    r"model_?not_?found|not_found_error|invalid_model|unknown model"
    r"|models?\b.{0,200}?(not exist|not found|is not a valid|not supported|not available)"
    r"|no such model|模型不存在",
    re.DOTALL,
)
_CONTEXT = re.compile(
    r"context_length|maximum context|context (window|length|size)|prompt is too long"
    r"|input is too long|exceeds? the (available|maximum) (context|number of tokens)"
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient balance|billing_(hard|not_active|error)|credit balance|arrearage|欠费|余额不足"
)
_BAD_KEY = re.compile(r"api[_ -]?key[_ ](is )?(not valid|invalid|expired)|invalid[_ ]api[_ -]?key")
_BUSY = frozenset({408, 409, 425, 429, 529})
_SERVER_ERRORS = 500
_STREAM_OPTIONS = re.compile(r"stream_options|include_usage")
_TOOLS = re.compile(r"\btools?\b|tool[ _](use|choice|call)|function[ _-]call")
_REFUSING = re.compile(
    r"not (currently )?(support|allow|enable|permit|available)|unsupported|no endpoints found"
    r"|unrecogni[sz]ed|unknown (field|parameter|argument|name)|extra (inputs|fields)"
    r"|extra_forbidden|requires? --|does ?n.t (support|accept)|does not accept"
)
# Faults of one call; a model that names them does take tools.
_ABOUT_A_CALL = re.compile(r"tool_call_id|tool_calls?['\"`]? must")
# Faults of how one tool is described, by the places that endpoints name.
_ABOUT_A_SCHEMA = re.compile(
    r"schema|invalid_function_parameters|tools?[\[.]\d|function_?declarations\[|functions?\[\d"
    r"|function\.(name|parameters|description)|additionalproperties|\$ref|\$defs|\b(any|one|all)of\b"
    r"|tool names? must"
)
_IMAGES = re.compile(r"\bimages?\b|image_url|vision|multi-?modal|inline_?data")


class ModelFault(Enum):
    """A reason in English and Chinese; ``{status}`` is the HTTP status, ``{target}`` the host and port."""

    def __init__(self, en: str, zh: str) -> None:
        self.en = en
        self.zh = zh

    BAD_ADDRESS = (
        "the endpoint's address is not valid: correct AGENTEX_LLM_BASE_URL",
        "接口地址无效：请改正 AGENTEX_LLM_BASE_URL",
    )
    BAD_KEY = (
        "the key has characters that can't be sent: correct AGENTEX_LLM_API_KEY",
        "密钥含有无法发送的字符：请改正 AGENTEX_LLM_API_KEY",
    )
    UNREACHABLE = (
        "the endpoint can't be reached: start it or correct AGENTEX_LLM_BASE_URL",
        "无法连接接口：请启动接口服务，或改正 AGENTEX_LLM_BASE_URL",
    )
    NO_ANSWER_IN_TIME = (
        "the endpoint did not answer in time: ask again, or allow more time in AGENTEX_LLM_OPTIONS",
        "接口没有按时应答：请重新提问，或在 AGENTEX_LLM_OPTIONS 中放宽时限",
    )
    TOO_LONG = (
        "the answer took longer than one model call may: ask again, or raise call_seconds in AGENTEX_LLM_OPTIONS",
        "一次模型调用超过了时限：请重新提问，或在 AGENTEX_LLM_OPTIONS 中提高 call_seconds",
    )
    TLS_FAILED = (
        "no safe connection to the endpoint can be made: its TLS certificate is not valid or not "
        "trusted here, or it speaks no TLS: correct AGENTEX_LLM_BASE_URL or the certificate",
        "无法与接口建立安全连接：其 TLS 证书无效或不受信任，或该接口不支持 TLS：请改正 AGENTEX_LLM_BASE_URL 或证书",
    )
    ADDRESS_REFUSED = (
        "the endpoint's address is in a private network: add {target} to AGENTEX_ALLOWED_PRIVATE_TARGETS, "
        "or as an administrator to allowed_private_targets while the server runs, or use a public one",
        "接口地址位于私有网络：请将 {target} 加入 AGENTEX_ALLOWED_PRIVATE_TARGETS，"
        "或由管理员在服务器运行时加入 allowed_private_targets，或改用公网地址",
    )
    ADDRESS_FORBIDDEN = (
        "no server may be called at the endpoint's address: use another one",
        "不允许访问该接口地址：请改用其他地址",
    )
    NOT_AVAILABLE = (
        "the model was taken away while the conversation waited: ask again",
        "该模型在对话等待期间已被移除：请重新提问",
    )
    BROKE_OFF = ("the connection to the endpoint broke off: ask again", "与接口的连接中断：请重新提问")
    ENDED_EARLY = (
        "the stream ended early, so the answer is not whole: ask again",
        "应答提前结束，回答不完整：请重新提问",
    )
    ERROR_IN_STREAM = (
        "the endpoint reported an error in the stream: ask again",
        "接口在应答途中报告了错误：请重新提问",
    )
    NOT_JSON = (
        "the endpoint sent a chunk that is not JSON: check that AGENTEX_LLM_BASE_URL and the provider fit together",
        "接口发来的数据不是 JSON：请检查 AGENTEX_LLM_BASE_URL 与服务商是否匹配",
    )
    EVENT_TOO_LARGE = (
        "the endpoint sent an event that is too large: check AGENTEX_LLM_BASE_URL",
        "接口发来的事件过大：请检查 AGENTEX_LLM_BASE_URL",
    )
    NOT_A_MODEL = (
        "what answers at the address is a web page and no model: correct AGENTEX_LLM_BASE_URL",
        "该地址返回的是网页而不是模型：请改正 AGENTEX_LLM_BASE_URL",
    )
    KEY_REFUSED = (
        "the endpoint refuses the key (HTTP {status}): set AGENTEX_LLM_API_KEY to a valid one",
        "接口拒绝了密钥（HTTP {status}）：请把 AGENTEX_LLM_API_KEY 设为有效的密钥",
    )
    NO_CREDIT = (
        "the account at the endpoint has no credit left (HTTP {status}): top it up there",
        "接口账户余额或额度不足（HTTP {status}）：请到服务商处充值",
    )
    UNKNOWN_MODEL = (
        "the endpoint does not know the model (HTTP {status}): correct AGENTEX_LLM_MODEL",
        "接口不认识该模型（HTTP {status}）：请改正 AGENTEX_LLM_MODEL",
    )
    UNKNOWN_PATH = (
        "the endpoint has no such path (HTTP {status}): correct AGENTEX_LLM_BASE_URL or AGENTEX_LLM_MODEL",
        "接口没有该路径（HTTP {status}）：请改正 AGENTEX_LLM_BASE_URL 或 AGENTEX_LLM_MODEL",
    )
    CONTEXT_TOO_LONG = (
        "the conversation is longer than the model reads at once (HTTP {status}): start a new "
        "conversation, or use a model with a larger context",
        "对话超过了模型的上下文长度（HTTP {status}）：请开始新对话，或换用上下文更长的模型",
    )
    BUSY = (
        "the endpoint is busy or limits the rate (HTTP {status}): ask again later",
        "接口繁忙或限制了调用频率（HTTP {status}）：请稍后重新提问",
    )
    SERVER_ERROR = (
        "the endpoint answered HTTP {status}: ask again, and look at its own log if that stays so",
        "接口返回 HTTP {status}：请重新提问；如果一直如此，请查看该接口的日志",
    )
    REFUSED = (
        "the endpoint answered HTTP {status}: check the model and AGENTEX_LLM_OPTIONS",
        "接口返回 HTTP {status}：请检查模型和 AGENTEX_LLM_OPTIONS",
    )
    TOOLS_REFUSED = (
        "the endpoint does not accept tools: set tools to text in AGENTEX_LLM_OPTIONS",
        "接口不接受工具：请在 AGENTEX_LLM_OPTIONS 中把 tools 设为 text",
    )
    TOOL_SCHEMA_REFUSED = (
        "the endpoint refuses how a tool is described (HTTP {status}): switch off the tool or its connection, or correct "
        "its schema",
        "接口拒绝了某个工具的描述（HTTP {status}）：请停用该工具或其连接，或改正其 schema",
    )
    IMAGES_REFUSED = (
        "the endpoint does not accept images (HTTP {status}): set vision to false in AGENTEX_LLM_OPTIONS",
        "接口不接受图片（HTTP {status}）：请在 AGENTEX_LLM_OPTIONS 中把 vision 设为 false",
    )
    FILTERED = (
        "the endpoint's content filter ended the answer: put the question differently",
        "接口的内容过滤终止了回答：请换一种问法",
    )
    UNREADABLE_CALL = (
        "the model wrote a tool call that can't be read, twice: ask again, or use a model with tool calling",
        "模型两次写出无法解析的工具调用：请重新提问，或换用支持工具调用的模型",
    )


def model_failed(fault: ModelFault, status: int | None = None, *, target: str = "") -> ModelFailed:
    """The error for a fault; its details hold ``fault``, ``reason``, ``reason_zh``, ``status``."""
    return ModelFailed(**fault_details(fault, status, target=target))


def address_refused(refusal: UrlNotAllowed) -> ModelFailed:
    """The error for an address that the guard of outgoing connections refused."""
    target = str(refusal.details.get("value", ""))
    return model_failed(ModelFault.ADDRESS_REFUSED if target else ModelFault.ADDRESS_FORBIDDEN, target=target)


def fault_details(fault: ModelFault, status: int | None = None, *, target: str = "") -> dict[str, object]:
    """Error details of a fault, safe to show."""
    details: dict[str, object] = {
        "fault": fault.name.lower(),
        "reason": fault.en.format(status=status, target=target),
        "reason_zh": fault.zh.format(status=status, target=target),
    }
    return details if status is None else {**details, "status": status}


def name_registry_fields(failure: ModelFailed) -> None:
    """Replace names of settings by the registry's fields, for a failure of a registered model."""
    for index, key in enumerate(("reason", "reason_zh")):
        text = str(failure.details[key])
        for setting, names in _FIELDS.items():
            text = text.replace(setting, names[index])
        failure.details[key] = text


class StreamOptionsRefused(ModelFailed):
    """The endpoint does not know ``stream_options``; nothing streamed yet."""


_FIXED = {401: ModelFault.KEY_REFUSED, 403: ModelFault.KEY_REFUSED, 402: ModelFault.NO_CREDIT}


def classify_error(status: int, text: str) -> ModelFault:
    """The fault behind an error response, or an error code inside a stream."""
    words = text.lower()
    if _NO_CREDIT.search(words) and status in {400, 402, 403, 429}:
        return ModelFault.NO_CREDIT
    if status in _FIXED:
        return _FIXED[status]
    if status in _BUSY:
        return ModelFault.BUSY
    if status >= _SERVER_ERRORS:
        return ModelFault.SERVER_ERROR
    patterns = (
        (_BAD_KEY, ModelFault.KEY_REFUSED),
        (_CONTEXT, ModelFault.CONTEXT_TOO_LONG),
        (_UNKNOWN_MODEL, ModelFault.UNKNOWN_MODEL),
    )
    faults = (fault for pattern, fault in patterns if pattern.search(words))
    fallback = ModelFault.UNKNOWN_PATH if status == 404 else ModelFault.REFUSED
    return next(faults, fallback)


def refuses_stream_options(text: str) -> bool:
    """Whether an error response names the field that requests token counts."""
    return bool(_STREAM_OPTIONS.search(text.lower()))


def refuses_images(text: str) -> bool:
    """Whether an error response says that the endpoint takes no images."""
    words = text.lower()
    return bool(_IMAGES.search(words) and _REFUSING.search(words))


def refuses_tools(text: str) -> bool:
    """Whether an error response says that the endpoint takes no tools."""
    words = text.lower()
    is_about_one = _ABOUT_A_CALL.search(words) or _ABOUT_A_SCHEMA.search(words)
    return bool(_TOOLS.search(words) and _REFUSING.search(words) and not is_about_one)


def refuses_tool_schema(text: str) -> bool:
    """Whether an error response complains of how a tool is described."""
    words = text.lower()
    return bool(_ABOUT_A_SCHEMA.search(words) and not _ABOUT_A_CALL.search(words))
