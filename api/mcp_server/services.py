"""What the MCP server is made of, without the protocol library."""

from dataclasses import dataclass

from agents.runs.service import RunService
from api.streaming.response import OpenStreams
from core.db.database import Database
from core.runtime_config.live import LiveSettings
from kb_service.retrieval.service import Searcher


@dataclass(frozen=True)
class ToolServices:
    """What the tools work with."""

    database: Database
    searcher: Searcher
    runs: RunService
    live: LiveSettings
    streams: OpenStreams


@dataclass(frozen=True)
class McpOptions:
    """What the endpoint serves, and how large a message may be."""

    max_bytes: int
    with_skills: bool = True
    with_tools: bool = True
