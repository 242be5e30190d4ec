"""Every setting of Agentex: ``AGENTEX_*`` variables or a ``.env`` file, read once, frozen."""

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from core.settings.embeddings import EmbeddingModelSetting
from core.settings.http import AccessSettings
from core.settings.json_values import read_json
from core.settings.llm import LlmOptions
from core.settings.parser_services import SERVICE_URLS, ParserServiceSettings
from core.settings.skills import SkillSettings
from core.settings.tool_policies import ToolPolicy
from core.types.document_parsers import SWITCHABLE
from core.types.network import HostPort, is_loopback_host, parse_host_port

# A Unix socket's path may have 108 bytes with its end mark; the longest name put there is 20.
_LONGEST_RUNTIME_DIR = 84
_WILDCARDS = {"0.0.0.0", "::"}  # noqa: S104 (said, not bound)
_SECRETS = ("secret_key", "admin_password", "metrics_token", "oidc_client_secret", "backup_passphrase")


class Settings(AccessSettings, SkillSettings, ParserServiceSettings, BaseSettings):  # pyright: ignore[reportIncompatibleVariableOverride]
    """The one settings object; every field is the variable ``AGENTEX_<FIELD>``."""

    model_config = SettingsConfigDict(
        env_prefix="AGENTEX_",
        env_file=".env",
        extra="ignore",
        frozen=True,
        # A setting may be a key: an invalid one is named, never shown.
        hide_input_in_errors=True,
    )

    data_dir: Path = Field(default=Path("data"), description="Folder that holds all that must be kept.")
    cache_dir: Path = Field(
        default_factory=lambda: user_cache_path("agentex"),
        description="Folder for files that can be made again (the converted encoder).",
    )
    host: str = Field(default="127.0.0.1", description="Address the API listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port the API listens on.")
    url: str | None = Field(default=None, description="Base URL that the terminal client talks to.")
    api_key: SecretStr | None = Field(
        default=None, description="API key the terminal client uses instead of a stored login."
    )

    admin_username: str = Field(default="admin", description="First administrator's name (first start).")
    admin_email: str = Field(default="admin@example.com", description="First administrator's e-mail.")
    admin_password: SecretStr | None = Field(
        default=None, description="First administrator's password; without it one is generated."
    )
    secret_key: SecretStr | None = Field(
        default=None, description="Encrypts provider keys; generated into the data folder when absent."
    )
    database_url: str | None = Field(default=None, description="PostgreSQL URL; without it SQLite in the data folder.")
    redis_url: str | None = Field(
        default=None, description="Redis or Valkey URL; without it a private server is started."
    )
    qdrant_url: str | None = Field(
        default=None, description="Qdrant server URL; without it Qdrant Edge in the data folder."
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="API key of the Qdrant server.")
    object_store_url: str | None = Field(
        default=None, description="s3://bucket/prefix; without it files in the data folder."
    )
    object_store_endpoint: str | None = Field(
        default=None, description="Endpoint of an S3-compatible store such as MinIO."
    )
    object_store_access_key: SecretStr | None = Field(default=None, description="S3 access key id.")
    object_store_secret_key: SecretStr | None = Field(default=None, description="S3 secret access key.")
    engine_socket: Path | None = Field(
        default=None, description="Unix socket of the engine; without it one in the runtime folder."
    )
    encoder_threads: int = Field(default=0, ge=0, description="Encoder threads; 0 means all cores.")

    embedding_models: Annotated[tuple[EmbeddingModelSetting, ...], NoDecode] = Field(
        default=(), description="Further embedding models, a JSON list: see the guide's settings."
    )
    model_downloads: bool = Field(
        default=False, description="Whether sentence-transformers models may be fetched by name."
    )
    index_optimise_points: int = Field(
        default=50_000,
        ge=0,
        description="Points of one embedding model from which on its index gets a graph; 0: never.",
    )

    llm_provider: str | None = Field(
        default=None, description="Language model provider, e.g. openai or ollama: see the guide's models."
    )
    llm_base_url: str | None = Field(
        default=None, description="Its address, or that of any OpenAI-compatible endpoint."
    )
    llm_api_key: SecretStr | None = Field(default=None, description="Key of that endpoint, if it needs one.")
    llm_model: str | None = Field(default=None, description="Model name asked for at that endpoint.")
    llm_options: Annotated[LlmOptions | None, NoDecode] = Field(
        default=None, description="What differs from the provider's preset, a JSON object: see the guide's models."
    )

    allowed_private_targets: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Private addresses that models and connections may lead to: host:port, separated by commas.",
    )

    file_private_targets: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Private addresses that files of messages are fetched from, for every user: host:port, by commas.",
    )

    tools_over_mcp_enabled: bool = Field(
        default=True, description="Serve callers search, passages and agents as tools over MCP, at /api/v1/mcp."
    )
    mcp_call_seconds: float = Field(default=60, gt=0, description="Longest call of a tool on an MCP server.")
    mcp_answer_seconds: float = Field(
        default=600, gt=0, description="How long a call on an MCP server stays open while a person is asked."
    )

    rerank_base_url: str | None = Field(
        default=None, description="Rerank endpoint, up to /rerank, e.g. https://api.jina.ai/v1."
    )
    rerank_api_key: SecretStr | None = Field(default=None, description="Key of that endpoint, if it needs one.")
    rerank_model: str | None = Field(default=None, description="Model name asked for at that endpoint.")

    max_sessions_per_user: int = Field(
        default=0, ge=0, description="Most sessions that one user may have; 0 means no limit."
    )
    search_top_k: int = Field(
        default=5,
        ge=1,
        le=100,
        description="Passages of a search where neither it nor the knowledge base says how many.",
    )
    max_upload_bytes: int = Field(default=100 * 2**20, ge=1, description="Largest upload in bytes.")
    max_attachment_bytes: int = Field(
        default=10 * 2**20, ge=1, description="Largest image or document attached to a message, in bytes."
    )
    attachment_link_seconds: int = Field(
        default=86_400, ge=60, le=7 * 86_400, description="How long the link to an attached image works."
    )
    max_import_bytes: int = Field(
        default=4 * 2**30, ge=1, description="Largest file of a knowledge base to import, in bytes."
    )
    user_quota_bytes: int = Field(default=0, ge=0, description="Bytes of files one user may keep; 0 means no limit.")
    source_folders: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(), description="Folders that administrators may keep knowledge bases in step with, by commas."
    )
    max_source_cache_bytes: int = Field(
        default=2**30,
        ge=2**20,
        description="Most that one fetch of a Git source, a query or a reader may bring, in bytes.",
    )
    llama_index_readers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Modules of LlamaIndex readers that administrators may run as sources, by commas; such as "
        "llama_index.readers.json. They connect and read files as they like.",
    )
    max_request_bytes: int = Field(default=4 * 2**20, ge=1024, description="Largest JSON body in bytes.")
    max_run_request_bytes: int = Field(
        default=32 * 2**20,
        ge=1024,
        description="Largest JSON body of a run, which carries the pictures and files of its messages, in bytes.",
    )
    max_query_characters: int = Field(default=4000, ge=1, description="Longest search query.")
    parse_timeout_seconds: float = Field(default=60, gt=0, description="Longest parse of one document.")
    parse_memory_bytes: int = Field(
        default=2**30, ge=2**27, description="Memory the parser child may use on one document."
    )
    parse_output_characters: int = Field(default=50_000_000, ge=1000, description="Most text one document may give.")
    parsers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Programs beside our own parsers that read documents, by commas: libreoffice converts old "
        "Office files (doc, xls, ppt); unstructured, and the services unstructured_api, docling and mineru, can be chosen "
        "per knowledge base and per upload.",
    )
    unstructured_dir: Path | None = Field(
        default=None,
        description="Virtual environment of the parser unstructured; without it the folder unstructured in that of "
        "Agentex.",
    )
    ocr_languages: str = Field(
        default="chi_sim+eng",
        pattern=r"^[A-Za-z0-9_]+(\+[A-Za-z0-9_]+)*$",
        description="Languages of text recognition in pictures, as Tesseract names them.",
    )
    ocr_data_dir: Path | None = Field(
        default=None, description="Folder of Tesseract's .traineddata files; without it where systems keep them."
    )
    ocr_timeout_seconds: float = Field(
        default=3600, gt=0, description="Longest text recognition in one document, beside its parse."
    )
    ingest_attempts: int = Field(default=3, ge=1, description="Tries before a document is failed.")
    ingest_concurrency: int = Field(default=4, ge=1, description="Documents one worker has in hand.")
    lease_seconds: float = Field(
        default=20,
        gt=0,
        # A lease that lies further ahead counts as written before a clock was set back.
        le=600,
        description="Life of a worker's lease on a document; at most 600.",
    )
    reconcile_seconds: float = Field(default=5, gt=0, description="Pause between reconciler rounds.")
    reindex_keep_hours: float = Field(
        default=72, ge=0, description="How long the passages from before a re-index are kept for the way back."
    )
    run_timeout_seconds: float = Field(
        default=300, gt=0, description="Longest agent run; after four fifths of it no more is done, only answered."
    )
    run_max_turns: int = Field(default=24, ge=1, description="Turns of the model that one agent run may take.")
    run_max_tokens: int = Field(default=400_000, ge=1, description="Tokens, in and out, that one agent run may take.")

    tool_policies: Annotated[dict[str, ToolPolicy], NoDecode] = Field(
        default={}, description="Bounds for agents' tools, a JSON object of auto, ask or never by tool name."
    )

    verify_streams: bool = Field(
        default=False,
        description="Check every stream of a run against AG-UI 1.0 as it goes out; what breaks a "
        "rule is logged as an error. For debugging: each reader costs about twice as much.",
    )

    memories_per_user: int = Field(
        default=1000, ge=1, le=10_000, description="Most long-term memories kept for one user."
    )

    metrics_token: SecretStr | None = Field(
        default=None, description="Token that opens /metrics to a scraper; without it administrators only."
    )
    rule_firings_per_minute: int = Field(
        default=600, ge=1, description="How often the rules of one person may fire within a minute."
    )
    rule_log_days: int = Field(
        default=30, ge=1, le=3650, description="How long the log of a rule is kept, of which at most 1,000 entries are."
    )
    backup_folder: Path | None = Field(
        default=None,
        description="Folder in which administrators make backups from the console; an absolute path, not in the data folder.",
    )
    backup_passphrase: SecretStr | None = Field(
        default=None, description="Passphrase that backups are encrypted with, and that opens encrypted ones."
    )
    audit_retention_days: int = Field(
        default=365, ge=0, le=36_500, description="How long the audit log is kept, in days; 0 keeps it for good."
    )

    documentation_enabled: bool = Field(
        default=True, description="Put Agentex's own documentation into a knowledge base at first start."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is logged."
    )
    log_format: Literal["json", "console"] = Field(default="json", description="Shape of a log line.")
    drain_seconds: float = Field(default=20, gt=0, description="Time a process has to finish on SIGTERM.")

    @model_validator(mode="before")
    @classmethod
    def _empty_is_absent(cls, values: dict[str, object]) -> dict[str, object]:
        # An empty secret is a mistake; starting with a generated one would hide it.
        return {name: value for name, value in values.items() if value != "" or name in _SECRETS}

    @field_validator(*_SECRETS)
    @classmethod
    def _refuse_sample_secrets(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and value.get_secret_value().strip().lower() in {"", "changeme"}:
            raise ValueError("is empty or the sample value: set a real secret or leave it out")
        return value

    @field_validator("host")
    @classmethod
    def _require_public_url(cls, value: str, info: ValidationInfo) -> str:
        # The provider sends people back to an address, and a wildcard is none.
        values = info.data
        if value in _WILDCARDS and values.get("oidc_issuer") and not values.get("oidc_public_url"):
            raise ValueError("is no address to come back to: set AGENTEX_OIDC_PUBLIC_URL")
        return value

    @field_validator("embedding_models", mode="before")
    @classmethod
    def _read_list(cls, value: object) -> object:
        return read_json(value, "list of models")

    @field_validator("llm_options", "tool_policies", mode="before")
    @classmethod
    def _read_object(cls, value: object) -> object:
        return read_json(value, "object")

    @field_validator("allowed_private_targets", "file_private_targets", mode="before")
    @classmethod
    def _read_targets(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(parse_host_port(entry).key for entry in value.split(",") if entry.strip())

    @field_validator("llama_index_readers", mode="before")
    @classmethod
    def _read_modules(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names = tuple(entry.strip() for entry in value.split(",") if entry.strip())
        if not all(part.isidentifier() for name in names for part in name.split(".")):
            raise ValueError("takes names of Python modules only")
        return names

    @field_validator("parsers", mode="before")
    @classmethod
    def _read_parsers(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names = tuple(dict.fromkeys(entry.strip().lower() for entry in value.split(",") if entry.strip()))
        if not SWITCHABLE.issuperset(names):
            raise ValueError(f"may name only: {', '.join(sorted(SWITCHABLE))}")
        return names

    @model_validator(mode="after")
    def _require_service_urls(self) -> "Settings":
        for name, field in SERVICE_URLS.items():
            if name in self.parsers and getattr(self, field) is None:
                raise ValueError(
                    f"AGENTEX_PARSERS names {name}: set AGENTEX_{field.upper()}, the address of that service"
                )
        return self

    @field_validator("source_folders", mode="before")
    @classmethod
    def _read_folders(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        paths = [Path(entry.strip()).expanduser() for entry in value.split(",") if entry.strip()]
        if not all(path.is_absolute() for path in paths):
            raise ValueError("takes absolute paths only")
        return tuple(Path(os.path.normpath(path)) for path in paths)

    @field_validator("backup_folder")
    @classmethod
    def _require_folder_elsewhere(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is None:
            return None
        folder, data_dir = value.expanduser(), info.data.get("data_dir")
        if not folder.is_absolute():
            raise ValueError("takes an absolute path only")
        folder = folder.resolve()
        # There it would be lost with what it is a backup of.
        if data_dir is not None and folder.is_relative_to(data_dir):
            raise ValueError("lies in the data folder: name a folder elsewhere, best on another disk")
        return folder

    @field_validator("embedding_models")
    @classmethod
    def _complete_models(cls, value: tuple[EmbeddingModelSetting, ...]) -> tuple[EmbeddingModelSetting, ...]:
        names = [model.name.lower() for model in value]
        if len(set(names)) != len(names):
            raise ValueError("two models have the same name")
        return tuple(model.with_key(read_variable) for model in value)

    @field_validator("data_dir", "cache_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().resolve()

    @property
    def is_local_only(self) -> bool:
        """Whether only this machine reaches the API: it listens on loopback, and no setting names a proxy before it."""
        is_public = any(url and not _is_local(url) for url in (self.oidc_public_url, self.url))
        return is_loopback_host(self.host) and not is_public and not self.names_proxies

    @property
    def browser_url(self) -> str:
        """Where browsers reach Agentex: on this machine, if no setting says it and the API listens everywhere."""
        host = "127.0.0.1" if self.host in _WILDCARDS else self.host
        return (self.oidc_public_url or f"http://{HostPort(host, self.port).key}").rstrip("/")

    @property
    def runtime_dir(self) -> Path:
        """Folder for sockets: in the data folder, or a short one if that path is too long."""
        inside = self.data_dir / "run"
        if len(os.fsencode(inside)) <= _LONGEST_RUNTIME_DIR:
            return inside
        digest = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"agentex-{os.getuid()}-{digest}"

    @property
    def effective_database_url(self) -> str:
        url = self.database_url or f"sqlite:///{self.data_dir / 'agentex.db'}"
        scheme, _, rest = url.partition("://")
        kind = scheme.partition("+")[0]
        drivers = {"postgres": "postgresql+asyncpg", "postgresql": "postgresql+asyncpg", "sqlite": "sqlite+aiosqlite"}
        return f"{drivers.get(kind, scheme)}://{rest}"

    @property
    def effective_redis_url(self) -> str:
        """The Redis URL, of the private server if none is set."""
        return self.redis_url or f"unix://{self.runtime_dir / 'redis.sock'}"

    @property
    def effective_engine_socket(self) -> Path:
        return self.engine_socket or self.runtime_dir / "engine.sock"

    @property
    def effective_encoder_threads(self) -> int:
        """Number of encoder threads: the usable cores, unless fewer are set."""
        if self.encoder_threads:
            return self.encoder_threads
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1


def _is_local(url: str) -> bool:
    try:
        return is_loopback_host(urlsplit(url).hostname or "")
    except ValueError:
        return False


def read_variable(name: str) -> str | None:
    """A variable that a setting refers to, such as ``OPENAI_API_KEY``."""
    return os.environ.get(name) or dotenv_values(".env").get(name)


def preferred_language() -> Literal["en", "zh"]:
    """The environment's language for messages: Chinese, else English."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale_name = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return "zh" if locale_name.lower().startswith("zh") else "en"


@lru_cache
def get_settings() -> Settings:
    """The settings of this process, read from the environment at the first call."""
    return Settings()


def override_settings(**values: str | int | Path | None) -> Settings:
    """Override the environment, for child processes too; None leaves a setting unchanged."""
    for name, value in values.items():
        if value is not None:
            os.environ[f"AGENTEX_{name.upper()}"] = str(value)
    get_settings.cache_clear()
    return get_settings()
