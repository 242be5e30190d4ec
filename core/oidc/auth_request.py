"""What one sign-in asks of the provider, and what comes back."""

from dataclasses import dataclass

CALLBACK_PATH = "/api/v1/auth/oidc/callback"


@dataclass(frozen=True)
class AuthRequest:
    """What belongs to one sign-in; none of it is ever used for another.

    Args:
        nonce: comes back in the ID token.
        verifier: proves that the code is exchanged by who asked for it (PKCE, RFC 7636).
    """

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True)
class AuthResponse:
    """What the person brought back from the provider.

    Args:
        error: the provider's word where there is no code.
        issuer: who answered (RFC 9207), where the provider says so.
    """

    code: str | None = None
    error: str | None = None
    issuer: str | None = None
