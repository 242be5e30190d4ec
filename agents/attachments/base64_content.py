"""Content of messages that is written as base64."""

import base64
import binascii

from core.errors.requests import FileTooLarge, InvalidRunInput

# Beside the digits themselves base64 may have line ends.
_BLANKS = str.maketrans("", "", " \t\r\n")


def decode_base64(data: str, most: int) -> bytes:
    """Decode base64 of at most so many bytes.

    Raises:
        FileTooLarge: It holds more; nothing was decoded.
        InvalidRunInput: It is other text.
    """
    digits = data.translate(_BLANKS).rstrip("=")
    if len(digits) * 3 // 4 > most:
        raise FileTooLarge(max_bytes=most)
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRunInput("", "is not base64", "不是 base64") from error
