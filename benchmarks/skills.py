"""Validation of skills against their size, beside markdown-it alone: ``python -m benchmarks.skills``.

Skills of 1 KB to 256 KB in both languages and all three spellings: title, inputs, steps, then sections
of text, lists, tables and code as people write them. The baseline reads the same texts with markdown-it
(CommonMark with tables) and does nothing with them. Both run in this process and take turns; times are
those of the process, so that other load does not count.
"""

import gc
import random
import time
from collections.abc import Callable

from markdown_it import MarkdownIt

from benchmarks.table import Row, percentile, show
from skills.lint.context import LintContext
from skills.lint.linter import lint

_SIZES = (1, 4, 16, 64, 256)
_FILES = 12
_SECONDS = 1.5

_HEADS = (
    "# SKILL: Release notes\n\n## Description\nTurns merged changes into release notes. "
    "Use when somebody asks what a release brings.\n\n## When to use\n- Somebody asks for release notes\n"
    "\n## Inputs\n- `version` (string, required): the release\n- `most` (integer, default: 20, min 1): lines\n"
    "\n## Steps\n1. **Collect**: the changes of {{version}}; tool: `search_changes`\n2. Sort them\n"
    "3. Write {{most}} lines\n\n## Output\n- Markdown\n",
    "---\nname: release-notes\ndescription: Turns merged changes into notes. Use when a release is near.\n"
    "license: MIT\nallowed-tools: Read Bash(git:*)\n---\n\n# Release notes\n\n## Overview\n\nNotes for users.\n",
    "---\nname: daily-report\ndescription: 根据工作记录整理日报。当用户要求写日报时使用。\n---\n\n# SKILL: 日报生成\n"
    "\n## 描述\n根据当天的工作记录整理一份日报，当用户要求写日报时使用。\n\n## 触发条件\n- 用户说“写日报”\n"
    "\n## 输入参数\n| 名称 | 类型 | 必填 | 默认 | 说明 |\n|---|---|---|---|---|\n| 日期 | 日期 | 否 |  | 哪一天 |\n"
    "\n## 步骤\n1. 收集 {{日期}} 的记录\n2. 按项目归类\n3. 写成日报\n",
)
_PARTS = (
    "The change is worth a line if **users** notice it; see [the guide](references/guide.md) and `git log`.\n"
    "Leave out what only *developers* see, and say what to do where something breaks.\n",
    "按项目归类，合并同一件事的多条记录，**不要**逐条照抄；参见[说明](references/guide.md)中的 `格式`。\n",
    "- A new feature: what it is for\n- A mend: what was wrong\n  - and since when\n- A break: what to do\n",
    "| kind | example | place |\n|---|---|---|\n| new | `export --all` | top |\n| mend | a crash | below |\n",
    "```sh\ngit log --oneline v1.2..HEAD -- src\ngrep -c fix notes.md\n```\n",
    "> Notes are read by people in a hurry.\n\nOne sentence each, the *effect* first.\n",
    "1. Look at the title\n2. Look at the labels\n3. Ask the author if both say nothing\n",
)


def skill(kilobytes: int, seed: int) -> str:
    """A skill of about so many kilobytes, the same for the same seed."""

    chance = random.Random(seed)
    parts = [_HEADS[seed % len(_HEADS)]]
    size = len(parts[0].encode())
    number = 0
    while size < kilobytes * 1024 - 400:
        number += 1
        depth = chance.choice(("##", "###", "###", "####"))
        chosen = chance.sample(_PARTS, chance.randint(2, 4))
        parts.append(f"\n{depth} Part {number}\n\n" + "\n".join(chosen))
        size += len(parts[-1].encode())
    return "".join(parts)


def _times(act: Callable[[], object], into: list[float]) -> None:
    started = time.process_time()
    act()
    into.append(1000 * (time.process_time() - started))


def _measured(kilobytes: int) -> tuple[list[float], list[float]]:
    """Milliseconds of validation and of markdown-it for skills of one size, in turns."""
    markdown = MarkdownIt("commonmark").enable("table")
    texts = [skill(kilobytes, seed) for seed in range(_FILES)]
    contents = [text.encode() for text in texts]
    ours: list[float] = []
    theirs: list[float] = []
    until = time.process_time() + _SECONDS
    while time.process_time() < until or len(ours) < 3 * _FILES:
        for text, content in zip(texts, contents, strict=True):
            _times(
                lambda content=content: lint(content, LintContext(known_tools=("search_changes",))),
                ours,
            )
            _times(lambda text=text: markdown.parse(text), theirs)
    return ours, theirs


def run() -> list[Row]:
    """Milliseconds of validation, p50 and p99, per size; then how they grow."""
    rows: list[Row] = []
    medians: list[tuple[float, float]] = []
    lint(skill(1, 0).encode())
    # What was made before is no garbage of what is measured.
    gc.collect()
    gc.freeze()
    for kilobytes in _SIZES:
        ours, theirs = _measured(kilobytes)
        mine, other = percentile(ours, 0.5), percentile(theirs, 0.5)
        medians.append((mine, other))
        rows.append(
            Row(
                f"validate a skill of {kilobytes} KB, p50/p99 (bound: a third of the baseline)",
                f"{mine:.1f}/{percentile(ours, 0.99):.1f} ms",
                f"markdown-it alone {other:.1f}/{percentile(theirs, 0.99):.1f} ms",
                other / mine,
            )
        )
    gc.unfreeze()
    first, last = medians[0], medians[-1]
    mine, other = last[0] / first[0], last[1] / first[1]
    times = f"{_SIZES[0]} KB to {_SIZES[-1]} KB, {_SIZES[-1] // _SIZES[0]} times the size"
    rows.append(Row(f"growth from {times}", f"{mine:.0f} ×", f"{other:.0f} ×", other / mine))
    return rows


if __name__ == "__main__":
    show(run())
