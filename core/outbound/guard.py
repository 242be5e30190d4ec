"""Guard of outgoing connections, which decides on the resolved address.

It prevents server-side request forgery (OWASP API7:2023): a user who gives Agentex an address to
call must not reach what only Agentex's machine can reach.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network

import httpx

from core.errors.requests import UrlNotAllowed
from core.types.network import Address, HostPort, address_key, parse_address, parse_host_port

LONGEST_URL = 2048
_RESOLVE_SECONDS = 10
_RESOLVED_AT_ONCE = 32
_MOST_ADDRESSES = 4
_DEFAULT_PORTS = {
    "http": 80,
    "ws": 80,
    "https": 443,
    "wss": 443,
    "ssh": 22,
    "postgresql": 5432,
    "postgres": 5432,
    "mysql": 3306,
    "mariadb": 3306,
}
_WEB_PORTS = (80, 443)
_FIRST_UNPRIVILEGED = 1024
_MOST_REMEMBERED = 1000
# What resolvers read as a number is an address, in whatever notation (WHATWG URL, section 3.5).
_NUMERIC_LABEL = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


class NameNotResolved(OSError):
    """The name has no address now."""


@dataclass(frozen=True, slots=True)
class PrivateReach:
    """The private addresses that connections may lead to.

    Attributes:
        listed: the operator's list, as ``HostPort.key`` writes its entries.
        is_open: whether loopback and private networks are reached unlisted, on the usual ports.
    """

    listed: frozenset[str] = frozenset()
    is_open: bool = False


NOTHING_PRIVATE = PrivateReach()
ReachNow = Callable[[], Awaitable[PrivateReach]]


async def _nothing() -> PrivateReach:
    return NOTHING_PRIVATE


class OutboundGuard:
    """Decides which addresses may be connected to.

    Allowed are public unicast addresses on ports 80, 443 and from 1024 on: the other privileged
    ports are those of mail, shells and the like, for clients that speak nothing else. Addresses of private networks are allowed only if
    the exact ``host:port`` (``[::1]:3001``) is listed, or if they are open to whom the guard is for.

    Args:
        private_targets: entries that are always listed.
        reach: asked for the current list whenever a target is not simply public.
    """

    def __init__(self, private_targets: Iterable[str] = (), reach: ReachNow = _nothing) -> None:
        self._listed = frozenset(parse_host_port(text).key for text in private_targets)
        self._reach = reach
        # Targets that led to private addresses, in the order of their last use.
        self._private: dict[str, None] = {}

    async def check(self, url: str, *, schemes: Iterable[str] = ("http", "https")) -> None:
        """Refuse, before it is stored, a URL that will never be connected to.

        A name that has no address now passes: each connection is checked again.
        """
        target = read_url(url, schemes)
        try:
            await self.resolve(target.host, target.port)
        except NameNotResolved:
            return

    async def check_again(self, target: HostPort) -> None:
        """Refuse the use of an open connection to a private address that is not allowed any more."""
        if target.key not in self._private:
            return
        try:
            await self.resolve(target.host, target.port)
        except NameNotResolved:
            return

    async def resolve(self, host: str, port: int, *, usual_ports: Collection[int] = _WEB_PORTS) -> list[str]:
        """The addresses to connect to, at least one, in the resolver's order; raises ``NameNotResolved``.

        Callers must not resolve again: a name may have another address a moment later.

        Args:
            usual_ports: privileged ports of the protocol that is spoken, which need not be listed.
        """
        host = host.strip("[]")
        target = HostPort(host, port)
        literal = parse_address(host)
        if literal is None and (":" in host or _NUMERIC_LABEL.fullmatch(host.rstrip(".").rpartition(".")[2])):
            raise UrlNotAllowed("Addresses are written in their usual form only", "地址须以通常的形式书写")
        if literal is not None and not (is_public(literal) or is_private(literal)):
            raise _not_public()
        is_usual_port = port in usual_ports or port >= _FIRST_UNPRIVILEGED
        if not is_usual_port and target.key not in (await self._now()).listed:
            raise UrlNotAllowed("This port is not allowed", "不允许使用该端口", target=target.key)
        addresses = [literal] if literal else await _addresses(host, port)
        private = [address for address in addresses if not is_public(address)]
        if private:
            await self._require_private(private, target)
        return [str(address) for address in addresses[:_MOST_ADDRESSES]]

    async def _now(self) -> PrivateReach:
        reach = await self._reach()
        return PrivateReach(self._listed | reach.listed, reach.is_open)

    async def _require_private(self, addresses: list[Address], target: HostPort) -> None:
        if not all(map(is_private, addresses)):
            raise _not_public()
        reach = await self._now()
        is_listed = target.key in reach.listed or all(
            address_key(address, target.port) in reach.listed for address in addresses
        )
        if not (reach.is_open or is_listed):
            raise _not_public(target.key)
        self._private.pop(target.key, None)
        self._private[target.key] = None
        if len(self._private) > _MOST_REMEMBERED:
            del self._private[next(iter(self._private))]


@dataclass(frozen=True, slots=True)
class OutboundGuards:
    """The guard of what anybody may name, and that of what administrators chose."""

    everybody: OutboundGuard
    administrators: OutboundGuard

    def of(self, *, is_administrator: bool) -> OutboundGuard:
        return self.administrators if is_administrator else self.everybody


def _not_public(target: str = "") -> UrlNotAllowed:
    return UrlNotAllowed("Only public addresses are connected to", "只能连接公网地址", target=target)


def read_url(url: str, schemes: Iterable[str] = ("http", "https")) -> HostPort:
    """Host and port of a URL; refuses malformed and too long ones, credentials and other schemes."""
    if len(url) > LONGEST_URL:
        raise UrlNotAllowed(f"A URL has at most {LONGEST_URL} characters", f"URL 最多 {LONGEST_URL} 个字符")
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise UrlNotAllowed("This is not a URL", "这不是 URL") from None
    if parsed.scheme not in schemes:
        starts = [f"{scheme}://" for scheme in schemes]
        raise UrlNotAllowed(f"The URL must begin with {' or '.join(starts)}", f"URL 必须以 {' 或 '.join(starts)} 开头")
    host = parsed.raw_host.decode("ascii")
    if not host:
        raise UrlNotAllowed("The URL names no host", "URL 没有主机名")
    if parsed.userinfo:
        raise UrlNotAllowed("A URL must not hold credentials", "URL 不能包含凭据")
    return HostPort(host, parsed.port or _DEFAULT_PORTS[parsed.scheme])


@cache
def _resolvers() -> ThreadPoolExecutor:
    # Threads of their own: names whose servers are silent would hold up files and the other
    # look-ups of the event loop's few threads.
    return ThreadPoolExecutor(_RESOLVED_AT_ONCE, "resolver")


async def _addresses(host: str, port: int) -> list[Address]:
    name = host.lower().rstrip(".")
    if name.rpartition(".")[2] == "localhost":
        # All names under it are this machine's (RFC 6761, section 6.3), known to a resolver or not.
        host = "localhost"
    loop = asyncio.get_running_loop()
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            results = await loop.run_in_executor(_resolvers(), look_up)
    except (OSError, UnicodeError, TimeoutError) as error:
        raise NameNotResolved(host) from error
    texts = dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in results)
    addresses = [parse_address(text) for text in texts]
    if not addresses or None in addresses:
        raise _not_public()
    return [address for address in addresses if address is not None]


# Not left to ``ipaddress``: what its ``is_global`` says differs between versions of Python, and it
# calls 192.0.0.8, 224.0.0.1 and several forms that hold a loopback address global.
_NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # the host's own services in Azure
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    # Protocol assignments with Teredo, documentation, and 6to4, which holds an IPv4 address.
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
_NAT64 = IPv6Network("64:ff9b::/96")
# What a private network has for its own machines; no link-local ones: cloud metadata is there.
_PRIVATE = tuple(
    ip_network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "::1/128",
        "fc00::/7",
    )
)
_METADATA = frozenset(map(ip_address, ("100.100.100.200", "fd00:ec2::254")))


def is_public(address: Address) -> bool:
    """Whether the address, out of its IPv4-mapped form (``parse_address``), is a global unicast one."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    reserved = any(address in network for network in _NOT_PUBLIC_6)
    return address in _GLOBAL_UNICAST_6 and not reserved


def is_private(address: Address) -> bool:
    """Whether an operator may allow the address: loopback or of a private network."""
    inside = any(address in network for network in _PRIVATE)
    return inside and address not in _METADATA
