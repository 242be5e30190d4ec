"""Which parser reads a picture by what is installed on the server."""

import pytest

from core.settings import Settings
from ingestion.parsers import IMAGE_TYPES, choice
from ingestion.parsers.choice import ParserChoice, choice_for, format_support

SERVICE = {"parsers": "docling", "docling_url": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("fields", "recognises", "decodes", "readers"),
    [
        (SERVICE, True, True, {"image/png": "built_in", "image/heic": "built_in"}),
        (SERVICE, False, True, {"image/png": "docling", "image/tiff": "docling"}),
        ({}, False, False, {"image/png": "built_in", "image/heic": "built_in"}),
    ],
    ids=["ours", "no text recognition", "nothing"],
)
def test_picture_goes_to_another_parser_where_ours_lacks_something(
    fields, recognises, decodes, readers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(choice, "is_installed", lambda: recognises)
    monkeypatch.setattr(choice, "is_decodable", lambda _: decodes)
    settings = Settings(_env_file=None, **fields)
    others = {media_type for media_type, reader in readers.items() if reader != "built_in"}
    assert format_support(settings).also_read & IMAGE_TYPES >= others
    for media_type, reader in readers.items():
        assert choice_for(settings, media_type, None, ParserChoice()).parser == reader


def test_photo_goes_to_another_parser_where_only_its_decoder_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(choice, "is_installed", lambda: True)
    monkeypatch.setattr(choice, "is_decodable", lambda kind: kind != "heic")
    monkeypatch.setattr(choice, "reads", lambda _name, media_type, _settings: media_type in IMAGE_TYPES)
    settings = Settings(_env_file=None, **SERVICE)
    assert choice_for(settings, "image/heic", None, ParserChoice()).parser == "docling"
    assert choice_for(settings, "image/avif", None, ParserChoice()).parser == "built_in"
    assert choice_for(settings, "image/png", None, ParserChoice()).parser == "built_in"
