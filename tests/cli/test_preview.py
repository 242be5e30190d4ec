"""``agentex kb preview`` against the product itself: what it shows, and how it fails."""

from pathlib import Path

import pytest

from core.settings import get_settings
from tests.cli.conftest import CommandResult, run_here
from tests.fixtures.http.client import unique
from tests.fixtures.product.server import Server


@pytest.fixture
def kb(embedded: Server, person: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a knowledge base of the person at the terminal."""
    user = embedded.person()
    monkeypatch.setenv("AGENTEX_URL", str(embedded.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", user.post("/users/me/api-keys", {"name": "cli"})["key"])
    get_settings.cache_clear()
    name = unique("preview")
    user.create_kb(name=name, chunk_size=100)
    return name


def preview(kb: str, path: Path, *options: str) -> CommandResult:
    return run_here("kb", "preview", str(path), "--kb", kb, *options)


def test_preview_shows_passages_and_figures(kb: str, tmp_path: Path):
    path = tmp_path / "手册.md"
    path.write_text("# 手册\n\n## 安装\n\n" + "请先安装数据库。" * 60)
    said = preview(kb, path, "--splitter", "sentence", "--chunk-size", "50", "--pieces", "2")
    assert said.code == 0, said.err
    assert "1. 手册.md · 手册 > 安装" in said.out
    assert "请先安装数据库。" in said.out
    assert "sentence, 50 /" in said.out
    assert "The first 2 are shown" in said.err
    answer = preview(kb, path, "--splitter", "parent_child", "--chunk-size", "500", "--json").json
    assert (answer["total"], answer["windows"]) == (1, 4)
    zh = preview(kb, path, "--splitter", "parent_child", "--chunk-size", "500", "--lang", "zh")
    assert "较长的段落改为嵌入 4 个窗口。" in zh.out


def test_what_can_not_be_cut_is_said(kb: str, tmp_path: Path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\n1 0 obj\n<<")
    said = preview(kb, broken)
    assert said.code != 0
    assert "The file is damaged or incomplete. Open the file" in " ".join(said.err.split())
    assert "corrupt_file" not in said.err
    zh = "".join(preview(kb, broken, "--lang", "zh").err.split())
    assert "文件已损坏或不完整。请用原程序打开并重新保存文件，然后上传新的副本。" in zh
    assert "corrupt_file" not in zh
    assert preview(kb, broken, "--json").json["details"]["reason"] == "corrupt_file"
    assert "by_moon" not in preview(kb, broken, "--splitter", "by_moon").out
    assert "splitter: Use one of" in preview(kb, broken, "--splitter", "by_moon").err
    missing = preview(kb, tmp_path / "missing.md")
    assert missing.code != 0
    assert "missing.md" in missing.err
