"""Headings and the sections that they name."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from skills.parser.fuzzy import Vocabulary, are_near

STRONG: Mapping[str, tuple[str, ...]] = {
    "description": (
        *("描述", "技能描述", "简介", "功能描述", "简述", "介绍", "目的"),
        *("description", "overview", "summary", "purpose", "about", "introduction"),
        *("what it does", "what this skill does"),
    ),
    "trigger_conditions": (
        *("触发条件", "触发", "触发词", "触发关键词", "触发场景", "使用场景", "适用场景"),
        *("何时使用", "使用时机", "适用条件", "适用情况"),
        *("when to use", "triggers", "trigger conditions", "trigger phrases"),
        *("when to use this skill", "use when", "use this skill when", "when to apply"),
        *("when to activate", "activation", "use cases", "common use cases", "keywords"),
    ),
    "not_for": (
        *("不适用场景", "不适用", "何时不用", "不触发条件"),
        *("when not to use", "when not to use this skill", "do not use when"),
        *("do not use this skill when", "not for", "out of scope"),
        "what this skill does not do",
    ),
    "input_params": (
        *("输入参数", "参数", "输入", "入参", "参数说明", "输入格式", "输入要求", "参数列表"),
        "所需信息",
        *("inputs", "input parameters", "input params", "parameters", "arguments"),
        *("input format", "required inputs", "options"),
    ),
    "steps": (
        *("步骤", "执行步骤", "操作步骤", "步骤说明", "流程", "执行流程", "工作流程"),
        *("使用流程", "处理流程", "操作流程", "工作流"),
        *("steps", "workflow", "workflow steps", "core workflow", "procedure", "process"),
        *("instructions", "execution steps", "approach", "how it works"),
    ),
    "outputs": (
        *("输出", "输出格式", "输出要求", "输出结果", "产出", "交付物", "返回"),
        *("outputs", "output format", "results", "deliverables", "returns", "output artifacts"),
    ),
    "examples": (
        *("示例", "例子", "使用示例", "样例", "案例", "案例展示", "用例"),
        *("examples", "usage examples", "example usage", "example interactions", "sample"),
    ),
    "constraints": (
        *("约束", "限制", "约束条件", "注意事项", "规则", "关键规则", "已知限制", "禁止事项"),
        *("边界", "安全要求"),
        *("constraints", "rules", "critical rules", "limitations", "guardrails"),
        *("important notes", "notes", "safety", "known pitfalls", "do not"),
    ),
    "tools": (
        *("工具", "可用工具", "允许工具", "所需工具", "依赖工具"),
        *("tools", "allowed tools", "required tools", "tools used"),
    ),
    "errors": (
        *("错误处理", "异常处理", "故障排查", "常见问题"),
        *("error handling", "troubleshooting", "common issues", "faq"),
    ),
    "prerequisites": (
        *("前置条件", "前提", "先决条件", "运行环境", "依赖说明", "依赖", "依赖项"),
        *("环境准备", "环境要求"),
        *("prerequisites", "installation", "dependencies", "before starting", "compatibility"),
    ),
    "references": (
        *("参考", "参考资料", "参考文档", "相关资源"),
        *("references", "resources", "additional resources", "reference files", "see also"),
        "related skills",
    ),
    "metadata": (*("元数据", "元信息", "分类", "标签", "版本"), *("metadata", "category", "tags", "version")),
}
"""Per key of the model the headings that name it, the usual one of each language first."""

WEAK: Mapping[str, tuple[str, ...]] = {
    "description": ("概述", "说明"),
    "examples": ("使用方法", "usage"),
    "constraints": ("guidelines", "requirements"),
    "prerequisites": ("setup",),
}
"""Headings that name a section only where no sure heading of its key stands in the file."""


def usual_heading(key: str, *, chinese: bool) -> str:
    """The heading to suggest for a key."""
    names = STRONG[key]
    if chinese:
        return names[0]
    return next(name for name in names if name.isascii()).capitalize()


HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"

_TRADITIONAL = (
    "條件觸發時場適規則關鍵參數輸資料說試範項務應該請執進學習閱讀寫書頁處據庫檢測驗證錯誤"
    "報導結構類標簽籤題號碼語詞環設備註釋總簡環產製與為無問單個這們從來對經過邊約禁載圖"
    "術語視覺統計劃訊網絡連線傳運營維護導點樣變遷實現開發啟動關閉給電腦機組織團隊會議記錄區驟圍終並識義屬層優級幫確認續"
)
_SIMPLIFIED = (
    "条件触发时场适规则关键参数输资料说试范项务应该请执进学习阅读写书页处据库检测验证错误"
    "报导结构类标签签题号码语词环设备注释总简环产制与为无问单个这们从来对经过边约禁载图"
    "术语视觉统计划讯网络连线传运营维护导点样变迁实现开发启动关闭给电脑机组织团队会议记录区骤围终并识义属层优级帮确认续"
)
_FOLD = str.maketrans(_TRADITIONAL, _SIMPLIFIED)

_EMOJI = re.compile(
    "[\u00a9\u00ae\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\ufe00-\ufe0f\u200d\u20e3\U0001f000-\U0001faff\U000e0020-\U000e007f]+"
)
_KEYCAP = re.compile("^[0-9#*]\ufe0f?\u20e3")
_CIRCLED = re.compile("^\\s*[\u2460-\u24ff\u2776-\u2793\u3220-\u3229\u3280-\u3289]\\s*")
_MARKUP = re.compile(r"[*`~]+|(?<!\w)_+|_+(?!\w)")
_NUMBERING = re.compile(
    r"^(?:"
    r"第\s*[\d一二三四五六七八九十百]+\s*[步章节部条][分骤]?(?:[:.、]\s*|\s+|(?=\S))"
    r"|\([\d一二三四五六七八九十]+\)\s*"
    r"|[一二三四五六七八九十]+[、.:]\s*"
    r"|\d+(?:\.\d+)*(?:[.、):]+\s*|\s+)"
    r")"
)
_AROUND = re.compile(r"\s*\([^()]*\)\s*")
_INSIDE = re.compile(r"\(([^()]+)\)")
_PARTS = re.compile(r"\s*[/|·]\s*|\s+[—–]+\s+|\s+-\s+")
_LEADING_HAN = re.compile(f"^[{HAN}]+")
_LONGEST = 120

Strength = Literal["strong", "prefix", "weak"]


@dataclass(frozen=True, slots=True)
class HeadingMatch:
    """A section and how certain its heading is."""

    key: str
    strength: Strength


def canonical(heading: str) -> str:
    """A heading in lower case without width, markup, emoji, numbering and traditional characters."""
    text = _CIRCLED.sub("", _KEYCAP.sub("", heading.strip()[:_LONGEST]))
    text = unicodedata.normalize("NFKC", _EMOJI.sub(" ", text))
    text = _MARKUP.sub("", text).strip()
    text = _NUMBERING.sub("", text).strip()
    text = text.rstrip(":?。!.").strip()
    return " ".join(text.lower().translate(_FOLD).split())


def _singular(name: str) -> str:
    if not name.isascii() or not name.endswith("s") or name.endswith("ss"):
        return name
    return name[:-1]


def _table(names: dict[str, str]) -> dict[str, str]:
    return {_singular(name): key for name, key in names.items()} | names


_STRONG = _table({name: key for key, names in STRONG.items() for name in names})
_WEAK = {name: key for key, names in WEAK.items() for name in names}
_LONGEST_KNOWN = max(map(len, _STRONG))


def _forms(name: str) -> Iterator[str]:
    yield name
    without = _AROUND.sub(" ", name).strip()
    if without != name:
        yield without
        yield from (inside.strip() for inside in _INSIDE.findall(name))
    parts = _PARTS.split(without)
    if len(parts) > 1:
        yield from parts
    if han := _LEADING_HAN.match(without):
        yield han[0]
    yield from {_singular(without), _singular(name)}


@lru_cache(maxsize=2048)
def resolve(heading: str) -> HeadingMatch | None:
    """The section that a heading names, or ``None``."""
    name = canonical(heading)
    if not name:
        return None
    forms = [form for form in _forms(name) if form]
    for form in forms:
        if key := _STRONG.get(form):
            return HeadingMatch(key, "strong")
    for form in forms:
        if key := _WEAK.get(form):
            return HeadingMatch(key, "weak")
    return next(_by_prefix(name), None)


def _by_prefix(name: str) -> Iterator[HeadingMatch]:
    for end in range(min(len(name) - 1, _LONGEST_KNOWN), 1, -1):
        key = _STRONG.get(name[:end])
        if key and (not name[:end].isascii() or name[end] in " ,&"):
            yield HeadingMatch(key, "prefix")


def suggest(heading: str) -> str | None:
    """The known heading that a lower-case one nearly is, word by word: “common mistakes” is not “common issues”."""
    name = canonical(heading)
    nearest = _VOCABULARY.nearest(name)
    words = zip(name.split(), nearest.split(), strict=False) if nearest else ()
    if nearest and name.count(" ") == nearest.count(" ") and not all(are_near(*two) for two in words):
        return None
    return nearest


_VOCABULARY = Vocabulary(_STRONG)
