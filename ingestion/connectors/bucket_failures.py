"""What S3 servers answer instead of objects, and what to do about it."""

import re
from collections.abc import Mapping

from ingestion.connectors.base import ReadFailure

_KNOWN_CODE = re.compile(r"[A-Za-z]{1,64}")
_KEYS_EN = "Give the source new credentials: agentex kb source credentials, or PUT with credentials"
_KEYS_ZH = "请为该来源填写新的凭据：agentex kb source credentials，或在 PUT 请求中提供 credentials"

NO_BUCKET = ReadFailure(
    "no_bucket",
    "There is no such bucket at this endpoint",
    "该端点没有这个存储桶",
    "Check the bucket's name, its region and the endpoint",
    "请检查存储桶名称、区域和端点",
)
DENIED = ReadFailure(
    "access_denied",
    "The server denies access",
    "服务器拒绝访问",
    "Let the credentials list the bucket (s3:ListBucket) and read its objects (s3:GetObject); without credentials only "
    "public buckets are read",
    "请为凭据授予列出存储桶（s3:ListBucket）和读取对象（s3:GetObject）的权限；没有凭据时只能读取公开存储桶",
)
_WRONG_KEYS = ReadFailure(
    "wrong_credentials",
    "The server does not accept the credentials: the key is unknown to it, or the secret is not that of the key",
    "服务器不接受该凭据：密钥 ID 不存在，或密钥不匹配",
    _KEYS_EN,
    _KEYS_ZH,
)
_EXPIRED = ReadFailure(
    "credentials_expired", "The session token has expired or is invalid", "会话令牌已过期或无效", _KEYS_EN, _KEYS_ZH
)
_WRONG_REGION = ReadFailure(
    "wrong_region",
    "The bucket is in another region",
    "存储桶位于其他区域",
    "Set region to that of the bucket, and leave out an endpoint of another one",
    "请将 region 设为存储桶所在区域，并去掉其他区域的 endpoint",
)
_WRONG_CLOCK = ReadFailure(
    "wrong_clock",
    "The clocks of the two servers are too far apart",
    "两台服务器的时钟相差过大",
    "Ask your operator to synchronize the clock of the server that runs Agentex",
    "请联系管理员校准运行 Agentex 的服务器时钟",
)
_ARCHIVED = ReadFailure(
    "archived",
    "The object is archived, and can't be read before it is restored",
    "对象已归档，恢复之前无法读取",
    "Restore it in the bucket, or exclude it",
    "请在存储桶中恢复该对象，或将其排除",
)
BUSY = ReadFailure(
    "busy",
    "The server asks for fewer requests",
    "服务器要求减少请求",
    "Nothing: the next sync tries again. Synchronize less often if it stays so",
    "无需操作：下次同步会重试。若持续如此，请降低同步频率",
)
NOT_S3 = ReadFailure(
    "not_s3",
    "The endpoint does not answer as an S3 server does",
    "该端点的响应不符合 S3 协议",
    "Give the address of the S3 API itself, not that of a console or a web page",
    "请填写 S3 API 的地址，而不是控制台或网页的地址",
)
UNUSABLE_KEY = ReadFailure(
    "unusable_key",
    "The key of the object has control characters or a part that is . or .., which could lead to another object",
    "对象的键包含控制字符，或含有 . 或 .. 部分，可能指向其他对象",
    "Rename the object, or exclude it",
    "请重命名该对象，或将其排除",
)

_BY_CODE: Mapping[str, ReadFailure] = {
    "NoSuchBucket": NO_BUCKET,
    "InvalidBucketName": NO_BUCKET,
    "AccessDenied": DENIED,
    "AllAccessDisabled": DENIED,
    "InvalidAccessKeyId": _WRONG_KEYS,
    "SignatureDoesNotMatch": _WRONG_KEYS,
    "ExpiredToken": _EXPIRED,
    "InvalidToken": _EXPIRED,
    "AuthorizationHeaderMalformed": _WRONG_REGION,
    "IllegalLocationConstraintException": _WRONG_REGION,
    "PermanentRedirect": _WRONG_REGION,
    "RequestTimeTooSkewed": _WRONG_CLOCK,
    "InvalidObjectState": _ARCHIVED,
    "SlowDown": BUSY,
    "ServiceUnavailable": BUSY,
    "RequestLimitExceeded": BUSY,
}
_BY_STATUS: Mapping[int, ReadFailure] = {
    301: _WRONG_REGION,
    307: _WRONG_REGION,
    401: DENIED,
    403: DENIED,
    404: NO_BUCKET,
    429: BUSY,
    503: BUSY,
}


def answer_failure(status: int, code: str) -> ReadFailure:
    """Why a request failed, by the code of the S3 API (``Error responses`` in its reference) or by the status."""
    failure = _BY_CODE.get(code) or _BY_STATUS.get(status)
    if failure is not None:
        return failure
    text = f"{status} {code}" if _KNOWN_CODE.fullmatch(code) else str(status)
    return ReadFailure(
        "refused",
        f"The server answers with {text}",
        f"服务器返回 {text}",
        "Check the endpoint, the region, the bucket and the prefix",
        "请检查端点、区域、存储桶和前缀",
    )
