"""The registry of settings that can be changed at run time."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from core.errors.requests import InvalidRequest
from core.settings import Settings

ConfigValue = bool | int | float
ConfigKind = Literal["boolean", "integer", "number"]
_KINDS: dict[object, ConfigKind] = {bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True)
class ConfigKey:
    """A setting whose readers ask for its current value at each use.

    Args:
        name: the setting's; its environment variable is ``AGENTEX_<NAME>``.
        description_zh: in Chinese; the English description is the setting's own.
    """

    name: str
    description_zh: str
    minimum: int = 0
    maximum: int = 1

    @property
    def description(self) -> str:
        return Settings.model_fields[self.name].description or ""

    @property
    def kind(self) -> ConfigKind:
        """The JSON type of its values."""
        return _KINDS[Settings.model_fields[self.name].annotation]

    def checked(self, value: JsonValue) -> ConfigValue:
        """The value, if it has the right type and is in bounds; the details of a refusal say what is allowed."""
        if self.kind == "boolean":
            if isinstance(value, bool):
                return value
            raise InvalidRequest("value", "Use true or false")
        is_whole = self.kind == "integer"
        word = "whole number" if is_whole else "number"
        allowed = f"Use a {word} from {self.minimum} to {self.maximum}"
        if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
            raise InvalidRequest("value", allowed)
        # Comparing first: a whole number may have more digits than a float has room for.
        if not (self.minimum <= value <= self.maximum):
            raise InvalidRequest("value", allowed)
        return value if is_whole else float(value)


_DAY = 86_400
_LINES = (
    ConfigKey("max_sessions_per_user", "每用户最大会话数；0 表示不限。", 0, 1_000_000),
    ConfigKey("registration_enabled", "是否允许任何人注册账户。"),
    ConfigKey("max_upload_bytes", "单个上传文件的最大字节数。", 1, 10 * 2**30),
    ConfigKey("max_attachment_bytes", "消息所附图片或文件的最大字节数。", 1, 100 * 2**20),
    ConfigKey("max_import_bytes", "导入的知识库文件的最大字节数。", 1, 2**40),
    ConfigKey("user_quota_bytes", "单个用户可保留的文件总字节数；0 表示不限。", 0, 2**50),
    ConfigKey("search_top_k", "请求和知识库都未指定时，一次搜索返回的段落数。", 1, 100),
    ConfigKey("run_timeout_seconds", "一次运行的最长时间（秒）。", 1, _DAY),
    ConfigKey("run_max_turns", "一次运行最多调用语言模型的轮数。", 1, 1000),
    ConfigKey("run_max_tokens", "一次运行最多使用的 token 数。", 1, 100_000_000),
    ConfigKey("reindex_keep_hours", "重建索引后旧段落的保留时间（小时）。", 0, 8760),
    ConfigKey("audit_retention_days", "审计日志的保留天数；0 表示永久保留。", 0, 36_500),
)
KEYS = {line.name: line for line in _LINES}
