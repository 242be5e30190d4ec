"""The headings by which a section is known, Chinese and English (docs/skills.md, "Sections")."""

from collections.abc import Mapping

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
    "metadata": (
        *("元数据", "元信息", "分类", "标签", "版本"),
        *("metadata", "category", "tags", "version"),
    ),
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
