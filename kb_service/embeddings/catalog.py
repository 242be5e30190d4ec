"""Catalog of the supported embedding models."""

from dataclasses import dataclass, replace

from core.errors.requests import UnknownEmbeddingModel
from core.errors.server import UnusableSetting
from core.settings import Settings, get_settings
from core.settings.embeddings import EmbeddingModelSetting
from kb_service.embeddings.weight_packages import e5_weights

# Languages assumed of a multilingual model; fusion only asks whether a script is covered.
_MULTILINGUAL = frozenset({"ar", "de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"})
_ENGLISH = frozenset({"en"})
_CHINESE = frozenset({"zh"})
_DEFAULT_WINDOW = 512
# What the model card of intfloat/multilingual-e5-small names.
_E5_CODES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq "
    "sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)


@dataclass(frozen=True)
class EmbeddingModel:
    """A model's properties, as fusion, splitters, indexes and encoders read them.

    Args:
        languages: ISO 639-1 codes it was trained for.
        window_tokens: maximum input length, special tokens included.
        query_prefix: the prefix of queries that it was trained with.
        served: whether this installation can run it.
        source: None for the built-in models.
        shortened: ``dimension`` is not the model's own and must be sent to an endpoint.
    """

    name: str
    dimension: int
    languages: frozenset[str]
    window_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    served: bool = False
    source: EmbeddingModelSetting | None = None
    shortened: bool = False


MINILM = EmbeddingModel("all-MiniLM-L6-v2", 384, _ENGLISH, 256, served=True)
MULTILINGUAL_E5 = EmbeddingModel(
    "multilingual-e5-small",
    384,
    frozenset(_E5_CODES.split()),
    512,
    "query: ",
    "passage: ",
    served=e5_weights() is not None,
)
BUILT_IN = tuple(model for model in (MULTILINGUAL_E5, MINILM) if model.served)
"""The models whose weights are installed with Agentex, the default first."""
DEFAULT = BUILT_IN[0]
"""The model of new knowledge bases: the multilingual one where its weights are installed."""

_BGE_EN = "Represent this sentence for searching relevant passages: "
_BGE_ZH = "为这个句子生成表示以用于检索相关文章："
# Names in documentation, clients and copied configuration: known, so that callers can fall back to the default and
# report it, while misspelt names are refused.
_KNOWN = (
    EmbeddingModel("all-mpnet-base-v2", 768, _ENGLISH, 384),
    EmbeddingModel("bge-large-en-v1.5", 1024, _ENGLISH, 512, _BGE_EN),
    EmbeddingModel("bge-large-zh-v1.5", 1024, _CHINESE, 512, _BGE_ZH),
    EmbeddingModel("bge-m3", 1024, _MULTILINGUAL, 8192),
    EmbeddingModel("bge-small-en-v1.5", 384, _ENGLISH, 512, _BGE_EN),
    EmbeddingModel("bge-small-zh-v1.5", 512, _CHINESE, 512, _BGE_ZH),
    MULTILINGUAL_E5,
    EmbeddingModel("multilingual-e5-large", 1024, _MULTILINGUAL, 512, "query: ", "passage: "),
    EmbeddingModel("nomic-embed-text", 768, _ENGLISH, 8192, "search_query: ", "search_document: "),
    EmbeddingModel("paraphrase-multilingual-MiniLM-L12-v2", 384, _MULTILINGUAL, 128),
    EmbeddingModel("text-embedding-3-large", 3072, _MULTILINGUAL, 8191),
    EmbeddingModel("text-embedding-3-small", 1536, _MULTILINGUAL, 8191),
    EmbeddingModel("text-embedding-ada-002", 1536, _MULTILINGUAL, 8191),
)
_BY_NAME = {model.name.lower(): model for model in _KNOWN}


def served_models(settings: Settings | None = None) -> list[EmbeddingModel]:
    """The models this installation can run, the default first; by default of this process's settings."""
    return [*BUILT_IN, *(_configured(entry) for entry in (settings or get_settings()).embedding_models)]


def resolve(name: str) -> EmbeddingModel:
    """The model of this name; case and an organisation in front (``BAAI/bge-m3``) do not matter."""
    key = _key(name)
    ours = {model.name.lower(): model for model in served_models()}
    model = ours.get(key) or _BY_NAME.get(key)
    if model is None:
        raise UnknownEmbeddingModel(field="embedding_model", served=[model.name for model in ours.values()])
    return model


def _key(name: str) -> str:
    return name.strip().rpartition("/")[2].lower()


def _configured(entry: EmbeddingModelSetting) -> EmbeddingModel:
    if any(_key(entry.name) == model.name.lower() for model in BUILT_IN):
        raise _unusable(entry, "is built in and needs no entry")
    preset = _BY_NAME.get(_key(entry.name)) or _BY_NAME.get(_key(entry.model or ""))
    if preset is None and (entry.dimension is None or entry.languages is None):
        raise _unusable(entry, "is not a known model: give its dimension and languages")
    base = preset or EmbeddingModel(entry.name, 0, frozenset(), _DEFAULT_WINDOW)
    overrides = {
        "dimension": entry.dimension,
        "languages": entry.languages,
        "window_tokens": entry.window_tokens,
        "query_prefix": entry.query_prefix,
        "passage_prefix": entry.passage_prefix,
    }
    capabilities = {key: value for key, value in overrides.items() if value is not None}
    return replace(
        base,
        name=entry.name,
        served=True,
        source=entry,
        shortened=preset is not None and entry.dimension not in {None, preset.dimension},
        **capabilities,
    )


def _unusable(entry: EmbeddingModelSetting, reason: str) -> UnusableSetting:
    return UnusableSetting(setting="AGENTEX_EMBEDDING_MODELS", error=f"{entry.name} {reason}")
