"""What can be wrong with a Git source, and what to do about it."""

from collections.abc import Sequence

from ingestion.connectors.base import ReadFailure, SourceUnavailable

_SHOWN_BRANCHES = 10
_MEBIBYTE = 2**20


class FetchStopped(Exception):
    """The sync was cancelled or lost its lease, or its time is over; what a thread does for it ends."""


def no_access(status: int) -> SourceUnavailable:
    """The server refuses the credentials, or has no such repository: servers hide which."""
    return _unavailable(
        "no_access",
        f"There is no repository at this address, or it may not be read with these credentials (status {status})",
        f"该地址没有仓库，或这些凭据无权读取（状态码 {status}）",
        "Check the address; for a private repository give a token that may read it as the password of the credentials",
        "请检查地址；若为私有仓库，请将有读取权限的令牌作为凭据中的 password 填写",
    )


def not_git() -> SourceUnavailable:
    """What answers is no Git server."""
    return _unavailable(
        "not_git",
        "What answers at this address is not a Git repository over smart HTTP",
        "该地址不是可通过智能 HTTP 协议访问的 Git 仓库",
        "Give the address that you would clone with HTTPS, such as https://example.org/team/manuals.git",
        "请填写用 HTTPS 克隆时的地址，例如 https://example.org/team/manuals.git",
    )


def unreachable(what: str) -> SourceUnavailable:
    """There is no answer, or one that says to come again later."""
    return _unavailable(
        "no_answer",
        f"The Git server does not answer ({what})",
        f"Git 服务器没有响应（{what}）",
        "See that the address is right and reachable from the server; the next sync tries again",
        "请确认地址正确且服务器可以访问；下次同步会重试",
    )


def too_slow(seconds: float) -> SourceUnavailable:
    """The repository did not arrive in time."""
    minutes = round(seconds / 60)
    return _unavailable(
        "too_slow",
        f"The repository did not arrive within {minutes} minutes",
        f"{minutes} 分钟内未能获取仓库",
        "Synchronize again when the Git server is less busy, or move what is needed into a smaller repository",
        "请在 Git 服务器空闲时重试，或将所需文件移到较小的仓库",
    )


def too_big(limit: int) -> SourceUnavailable:
    """The repository, or an object in it, is beyond what a worker takes."""
    size = f"{limit // _MEBIBYTE} MiB"
    return _unavailable(
        "too_large",
        f"The repository has more than {size} at once to fetch, or unpacks beyond what the server takes",
        f"仓库一次需获取的数据超过 {size}，或解压后超过服务器的上限",
        "Move what is needed into a smaller repository, or ask your operator for a larger AGENTEX_MAX_SOURCE_CACHE_BYTES",
        "请将所需文件移到较小的仓库，或请管理员提高 AGENTEX_MAX_SOURCE_CACHE_BYTES",
    )


def no_branch(branch: str, branches: Sequence[str]) -> SourceUnavailable:
    """There is no such branch, or no default one; some that there are get named."""
    names = ", ".join(sorted(branches)[:_SHOWN_BRANCHES])
    if not branches:
        return _unavailable(
            "empty",
            "The repository has no branches yet",
            "仓库还没有任何分支",
            "Push a first commit, and synchronize again",
            "请先推送一次提交，然后重新同步",
        )
    return _unavailable(
        "no_branch",
        f"There is no branch {branch}" if branch else "The repository has no default branch",
        f"分支 {branch} 不存在" if branch else "仓库没有默认分支",
        f"Set the branch to one of these: {names}",
        f"请将 branch 设为其中之一：{names}",
    )


def no_folder(folder: str) -> SourceUnavailable:
    """There is no such folder in the branch."""
    return _unavailable(
        "no_folder",
        f"There is no folder {folder} in this branch",
        f"该分支中没有文件夹 {folder}",
        "Check the setting folder; upper and lower case matter",
        "请检查 folder 设置，注意区分大小写",
    )


def unsupported_hash() -> SourceUnavailable:
    """The repository uses SHA-256 for its objects."""
    return _unavailable(
        "unsupported",
        "The repository names its objects with SHA-256, which is not supported",
        "仓库使用 SHA-256 对象格式，暂不支持",
        "Use a repository with SHA-1 objects, the usual kind",
        "请使用常见的 SHA-1 对象格式的仓库",
    )


def cache_lost() -> SourceUnavailable:
    """What was fetched is not there any more."""
    return _unavailable(
        "cache_lost",
        "The fetched repository disappeared from the server's cache",
        "已获取的仓库从服务器缓存中消失",
        "Synchronize again: it is fetched anew",
        "请重新同步：将重新获取仓库",
    )


LFS_POINTER = ReadFailure(
    "lfs_pointer",
    "The repository has only a pointer to this file, whose contents are in Git LFS",
    "仓库中只有该文件的指针，其内容存放在 Git LFS 中",
    "Commit the file without LFS, upload it yourself, or exclude it",
    "请不使用 LFS 提交该文件、自行上传，或将其排除",
)


def _unavailable(reason: str, message: str, message_zh: str, action: str, action_zh: str) -> SourceUnavailable:
    return SourceUnavailable(ReadFailure(reason, message, message_zh, action, action_zh))
