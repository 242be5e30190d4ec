"""Git over SSH by the system's ``ssh`` program: no settings, agents or keys of the server's account, one pinned address.

The private key and the accepted host keys are in memory that only this process has (``memfd_create``), which ``ssh`` opens as
files of ours: nothing of them is on a disk, and nothing is left of them when the worker is killed.
Source: https://man.openbsd.org/ssh_config
"""

import asyncio
import base64
import binascii
import os
import re
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import NameNotResolved, OutboundGuard
from ingestion.connectors.base import SourceUnavailable, not_allowed
from ingestion.connectors.git import failures
from ingestion.connectors.git.address import SSH_PORTS, SshAddress
from ingestion.connectors.git.transport import GitTransport

_CONNECT_SECONDS = 20
# While the server puts a pack together, nothing comes.
_SILENT_SECONDS = 300.0
_CLOSE_SECONDS = 2.0
_POLL_SECONDS = 0.5
_BLOCK = 2**16
_MOST_LOG_BYTES = 2**16
_SSH_FAILED = 255
_GIT_PROGRAMS = frozenset({"git-upload-pack"})
_PLAIN = re.compile(r"[\w./~+-]+", re.ASCII)
_OPTIONS = (
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "PreferredAuthentications=publickey",
    "GlobalKnownHostsFile=none",
    "UpdateHostKeys=no",
    "CheckHostIP=no",
    "VerifyHostKeyDNS=no",
    "CanonicalizeHostname=no",
    "ProxyCommand=none",
    "ProxyJump=none",
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "SendEnv=-*",
    "SetEnv GIT_PROTOCOL=version=2",
    "LogLevel=ERROR",
    f"ConnectTimeout={_CONNECT_SECONDS}",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
)


class GitSsh(GitTransport):
    """Runs commands on a server of Git.

    Args:
        known_hosts: lines that say which keys the server may have.
        private_key: of the account there, without a passphrase; empty for none.
    """

    def __init__(self, guard: OutboundGuard, address: SshAddress, known_hosts: str, private_key: str) -> None:
        super().__init__()
        self.address = address
        self._guard = guard
        self._known_hosts = known_hosts
        self._private_key = private_key
        self._program: list[str] = []
        self._ip = ""
        self._sessions: list[SshSession] = []

    async def connect(self) -> None:
        if not self._private_key:
            raise failures.no_private_key()
        program = shutil.which("ssh")
        if program is None or not hasattr(os, "memfd_create"):
            raise failures.no_ssh_program()
        # Where a worker is killed, a server that says nothing would keep the program.
        binder = shutil.which("setpriv")
        self._program = [binder, "--pdeathsig", "KILL", "--", program] if binder else [program]
        try:
            addresses = await self._guard.resolve(self.address.host, self.address.port, usual_ports=SSH_PORTS)
        except UrlNotAllowed as error:
            raise SourceUnavailable(not_allowed(error)) from error
        except NameNotResolved as error:
            raise failures.unreachable("NameNotResolved") from error
        # The program tries none but the one that it gets.
        for address in addresses[:-1]:
            if await _answers(address, self.address.port):
                self._ip = address
                return
        self._ip = addresses[-1]

    async def close(self) -> None:
        # The thread is over; nothing of the key stays in memory longer than it is needed.
        for session in self._sessions:
            session.discard()
        self._sessions.clear()

    def interrupt(self) -> None:
        for session in tuple(self._sessions):
            session.kill()

    def open(self, program: str, *arguments: str) -> "SshSession":
        """In a thread: run a program of Git's on the repository."""
        path = self.address.path
        # git-shell takes no path without quotes, and what git-lfs runs has none where it needs none.
        if program in _GIT_PROGRAMS or not _PLAIN.fullmatch(path):
            path = "'" + path.replace("'", "'\\''").replace("!", "'\\!'") + "'"
        command = " ".join([program, path, *arguments])
        session = SshSession(self, self._start(command, self._known_hosts, self._private_key))
        self._sessions.append(session)
        if self.is_stopped:
            session.kill()
        return session

    def offered_key(self) -> str:
        """In a thread: the line of ``known_hosts`` for the key that the server shows now; empty for none."""
        key_file = _MemoryFile("")
        session = SshSession(self, self._start("", None, "", key_file))
        self._sessions.append(session)
        with session.process:
            session.wait(_CONNECT_SECONDS)
            session.kill()
        lines = key_file.text().splitlines()
        return lines[0] if lines else ""

    def _start(
        self, command: str, known_hosts: str | None, private_key: str, key_file: "_MemoryFile | None" = None
    ) -> "_Process":
        files = [_MemoryFile(private_key), key_file or _MemoryFile(known_hosts or ""), _MemoryFile("")]
        key, hosts, log = files
        checking = "yes" if key_file is None else "accept-new"
        options = [
            *_OPTIONS,
            f"UserKnownHostsFile={hosts.path}",
            f"HostKeyAlias={self.address.known_name}",
            f"StrictHostKeyChecking={checking}",
            "HashKnownHosts=no",
            f"PubkeyAuthentication={'yes' if private_key else 'no'}",
        ]
        arguments = [
            *self._program,
            "-F",
            "none",
            "-T",
            "-x",
            "-a",
            "-E",
            log.path,
            "-i",
            key.path,
            "-p",
            str(self.address.port),
        ]
        arguments += [part for option in options for part in ("-o", option)]
        arguments += ["-l", self.address.user, "--", self._ip, *([command] if command else [])]
        return _Process(arguments, files)


class _MemoryFile:
    """A file in memory, which programs of the same account open by its path while this process lives."""

    def __init__(self, text: str) -> None:
        self._descriptor = os.memfd_create("agentex")
        # ssh takes no key that others may read.
        os.fchmod(self._descriptor, 0o600)
        with open(self._descriptor, "wb", closefd=False) as file:
            file.write(text.encode())

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def text(self) -> str:
        return os.pread(self._descriptor, _MOST_LOG_BYTES, 0).decode(errors="replace")

    def close(self) -> None:
        """Free the memory."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    __del__ = close


class _Process(subprocess.Popen[bytes]):
    """The program, and the files that it reads and writes: key, host keys, and its own words."""

    def __init__(self, arguments: Sequence[str], files: Sequence[_MemoryFile]) -> None:
        self._files = files
        super().__init__(
            arguments,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What the server says there could be anything; the program's own words are in a file.
            stderr=subprocess.DEVNULL,
            env={"LC_ALL": "C"},
            start_new_session=True,
        )
        if self.stdin is None or self.stdout is None:
            raise OSError
        self.input, self.output = self.stdin, self.stdout

    def free_files(self) -> None:
        """Free the memory of the files."""
        for file in self._files:
            file.close()

    @property
    def words(self) -> str:
        """What the program has said."""
        return self._files[-1].text()


class SshSession:
    """A command that runs on the server; all but ``kill`` is for one thread."""

    def __init__(self, ssh: GitSsh, process: _Process) -> None:
        self.process = process
        self._ssh = ssh
        self._rest = bytearray()

    def read(self, size: int) -> bytes:
        """So many bytes; raises ``SourceUnavailable`` where the command ends before."""
        while len(self._rest) < size:
            block = self._block()
            if not block:
                raise self.failure()
            self._rest += block
        data = bytes(self._rest[:size])
        del self._rest[:size]
        return data

    def read_all(self, limit: int) -> bytes:
        """All that the command writes, of which there may not be more than ``limit`` bytes; raises ``SourceUnavailable``."""
        while block := self._block():
            self._rest += block
            if len(self._rest) > limit:
                self.kill()
                raise failures.unreachable("ssh")
        if self.wait(_CLOSE_SECONDS) != 0:
            raise self.failure()
        return bytes(self._rest)

    def write(self, data: bytes) -> int:
        """Send all of some bytes."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self.process.input.write(rest) :]
        except (BrokenPipeError, ValueError):
            raise self.failure() from None
        return len(data)

    def can_read(self) -> bool:
        """Whether something has come already."""
        return bool(self._rest) or self._is_ready(0)

    def close(self) -> None:
        """End the command."""
        for pipe in (self.process.input, self.process.output):
            with suppress(OSError):
                pipe.close()
        if self.wait(_CLOSE_SECONDS) is None:
            self.kill()
            self.process.wait()

    def discard(self) -> None:
        """End the command at once, with all that it has."""
        self.kill()
        self.close()
        self.process.free_files()

    def kill(self) -> None:
        """End the command at once, from any thread."""
        self.process.kill()

    def wait(self, seconds: float) -> int | None:
        """The exit code of the program; None where it has none in this time."""
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(seconds)
        return None

    def failure(self) -> SourceUnavailable:
        """Why the command has ended."""
        code = self.wait(_CLOSE_SECONDS)
        self._ssh.check()
        words = self.process.words
        if code != _SSH_FAILED:
            return failures.no_ssh_repository()
        if "IDENTIFICATION HAS CHANGED" in words or "revoked" in words:
            return failures.host_key_changed(*self._offered())
        if "Host key verification failed" in words:
            return failures.unknown_host_key(*self._offered())
        if "Permission denied" in words or "Too many authentication failures" in words:
            return failures.key_refused()
        return failures.unreachable("Unable to negotiate" if "Unable to negotiate" in words else "ssh")

    def _offered(self) -> tuple[str, str]:
        line = self._ssh.offered_key()
        return line, fingerprint(line)

    def _block(self) -> bytes:
        deadline = time.monotonic() + _SILENT_SECONDS
        while not self._is_ready(_POLL_SECONDS):
            self._ssh.check()
            if time.monotonic() > deadline:
                self.kill()
                raise failures.unreachable("ReadTimeout")
        block = self.process.output.read(_BLOCK) or b""
        self._ssh.check()
        self._ssh.count(len(block))
        return block

    def _is_ready(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.process.output, select.POLLIN | select.POLLHUP)
        return bool(poll.poll(seconds * 1000))


def fingerprint(line: str) -> str:
    """The fingerprint of a line of ``known_hosts`` as programs of SSH show it; empty for none."""
    parts = line.split()
    try:
        key = base64.b64decode(parts[2], validate=True)
    except (IndexError, binascii.Error):
        return ""
    return f"SHA256:{base64.b64encode(sha256(key).digest()).decode().rstrip('=')}"


async def _answers(address: str, port: int) -> bool:
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    with sock:
        sock.setblocking(False)
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await asyncio.get_running_loop().sock_connect(sock, (address, port))
        except (OSError, TimeoutError):
            return False
    return True
