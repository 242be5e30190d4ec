"""States of the conversion by LibreOffice, and what an operator does about them."""

from enum import StrEnum

PACKAGES = "libreoffice-writer-nogui, libreoffice-calc-nogui, libreoffice-impress-nogui"
"""What Debian and Ubuntu call the three programs that are needed."""
PROGRAM = "soffice"


class Conversion(StrEnum):
    """State of the conversion of old Office files."""

    OFF = "off"
    """The operator has not asked for it."""
    MISSING = "missing"
    """The operator asked for it, and LibreOffice is not installed."""
    ON = "on"


def advice_of(state: Conversion) -> tuple[str, str]:
    """What an operator does so that such files are read here, in English and Chinese; empty where they are."""
    if state is Conversion.ON:
        return "", ""
    if state is Conversion.MISSING:
        return (
            f"Or ask your operator: AGENTEX_PARSERS names libreoffice, but the server has no {PROGRAM} on its PATH; "
            f"on Debian it is in {PACKAGES}",
            f"或联系管理员：AGENTEX_PARSERS 已启用 libreoffice，但服务器的 PATH 中没有 {PROGRAM}；"
            f"在 Debian 上请安装 {PACKAGES}",
        )
    return (
        "Or ask your operator to have the server convert such files: AGENTEX_PARSERS=libreoffice, with LibreOffice "
        f"installed (on Debian {PACKAGES})",
        f"或请管理员让服务器转换此类文件：设置 AGENTEX_PARSERS=libreoffice 并安装 LibreOffice（Debian 软件包：{PACKAGES}）",
    )
