"""Settings that administrators change while the server runs: stored in SQL, over the environment's."""

from core.runtime_config.live import LiveSettings
from core.runtime_config.registry import KEYS, ConfigKey, ConfigValue

__all__ = ["KEYS", "ConfigKey", "ConfigValue", "LiveSettings"]
