"""Hosts, ports and IP addresses, parsed into one spelling."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

Address = IPv4Address | IPv6Address
_MOST_PORTS = 2**16


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host, by name or by address, and a port."""

    host: str
    port: int

    @property
    def key(self) -> str:
        """``host:port`` in one spelling."""
        host = self.host.lower().rstrip(".")
        address = parse_address(host)
        return address_key(address, self.port) if address else f"{host}:{self.port}"


def parse_host_port(text: str) -> HostPort:
    """Parse an entry such as ``mcp.internal:8080`` or ``[::1]:3001``; raises ``ValueError``."""
    host, _, port = text.strip().rpartition(":")
    inside = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) < _MOST_PORTS
    is_host = bool(inside) and not set(inside) & set("/[]@ ") and (":" not in host or inside != host)
    if not is_port or not is_host:
        raise ValueError("is not a list of host:port")
    return HostPort(inside, int(port))


def parse_address(text: str) -> Address | None:
    """The IP address, out of its IPv4-mapped form; None if the text is none.

    Scoped ones (``fe80::1%lo``) are refused: the scope is local to a machine.
    """
    if "%" in text:
        return None
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def address_key(address: Address, port: int) -> str:
    """An address and a port in one spelling."""
    return f"[{address}]:{port}" if isinstance(address, IPv6Address) else f"{address}:{port}"


def is_loopback_host(host: str) -> bool:
    """Whether a host is this machine for itself: ``localhost`` or a loopback address."""
    name = host.strip("[]").lower().rstrip(".")
    address = parse_address(name)
    return name == "localhost" if address is None else address.is_loopback
