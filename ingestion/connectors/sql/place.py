"""Where a database server is, and how to connect to it."""

import ssl
from dataclasses import dataclass
from typing import Literal

TlsMode = Literal["verify", "encrypt", "off"]
CONNECT_SECONDS = 20
GRACE_SECONDS = 5.0
"""So that the server's own timeout comes first, and says what it was."""


@dataclass(frozen=True)
class DatabasePlace:
    """Where a database is, and how to connect.

    Args:
        ca_certificate: of the authority that the server's certificate comes from, as PEM; empty for those of the system.
        seconds: that the query may take, with the transfer of its rows.
    """

    host: str
    port: int
    database: str
    tls: TlsMode
    ca_certificate: str
    seconds: float

    @property
    def tls_context(self) -> ssl.SSLContext | None:
        """How to encrypt; None for not at all."""
        if self.tls == "off":
            return None
        context = ssl.create_default_context(cadata=self.ca_certificate or None)
        if self.tls == "encrypt":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
