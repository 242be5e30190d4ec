"""The registry of connectors, one per line; each is a module of its own."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from core.errors.requests import InvalidRequest
from core.types.validation_errors import error_details
from ingestion.connectors.base import ConnectorCredentials, ConnectorSettings, SourceConnector
from ingestion.connectors.bucket import BucketConnector
from ingestion.connectors.feed import FeedConnector
from ingestion.connectors.folder import FolderConnector
from ingestion.connectors.git.connector import GitConnector
from ingestion.connectors.imap import ImapConnector
from ingestion.connectors.llama_index.connector import LlamaIndexConnector
from ingestion.connectors.rest.confluence import ConfluenceConnector
from ingestion.connectors.rest.feishu import FeishuConnector
from ingestion.connectors.rest.github_issues import GitHubIssuesConnector
from ingestion.connectors.rest.notion import NotionConnector
from ingestion.connectors.sql.connector import SqlConnector
from ingestion.connectors.sql.sqlite import SqliteConnector
from ingestion.connectors.web import WebConnector
from ingestion.connectors.webdav import WebDavConnector

CONNECTORS: Mapping[str, type[SourceConnector]] = {
    connector.NAME: connector
    for connector in (
        WebConnector,
        FolderConnector,
        FeedConnector,
        GitConnector,
        BucketConnector,
        GitHubIssuesConnector,
        ConfluenceConnector,
        FeishuConnector,
        NotionConnector,
        SqlConnector,
        SqliteConnector,
        LlamaIndexConnector,
        WebDavConnector,
        ImapConnector,
    )
}


def connector_named(name: str) -> type[SourceConnector]:
    """The connector of a name; InvalidRequest for another."""
    if name not in CONNECTORS:
        names = ", ".join(CONNECTORS)
        raise InvalidRequest("connector", f"Use one of {names}", f"可用的值：{names}")
    return CONNECTORS[name]


def parse_settings(connector: type[SourceConnector], settings: Mapping[str, Any]) -> ConnectorSettings:
    """A connector's settings from JSON; InvalidRequest names the first field that is wrong."""
    try:
        return connector.SETTINGS.model_validate(settings)
    except ValidationError as error:
        raise _invalid("settings", settings, error) from None


def place_of(name: str, settings: Mapping[str, Any]) -> str:
    """Where a stored source is; empty for settings of an earlier version that are not valid any more."""
    try:
        return parse_settings(connector_named(name), settings).place
    except InvalidRequest:
        return ""


def parse_credentials(connector: type[SourceConnector], values: Mapping[str, Any]) -> ConnectorCredentials | None:
    """A connector's credentials from JSON, None for none; InvalidRequest names the first wrong field, and no value."""
    if not values:
        return None
    if connector.CREDENTIALS is None:
        raise InvalidRequest("credentials", "This connector takes none", "该连接器不需要凭据")
    try:
        return connector.CREDENTIALS.model_validate(values)
    except ValidationError as error:
        raise _invalid("credentials", values, error) from None


def _invalid(part: str, values: Mapping[str, Any], error: ValidationError) -> InvalidRequest:
    # What was sent tells fields from validators and texts from lists, and is in no answer.
    problems = [{**problem, "loc": ("body", part, *problem["loc"])} for problem in error.errors(include_url=False)]
    details = error_details(problems, {part: values})
    return InvalidRequest(str(details["field"]), str(details["error"]), str(details.get("error_zh", "")))
