"""The process behind ``agentex migrate``: the database at this version, first rows included."""

import asyncio
import sys

from cli.bootstrap import prepare
from core.errors import AgentexError
from core.logging import configure_logging
from core.security.secrets import SecretKeyMismatchError
from core.settings import get_settings


def main() -> None:
    """Prepare the data folder and the database; exit code 1 with a plain line when it can't."""
    settings = get_settings()
    configure_logging(settings, part="database")
    try:
        asyncio.run(prepare(settings))
    except AgentexError as error:
        facts = "; ".join(f"{name}: {value}" for name, value in error.details.items())
        sys.exit(f"{error.code.message} ({facts})" if facts else error.code.message)
    except SecretKeyMismatchError:
        sys.exit(
            "The database was made with another secret key. Set AGENTEX_SECRET_KEY to that key, "
            "or put its file back into the data folder.\n"
            "数据库使用了另一个密钥，请恢复原来的 AGENTEX_SECRET_KEY 或数据目录中的密钥文件。"
        )


if __name__ == "__main__":
    main()
