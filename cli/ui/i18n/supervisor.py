"""Messages of the supervisor in English and Chinese."""

import shutil
import sys
from pathlib import Path

from core.settings import Settings

INITIAL_PASSWORD_FILE = "initial-admin-password"  # noqa: S105


def folder_in_use(folder: Path, pid: int | None) -> str:
    """Another supervisor uses the data folder."""
    process = f"process {pid}" if pid else "another process"
    process_zh = f"进程 {pid}" if pid else "另一个进程"
    stop = f"kill {pid}" if pid else "Ctrl-C"
    return (
        f"Agentex already runs on the data folder {folder} ({process}).\n"
        f"Use that one, stop it ({stop}), or start with another folder: "
        "agentex serve --data-dir FOLDER --port PORT\n"
        f"Agentex 已在使用数据目录 {folder}（{process_zh}）。"
        f"请直接使用、先停止它（{stop}），或用 --data-dir 和 --port 指定其他目录与端口。"
    )


def port_in_use(host: str, port: int) -> str:
    """Another program uses the API's address."""
    return (
        f"Port {port} on {host} is taken by another program.\n"
        f"Stop that program or start with another port: agentex serve --port {port + 1}\n"
        f"{host} 的端口 {port} 已被其他程序占用。请停止该程序，或用 --port 指定其他端口。"
    )


def address_unusable(host: str, reason: str) -> str:
    """The API can't listen on this address."""
    return (
        f"Agentex can't listen on {host}: {reason}. Choose another address with --host.\n"
        f"无法监听地址 {host}，请用 --host 指定其他地址。"
    )


def folder_unusable(folder: Path, reason: str) -> str:
    """The data folder can't be created or written."""
    return (
        f"The data folder {folder} can't be used: {reason}. Choose another with --data-dir.\n"
        f"数据目录 {folder} 无法使用，请用 --data-dir 指定其他目录。"
    )


def restore_unfinished(folder: Path, backup: str) -> str:
    """The data folder holds only a part of a backup."""
    return (
        f"The restore of the backup {backup} into {folder} broke off: it holds a part of the data only.\n"
        f"Restore again: agentex backup restore FOLDER --backup {backup}, or empty {folder} to start anew.\n"
        f"备份 {backup} 恢复到 {folder} 时中断：其中的数据不完整。"
        f"请重新运行 agentex backup restore，或清空该目录后重新开始。"
    )


def redis_missing() -> str:
    """No Redis server can be started here."""
    install = "brew install redis" if sys.platform == "darwin" else "sudo apt install redis-server"
    return (
        f"Agentex needs a Redis server and finds none. Install one ({install}), "
        "or name a running one: AGENTEX_REDIS_URL=redis://HOST:6379/0\n"
        f"未找到 Redis 服务器。请安装（{install}），"
        "或用 AGENTEX_REDIS_URL 指定已运行的服务器。"
    )


def stopped_leftovers(names: list[str]) -> str:
    """Children of a killed supervisor were stopped."""
    listed = ", ".join(names)
    return f"Stopped what an earlier start left running: {listed} / 已停止上次遗留的进程"


def not_yet_ready(text: str) -> str:
    """All parts run, but the API is not ready."""
    return (
        f"Every part runs, but the API is not ready yet: {text}\n"
        "所有进程已启动，但 API 尚未就绪。运行 agentex doctor 查看原因。"
    )


def welcome(settings: Settings, *, seconds: float, password: str | None) -> str:
    """The lines shown once all is ready; the generated ``password`` on the very first start only."""
    url = base_url(settings)
    file = settings.data_dir / INITIAL_PASSWORD_FILE
    lines = [
        "",
        f"Agentex is ready ({seconds:.1f} s) / 已就绪",
        f"  Console / 控制台    {url}",
        f"  API / 接口文档      {url}/docs",
        f"  User / 用户         {settings.admin_username}",
    ]
    if password is not None:
        lines.append(f"  Password / 密码     {password}")
        lines.append(f"    (shown once, kept in / 仅显示一次，另存于 {file})")
    elif file.exists():
        lines.append(f"  Password / 密码     {file}")
    agentex = _command()
    elsewhere = "" if url == base_url(Settings.model_construct()) else f" --url {url}"
    lines += [
        "  Open the console in a browser, or in another terminal / 用浏览器打开控制台，或在另一个终端",
        f"    {agentex} login{elsewhere}",
        f"    {agentex} chat",
        f"    {agentex} kb create NAME && {agentex} ingest PATH --kb NAME",
        "  Stop / 停止           Ctrl-C",
        "",
    ]
    return "\n".join(lines)


def base_url(settings: Settings) -> str:
    """The API's URL on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _command() -> str:
    beside = Path(sys.executable).with_name("agentex")
    if shutil.which("agentex") or not beside.exists():
        return "agentex"
    here = Path.cwd()
    return str(beside.relative_to(here)) if beside.is_relative_to(here) else str(beside)
