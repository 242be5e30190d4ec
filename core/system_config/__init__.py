"""Settings that administrators change while the server runs: stored in SQL, over the environment's."""

from core.system_config.keys import KEYS, ConfigKey, ConfigValue
from core.system_config.live import LiveSettings

__all__ = ["KEYS", "ConfigKey", "ConfigValue", "LiveSettings"]
