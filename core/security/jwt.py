"""JSON web tokens: RS256 only, every claim required, access and refresh tokens kept apart."""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, cast

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from core.db.types import new_id, utc_now
from core.errors.auth import InvalidToken, TokenExpired

_ALGORITHM = "RS256"
_ISSUER = "agentex"
_AUDIENCE = "agentex-api"
_LEEWAY_SECONDS = 30
_REQUIRED = ["exp", "iat", "sub", "aud", "iss", "jti", "sid", "type"]

TokenType = Literal["access", "refresh"]


@dataclass(frozen=True)
class SigningKey:
    """An RSA key pair with an id; ``private_pem`` is unencrypted PKCS 8."""

    key_id: str
    private_pem: str
    public_pem: str


@dataclass(frozen=True)
class TokenClaims:
    """Claims of a verified token; revoking the login ``family_id`` revokes the token."""

    user_id: str
    family_id: str
    token_id: str
    expires_at: datetime


def generate_signing_key() -> SigningKey:
    """A new RSA key pair of 2,048 bits."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private_pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_pem = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return SigningKey(new_id(), private_pem.decode(), public_pem.decode())


def _public_key(key: SigningKey) -> rsa.RSAPublicKey:
    return cast(rsa.RSAPublicKey, serialization.load_pem_public_key(key.public_pem.encode()))


def _base64_uint(number: int) -> str:
    """RFC 7518, section 2: big endian, no leading zeros, base64url without padding."""
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class TokenIssuer:
    """Signs tokens with one key and verifies those of all accepted keys, the current one among them."""

    def __init__(self, current: SigningKey, accepted: list[SigningKey]) -> None:
        self._key_id = current.key_id
        # Reading a private key takes fifty times as long as signing with it.
        private = serialization.load_pem_private_key(current.private_pem.encode(), None)
        self._private = cast(rsa.RSAPrivateKey, private)
        self._public = {key.key_id: _public_key(key) for key in accepted}

    def public_numbers(self) -> dict[str, tuple[str, str]]:
        """Modulus and exponent of each accepted key by its id, as a JSON Web Key spells them."""
        return {
            key_id: (_base64_uint(numbers.n), _base64_uint(numbers.e))
            for key_id, numbers in ((key_id, key.public_numbers()) for key_id, key in self._public.items())
        }

    def issue(self, token_type: TokenType, *, user_id: str, family_id: str, seconds: int) -> tuple[str, TokenClaims]:
        """Sign a token with this lifetime."""
        now = utc_now()
        claims = TokenClaims(user_id, family_id, new_id(), now + timedelta(seconds=seconds))
        payload = {
            "iss": _ISSUER,
            "aud": _AUDIENCE,
            "sub": user_id,
            "sid": family_id,
            "jti": claims.token_id,
            "type": token_type,
            "iat": now,
            "exp": claims.expires_at,
        }
        headers = {"kid": self._key_id}
        return jwt.encode(payload, self._private, _ALGORITHM, headers=headers), claims

    def verify(self, token: str, token_type: TokenType) -> TokenClaims:
        """The claims of a token that was signed here, is of this type and has not expired."""
        try:
            key_id = cast(object, jwt.get_unverified_header(token).get("kid"))
            public_key = self._public.get(key_id) if isinstance(key_id, str) else None
            if public_key is None:
                raise InvalidToken
            payload = jwt.decode(
                token,
                public_key,
                algorithms=[_ALGORITHM],
                audience=_AUDIENCE,
                issuer=_ISSUER,
                leeway=_LEEWAY_SECONDS,
                options={"require": _REQUIRED},
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenExpired from error
        except (jwt.PyJWTError, ValueError) as error:
            raise InvalidToken from error
        if payload["type"] != token_type:
            raise InvalidToken
        expires_at = datetime.fromtimestamp(payload["exp"], tz=utc_now().tzinfo)
        return TokenClaims(str(payload["sub"]), str(payload["sid"]), str(payload["jti"]), expires_at)
