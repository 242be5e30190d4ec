"""Checks of ``agentex doctor`` for secret key, addresses, TLS and clocks."""

import asyncio
import ssl
import stat
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

import httpx

from cli.client.api import ApiClient
from cli.client.transport import is_loopback
from cli.commands.doctor.local import CheckResult, CheckVerdict
from cli.errors import CommandFailed
from cli.ui.i18n import doctor as messages
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from core.security.vault import secret_key_file
from core.settings import Settings

_SHORT_KEY = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SOON_DAYS, _DAY = 14, 86_400
_CLOCK_BAD, _CLOCK_ODD = 60.0, 10.0
_CONNECT_SECONDS = 5
# Nobody has a larger network of their own than 10.0.0.0/8, or in IPv6 a provider's or fc00::/7.
_LARGEST_OLD, _LARGEST_NEW = 8, 16
_OWN_NEW = IPv6Network("fc00::/7")
_LOST = (messages.SECRET_KEY_LOST, messages.SECRET_KEY_LOST_HINT)


def check_secret_key(output: Output, settings: Settings, database: str | None) -> CheckResult:
    """Check that the key of stored secrets exists, and who may read its file."""
    name, title = "secret_key", messages.SECRET_KEY
    if settings.secret_key is not None:
        detail = output.render(messages.SECRET_KEY_SET)
        if len(settings.secret_key.get_secret_value()) >= _SHORT_KEY:
            return CheckResult(name, title, CheckVerdict.OK, detail)
        hint = output.render(messages.SECRET_KEY_SHORT_HINT)
        return CheckResult(name, title, CheckVerdict.WARNING, detail, hint)
    file = secret_key_file(settings)
    texts: tuple[Message, Message | None]
    try:
        if not file.read_bytes().strip():
            texts = messages.SECRET_KEY_EMPTY, messages.SECRET_KEY_LOST_HINT
        elif file.stat().st_mode & _OTHERS:
            texts = messages.SECRET_KEY_OPEN, messages.SECRET_KEY_OPEN_HINT
        else:
            texts = messages.SECRET_KEY_OWN, None
    except FileNotFoundError:
        if database in {None, "unreachable"}:
            detail = output.render(messages.SECRET_KEY_UNKNOWN)
            hint = output.render(messages.SECRET_KEY_UNKNOWN_HINT, file=file)
            return CheckResult(name, title, CheckVerdict.WARNING, detail, hint)
        is_first = database == "new"
        texts = (messages.MADE_AT_START, None) if is_first else _LOST
    except OSError:
        texts = messages.SECRET_KEY_EMPTY, messages.SECRET_KEY_OPEN_HINT
    detail, hint = output.render(texts[0]), output.render(texts[1], file=file) if texts[1] else ""
    return CheckResult(name, title, CheckVerdict.FAILED if hint else CheckVerdict.OK, detail, hint)


def check_exposure(output: Output, settings: Settings) -> CheckResult:
    """Check trusted proxies, allowed origins and the listening address."""
    name, title = "exposure", messages.EXPOSURE
    if wide := _too_wide(settings.trusted_proxies):
        hint = output.render(messages.PROXIES_ALL_HINT)
        detail = output.render(messages.PROXIES_ALL, network=wide)
        return CheckResult(name, title, CheckVerdict.FAILED, detail, hint)
    for origin in settings.allowed_origins:
        if origin.startswith("http://") and not is_loopback(origin):
            detail = output.render(messages.ORIGIN_PLAIN, origin=origin)
            hint = output.render(messages.ORIGIN_PLAIN_HINT)
            return CheckResult(name, title, CheckVerdict.WARNING, detail, hint)
    host = settings.host
    if not is_loopback(f"http://{f'[{host}]' if ':' in host else host}"):
        detail = output.render(messages.ALL_ADDRESSES, host=host)
        hint = output.render(messages.ALL_ADDRESSES_HINT)
        return CheckResult(name, title, CheckVerdict.WARNING, detail, hint)
    return CheckResult(name, title, CheckVerdict.OK, output.render(messages.EXPOSURE_OK, host=host))


def _too_wide(proxies: str) -> str:
    """The first network that is larger than anybody's own proxies; else empty."""
    networks = [ip_network(network.strip()) for network in proxies.split(",") if network.strip() != "none"]
    old = collapse_addresses(network for network in networks if isinstance(network, IPv4Network))
    new = collapse_addresses(network for network in networks if isinstance(network, IPv6Network))
    wide = [network for network in old if network.prefixlen < _LARGEST_OLD]
    wider = [network for network in new if network.prefixlen < _LARGEST_NEW and not network.subnet_of(_OWN_NEW)]
    return str([*wide, *wider, ""][0])


async def check_transport(output: Output, url: str, headers: Mapping[str, str]) -> CheckResult:
    """Check that traffic to the server can't be read on its way."""
    name, title = "transport", messages.TRANSPORT
    if not url.startswith("https://"):
        if is_loopback(url):
            return CheckResult(name, title, CheckVerdict.OK, output.render(messages.TRANSPORT_LOCAL))
        hint = output.render(messages.TRANSPORT_PLAIN_HINT)
        return CheckResult(name, title, CheckVerdict.WARNING, output.render(messages.TRANSPORT_PLAIN), hint)
    days = await _certificate_days(url)
    details = [output.render(messages.TRANSPORT_TLS, days="?" if days is None else days)]
    hints: list[str] = []
    if "strict-transport-security" not in headers:
        details.insert(0, output.render(messages.PROXY_UNBELIEVED))
        hints.append(output.render(messages.PROXY_UNBELIEVED_HINT))
    if days is not None and days < _SOON_DAYS:
        hints.append(output.render(messages.CERTIFICATE_HINT))
    verdict = CheckVerdict.WARNING if hints else CheckVerdict.OK
    return CheckResult(name, title, verdict, "; ".join(details), " ".join(hints))


async def _certificate_days(url: str) -> int | None:
    """Remaining days of the server's certificate; None if unknown, as behind a proxy."""
    target = httpx.URL(url)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(target.host, target.port or 443, ssl=ssl.create_default_context())
    except (OSError, TimeoutError):
        return None
    try:
        ends = writer.get_extra_info("peercert").get("notAfter")
    finally:
        writer.close()
    return int((ssl.cert_time_to_seconds(ends) - time.time()) // _DAY) if ends else None


def check_clock(output: Output, skews: Mapping[str, float]) -> CheckResult:
    """Check by how many seconds the parts, which decide when tokens expire, are ahead of this machine's clock."""
    name, title = "clock", messages.CLOCK
    if not skews:
        return CheckResult(name, title, CheckVerdict.SKIPPED, output.render(messages.CLOCK_ALONE))
    part, worst = max(skews.items(), key=lambda item: abs(item[1]))
    if abs(worst) < _CLOCK_ODD:
        # HTTP dates have whole seconds.
        detail = output.render(messages.CLOCK_TOGETHER, seconds=max(1, round(abs(worst))))
        return CheckResult(name, title, CheckVerdict.OK, detail)
    verdict = CheckVerdict.FAILED if abs(worst) >= _CLOCK_BAD else CheckVerdict.WARNING
    detail = output.render(messages.CLOCK_APART, seconds=round(abs(worst)), part=part)
    return CheckResult(name, title, verdict, detail, output.render(messages.CLOCK_HINT))


async def first_answer(client: ApiClient) -> Mapping[str, str]:
    """The headers of the server's health response; empty without one."""
    try:
        return (await client.transport.get_raw("/healthz")).headers
    except CommandFailed:
        return {}


def server_skew(headers: Mapping[str, str]) -> dict[str, float]:
    """Seconds by which the server is ahead, if it says the time."""
    try:
        server_date = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return {}
    return {"server": server_date.timestamp() - time.time()}
