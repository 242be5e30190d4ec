"""The connector of the issues of a GitHub repository, each of which is a document with its comments.

By GitHub's REST API of the version 2022-11-28 (docs.github.com/en/rest/issues/issues, …/issues/comments, and
…/using-the-rest-api/best-practices-for-using-the-rest-api for conditional requests and rate limits).
"""

import re
import time
from collections.abc import AsyncGenerator
from typing import Annotated, ClassVar, Literal

import httpx
from anyio import to_thread
from pydantic import BaseModel, Field

from core.errors.requests import InvalidRequest
from ingestion.connectors.base import ConnectorCredentials, ConnectorSettings, ItemUnreadable, SourceItem, too_large
from ingestion.connectors.rest.connector import Names, RestConnector, RestSettings, Token, title_part
from ingestion.connectors.rest.failures import Advice, Refusal, ServiceTerms
from ingestion.connectors.rest.issue_cache import ListedIssue, ListedPage, load_pages, store_pages
from ingestion.connectors.rest.json_client import JsonClient, PageTurner
from kb_service.document_names import document_name

_PAGE = "100"
_PATH = re.compile(r"/([A-Za-z0-9._-]{1,100})/([A-Za-z0-9._-]{1,100}?)(?:\.git)?/?")
_LIMITED = frozenset({403, 429})
_LIMIT_WORDS = b"rate limit"
_UNNAMED_PAUSE = 60.0
_LONGEST_VALUE = 500
_TERMS = ServiceTerms(
    "GitHub",
    credentials=Advice(
        "Give the source a new token: agentex kb source credentials, or PUT with credentials",
        "请为该来源填写新的令牌：agentex kb source credentials，或在 PUT 请求中提供 credentials",
    ),
    access=Advice(
        "Give the token the repository permission Issues: read, and Pull requests: read where those are wanted",
        "请为令牌授予仓库的 Issues 读取权限；需要拉取请求时还要授予 Pull requests 读取权限",
    ),
    place=Advice(
        "Check the address of the repository; for a private one give a token that may read its issues",
        "请检查仓库地址；若为私有仓库，请提供有权读取其议题的令牌",
    ),
)


class GitHubSettings(RestSettings):
    """Settings of a repository, whose address is that of a browser: ``https://github.com/owner/name``.

    Any other host is that of a GitHub Enterprise server. ``labels`` must all be on an issue. With ``pull_requests``
    those come, too, with their conversation, but neither their changes nor the reviews of them.
    """

    state: Literal["all", "open", "closed"] = "all"
    labels: Names = ()
    pull_requests: bool = False
    comments: bool = True

    @property
    def api_url(self) -> str:
        url = httpx.URL(self.url)
        host = url.host.removeprefix("www.")
        if host == "github.com" or host.endswith(".ghe.com"):
            return f"https://api.{host}"
        return str(url.copy_with(path="/api/v3", query=None, fragment=None))

    @property
    def repository(self) -> tuple[str, str] | None:
        """Owner and name; None if the address has no such path."""
        match = _PATH.fullmatch(httpx.URL(self.url).path)
        if match is None or {".", ".."} & {*match.groups()}:
            return None
        return match[1], match[2]


class GitHubCredentials(ConnectorCredentials):
    """A fine-grained token that may read the issues."""

    token: Token


class _User(BaseModel):
    login: Annotated[str, Field(max_length=200)] = "ghost"


class _Label(BaseModel):
    name: str = ""


class _Issue(BaseModel):
    id: int
    number: int
    title: str
    state: str = ""
    html_url: str = ""
    created_at: str = ""
    updated_at: str = ""
    comments: int = 0
    body: str | None = None
    user: _User | None = None
    labels: tuple[_Label | str, ...] = ()
    pull_request: dict[str, str | None] | None = None

    @property
    def label_names(self) -> list[str]:
        return [label if isinstance(label, str) else label.name for label in self.labels]


class _Comment(BaseModel):
    id: int
    body: str | None = None
    user: _User | None = None
    created_at: str = ""


class GitHubClient(JsonClient):
    """Tells a limit of requests, which has the status of a missing permission, by its headers."""

    def refusal(self, response: httpx.Response, content: bytes) -> Refusal | None:
        headers = response.headers
        is_spent = headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in headers
        if response.status_code in _LIMITED and (is_spent or _LIMIT_WORDS in content.lower()):
            return Refusal.LIMIT
        return super().refusal(response, content)

    def pause(self, response: httpx.Response) -> float:
        reset = response.headers.get("X-RateLimit-Reset", "")
        if "Retry-After" in response.headers:
            return super().pause(response)
        if response.headers.get("X-RateLimit-Remaining") != "0" or not (reset.isascii() and reset.isdecimal()):
            # What the documentation says of limits that name no time.
            return _UNNAMED_PAUSE if response.status_code in _LIMITED else super().pause(response)
        return max(0.0, float(reset[:12]) - time.time()) + 1.0


class GitHubIssuesConnector(RestConnector[GitHubSettings, GitHubClient]):
    """Reads issues; a page of the list that has not changed is not sent again."""

    NAME: ClassVar[str] = "github_issues"
    SETTINGS: ClassVar[type[ConnectorSettings]] = GitHubSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = GitHubCredentials

    async def check(self) -> None:
        await super().check()
        if self._settings.repository is None:
            raise InvalidRequest(
                "settings.url",
                "Give the address of a repository, such as https://github.com/owner/name",
                "请填写仓库地址，例如 https://github.com/owner/name",
            )

    def _open(self, credentials: dict[str, str]) -> GitHubClient:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        if token := credentials.get("token"):
            headers["Authorization"] = f"Bearer {token}"
        return GitHubClient(self._environment.guard, self._settings.api_url, headers, _TERMS)

    @property
    def _path(self) -> str:
        owner, name = self._settings.repository or ("", "")
        return f"/repos/{owner}/{name}/issues"

    async def _list(self, client: GitHubClient) -> AsyncGenerator[SourceItem]:
        settings, turner = self._settings, PageTurner(_TERMS)
        folder, place = self._environment.cache_folder, f"{settings.api_url}{self._path}"
        cached = await to_thread.run_sync(load_pages, folder, place) if folder else dict[str, ListedPage]()
        pages: dict[str, ListedPage] = {}
        # By their creation: an issue that changes meanwhile moves to no other page.
        query = {"state": settings.state, "sort": "created", "direction": "asc", "per_page": _PAGE}
        if settings.labels:
            query["labels"] = ",".join(settings.labels)
        while query:
            cursor = str(httpx.QueryParams(query))
            turner.turn(cursor)
            page = await self._page(client, query, cached.get(cursor))
            pages[cursor] = page
            for issue in page.issues:
                if settings.pull_requests or not issue.is_pull_request:
                    yield _item(issue)
            query = dict(page.next_query)
        if folder:
            await to_thread.run_sync(store_pages, folder, place, pages)

    async def _page(self, client: GitHubClient, query: dict[str, str], cached: ListedPage | None) -> ListedPage:
        # Behind a full last page there may be another one by now, which its entity tag need not tell.
        is_open = cached is not None and not cached.next_query and len(cached.issues) >= int(_PAGE)
        etag = cached.etag if cached and not is_open else ""
        answer = await client.get_if_changed(self._path, list[_Issue], query, etag)
        if answer.body is None and cached is not None:
            return cached.model_copy(update={"next_query": dict(answer.next_query or cached.next_query)})
        issues = tuple(map(_listed, answer.body or ()))
        return ListedPage(etag=answer.etag, issues=issues, next_query=dict(answer.next_query))

    async def _content(self, client: GitHubClient, item: SourceItem) -> bytes:
        path = f"{self._path}/{int(item.state['number'])}"
        issue = await client.get(path, _Issue)
        comments: list[_Comment] = []
        if self._settings.comments and issue.comments:
            comments = await self._comments(client, path)
        return _document(issue, comments).encode(errors="replace")

    async def _comments(self, client: GitHubClient, path: str) -> list[_Comment]:
        comments: list[_Comment] = []
        turner, size = PageTurner(_TERMS), 0
        query: dict[str, str] = {"per_page": _PAGE}
        while query:
            turner.turn(str(httpx.QueryParams(query)))
            answer = await client.get_if_changed(f"{path}/comments", list[_Comment], query)
            for comment in answer.body or ():
                size += len(comment.body or "")
                if size > self._environment.max_bytes:
                    raise ItemUnreadable(too_large(self._environment.max_bytes))
                comments.append(comment)
            query = dict(answer.next_query)
        return comments


def _listed(issue: _Issue) -> ListedIssue:
    return ListedIssue(
        id=issue.id,
        number=issue.number,
        title=issue.title,
        state=issue.state,
        url=issue.html_url,
        version=f"{issue.updated_at[:40]}:{issue.comments}",
        labels=", ".join(issue.label_names)[:_LONGEST_VALUE],
        is_pull_request=issue.pull_request is not None,
    )


def _item(issue: ListedIssue) -> SourceItem:
    attributes = {"url": issue.url, "number": str(issue.number), "state": issue.state, "labels": issue.labels}
    return SourceItem(
        str(issue.id),
        document_name([f"#{issue.number} {title_part(issue.title, 'untitled')}.md"]),
        issue.version,
        {"number": issue.number},
        attributes=attributes,
    )


def _document(issue: _Issue, comments: list[_Comment]) -> str:
    """An issue and its comments as Markdown."""
    author = (issue.user or _User()).login
    kind = "Pull request" if issue.pull_request is not None else "Issue"
    facts = [f"{kind} #{issue.number} by {author}, {issue.created_at[:10]}, {issue.state}"]
    if issue.labels:
        facts.append(f"Labels: {', '.join(issue.label_names)}")
    parts = [f"# {' '.join(issue.title.split())}", "  \n".join(facts), (issue.body or "").strip()]
    for comment in comments:
        writer = (comment.user or _User()).login
        parts += [f"## Comment by {writer}, {comment.created_at[:10]}", (comment.body or "").strip()]
    return "\n\n".join(part.replace("\r\n", "\n") for part in parts if part) + "\n"
