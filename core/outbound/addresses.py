"""Which IP addresses a connection may be made to."""

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network

from core.types.network import Address

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
    """Whether the address is a global unicast one.

    Args:
        address: out of its IPv4-mapped form (``spelled_address``).
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    reserved = any(address in network for network in _NOT_PUBLIC_6)
    return address in _GLOBAL_UNICAST_6 and not reserved


def is_private(address: Address) -> bool:
    """Whether the address is one that an operator may open: loopback or of a private network."""
    inside = any(address in network for network in _PRIVATE)
    return inside and address not in _METADATA
