"""Archives for tests: well-made ones, and ones that only an attacker makes."""

import stat
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

NATIVE = "# SKILL: 日报生成\n\n## 描述\n根据提交记录生成日报，每天下班前使用。\n".encode()


def pack(*members: tuple[str, bytes], method: int = ZIP_DEFLATED) -> bytes:
    """A zip archive of these members, in this order, with any names."""
    target = BytesIO()
    with ZipFile(target, "w", method) as archive:
        for name, content in members:
            entry = ZipInfo("placeholder")
            entry.filename = name
            entry.compress_type = method
            archive.writestr(entry, content)
    return target.getvalue()


def pack_link(name: str, target_name: str, *members: tuple[str, bytes]) -> bytes:
    """An archive with a symbolic link beside some files."""
    target = BytesIO()
    with ZipFile(target, "w") as archive:
        for path, content in members:
            archive.writestr(path, content)
        entry = ZipInfo(name)
        entry.create_system = 3
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, target_name)
    return target.getvalue()
