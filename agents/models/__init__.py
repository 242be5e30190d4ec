"""The registry of model providers: which one answers follows from the settings."""

import httpx

from agents.models.extractive import Extractive
from agents.models.openai_compatible import Endpoint, OpenAICompatible
from agents.models.port import ChatModel
from core.settings import Settings


def configured_model(settings: Settings, client: httpx.AsyncClient) -> ChatModel:
    """The model of the settings; the offline one unless an endpoint and a model are named."""
    if not settings.llm_base_url or not settings.llm_model:
        return Extractive()
    endpoint = Endpoint(settings.llm_base_url, settings.llm_model, settings.llm_api_key)
    return OpenAICompatible(endpoint, client)
