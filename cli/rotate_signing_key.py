"""A new key for signing tokens: ``python -m cli.rotate_signing_key [--end-logins]``."""

import argparse
import asyncio

from core.auth.signing_keys import PURPOSE, rotate_signing_key
from core.db.database import open_database
from core.db.unit_of_work import unit_of_work
from core.security.vault import Vault, load_secret_key
from core.settings import Settings, get_settings


async def rotate(settings: Settings, *, end_logins: bool) -> str:
    """Add a signing key to the database of these settings and return its id."""
    database = open_database(settings)
    try:
        vault = Vault(load_secret_key(settings), PURPOSE)
        async with unit_of_work(database) as work:
            return await rotate_signing_key(
                work.session,
                vault,
                token_seconds=max(settings.refresh_token_seconds, settings.access_token_seconds),
                end_logins=end_logins,
            )
    finally:
        await database.close()


def main() -> None:
    """Rotate the key of this installation and print the new key's id."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--end-logins",
        action="store_true",
        help="tokens of the old keys are worth nothing any more: everybody logs in again",
    )
    arguments = parser.parse_args()
    print(asyncio.run(rotate(get_settings(), end_logins=arguments.end_logins)))


if __name__ == "__main__":
    main()
