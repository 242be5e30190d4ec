"""Before any part starts: the data folder is ours, the port is free, nothing old still runs."""

import errno
import socket

from cli.server.supervisor import data_dir, redis_server
from cli.ui.i18n import supervisor as messages
from core.settings import Settings, override_settings

EXIT_CANNOT_START = 1
EXIT_FOLDER_IN_USE = 3
EXIT_PORT_IN_USE = 4
STATE_FILE = "supervisor.json"
# A child of a killed supervisor already had its SIGTERM; its work is safe to repeat.
_LEFTOVER_SECONDS = 5.0


class CannotStart(Exception):
    """The start is refused; carries the exit code and the message for a person."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def claim_folder(settings: Settings) -> None:
    """Create the folders and lock the data folder for the life of this process.

    Raises:
        CannotStart: the folder is in use or can't be used.
    """
    data = settings.data_dir
    try:
        data_dir.create_folders(
            data, data / "logs", redis_server.data_folder(settings), settings.runtime_dir
        )
        if not settings.runtime_dir.is_relative_to(data):
            data_dir.require_private(settings.runtime_dir)
        data_dir.lock(data)
    except data_dir.FolderInUse as error:
        message = messages.folder_in_use(data, error.pid)
        raise CannotStart(EXIT_FOLDER_IN_USE, message) from None
    except OSError as error:
        message = messages.folder_unusable(data, error.strerror or "")
        raise CannotStart(EXIT_CANNOT_START, message) from None


def clean_up(settings: Settings) -> list[str]:
    """Stop what a killed supervisor left running; call it with the folder's lock held.

    Returns:
        The names of the parts that were stopped.
    """
    leftovers = data_dir.find_leftovers(settings.runtime_dir / STATE_FILE)
    data_dir.stop_leftovers(leftovers, _LEFTOVER_SECONDS)
    names = [leftover.name for leftover in leftovers]
    if settings.redis_url is None and redis_server.stop_leftover(settings, _LEFTOVER_SECONDS):
        names.append("redis")
    return names


def claim_port(settings: Settings) -> Settings:
    """Make sure that the API can listen where it should.

    Call it after :func:`clean_up`: an API left over would still hold the port.

    Returns:
        The settings with the port that the API will have; a free one for port 0.

    Raises:
        CannotStart: another program listens there, or the address can't be used.
    """
    host, port = settings.host, settings.port
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            free = int(probe.getsockname()[1])
    except OSError as error:
        message = messages.address_unusable(host, error.strerror or "")
        if error.errno == errno.EADDRINUSE:
            message = messages.port_in_use(host, port)
        raise CannotStart(EXIT_PORT_IN_USE, message) from None
    return override_settings(port=free)
