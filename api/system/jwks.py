"""The public signing keys as a JSON Web Key Set (RFC 7517)."""

from typing import Literal

from fastapi import Response

from api.dependencies import Security
from api.http.responses import ResponseModel
from api.http.routing import Router

router = Router(tags=["auth"])
# Below the minute that a new key is known before anything is signed with it.
_CACHED = "public, max-age=30"


class JsonWebKey(ResponseModel):
    """One RSA public key (RFC 7518, section 6.3.1); ``kid`` stands in the tokens' headers."""

    kid: str
    kty: Literal["RSA"] = "RSA"
    use: Literal["sig"] = "sig"
    alg: Literal["RS256"] = "RS256"
    n: str
    e: str


class JsonWebKeySet(ResponseModel):
    """All keys whose tokens are valid, a retired one for as long as its tokens live."""

    keys: list[JsonWebKey]


@router.get("/.well-known/jwks.json")
async def read_signing_keys(security: Security, response: Response) -> JsonWebKeySet:
    """The keys by which other services can check our access tokens; open to everybody."""
    response.headers["Cache-Control"] = _CACHED
    numbers = security.authenticator.issuer.public_numbers()
    return JsonWebKeySet(keys=[JsonWebKey(kid=kid, n=n, e=e) for kid, (n, e) in numbers.items()])
