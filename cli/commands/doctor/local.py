"""What ``agentex doctor`` looks at, one function a check."""

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, JsonValue, ValidationError

from cli.client.api import ApiClient
from cli.client.schemas import Readiness
from cli.errors import CommandFailed, ServerRefused
from cli.server.exec import module_command
from cli.server.supervisor.redis_server import RedisServerMissing, find_program
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import Language, Message
from cli.ui.output import Output
from core.settings import Settings
from ingestion.parsers.image.ocr import OcrSettings, installed_languages, is_installed

_PYTHONS = ((3, 11), (3, 14))
_GIB = 2**30
_DISK_BAD, _DISK_LOW = 0.5, 2.0
_CHILD_SECONDS = 60


class Verdict(StrEnum):
    """How a check went; only ``FAILED`` makes the command fail."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """One finding: its stable name, its title, and what to do where it is not well."""

    name: str
    title: Message
    verdict: Verdict
    detail: str
    hint: str = ""

    def to_json(self) -> JsonValue:
        """The finding for programs."""
        return {
            "name": self.name,
            "status": self.verdict.value,
            "detail": self.detail,
            "hint": self.hint or None,
        }


class _Encoder(BaseModel):
    backend: str
    prepared: bool


class _Model(BaseModel):
    provider: str = ""
    model: str = ""
    fault: str = ""
    reason: str = ""
    reason_zh: str = ""


def check_python(output: Output) -> Check:
    """The interpreter's version."""
    least, below = _PYTHONS
    good = least <= sys.version_info[:2] < below
    wanted = f"{least[0]}.{least[1]}-{below[0]}.{below[1] - 1}"
    hint = "" if good else output.render(messages.PYTHON_HINT, wanted=wanted)
    verdict = Verdict.OK if good else Verdict.FAILED
    detail = ".".join(str(part) for part in sys.version_info[:3])
    return Check("python", messages.CHECK_PYTHON, verdict, detail, hint)


def check_folder(output: Output, settings: Settings) -> Check:
    """Whether the data folder can be written, or made."""
    folder = settings.data_dir
    present = nearest(folder)
    good = present.is_dir() and os.access(present, os.W_OK | os.X_OK)
    detail = str(folder)
    if good and present != folder:
        detail = output.render(messages.FOLDER_NEW, folder=folder)
    hint = "" if good else output.render(messages.FOLDER_HINT)
    verdict = Verdict.OK if good else Verdict.FAILED
    return Check("data_folder", messages.CHECK_FOLDER, verdict, detail, hint)


def check_disk(output: Output, settings: Settings) -> Check:
    """The space left where the data folder is."""
    free = shutil.disk_usage(nearest(settings.data_dir)).free / _GIB
    verdict = Verdict.OK
    if free < _DISK_LOW:
        verdict = Verdict.FAILED if free < _DISK_BAD else Verdict.WARNING
    hint = "" if verdict is Verdict.OK else output.render(messages.DISK_HINT)
    detail = output.render(messages.DISK_FREE, free=f"{free:.1f}")
    return Check("disk", messages.CHECK_DISK, verdict, detail, hint)


def check_redis(output: Output, settings: Settings) -> Check:
    """Whether a private Redis server can be started, or an external one is set."""
    title = messages.CHECK_REDIS_SERVER
    if settings.redis_url is not None:
        return Check("redis_server", title, Verdict.OK, output.render(messages.EXTERNAL_REDIS))
    try:
        return Check("redis_server", title, Verdict.OK, find_program())
    except RedisServerMissing:
        hint = output.render(messages.REDIS_HINT)
        return Check("redis_server", title, Verdict.FAILED, "-", hint)


def check_recognition(output: Output, settings: Settings) -> Check:
    """Whether the text of pictures and scanned pages can be read here."""
    title = messages.CHECK_RECOGNITION
    if not is_installed():
        detail = output.render(messages.RECOGNITION_NOT_INSTALLED)
        return Check("text_recognition", title, Verdict.SKIPPED, detail)
    wanted = OcrSettings(settings.ocr_languages, str(settings.ocr_data_dir or ""))
    found = installed_languages(wanted)
    missing = [name for name in wanted.languages.split("+") if name not in found]
    detail = ", ".join(found) or "-"
    if not missing:
        return Check("text_recognition", title, Verdict.OK, detail)
    hint = output.render(messages.RECOGNITION_HINT, languages=", ".join(missing))
    return Check("text_recognition", title, Verdict.WARNING, detail, hint)


async def ask_child(module: str) -> bytes:
    """What a module prints that is too heavy to import here; nothing if it takes too long."""
    child = await asyncio.create_subprocess_exec(
        *module_command(module),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        answer, _ = await asyncio.wait_for(child.communicate(), _CHILD_SECONDS)
    except TimeoutError:
        return b""
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return answer


async def check_encoder(output: Output) -> Check:
    """Whether the encoder's converted files are there."""
    title = messages.CHECK_ENCODER
    try:
        found = _Encoder.model_validate_json(await ask_child("cli.commands.doctor.probe_encoder"))
    except ValidationError:
        hint = output.render(messages.ENCODER_HINT)
        return Check("encoder", title, Verdict.FAILED, "-", hint)
    if not found.prepared:
        detail = output.render(messages.ENCODER_UNPREPARED)
        return Check("encoder", title, Verdict.WARNING, detail)
    detail = output.render(messages.ENCODER_PREPARED, backend=found.backend)
    return Check("encoder", title, Verdict.OK, detail)


async def check_model(output: Output, settings: Settings) -> Check:
    """Whether the configured language model answers a short question."""
    title = messages.CHECK_MODEL
    try:
        found = _Model.model_validate_json(await ask_child("cli.commands.doctor.probe_llm"))
    except ValidationError:
        hint = output.render(messages.MODEL_UNCHECKED)
        return Check("model", title, Verdict.FAILED, "-", hint)
    if found.fault:
        is_chinese = output.language is Language.ZH
        reason = found.reason_zh if is_chinese else found.reason
        fact, _, step = reason.partition("：" if is_chinese else ": ")
        named = " ".join(filter(None, [found.model, found.provider and f"({found.provider})"]))
        detail = ": ".join(filter(None, [named, fact]))
        # A busy endpoint is there and knows the key.
        verdict = Verdict.WARNING if found.fault == "busy" else Verdict.FAILED
        return Check("model", title, verdict, detail, step)
    if found.model:
        detail = output.render(messages.MODEL_ANSWERS, model=found.model, provider=found.provider)
        return Check("model", title, Verdict.OK, detail)
    detail = output.render(messages.MODEL_OFFLINE)
    if settings.llm_base_url or settings.llm_model:
        hint = output.render(messages.MODEL_HALF)
        return Check("model", title, Verdict.WARNING, detail, hint)
    return Check("model", title, Verdict.OK, detail)


async def check_server(output: Output, client: ApiClient) -> Check:
    """Whether an Agentex server answers."""
    url = client.transport.url
    try:
        answer = await client.transport.get_raw("/healthz")
    except CommandFailed as problem:
        hint = problem.explain(output.language)
        return Check("server", messages.CHECK_SERVER, Verdict.FAILED, "-", hint)
    if answer.is_success and b'"ok"' in answer.content:
        detail = output.render(messages.SERVER_AT, url=url)
        return Check("server", messages.CHECK_SERVER, Verdict.OK, detail)
    hint = output.render(messages.NOT_AGENTEX, url=url, status=answer.status_code)
    return Check("server", messages.CHECK_SERVER, Verdict.FAILED, "-", hint)


async def check_parts(output: Output, client: ApiClient) -> list[Check]:
    """Each part of the server, by its own word."""
    try:
        answer = await client.transport.get_raw("/readyz")
        ready = Readiness.model_validate_json(answer.content)
    except (CommandFailed, ValidationError):
        hint = output.render(messages.PART_HINT, part="api")
        return [Check("ready", messages.CHECK_READY, Verdict.FAILED, "-", hint)]
    checks: list[Check] = []
    for name, part in ready.components.items():
        good = part.status == "ok"
        title = messages.CHECK_WORKER if name == "worker" else Message(f"  {name}", f"  {name}")
        wanted = messages.WORKER_HINT if name == "worker" else messages.PART_HINT
        hint = "" if good else output.render(wanted, part=name)
        verdict = Verdict.OK if good else Verdict.FAILED
        detail = part.detail if isinstance(part.detail, str) else ""
        checks.append(Check(name, title, verdict, detail, hint))
    bad = [check.name for check in checks if check.verdict is Verdict.FAILED]
    whole = Verdict.FAILED if bad or ready.status != "ready" else Verdict.OK
    said = output.render(messages.NOT_READY, parts=", ".join(bad)) if bad else ready.status
    return [Check("ready", messages.CHECK_READY, whole, said), *checks]


async def check_login(output: Output, client: ApiClient) -> Check:
    """Whether the credentials that commands would use are good; none are made for it."""
    title, sign_in = messages.CHECK_LOGIN, client.sign_in
    if sign_in.would_bootstrap and sign_in.bootstrap is not None:
        detail = output.render(messages.LOGIN_BOOTSTRAP, file=sign_in.bootstrap.file)
        return Check("login", title, Verdict.OK, detail)
    try:
        account = await client.me()
    except (CommandFailed, ServerRefused) as problem:
        return Check("login", title, Verdict.FAILED, "-", problem.explain(output.language))
    detail = output.render(messages.LOGIN_AS, username=account.username)
    return Check("login", title, Verdict.OK, detail)


def skipped(output: Output, names: Mapping[str, Message], why: Message) -> list[Check]:
    """Checks that can't be made, by their names and titles."""
    detail = output.render(why)
    return [Check(name, title, Verdict.SKIPPED, detail) for name, title in names.items()]


def nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())
