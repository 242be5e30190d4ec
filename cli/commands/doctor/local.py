"""Checks of ``agentex doctor`` for this machine, one function each."""

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
from cli.client.schemas import ReadinessRecord
from cli.errors import CommandFailed, ServerRefused
from cli.server.exec import module_command
from cli.supervisor.redis_server import RedisServerMissing, find_program
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import Language, Message
from cli.ui.output import Output
from core.settings import Settings
from ingestion.parsers.conversion.availability import conversion_state, find_soffice
from ingestion.parsers.conversion.state import PACKAGES, Conversion
from ingestion.parsers.external import missing_parts
from ingestion.parsers.image.ocr import OcrSettings, installed_languages, is_installed
from ingestion.parsers.unstructured.installation import environment_of

_PYTHONS = ((3, 11), (3, 14))
_GIB = 2**30
_DISK_BAD, _DISK_LOW = 0.5, 2.0
_CHILD_SECONDS = 60


class CheckVerdict(StrEnum):
    """Result of a check; only ``FAILED`` makes the command fail."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class CheckResult:
    """A finding: its stable name, its title, and the remedy if there is a problem."""

    name: str
    title: Message
    verdict: CheckVerdict
    detail: str
    hint: str = ""

    def to_json(self) -> JsonValue:
        return {"name": self.name, "status": self.verdict.value, "detail": self.detail, "hint": self.hint or None}


class _EncoderReport(BaseModel):
    model: str
    multilingual: bool
    backend: str
    prepared: bool


class _LlmReport(BaseModel):
    provider: str = ""
    model: str = ""
    fault: str = ""
    reason: str = ""
    reason_zh: str = ""


def check_python(output: Output) -> CheckResult:
    """Check the interpreter's version."""
    least, below = _PYTHONS
    good = least <= sys.version_info[:2] < below
    supported = f"{least[0]}.{least[1]}-{below[0]}.{below[1] - 1}"
    hint = "" if good else output.render(messages.PYTHON_HINT, wanted=supported)
    verdict = CheckVerdict.OK if good else CheckVerdict.FAILED
    detail = ".".join(str(part) for part in sys.version_info[:3])
    return CheckResult("python", messages.CHECK_PYTHON, verdict, detail, hint)


def check_folder(output: Output, settings: Settings) -> CheckResult:
    """Check that the data folder can be written, or created."""
    folder = settings.data_dir
    present = nearest(folder)
    good = present.is_dir() and os.access(present, os.W_OK | os.X_OK)
    detail = str(folder)
    if good and present != folder:
        detail = output.render(messages.FOLDER_NEW, folder=folder)
    hint = "" if good else output.render(messages.FOLDER_HINT)
    verdict = CheckVerdict.OK if good else CheckVerdict.FAILED
    return CheckResult("data_folder", messages.CHECK_FOLDER, verdict, detail, hint)


def check_disk(output: Output, settings: Settings) -> CheckResult:
    """Check the free space of the data folder."""
    free = shutil.disk_usage(nearest(settings.data_dir)).free / _GIB
    verdict = CheckVerdict.OK
    if free < _DISK_LOW:
        verdict = CheckVerdict.FAILED if free < _DISK_BAD else CheckVerdict.WARNING
    hint = "" if verdict is CheckVerdict.OK else output.render(messages.DISK_HINT)
    detail = output.render(messages.DISK_FREE, free=f"{free:.1f}")
    return CheckResult("disk", messages.CHECK_DISK, verdict, detail, hint)


def check_redis(output: Output, settings: Settings) -> CheckResult:
    """Check that a private Redis server can be started, or an external one is set."""
    title = messages.CHECK_REDIS_SERVER
    if settings.redis_url is not None:
        return CheckResult("redis_server", title, CheckVerdict.OK, output.render(messages.EXTERNAL_REDIS))
    try:
        return CheckResult("redis_server", title, CheckVerdict.OK, find_program())
    except RedisServerMissing:
        hint = output.render(messages.REDIS_HINT)
        return CheckResult("redis_server", title, CheckVerdict.FAILED, "-", hint)


def check_recognition(output: Output, settings: Settings) -> CheckResult:
    """Check that text in pictures and scanned pages can be read here."""
    title = messages.CHECK_RECOGNITION
    if not is_installed():
        detail = output.render(messages.RECOGNITION_NOT_INSTALLED)
        return CheckResult("text_recognition", title, CheckVerdict.SKIPPED, detail)
    recognition = OcrSettings(settings.ocr_languages, str(settings.ocr_data_dir or ""))
    languages = installed_languages(recognition)
    missing = [name for name in recognition.languages.split("+") if name not in languages]
    detail = ", ".join(languages) or "-"
    if not missing:
        return CheckResult("text_recognition", title, CheckVerdict.OK, detail)
    hint = output.render(messages.RECOGNITION_HINT, languages=", ".join(missing))
    return CheckResult("text_recognition", title, CheckVerdict.WARNING, detail, hint)


def check_conversion(output: Output, settings: Settings) -> CheckResult:
    """Check that LibreOffice is there, where it is to convert old Office files."""
    title = messages.CHECK_CONVERSION
    state = conversion_state(settings)
    if state is Conversion.OFF:
        return CheckResult("conversion", title, CheckVerdict.SKIPPED, output.render(messages.CONVERSION_OFF))
    if state is Conversion.MISSING:
        hint = output.render(messages.CONVERSION_HINT, packages=PACKAGES)
        return CheckResult("conversion", title, CheckVerdict.WARNING, "-", hint)
    return CheckResult("conversion", title, CheckVerdict.OK, str(find_soffice()))


def check_unstructured(output: Output, settings: Settings) -> CheckResult:
    """Check that the parser unstructured is installed where it is switched on, and say which strategies lack what."""
    name, title = "parser:unstructured", messages.CHECK_UNSTRUCTURED
    if "unstructured" not in settings.parsers:
        return CheckResult(name, title, CheckVerdict.SKIPPED, output.render(messages.UNSTRUCTURED_OFF))
    missing = missing_parts("unstructured", settings)
    if any("unstructured" in parts for parts in missing.values()):
        folder = environment_of(settings)
        return CheckResult(
            name, title, CheckVerdict.FAILED, "-", output.render(messages.UNSTRUCTURED_HINT, folder=folder)
        )
    lacking = "; ".join(f"{strategy}: {', '.join(parts)}" for strategy, parts in missing.items())
    detail = messages.UNSTRUCTURED_LACKS if lacking else messages.UNSTRUCTURED_COMPLETE
    return CheckResult(name, title, CheckVerdict.OK, output.render(detail, lacking=lacking))


async def ask_child(module: str) -> bytes:
    """Output of a module that is too heavy to import here; empty if it takes too long."""
    child = await asyncio.create_subprocess_exec(
        *module_command(module), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
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


async def check_encoder(output: Output) -> CheckResult:
    """Check the converted files of the encoder of new knowledge bases, and say what it reads."""
    title = messages.CHECK_ENCODER
    try:
        report = _EncoderReport.model_validate_json(await ask_child("cli.commands.doctor.probe_encoder"))
    except ValidationError:
        hint = output.render(messages.ENCODER_HINT)
        return CheckResult("encoder", title, CheckVerdict.FAILED, "-", hint)
    if not report.prepared:
        detail = output.render(messages.ENCODER_UNPREPARED)
        return CheckResult("encoder", title, CheckVerdict.WARNING, detail)
    message = messages.ENCODER_MULTILINGUAL if report.multilingual else messages.ENCODER_ENGLISH
    detail = output.render(message, model=report.model, backend=report.backend)
    return CheckResult("encoder", title, CheckVerdict.OK, detail)


async def check_model(output: Output, settings: Settings) -> CheckResult:
    """Check that the configured language model answers a short question."""
    title = messages.CHECK_MODEL
    try:
        report = _LlmReport.model_validate_json(await ask_child("cli.commands.doctor.probe_llm"))
    except ValidationError:
        hint = output.render(messages.MODEL_UNCHECKED)
        return CheckResult("model", title, CheckVerdict.FAILED, "-", hint)
    if report.fault:
        is_chinese = output.language is Language.ZH
        reason = report.reason_zh if is_chinese else report.reason
        fact, _, step = reason.partition("：" if is_chinese else ": ")
        model_label = " ".join(filter(None, [report.model, report.provider and f"({report.provider})"]))
        detail = ": ".join(filter(None, [model_label, fact]))
        # A busy endpoint is there and knows the key.
        verdict = CheckVerdict.WARNING if report.fault == "busy" else CheckVerdict.FAILED
        return CheckResult("model", title, verdict, detail, step)
    if report.model:
        detail = output.render(messages.MODEL_ANSWERS, model=report.model, provider=report.provider)
        return CheckResult("model", title, CheckVerdict.OK, detail)
    detail = output.render(messages.MODEL_OFFLINE)
    if settings.llm_base_url or settings.llm_model:
        hint = output.render(messages.MODEL_HALF)
        return CheckResult("model", title, CheckVerdict.WARNING, detail, hint)
    return CheckResult("model", title, CheckVerdict.OK, detail)


async def check_server(output: Output, client: ApiClient) -> CheckResult:
    """Check that an Agentex server answers."""
    url = client.transport.url
    try:
        answer = await client.transport.get_raw("/healthz")
    except CommandFailed as problem:
        hint = problem.explain(output.language)
        return CheckResult("server", messages.CHECK_SERVER, CheckVerdict.FAILED, "-", hint)
    if answer.is_success and b'"ok"' in answer.content:
        detail = output.render(messages.SERVER_AT, url=url)
        return CheckResult("server", messages.CHECK_SERVER, CheckVerdict.OK, detail)
    hint = output.render(messages.NOT_AGENTEX, url=url, status=answer.status_code)
    return CheckResult("server", messages.CHECK_SERVER, CheckVerdict.FAILED, "-", hint)


async def check_parts(output: Output, client: ApiClient) -> list[CheckResult]:
    """The state of each part, as the server reports it."""
    try:
        answer = await client.transport.get_raw("/readyz")
        ready = ReadinessRecord.model_validate_json(answer.content)
    except (CommandFailed, ValidationError):
        hint = output.render(messages.PART_HINT, part="api")
        return [CheckResult("ready", messages.CHECK_READY, CheckVerdict.FAILED, "-", hint)]
    checks: list[CheckResult] = []
    for name, part in ready.components.items():
        good = part.status == "ok"
        title = messages.CHECK_WORKER if name == "worker" else Message(f"  {name}", f"  {name}")
        hint_message = messages.WORKER_HINT if name == "worker" else messages.PART_HINT
        hint = "" if good else output.render(hint_message, part=name)
        verdict = CheckVerdict.OK if good else CheckVerdict.FAILED
        detail = part.detail if isinstance(part.detail, str) else ""
        checks.append(CheckResult(name, title, verdict, detail, hint))
    bad = [check.name for check in checks if check.verdict is CheckVerdict.FAILED]
    whole = CheckVerdict.FAILED if bad or ready.status != "ready" else CheckVerdict.OK
    summary = output.render(messages.NOT_READY, parts=", ".join(bad)) if bad else ready.status
    return [CheckResult("ready", messages.CHECK_READY, whole, summary), *checks]


async def check_login(output: Output, client: ApiClient) -> CheckResult:
    """Check the credentials that commands would use; none are created for it."""
    title, sign_in = messages.CHECK_LOGIN, client.sign_in
    if sign_in.would_bootstrap and sign_in.bootstrap is not None:
        detail = output.render(messages.LOGIN_BOOTSTRAP, file=sign_in.bootstrap.file)
        return CheckResult("login", title, CheckVerdict.OK, detail)
    try:
        account = await client.me()
    except (CommandFailed, ServerRefused) as problem:
        return CheckResult("login", title, CheckVerdict.FAILED, "-", problem.explain(output.language))
    detail = output.render(messages.LOGIN_AS, username=account.username)
    return CheckResult("login", title, CheckVerdict.OK, detail)


def skipped(output: Output, names: Mapping[str, Message], why: Message) -> list[CheckResult]:
    """Results of checks that can't be made, by their names and titles."""
    detail = output.render(why)
    return [CheckResult(name, title, CheckVerdict.SKIPPED, detail) for name, title in names.items()]


def nearest(folder: Path) -> Path:
    """The folder, or its nearest existing ancestor."""
    return next(path for path in (folder, *folder.parents) if path.exists())
