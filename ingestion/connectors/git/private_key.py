"""Private keys of accounts on servers of Git."""

import re
from textwrap import wrap

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

from core.types.errors import FieldValueError

_OPENSSH = "-----BEGIN OPENSSH PRIVATE KEY-----"
_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(.*)(-----END [A-Z ]*PRIVATE KEY-----)", re.DOTALL)
_SEALED = "ENCRYPTED"
# As ssh-keygen writes them.
_WIDTH = 70
_PASSPHRASE = (
    "Give a key without a passphrase, such as one of its own for this source (ssh-keygen -t ed25519 -N '')",
    "请提供没有密码短语的私钥，例如为该来源单独生成一个（ssh-keygen -t ed25519 -N ''）",
)
_NO_KEY = (
    "Give a private key as ssh-keygen writes it: -----BEGIN OPENSSH PRIVATE KEY-----",
    "请提供 ssh-keygen 生成的私钥：-----BEGIN OPENSSH PRIVATE KEY-----",
)


def read_private_key(text: str) -> str:
    """A key as files have it; raises ``FieldValueError`` for another text, and for a key with a passphrase.

    Its line ends may be missing, as fields of a single line leave them out.
    """
    match = _KEY.fullmatch(text.strip())
    if match is None:
        raise FieldValueError(*_NO_KEY)
    head, body, end = match.groups()
    if _SEALED in body:
        raise FieldValueError(*_PASSPHRASE)
    content = "\n".join([head, *wrap("".join(body.split()), _WIDTH), end, ""])
    load = load_ssh_private_key if content.startswith(_OPENSSH) else load_pem_private_key
    try:
        load(content.encode(), password=None)
    except TypeError:
        raise FieldValueError(*_PASSPHRASE) from None
    except (ValueError, UnsupportedAlgorithm) as error:
        # What is sealed in OpenSSH's own form is reported in other ways.
        is_sealed = "password" in str(error).lower() or "bcrypt" in str(error).lower()
        raise FieldValueError(*(_PASSPHRASE if is_sealed else _NO_KEY)) from None
    return content
