"""What services refuse, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum

from ingestion.connectors.base import ReadFailure

_MINUTE = 60


class Refusal(StrEnum):
    """Why a service did not give what it was asked for."""

    CREDENTIALS = "wrong_credentials"
    ACCESS = "access_denied"
    MISSING = "not_found"
    LIMIT = "rate_limited"
    BUSY = "busy"
    OTHER = "refused"


@dataclass(frozen=True)
class Advice:
    """A next step in English and Chinese."""

    en: str
    zh: str


@dataclass(frozen=True)
class ServiceTerms:
    """How a service is called, and what to do where it refuses.

    Args:
        credentials: if it does not accept them.
        access: if they are not allowed enough.
        place: if there is nothing where the settings point to, or the service can't make sense of them.
    """

    name: str
    credentials: Advice
    access: Advice
    place: Advice


_WAIT = Advice(
    "Nothing: the next sync goes on where this one ended. Synchronize less often if it stays so",
    "无需操作：下次同步会继续。若持续如此，请降低同步频率",
)


def refusal_failure(terms: ServiceTerms, refusal: Refusal, status: int, pause: float = 0.0) -> ReadFailure:
    """The words for a refusal; ``pause`` are the seconds that the service asks for."""
    name, minutes = terms.name, max(1, round(pause / _MINUTE))
    english, chinese, advice = {
        Refusal.CREDENTIALS: (
            f"{name} does not accept the credentials: they are wrong, expired or revoked, or missing",
            f"{name} 不接受该凭据：凭据有误、已过期、已撤销或未填写",
            terms.credentials,
        ),
        Refusal.ACCESS: (
            f"{name} does not let these credentials read this",
            f"{name} 不允许使用该凭据读取此内容",
            terms.access,
        ),
        Refusal.MISSING: (
            f"{name} has nothing there, or hides it from these credentials",
            f"{name} 中没有该内容，或该凭据无权查看",
            terms.place,
        ),
        Refusal.LIMIT: (
            f"{name} limits the number of requests; more are allowed in about {minutes} min",
            f"{name} 限制了请求次数，约 {minutes} 分钟后可继续",
            _WAIT,
        ),
        Refusal.BUSY: (f"{name} answers with status {status}", f"{name} 返回状态码 {status}", _WAIT),
        Refusal.OTHER: (
            f"{name} refuses the request with status {status}",
            f"{name} 拒绝了请求，状态码 {status}",
            terms.place,
        ),
    }[refusal]
    return ReadFailure(refusal.value, english, chinese, advice.en, advice.zh)


def unexpected_answer(terms: ServiceTerms) -> ReadFailure:
    """The failure of an answer that is not as the service's documentation says."""
    return ReadFailure(
        "unexpected_answer",
        f"What answers does not speak the API of {terms.name}",
        f"该地址的响应不符合 {terms.name} 的接口",
        terms.place.en,
        terms.place.zh,
    )


def answer_too_large(terms: ServiceTerms, limit: int) -> ReadFailure:
    """The failure of an answer beyond what is read at once."""
    return ReadFailure(
        "too_large",
        f"An answer of {terms.name} has more than {limit} bytes",
        f"{terms.name} 的一次响应超过 {limit} 字节",
        "Divide what is so large in the source",
        "请在来源中拆分过大的内容",
    )


def redirected_elsewhere(terms: ServiceTerms, origin: str) -> ReadFailure:
    """The failure of a redirect to another origin, which is never given the credentials."""
    return ReadFailure(
        "elsewhere",
        f"{terms.name} redirects to another address, {origin}",
        f"{terms.name} 重定向到另一个地址 {origin}",
        "If that one is right, give it as the address of the source, with the credentials",
        "若该地址正确，请将其填为来源的地址，并重新填写凭据",
    )


def too_slow(terms: ServiceTerms, seconds: float) -> ReadFailure:
    """The failure of an answer that did not come to its end in time."""
    return ReadFailure(
        "too_slow",
        f"An answer of {terms.name} took more than {round(seconds)} s",
        f"{terms.name} 的一次响应超过 {round(seconds)} 秒",
        _WAIT.en,
        _WAIT.zh,
    )


def endless_listing(terms: ServiceTerms) -> ReadFailure:
    """The failure of a listing that leads to a page of itself again, or has more pages than any list of items."""
    return ReadFailure(
        "endless_listing",
        f"The list that {terms.name} gives does not come to an end",
        f"{terms.name} 返回的列表没有尽头",
        "Nothing was deleted. Synchronize again, and tell whoever runs the service if it stays so",
        "没有删除任何文档。请重新同步；若持续如此，请告知该服务的管理者",
    )
