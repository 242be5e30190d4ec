"""What a question expects of its answer, by its form: a figure, a time, a reason, a person and so on.

Each type has the words that ask and the marks by which a sentence could answer. The marks only order sentences that share words
with the question; they never make an answer of one that shares none.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = (
    r"(?<![\w.])\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|half|no more|several)\b"
    r"|[一二三四五六七八九十百千万两半]+(?:个|位|次|年|月|天|日|周|小时|分钟|秒|元|倍|种|项|名|人|张|台|条|级|号|点)"
)
_TIME_UNIT = r"(?:milli|micro)?seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?|ms\b|毫秒|秒|分钟|小时|天|日|周|星期|个月|月|年"
_MONTH = r"January|February|March|April|May|June|July|August|September|October|November|December"
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"


@dataclass(frozen=True, slots=True)
class QuestionType:
    """A form of question.

    Attributes:
        asks: The words in the question; they are no words to look for in documents.
        answers: The marks of a sentence that could answer.
        is_strict: Whether a sentence without such a mark hardly answers.
        is_exact: Whether only a sentence about everything that the question names can answer.
    """

    asks: re.Pattern[str]
    answers: re.Pattern[str]
    is_strict: bool = False
    is_exact: bool = False


def _type(asks: str, answers: str, *, is_strict: bool = False, is_exact: bool = False) -> QuestionType:
    return QuestionType(re.compile(asks, re.IGNORECASE), re.compile(answers, re.IGNORECASE), is_strict, is_exact)


_TYPES = (
    # How many, how much, how large.
    _type(
        r"\bhow (?:many|much|often|large|big|old|tall|high|heavy|far|deep|wide)\b|\b(?:what|which) (?:number|amount)\b|\b(?:maximum|minimum) (?:number|amount|size)(?: of)?\b"
        r"|多少|多大|多高|多重|多远|几(?=[个位次种张台条人元年天本份名项])",
        rf"{_NUMBER}|\b(?:free|unlimited|none)\b|免费|不限|无限|每天|每次",
        is_strict=True,
    ),
    # How long, how fast.
    _type(
        r"\bhow (?:long|quickly|soon|fast)\b|多久(?:之内|以内|内)?|多长时间|多长|几天|几个月|几年",
        rf"(?:{_NUMBER}|\b(?:an?|each|every)\b|几)\s*(?:[a-z]+ )?(?:个)?(?:工作)?(?:{_TIME_UNIT})|\b(?:until|forever|at once|immediately)\b"
        "|立即|永久|长期",
        is_strict=True,
    ),
    # When.
    _type(
        r"\b(?:until |since )?when\b|\bwhat time\b|\b(?:what|which) (?:day|date|year|month)\b"
        r"|什么时候|什麼時候|何时|什么时间|几点|哪天|哪一天|哪年|(?:在)?什么情况下",
        rf"\d{{1,2}}:\d\d|\b(?:{_MONTH})\b|{_WEEKDAY}|\b(?:1[0-9]|20)\d\d\b|{_NUMBER}\s*(?:{_TIME_UNIT})"
        r"|\b(?:when|before|after|until|till|once|if|during|while|every|daily|weekly|monthly|as soon as|at the end|first|last)\b"
        r"|之前|以前|之后|以后|最后|时候|何时|时(?=[，。]|$)|后(?=[，。]|$)|超过|如果|每(?:天|周|月|年|日)|的，",
    ),
    # Who.
    _type(
        r"\bwho(?:m|se)?\b(?: (?:do|should|can|must) (?:i|we) (?:ask|contact|call|turn to|talk to))?|找谁|由谁|谁|哪位|哪个部门",
        r"\b(?:(?-i:[A-Z][a-z]+ [A-Z][a-z]+)|only|everybody|anyone|teams?|managers?|leads?|heads?|staff|members?|engineers?|owners?|admins?"
        r"|administrators?|department|customers?|riders?)\b|部|经理|主管|上级|总|员|人|负责|联系",
    ),
    # Where.
    _type(
        r"\bwhere\b|在?哪(?:里|儿|裡)|何处|什么地方|哪个(?:目录|文件|位置)",
        r"\b(?:in|at|under|below|above|near|on|to|from)\b|[/~]\w|://|位于|设在|在|到|里|路径|目录",
    ),
    # Why.
    _type(
        r"\bwhy\b|\bwhat(?:'s| is) the reason\b|为什么|為什麼|为何|什么原因|(?:是)?什么原因|原因",
        r"\b(?:because|since|as|so|so that|due to|otherwise|therefore|to avoid|prevents?|makes?|causes?|reason)\b"
        r"|因为|由于|为了|以免|避免|防止|否则|才能|使|导致|所以|因此|可以|通常是|多数",
    ),
    # What for.
    _type(
        r"\b(?:good|used|needed|meant) for\b|\bpurpose of\b|\buse of\b|\bwhat (?:does|do)\b(?=.{1,60}\bdo\b)"
        r"|(?:可以)?用来(?:做什么|干什么|干嘛|干啥)|有什么(?:用|作用|用途|用处)|(?:是)?(?:做|干)(?:什么|嘛|啥)(?:用)?的?|作用|用途|有何用",
        r"\b(?:lets?|allows?|enables?|used|serves?|helps?|so that|in order to|for|tells?|means?|makes?|to \w+)\b"
        r"|用于|用来|用作|可用|供|以便|让|使|告诉|帮助|表示|作为|防止|避免",
    ),
    # What it is, what it means.
    _type(
        r"\bwhat (?:does|do)\b(?=.{1,60}\bmean\b)|\bmeaning of\b|\bwhat(?:'s| is| are)\b|(?:是)?什么意思|什么是|是什么|的?含义|指的?是?什么",
        r"\b(?:is|are|means?|stands for|refers to|called)\b|[|：]|: |是|指|即|表示|称为|意味着",
    ),
    # How.
    _type(
        r"\bhow (?:do|does|can|could|should|to|is|are|would)\b|\bwhat (?:do|can|should|must) (?:i|we|you) do\b|\bwhat happens\b"
        r"|怎么办|怎麼辦|怎么|怎麼|怎样|怎樣|如何|该怎么|(?:该)?(?:怎么|如何)处理|要怎么",
        r"(?:^|[.:;,] )(?:use|run|open|choose|click|press|hold|select|set|type|enter|call|scan|tap|stop|start|add|delete|make|go|ask|put)\b"
        r"|\b(?:by|with|using|via|through|first|then|must|to)\b|请|点击|选择|运行|使用|先|然后|即可|可以|通过|拨打|长按|再|改|加上|按照",
    ),
    # Yes or no.
    _type(
        r"^(?:is|are|was|were|can|could|may|might|does|do|did|should|must|will|would|has|have)\b"
        r"|吗|嗎|能不能|可不可以|是否|会不会|能否|可否|是不是|有没有|要不要|还能",
        r"\b(?:not?|never|only|may|can|can't|cannot|must|allowed|possible|impossible|required|forbidden|yes|supported|any)\b|n't\b"
        r"|不|无法|没有|可以|支持|允许|只能|必须|不得|禁止|已经|均可|除非",
        is_exact=True,
    ),
)
_STRICT_PRESENT, _STRICT_ABSENT, _PRESENT = 1.2, 0.7, 1.15
_DIGITS = re.compile(r"\d+")


def question_types(question: str) -> tuple[QuestionType, ...]:
    """The types of a question, most specific first; a form that another one contains is left out."""
    types: list[QuestionType] = []
    rest = question.strip()
    for kind in _TYPES:
        if kind.asks.search(rest):
            types.append(kind)
            rest = kind.asks.sub(" ", rest)
    return tuple(types)


def without_question_forms(question: str) -> str:
    """The question without the words that only say what is expected."""
    rest = question.strip()
    for kind in _TYPES:
        rest = kind.asks.sub(" ", rest)
    return rest


def answer_factor(types: Iterable[QuestionType], question: str, sentence: str, header: str) -> float:
    """How much likelier a sentence answers questions of these types: 1 is neutral.

    Args:
        header: Names of the columns, if the sentence is a row: "Sent when" answers a question for the time.
    """
    figures = set(_DIGITS.findall(question))
    news = _DIGITS.sub(lambda digits: "" if digits.group() in figures else digits.group(), sentence)
    factor = 1.0
    for kind in types:
        if kind.answers.search(news) or (header and kind.asks.search(header)):
            factor = max(factor, _STRICT_PRESENT if kind.is_strict else _PRESENT)
        elif kind.is_strict:
            return _STRICT_ABSENT
    return factor
