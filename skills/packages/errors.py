"""Reasons to refuse a package, as data in English and Chinese."""

from dataclasses import dataclass
from enum import StrEnum


class PackageFault(StrEnum):
    """What can be wrong with a package; the value is its stable code."""

    NOT_AN_ARCHIVE = "not_an_archive"
    OTHER_ARCHIVE = "other_archive"
    DAMAGED = "damaged"
    ENCRYPTED = "encrypted"
    UNSUPPORTED_COMPRESSION = "unsupported_compression"
    TOO_MANY_FILES = "too_many_files"
    TOO_LARGE = "too_large"
    BOMB = "bomb"
    UNSAFE_NAME = "unsafe_name"
    DUPLICATE_NAME = "duplicate_name"
    LINK = "link"
    EXECUTABLE = "executable"
    NO_SKILL = "no_skill"
    SECOND_SKILL = "second_skill"
    NOT_VALID = "not_valid"
    NOT_PORTABLE = "not_portable"


_MESSAGES = {
    PackageFault.NOT_AN_ARCHIVE: (
        "The file is no zip archive. Send a .zip, a .skill or the SKILL.md itself.",
        "该文件不是 zip 压缩包。请上传 .zip、.skill 或 SKILL.md 文件本身。",
    ),
    PackageFault.OTHER_ARCHIVE: (
        "The file is a {kind} archive, and skills are read from zip archives only. Unpack it and send its folder"
        " as .zip, or the SKILL.md itself.",
        "该文件是 {kind} 压缩包，而技能只能从 zip 压缩包读取。请解压后把文件夹打包为 .zip，或上传 SKILL.md 文件本身。",
    ),
    PackageFault.DAMAGED: ("The archive is damaged. Pack it again.", "压缩包已损坏，请重新打包。"),
    PackageFault.ENCRYPTED: (
        "A member is encrypted. Pack the skill without a password.",
        "压缩包内有加密的文件，请不设密码重新打包。",
    ),
    PackageFault.UNSUPPORTED_COMPRESSION: (
        "A member is compressed in a way that is not read here. Pack it with deflate.",
        "压缩包内有文件使用了不支持的压缩方式，请用 deflate 重新打包。",
    ),
    PackageFault.TOO_MANY_FILES: (
        "A skill has at most {limit} files. Leave out what it does not need.",
        "一个技能最多 {limit} 个文件，请去掉不需要的文件。",
    ),
    PackageFault.TOO_LARGE: (
        "The unpacked files have more than {limit} bytes. Leave out what the skill does not need.",
        "解压后的文件超过 {limit} 字节，请去掉不需要的文件。",
    ),
    PackageFault.BOMB: (
        "The archive unpacks to more than {limit} times its size. Pack it without the file of repeated bytes.",
        "压缩包解压后超过其大小的 {limit} 倍，请去掉由重复字节组成的文件。",
    ),
    PackageFault.UNSAFE_NAME: (
        "A name must be relative, with / between its parts and without .., \\, : or control"
        " characters. Rename the file.",
        "文件名必须是相对路径，以 / 分隔，不含 ..、\\、: 和控制字符，请重命名。",
    ),
    PackageFault.DUPLICATE_NAME: (
        "Two files have the same name where upper and lower case count as one. Rename one.",
        "两个文件在不区分大小写时同名，请重命名其中一个。",
    ),
    PackageFault.LINK: (
        "Links and devices are not taken in. Put the file itself there.",
        "不接受链接和设备文件，请放入文件本身。",
    ),
    PackageFault.EXECUTABLE: (
        "Programs in machine code are not taken in. Use a script or leave it out.",
        "不接受机器码程序，请改用脚本或去掉该文件。",
    ),
    PackageFault.NO_SKILL: (
        "There is no SKILL.md. Put it at the top or in one folder.",
        "缺少 SKILL.md，请将其放在顶层或一个文件夹中。",
    ),
    PackageFault.SECOND_SKILL: (
        "A skill has exactly one SKILL.md. Rename the other file.",
        "一个技能只能有一个 SKILL.md，请重命名另一个文件。",
    ),
    PackageFault.NOT_VALID: ("The skill has errors. Mend them and export it again.", "技能有错误，请修正后再导出。"),
    PackageFault.NOT_PORTABLE: (
        "The skill can't be spelled as the open standard wants it. Export it as .md instead.",
        "该技能无法按开放标准表达，请改为导出 .md。",
    ),
}


@dataclass(frozen=True)
class PackageProblem:
    """One reason for a refusal.

    Args:
        code: what is wrong.
        message: fact and next step in English.
        message_zh: the same in Chinese.
        path: the member it is about, as far as it can be shown; ``None`` where it is about all.
    """

    code: PackageFault
    message: str
    message_zh: str
    path: str | None = None


class PackageRefused(Exception):
    """Raised inside this package only; its public functions return the problem."""

    def __init__(self, problem: PackageProblem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def package_problem(code: PackageFault, path: str | None = None, limit: int = 0, *, kind: str = "") -> PackageProblem:
    """A problem with its messages; unprintable characters of the path become ``?``."""
    english, chinese = _MESSAGES[code]
    printable = None if path is None else _printable(path)
    facts = {"limit": limit, "kind": kind}
    return PackageProblem(code, english.format_map(facts), chinese.format_map(facts), printable)


def _printable(path: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in path[:200])
