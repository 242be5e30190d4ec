"""From a heading as written to the section that it names."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from skills.parser.fuzzy import Vocabulary, are_near
from skills.parser.synonyms import STRONG, WEAK

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
class Known:
    """The section that a heading names, and how surely."""

    key: str
    strength: Strength


def canon(heading: str) -> str:
    """A heading without width, markup, pictures, numbering and traditional forms, in lower case."""
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
    """Names and their singular forms, the exact ones first."""
    return {_singular(name): key for name, key in names.items()} | names


_STRONG = _table({name: key for key, names in STRONG.items() for name in names})
_WEAK = {name: key for key, names in WEAK.items() for name in names}
_LONGEST_KNOWN = max(map(len, _STRONG))


def _forms(name: str) -> Iterator[str]:
    """What of a heading may name a section, the whole first."""
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
def resolve(heading: str) -> Known | None:
    """The section that a heading names, or ``None``."""
    name = canon(heading)
    if not name:
        return None
    forms = [form for form in _forms(name) if form]
    for form in forms:
        if key := _STRONG.get(form):
            return Known(key, "strong")
    for form in forms:
        if key := _WEAK.get(form):
            return Known(key, "weak")
    return next(_by_prefix(name), None)


def _by_prefix(name: str) -> Iterator[Known]:
    """What the longest known heading says that a heading begins with: whole words, or Han characters."""
    for end in range(min(len(name) - 1, _LONGEST_KNOWN), 1, -1):
        key = _STRONG.get(name[:end])
        if key and (not name[:end].isascii() or name[end] in " ,&"):
            yield Known(key, "prefix")


def suggest(heading: str) -> str | None:
    """The known heading that an unknown one is nearly, in lower case, or ``None``.

    Word by word, where both have as many: “common mistakes” are no “common issues”.
    """
    name = canon(heading)
    known = _VOCABULARY.nearest(name)
    words = zip(name.split(), known.split(), strict=False) if known else ()
    if known and name.count(" ") == known.count(" ") and not all(are_near(*two) for two in words):
        return None
    return known


_VOCABULARY = Vocabulary(_STRONG)
