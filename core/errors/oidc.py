"""What goes wrong when somebody logs in through an OpenID Connect provider."""

from core.errors.base import AgentexError
from core.errors.codes import ErrorCode


class OidcStateInvalid(AgentexError):
    """The state is not one of this browser's open sign-ins: forged, from elsewhere, or used."""

    code = ErrorCode.OIDC_STATE_INVALID


class OidcExpired(AgentexError):
    """The person came back from the provider too late."""

    code = ErrorCode.OIDC_EXPIRED


class OidcRefused(AgentexError):
    """The provider said no; ``reason`` is its error code where that is one of the protocol's."""

    code = ErrorCode.OIDC_REFUSED

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class OidcTokenInvalid(AgentexError):
    """The provider's answer or ID token failed a check; ``reason`` names the check."""

    code = ErrorCode.OIDC_TOKEN_INVALID

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class OidcCodeInvalid(AgentexError):
    """The one-time code can't be exchanged: unknown, used, expired, or somebody else's."""

    code = ErrorCode.OIDC_CODE_INVALID


class OidcEmailRefused(AgentexError):
    """The address is missing, not verified or of another domain; ``reason`` says which."""

    code = ErrorCode.OIDC_EMAIL_REFUSED

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class OidcEmailTaken(AgentexError):
    """An account that this person is not linked to has their e-mail address."""

    code = ErrorCode.OIDC_EMAIL_TAKEN


class OidcOff(AgentexError):
    """No issuer is set."""

    code = ErrorCode.OIDC_OFF


class OidcUnavailable(AgentexError):
    """The provider can't be reached or answers nothing usable; ``reason`` says what of it."""

    code = ErrorCode.OIDC_UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
