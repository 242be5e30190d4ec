"""SEC902, SEC909 and SEC910: text that tries to take over or silence an agent."""

import re
from collections.abc import Iterator

from skills.diagnostics import Finding
from skills.diagnostics.literal_prefilter import find_anchored, lower_keeping_length
from skills.lint.scanner import ScannedText

# Every repetition has a bound and each pattern begins with one of some words (the anchors below), so
# that no text makes the search slow. Blanks between words include line ends and marks of markdown (``ScannedText.flat``).
_ = r" {1,12}"
_ORDERS = r"(?:instructions?|prompts?|directives?|guidelines?|guardrails?|constraints?|restrictions?)"
# Also everyday things: where the text goes on to say which, they are not the agent's own.
_MESSAGES = (
    rf"(?:rules?|messages?|commands?|orders)\b(?!{_}(?:in|of|older|newer|from|on|within|inside)\b"
    rf"(?!{_}(?:the{_}|your{_})?(?:system|developer|operator|platform|prompt|agent|assistant)\b))"
)
_RULES = rf"(?:{_ORDERS}|{_MESSAGES})"
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|existing|system|original|initial"
    r"|developer|safety|security|other)"
)
_OVERRIDES = (
    rf"\b(?:ignore|disregard|forget|override|bypass|discard|overrule)(?:{_}(?:all|any|the|your|of"
    rf"|these|those|my|every)){{0,4}}(?:{_}{_EARLIER}(?:{_}(?:and|or|,){_}{_EARLIER})?){{1,3}}"
    rf"(?:{_}(?:agent|model|assistant|safety|system))?{_}{_RULES}\b",
    rf"\b(?:ignore|disregard|forget){_}(?:everything|all|anything){_}(?:you{_}(?:were|have{_}been)"
    rf"{_}told|(?:that{_}(?:came|was){_})?(?:above|before{_}this))",
    rf"\b(?:ignore|disregard|forget|bypass){_}(?:all{_}(?:of{_})?)?your{_}(?:\w{{1,20}}{_})?{_RULES}\b",
    rf"\byou{_}are{_}(?:no{_}longer|not{_}any{_}?more){_}(?:bound|restricted|limited|constrained)\b",
    rf"\byour{_}new{_}(?:system{_}prompt|instructions?){_}(?:is|are)\b",
    r"(?:忽略|无视|忘记|忘掉|抛弃|不要理会|不要遵守|无需遵守|不再遵守|不必遵守|绕过|跳出)[掉了]?"
    r" {0,4}(?:之前|以上|上面|此前|先前|前面|上述|原有|原来|所有|一切|全部|系统|任何|你的?|您的?"
    r"|收到|给出|安全|的| ){1,8}(?:指令|指示|规则|提示词|提示(?![音框信符语])|限制|约束|设定|命令|系统消息)",
    r"(?:你|您) {0,2}(?:现在|从现在起)?(?:已经)?不再(?:受|遵守|遵循)[^。！ ]{0,12}(?:限制|约束|规则|指令)",
    r"新的系统提示词?(?:是|为|如下|[:：])",
)
_THIS = r"(?:this|these|that|it|them|any{_}of{_}this|what{_}you{_}(?:do|did))".replace("{_}", _)
_USER = rf"(?:the{_})?(?:user|human|person|owner|customer|developer)s?"
# "Not before" and "not until" ask for patience.
_SAID = r"that (?:you|this|we|it)\b(?![^.;!?。]{0,80}\b(?:before|until|unless)\b)"
_END = rf"(?= {{0,12}}(?:[.,;:!)。]|about\b|of\b|what\b|anything\b|{_SAID}|$| {{2}}))"
_CONCEALMENTS = (
    rf"\b(?:do{_}not|don['’]t|never|must{_}not|should{_}not){_}(?:ever{_})?(?:tell|inform|notify"
    rf"|alert|warn){_}{_USER}\b{_END}",
    rf"\b(?:do{_}not|don['’]t|never){_}(?:ever{_})?(?:mention|reveal|disclose|show|report|admit)"
    rf"{_}{_THIS}{_}(?:\w{{1,20}}{_}){{0,3}}to{_}{_USER}\b",
    rf"\bwithout{_}(?:telling|informing|notifying|alerting){_}{_USER}\b",
    rf"\bwithout{_}{_USER}(?:['’]s{_}knowledge|{_}(?:knowing|noticing))\b",
    rf"\b(?:hide|conceal|keep){_}{_THIS}{_}(?:\w{{1,20}}{_}){{0,2}}from{_}{_USER}\b",
    rf"\bsecretly{_}(?:send|upload|copy|forward|post|read|collect|run|execute|install|store)\b",
    r"(?:不要|不得|不能|不可|切勿|请勿|别|禁止|无需)(?:告诉|告知|通知|提醒|透露给|泄露给)(?:用户|使用者|客户|对方)"
    r"(?!(?:去|如何|怎么|怎样|以外|之外|外的))",
    r"(?:不要|不得|别|切勿|请勿)让(?:用户|使用者|客户)(?:知道|发现|察觉|看到|得知)",
    r"(?:对|向)(?:用户|使用者|客户) {0,2}(?:隐瞒|保密|隐藏)",
    r"(?:瞒着|背着)(?:用户|使用者|客户)",
    r"(?:偷偷|悄悄|暗中|秘密)地?(?:发送|上传|读取|执行|运行|收集|复制|安装|转发|删除)",
)
_ROLE = re.compile(
    r"</?(?:system|assistant|system[-_ ](?:reminder|prompt|message|instructions?)|developer_message"
    r"|function_(?:calls?|results?)|tool_(?:calls?|results?|response)|skill_(?:content|inputs)"
    r"|available_skills)(?: [^<>\n]{0,200})?/?>"
    r"|<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id"
    r"|end_header_id|begin_of_text)\|>"
    r"|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
# What only forbids concealment: a negation in the same clause that reaches as far as the phrase.
_NOT = (
    r"\b(?:never|(?:do|must|should|may) {0,12}not|don['’]t|mustn['’]t|shouldn['’]t"
    r"|(?<!\bif you )(?<!\bwhen you )(?:can {0,12}not|can['’]t))\b"
    # Words that turn it round, or begin what is not negated any more.
    r"(?![^\n]{0,80}\b(?:hesitate|forget|fail|worry|mind|wait|stop|ask|but|and|then|just|instead"
    r"|because|so|since|while|afraid|shy|reluctant|bother|skip|miss|refuse|neglect|avoid)\b)"
)
# Who is told nothing is kept in the dark: "never report this to keep it from the user".
_NOT_TOLD = (
    r"(?![^\n]{0,80}\b(?:tell|mention|report|show|log|print|display|reveal|say|warn|notify|inform"
    r"|alert)\b)"
)
_IN_CLAUSE = r"[^.;:,!?()。；：，！？]"
_FORBIDDEN_WITHOUT = re.compile(rf"{_NOT}{_IN_CLAUSE}{{0,60}}$", re.IGNORECASE)
_FORBIDDEN_SECRETLY = re.compile(rf"{_NOT}{_NOT_TOLD}{_IN_CLAUSE}{{0,60}}$", re.IGNORECASE)
# "Do not rename files hide this" gives two orders.
_FORBIDDEN_TO_HIDE = re.compile(
    rf"{_NOT}{_NOT_TOLD}(?:{_IN_CLAUSE}{{0,60}} (?:or|nor|to|way|circumstances?))?"
    r"(?: {1,12}(?:ever|again|simply|knowingly|actively|deliberately|intentionally)){0,3} {1,12}$",
    re.IGNORECASE,
)
_FORBIDDEN_CHINESE = re.compile(
    r"(?:不得|不要|不能|不可|不应|不准|不许|禁止|严禁|切勿|请勿|绝不)"
    r"(?![^\n]{0,8}(?:[停等犹忘而并问管怕]|告诉|告知|通知|声张|惊动|打扰|提醒|担心|顾虑|理会))"
    r"[^.;:,!?()。；：，！？、 ]{0,8}$"
)
_FORBIDDEN_WITHIN = 80
_FORBIDDABLE = (
    (("without",), _FORBIDDEN_WITHOUT),
    (("secretly",), _FORBIDDEN_SECRETLY),
    (("hide", "conceal", "keep"), _FORBIDDEN_TO_HIDE),
    (("对", "向", "瞒着", "背着", "偷偷", "悄悄", "暗中", "秘密"), _FORBIDDEN_CHINESE),
)
_OVERRIDE = re.compile("|".join(_OVERRIDES), re.IGNORECASE)
_CONCEALMENT = re.compile("|".join(_CONCEALMENTS), re.IGNORECASE)
_OVERRIDE_ANCHORS = (
    *("ignore ", "disregard ", "forget ", "override ", "bypass ", "discard ", "overrule "),
    *("you ", "your ", "忽略", "无视", "忘记", "忘掉", "抛弃", "不要理会", "不要遵守"),
    *("无需遵守", "不再遵守", "不必遵守", "绕过", "跳出", "你", "您", "新的系统提示"),
)
_CONCEALMENT_ANCHORS = (
    *("do ", "don't ", "don’t ", "never ", "must ", "should ", "without ", "hide ", "conceal "),
    *("keep ", "secretly ", "不要", "不得", "不能", "不可", "切勿", "请勿", "别", "禁止", "无需"),
    *("对", "向", "瞒着", "背着", "偷偷", "悄悄", "暗中", "秘密"),
)
_ROLE_ANCHORS = ("<", "[inst]", "[/inst]")


def check(scan: ScannedText) -> Iterator[Finding]:
    """SEC902 and SEC910 anywhere, code included, since models read it too; SEC909 outside of code."""
    flat, lower = scan.flat, lower_keeping_length(scan.flat)
    for code, pattern, anchors in (
        ("SEC902", _OVERRIDE, _OVERRIDE_ANCHORS),
        ("SEC910", _CONCEALMENT, _CONCEALMENT_ANCHORS),
    ):
        for match in find_anchored(pattern, flat, anchors, lower):
            if _is_forbidden(flat, lower, match.start()):
                continue
            yield scan.finding(code, match.span(), {"text": " ".join(match[0].split())})
    for match in find_anchored(_ROLE, scan.prose, _ROLE_ANCHORS, lower_keeping_length(scan.prose)):
        yield scan.finding("SEC909", match.span(), {"tag": match[0]})


def _is_forbidden(flat: str, lower: str, place: int) -> bool:
    before = flat[max(0, place - _FORBIDDEN_WITHIN) : place]
    return any(pattern.search(before) is not None for words, pattern in _FORBIDDABLE if lower.startswith(words, place))
