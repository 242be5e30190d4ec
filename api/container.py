"""The process-wide objects of the API, grouped by their users."""

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import httpx
from redis.asyncio import Redis

from agents.attachments.remote_files import RemoteFiles
from agents.attachments.service import AttachmentLimits, AttachmentService
from agents.attachments.signed_links import LinkSigner
from agents.llm.factory import configured_model
from agents.llm_registry.client_cache import PURPOSE as MODEL_KEYS
from agents.llm_registry.client_cache import ModelClientCache
from agents.llm_registry.selection import ModelSelector
from agents.llm_registry.service import ModelRegistry
from agents.mcp.config import mcp_limits
from agents.mcp.service import PURPOSE as MCP_TOKENS
from agents.mcp.service import McpService
from agents.memory.distiller import Distiller
from agents.memory.service import MemoryService
from agents.runs.broadcaster import EventBroadcaster
from agents.runs.builder import RunBuilder, RunServices
from agents.runs.media import MediaIntake
from agents.runs.planner import LimitsProvider, limits_from_settings
from agents.runs.service import RunService
from agents.runs.subscribers import Subscribers
from agents.skills.selection import RunSkillsFactory
from agents.tool_policies.service import server_policies
from api.http.rate_limit import RequestLimits
from api.mcp_server.server import McpServer
from api.mcp_server.services import McpOptions, ToolServices
from api.stats import SystemStatsCache
from api.streaming.progress_feed import ProgressFeeds
from api.streaming.response import OpenStreams
from core.auth.authentication import Authenticator
from core.auth.login_throttle import LoginThrottle
from core.auth.signing_keys import SigningKeys
from core.db.database import Database
from core.oidc.factory import open_provider
from core.outbound.guard import OutboundGuard
from core.redis.client import open_redis
from core.redis.jobs import JobQueue
from core.runtime_config.live import LiveSettings
from core.runtime_config.outbound import OutboundPolicy
from core.security.rate_limiter import LocalRateLimiter, SharedRateLimiter
from core.security.signed_urls import UrlSigner
from core.security.vault import Vault, load_secret_key
from core.settings import Settings
from core.settings.tool_policies import ServerPolicies
from ingestion.parsers.sandbox.client import parse_limits
from ingestion.preview import SplitPreviewer
from ingestion.upload import UploadService
from kb_service.embedding_spaces import EmbeddingSpaces, open_spaces
from kb_service.engine_client.client import EngineClient
from kb_service.knowledge_sources.credentials import source_vault
from kb_service.object_storage.factory import open_object_store
from kb_service.object_storage.protocol import ObjectStore
from kb_service.query_translation.translator import open_translator
from kb_service.retrieval.rerankers import open_rerankers
from kb_service.retrieval.service import Searcher
from rules.actions.base import ActionServices
from rules.engine import RuleEngine
from rules.event_sources import PURPOSE as SOURCE_SECRETS

if TYPE_CHECKING:
    from core.oidc.provider import OidcProvider


@dataclass(frozen=True)
class KnowledgeServices:
    """Documents, their files, and the search in them."""

    store: ObjectStore
    engine: EngineClient
    spaces: EmbeddingSpaces
    searcher: Searcher
    previews: SplitPreviewer
    source_vault: Vault


@dataclass(frozen=True)
class AgentServices:
    """Runs, and what they work with."""

    runs: RunService
    memories: MemoryService
    mcp: McpService
    distiller: Distiller
    skills: RunSkillsFactory
    mcp_server: McpServer
    attachments: AttachmentService
    media: MediaIntake
    tool_policies: ServerPolicies
    models: ModelSelector
    model_registry: ModelRegistry


@dataclass(frozen=True)
class RuleServices:
    """The rule engine, what rules act with, and the secrets of event sources."""

    engine: RuleEngine
    actions: ActionServices
    source_secrets: Vault


@dataclass(frozen=True)
class SecurityServices:
    """Authentication and request limits; ``oidc`` is None without single sign-on."""

    authenticator: Authenticator
    limits: RequestLimits
    login_throttle: LoginThrottle
    oidc: "OidcProvider | None"


@dataclass(frozen=True)
class StreamServices:
    """The open event streams of this process."""

    open_streams: OpenStreams
    feeds: ProgressFeeds


@dataclass(frozen=True)
class AppContext:
    """All objects of the API process; ``settings`` are those it was started with."""

    settings: Settings
    live: LiveSettings
    outbound: OutboundPolicy
    stats: SystemStatsCache
    database: Database
    redis: Redis
    queue: JobQueue
    knowledge: KnowledgeServices
    agents: AgentServices
    rules: RuleServices
    security: SecurityServices
    streams: StreamServices


@dataclass(frozen=True)
class HttpClients:
    """HTTP clients: ``own`` for the operator's endpoints; limited by ``outbound``, ``guarded`` for registered models
    and ``public`` for the addresses of rules.
    """

    own: httpx.AsyncClient
    guarded: httpx.AsyncClient
    public: httpx.AsyncClient
    outbound: OutboundPolicy


async def create_context(database: Database, live: LiveSettings, clients: HttpClients, keys: SigningKeys) -> AppContext:
    """Create all objects; the caller closes them, the database too."""
    settings, redis = live.environment, open_redis(live.environment)
    knowledge = await _knowledge(settings, database, clients)
    streams = StreamServices(OpenStreams(database), ProgressFeeds(database))
    agents = _agents(live, database, redis, knowledge, clients, streams)
    queue = JobQueue(database, redis)
    return AppContext(
        settings=settings,
        live=live,
        outbound=clients.outbound,
        stats=SystemStatsCache(settings, database, redis, knowledge.spaces),
        database=database,
        redis=redis,
        queue=queue,
        knowledge=knowledge,
        agents=agents,
        rules=_rules(live, database, queue, knowledge, agents, clients),
        security=await _security(settings, database, redis, keys, clients.outbound),
        streams=streams,
    )


async def _knowledge(settings: Settings, database: Database, clients: HttpClients) -> KnowledgeServices:
    engine = EngineClient(settings.effective_engine_socket)
    spaces = open_spaces(settings, engine)
    return KnowledgeServices(
        store=open_object_store(settings),
        engine=engine,
        spaces=spaces,
        searcher=Searcher(
            database,
            spaces,
            max_query_characters=settings.max_query_characters,
            rerankers=open_rerankers(settings, clients.own),
            # Takes seconds where the installation didn't prepare the dictionary.
            translator=await asyncio.to_thread(open_translator, settings.cache_dir),
        ),
        previews=SplitPreviewer(settings),
        source_vault=source_vault(load_secret_key(settings)),
    )


def _agents(
    live: LiveSettings,
    database: Database,
    redis: Redis,
    knowledge: KnowledgeServices,
    clients: HttpClients,
    streams: StreamServices,
) -> AgentServices:
    settings, encoder = live.environment, knowledge.spaces.default.encoder
    adapters = ModelClientCache(Vault(load_secret_key(settings), MODEL_KEYS), clients.guarded)
    models = ModelSelector(configured_model(settings, clients.own), adapters)
    policies = server_policies(settings.tool_policies)
    limits = LimitsProvider(replace(limits_from_settings(settings), policies=policies), live)
    memories = MemoryService(database, encoder, most=settings.memories_per_user)
    skills, mcp = RunSkillsFactory(database, encoder), _mcp(settings, database, clients.outbound)
    attachments = _attachments(settings, database, knowledge.store)
    media = MediaIntake(database, attachments, RemoteFiles(OutboundGuard(settings.file_private_targets)), live)
    run_services = RunServices(memories, attachments, mcp, skills, media)
    runs = RunService(
        database,
        RunBuilder(database, knowledge.searcher, models, limits, run_services),
        # This installation's own Redis serves one API process: there is nobody to notify.
        Subscribers(database, EventBroadcaster(redis) if settings.redis_url else None),
        checks=settings.verify_streams,
    )
    return AgentServices(
        runs=runs,
        memories=memories,
        mcp=mcp,
        distiller=Distiller(database, memories, models),
        skills=skills,
        mcp_server=McpServer(
            ToolServices(database, knowledge.searcher, runs, live, streams.open_streams),
            McpOptions(
                settings.max_request_bytes,
                with_skills=settings.skills_over_mcp_enabled,
                with_tools=settings.tools_over_mcp_enabled,
            ),
        ),
        attachments=attachments,
        media=media,
        tool_policies=policies,
        models=models,
        model_registry=ModelRegistry(database, adapters, clients.outbound.guards.administrators),
    )


def _rules(
    live: LiveSettings,
    database: Database,
    queue: JobQueue,
    knowledge: KnowledgeServices,
    agents: AgentServices,
    clients: HttpClients,
) -> RuleServices:
    settings = live.environment
    actions = ActionServices(
        database=database,
        mcp=agents.mcp,
        runs=agents.runs,
        searcher=knowledge.searcher,
        uploads=UploadService(database, knowledge.store, live, parse_limits(settings), queue.push),
        http=clients.public,
        policies=agents.tool_policies,
    )
    engine = RuleEngine(
        database,
        actions,
        live=live,
        firings_per_minute=settings.rule_firings_per_minute,
        log_days=settings.rule_log_days,
    )
    return RuleServices(engine, actions, Vault(load_secret_key(settings), SOURCE_SECRETS))


def _mcp(settings: Settings, database: Database, outbound: OutboundPolicy) -> McpService:
    vault = Vault(load_secret_key(settings), MCP_TOKENS)
    return McpService(
        database, vault, outbound.guards, mcp_limits(settings.mcp_call_seconds, settings.mcp_answer_seconds)
    )


def _attachments(settings: Settings, database: Database, store: ObjectStore) -> AttachmentService:
    signer = UrlSigner(load_secret_key(settings), "attachment links")
    return AttachmentService(
        database,
        store,
        LinkSigner(signer, seconds=settings.attachment_link_seconds),
        limits=AttachmentLimits(settings.max_attachment_bytes, settings.user_quota_bytes),
    )


async def _security(
    settings: Settings, database: Database, redis: Redis, keys: SigningKeys, outbound: OutboundPolicy
) -> SecurityServices:
    # This installation's own Redis serves one API process, which can count by itself.
    limiter = SharedRateLimiter(redis) if settings.redis_url else LocalRateLimiter()
    async with database.reading() as session:
        issuer = await keys.issuer(session)
    return SecurityServices(
        authenticator=Authenticator(
            issuer, access_seconds=settings.access_token_seconds, refresh_seconds=settings.refresh_token_seconds
        ),
        limits=RequestLimits(limiter, settings),
        login_throttle=LoginThrottle(limiter, settings),
        oidc=open_provider(settings, outbound.reach_of_everybody),
    )
