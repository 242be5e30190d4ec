"""What ``agentex search`` says beside its results, in English and Chinese."""

from cli.ui.i18n.common import Message

LEG_DEEP = Message(
    "{leg}: behind the first 10,000, score {score}", "{leg}：一万名之后，得分 {score}"
)
LEG_UNUSED = Message("dense: not used for this query", "dense：该查询不使用语义检索")
DROPPED = Message("Not shown: {reasons}", "未显示：{reasons}")
WHY_PLACE = Message(
    "place {place} after the rerank, score {score}; lowest score shown: {lowest}",
    "重排序后第 {place} 名，得分 {score}；结果中的最低分：{lowest}",
)
WHY_ONE_BASE = Message(
    "--why looks at one knowledge base: give --kb exactly once.",
    "--why 只针对一个知识库：请只给出一个 --kb。",
)
FILTER_UNREADABLE = Message(
    "Write a filter as team=ops, year>=2020, type:pdf or name:guide*.",
    "筛选条件的写法：team=ops、year>=2020、type:pdf 或 name:guide*。",
)
