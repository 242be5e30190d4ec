"""``agentex skill new``: a folder with a SKILL.md to fill in."""

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.client.downloads import require_free, write_whole, writing
from cli.command import JsonOption, LanguageOption, Options, leave, open_output
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import skills as messages
from cli.ui.i18n.common import Language
from core.errors.requests import InvalidRequest

_LONGEST_NAME = 64


class Spelling(StrEnum):
    """Format of the new file."""

    NATIVE = "native"
    AGENT_SKILLS = "agent-skills"


_NATIVE_EN = """# SKILL: {name}

## Description
Says in one or two sentences what this skill does. Use it when somebody asks for exactly that.

## When to use
- Somebody asks for ...
- keywords: ...

## Inputs
- `topic` (string, required): what it is about
- `length` (integer, default: 200): how long the result may be, in words

## Steps
1. **Collect**: Find what is known about {{{{topic}}}}.
2. **Write**: Write the result in at most {{{{length}}}} words.
3. **Check**: Compare the result with the rules below.

## Output
A text in markdown.

## Rules
- Say it when something is not known.
"""
_NATIVE_ZH = """# SKILL: {name}

## 描述
用一两句话说明这个技能做什么。当有人提出这样的请求时使用。

## 触发条件
- 有人请求……
- 关键词：……

## 输入参数
- `topic`（字符串，必填）：主题是什么
- `length`（整数，默认：200）：结果最多多少字

## 步骤
1. **收集**：查找与 {{{{topic}}}} 有关的内容。
2. **撰写**：写出不超过 {{{{length}}}} 字的结果。
3. **检查**：对照下面的规则检查结果。

## 输出
Markdown 格式的文本。

## 规则
- 不知道的内容要如实说明。
"""
_STANDARD_EN = """---
name: {slug}
description: "Says in one or two sentences what this skill does. Use it when somebody asks for exactly that."
metadata:
  title: {title}
---

## Steps
1. **Collect**: Find what is known about the topic.
2. **Write**: Write the result.
3. **Check**: Compare the result with the rules below.

## Rules
- Say it when something is not known.
"""
_STANDARD_ZH = """---
name: {slug}
description: "用一两句话说明这个技能做什么。当有人提出这样的请求时使用。"
metadata:
  title: {title}
---

## 步骤
1. **收集**：查找与主题有关的内容。
2. **撰写**：写出结果。
3. **检查**：对照下面的规则检查结果。

## 规则
- 不知道的内容要如实说明。
"""
_TEMPLATES = {
    (Spelling.NATIVE, Language.EN): _NATIVE_EN,
    (Spelling.NATIVE, Language.ZH): _NATIVE_ZH,
    (Spelling.AGENT_SKILLS, Language.EN): _STANDARD_EN,
    (Spelling.AGENT_SKILLS, Language.ZH): _STANDARD_ZH,
}


def new(
    name: Annotated[str, typer.Argument(help="What people call it, such as Daily report.")],
    slug: Annotated[str | None, typer.Option(help="Its folder's name; by default made of the name.")] = None,
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where to make that folder.")] = Path(),
    spelling: Annotated[
        Spelling, typer.Option("--format", help="Our own headings, or the open standard's.")
    ] = Spelling.NATIVE,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Make a folder with a SKILL.md to fill in, in the language of the messages."""
    output = open_output(Options(json_only, language))

    def work() -> ExitCode:
        plain = " ".join(name.split())
        if not 0 < len(plain) <= _LONGEST_NAME:
            raise CommandFailed(InvalidRequest("name", "1 to 64 characters"), messages.NAME_UNUSABLE)
        place = folder / _slug(plain, slug)
        file = place / "SKILL.md"
        require_free(file, force=force)
        text = _TEMPLATES[spelling, output.language].format(
            name=plain, slug=place.name, title=json.dumps(plain, ensure_ascii=False)
        )
        # Before anything is created: the typed bytes may be no text.
        content = text.encode()
        with writing(place):
            place.mkdir(parents=True, exist_ok=True)
        write_whole(file, content)
        output.say(messages.MADE, path=file, named=shlex.quote(str(file)))
        output.emit({"path": str(file), "slug": place.name})
        return ExitCode.OK

    leave(output, work)


def _slug(name: str, slug: str | None) -> str:
    from skills.slugs import is_slug, slugify  # noqa: PLC0415

    if slug is not None and not is_slug(slug):
        raise CommandFailed(InvalidRequest("slug", slug), messages.SLUG_UNUSABLE, slug=slug)
    made = slug or slugify(name)
    if not made:
        raise CommandFailed(InvalidRequest("slug", "needed"), messages.SLUG_NEEDED, name=name)
    return made
