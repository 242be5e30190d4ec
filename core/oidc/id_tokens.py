"""Checks of ID tokens (OpenID Connect Core 1.0, section 3.1.3.7), by Authlib and joserfc."""

# Authlib has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import (
    BadSignatureError,
    ExpiredTokenError,
    InvalidClaimError,
    InvalidKeyIdError,
    JoseError,
    MissingClaimError,
)
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from core.errors.oidc import OidcTokenInvalid

# Only signatures by key pairs, which a public key can't forge: no `none`, no HMAC.
_ALGORITHMS = [f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)]
# How far the clocks of the provider and of this machine may be apart.
CLOCK_SKEW_SECONDS = 60


class UnknownKey(Exception):
    """The token is signed with a key that is not in the set: the provider may have rotated its keys."""


@dataclass(frozen=True)
class ExpectedClaims:
    """Required content of an ID token; ``access_token`` is the one that came with it, if any."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str | None = None


def read_keys(document: object) -> KeySet:
    """The keys of a provider's key set (RFC 7517); raises ``ValueError`` if none can be used."""
    try:
        return KeySet.import_key_set(document)  # pyright: ignore[reportArgumentType]
    except (JoseError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is no key set") from error


def check_id_token(token: str, keys: KeySet, expected: ExpectedClaims) -> Mapping[str, object]:
    """The claims of a token that this issuer made for this client and this sign-in.

    A failed check raises ``OidcTokenInvalid`` with ``signature``, ``expired`` or the claim as reason,
    an unknown signing key ``UnknownKey``.
    """
    try:
        registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
        read = jwt.decode(token, keys, registry=registry)
        options = {
            "iss": {"essential": True, "value": expected.issuer},
            "aud": {"essential": True, "value": expected.client_id},
            "sub": {"essential": True},
        }
        params = {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": expected.access_token}
        claims = CodeIDToken(read.claims, read.header, options, params)
        claims.validate(leeway=CLOCK_SKEW_SECONDS)
    except (InvalidKeyIdError, BadSignatureError) as error:
        raise UnknownKey from error
    except ExpiredTokenError as error:
        raise OidcTokenInvalid("expired") from error
    except (InvalidClaimError, MissingClaimError) as error:
        raise OidcTokenInvalid(_claim_of(error)) from error
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise OidcTokenInvalid("signature") from error
    return cast(Mapping[str, object], dict(claims))


def _claim_of(error: InvalidClaimError | MissingClaimError) -> str:
    checked_claims = ("iss", "sub", "aud", "exp", "nbf", "iat", "nonce", "azp", "at_hash", "auth_time")
    claim = str(getattr(error, "claim", ""))
    return claim if claim in checked_claims else "claims"
