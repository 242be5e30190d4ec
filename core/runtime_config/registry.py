"""The registry of settings that can be changed at run time."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from core.errors.requests import PRIVATE_TARGETS, InvalidRequest
from core.settings import Settings
from core.types.network import parse_host_port

ConfigValue = bool | int | float | tuple[str, ...]
ConfigKind = Literal["boolean", "integer", "number", "targets"]
_KINDS: dict[object, ConfigKind] = {bool: "boolean", int: "integer", float: "number", tuple[str, ...]: "targets"}
_LONGEST_TARGET = 300


@dataclass(frozen=True)
class ConfigKey:
    """A setting whose readers ask for its current value at each use.

    Args:
        name: the setting's; its environment variable is ``AGENTEX_<NAME>``.
        description_zh: in Chinese; the English description is the setting's own.
        minimum: of the value; of a list, the fewest entries.
        maximum: of the value; of a list, the most entries.
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
        if self.kind == "targets":
            return self._checked_targets(value)
        is_whole = self.kind == "integer"
        word = "whole number" if is_whole else "number"
        allowed = f"Use a {word} from {self.minimum} to {self.maximum}"
        if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
            raise InvalidRequest("value", allowed)
        # Comparing first: a whole number may have more digits than a float has room for.
        if not (self.minimum <= value <= self.maximum):
            raise InvalidRequest("value", allowed)
        return value if is_whole else float(value)

    def _checked_targets(self, value: JsonValue) -> tuple[str, ...]:
        """Entries of ``host:port`` in one spelling, each once; also out of a text with commas, as in the environment."""
        if isinstance(value, str):
            value = [entry for entry in value.split(",") if entry.strip()]
        targets = [_target_key(entry) for entry in value] if isinstance(value, list) else [None]
        keys = tuple(dict.fromkeys(key for key in targets if key is not None))
        if None in targets or len(keys) > self.maximum:
            raise InvalidRequest(
                "value",
                f"Use a list of host:port with at most {self.maximum} entries, such as localhost:3001",
                f"请使用 host:port 列表，最多 {self.maximum} 项，例如 localhost:3001",
            )
        return keys


def _target_key(entry: JsonValue) -> str | None:
    # Names in other scripts are compared as they are sent, in ASCII.
    if not isinstance(entry, str) or len(entry) > _LONGEST_TARGET or not (entry.isascii() and entry.isprintable()):
        return None
    try:
        return parse_host_port(entry).key
    except ValueError:
        return None


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
    ConfigKey(PRIVATE_TARGETS, "模型和连接可以访问的内网地址：host:port 列表。", 0, 100),
    ConfigKey("audit_retention_days", "审计日志的保留天数；0 表示永久保留。", 0, 36_500),
)
KEYS = {line.name: line for line in _LINES}
