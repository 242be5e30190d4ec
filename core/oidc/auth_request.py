"""Request and response of a sign-in at the provider."""

from dataclasses import dataclass

CALLBACK_PATH = "/api/v1/auth/oidc/callback"


@dataclass(frozen=True)
class AuthRequest:
    """Secrets of one sign-in, never reused.

    Args:
        nonce: comes back in the ID token.
        verifier: proves that the code is exchanged by the client that requested it (PKCE, RFC 7636).
    """

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True)
class AuthResponse:
    """The provider's response, brought back by the browser.

    Args:
        error: the provider's error code if there is no code.
        issuer: the responding provider (RFC 9207), if it says so.
    """

    code: str | None = None
    error: str | None = None
    issuer: str | None = None
