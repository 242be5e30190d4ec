"""Attached images: clean-up, signed links, ownership and deletion."""

import io
import zlib
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from struct import pack
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from agents.attachments import reencode_main, service
from agents.attachments.image_sanitizer import ImageSanitizer, detect_type
from agents.attachments.service import UNUSED_SECONDS, AttachmentLimits, AttachmentService, assign_to_session, get_many
from agents.attachments.signed_links import PREFIX, LinkSigner, parse_link
from agents.sessions import service as sessions
from core.auth.models import User
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import InvalidLink, LinkExpired
from core.errors.requests import (
    CorruptImage,
    EmptyFile,
    FileTooLarge,
    ImageTooLarge,
    QuotaExceeded,
    UnsupportedFileType,
)
from core.errors.server import ObjectStoreUnavailable
from core.security.signed_urls import UrlSigner
from kb_service.models import Attachment
from kb_service.object_storage.local import LocalObjectStore
from tests.agents.runs.helpers import register

pytestmark = pytest.mark.anyio
KINDS = ("PNG", "JPEG", "WEBP", "GIF")
SECRET = b"a secret of the installation"


def image_of(kind: str, size: tuple[int, int] = (40, 20), **options: object) -> bytes:
    written = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(written, kind, **options)
    return written.getvalue()


def flood(width: int, height: int) -> bytes:
    """A PNG whose header claims a size; there are few bytes behind it."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = pack(">I", zlib.crc32(kind + content))
        return pack(">I", len(content)) + kind + content + checksum

    header = pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def open_image(content: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(content))
    image.load()
    return image


@pytest.mark.parametrize("kind", KINDS)
async def test_image_is_drawn_anew_in_its_own_format(kind: str):
    picture = await ImageSanitizer().sanitize(image_of(kind))

    assert picture.mime_type == f"image/{kind.lower()}"
    assert (picture.width, picture.height) == (40, 20)
    assert open_image(picture.content).format == kind
    assert open_image(picture.content).size == (40, 20)


async def test_place_and_camera_are_dropped_and_the_picture_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "SecretCamera"
    exif.get_ifd(0x8825)[2] = (52.0, 30.0, 0.0)
    sent = image_of("JPEG", (40, 20), exif=exif, comment=b"SecretComment")
    assert b"SecretCamera" in sent
    picture = await ImageSanitizer().sanitize(sent)

    assert (picture.width, picture.height) == (20, 40)
    assert dict(open_image(picture.content).getexif()) == {}
    assert b"Secret" not in picture.content


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_but_pixels_is_kept(kind: str):
    words = PngImagePlugin.PngInfo()
    words.add_text("Comment", "SecretWords")
    options = {
        "PNG": {"pnginfo": words, "icc_profile": b"SecretProfile"},
        "JPEG": {"comment": b"SecretWords", "icc_profile": b"SecretProfile"},
        "WEBP": {"xmp": b"SecretWords", "icc_profile": b"SecretProfile"},
        "GIF": {"comment": b"SecretWords"},
    }
    sent = image_of(kind, **options[kind]) + b"<script>SecretScript</script>PK\x03\x04"
    assert b"SecretScript" in sent
    picture = await ImageSanitizer().sanitize(sent)

    assert b"Secret" not in picture.content
    assert b"PK\x03\x04" not in picture.content
    assert not {"comment", "exif", "icc_profile", "xmp"} & open_image(picture.content).info.keys()


async def test_of_an_animation_the_first_picture_stays():
    frames = [Image.new("RGB", (10, 10), colour) for colour in ("red", "blue")]
    for kind in ("GIF", "WEBP", "PNG"):
        written = io.BytesIO()
        frames[0].save(written, kind, save_all=True, append_images=frames[1:])
        still = open_image((await ImageSanitizer().sanitize(written.getvalue())).content)
        assert getattr(still, "n_frames", 1) == 1
        red, _, blue = still.convert("RGB").getpixel((5, 5))
        assert red > 200 > blue


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
async def test_every_kind_of_png_keeps_what_it_shows(mode: str):
    written = io.BytesIO()
    Image.new(mode, (8, 8), 1 if mode in {"1", "P"} else None).save(written, "PNG")
    assert open_image((await ImageSanitizer().sanitize(written.getvalue())).content).size == (8, 8)


async def test_transparency_stays():
    for kind in ("PNG", "WEBP", "GIF"):
        written = io.BytesIO()
        Image.new("RGBA", (8, 8), (255, 0, 0, 0)).save(written, kind)
        drawn = open_image((await ImageSanitizer().sanitize(written.getvalue())).content)
        assert drawn.convert("RGBA").getpixel((4, 4))[3] == 0


async def test_large_image_is_made_smaller():
    picture = await ImageSanitizer().sanitize(image_of("JPEG", (reencode_main.LONGEST_SIDE + 1000, 100)))
    assert picture.width == reencode_main.LONGEST_SIDE


@pytest.mark.parametrize("size", [(60_000, 60_000), (50_001, 1000), (2**31 - 1, 2**31 - 1)])
async def test_pixel_flood_is_refused_before_it_is_decoded(size: tuple[int, int]):
    with pytest.raises(ImageTooLarge):
        await ImageSanitizer().sanitize(flood(*size))


async def test_bomb_within_the_bound_of_pixels_but_without_data_is_damaged():
    with pytest.raises(CorruptImage):
        await ImageSanitizer().sanitize(flood(7000, 7000))


@pytest.mark.parametrize(
    "content",
    [b"%PDF-1.7\n", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html>", b"MZ\x90",
     b"RIFF\0\0\0\0AVI LIST", b"BM" + b"\0" * 60, b"II*\0" + b"\0" * 60, b"\0", b" " * 100,
     b"GIF90a" + b"\0" * 60, b"\n" + image_of("PNG"), b"%PDF-1.7\n" + image_of("JPEG")],
    ids=range(12),
)  # fmt: skip
async def test_what_is_none_of_the_four_kinds_is_refused_by_its_bytes(content: bytes):
    with pytest.raises(UnsupportedFileType):
        await ImageSanitizer().sanitize(content)


async def test_empty_file_is_refused():
    with pytest.raises(EmptyFile):
        await ImageSanitizer().sanitize(b"")


@pytest.mark.parametrize("kind", KINDS)
async def test_image_that_breaks_off_is_refused(kind: str):
    with pytest.raises(CorruptImage):
        await ImageSanitizer().sanitize(image_of(kind, (400, 400))[:60])


@given(junk=st.binary(max_size=300), kind=st.sampled_from(KINDS), cut=st.integers(0, 400))
def test_any_bytes_give_an_answer(junk: bytes, kind: str, cut: int):
    told, _ = reencode_main.answer(image_of(kind)[:cut] + junk)
    assert told.keys() in ({"fault"}, {"mime_type", "width", "height"})


@given(st.binary(max_size=40))
def test_bytes_are_told_by_their_beginning_only(junk: bytes):
    for kind in KINDS:
        assert detect_type(image_of(kind)[:16] + junk) == f"image/{kind.lower()}"


# Links


def make_links(seconds: int = 600) -> LinkSigner:
    return LinkSigner(UrlSigner(SECRET, "attachment links"), seconds=seconds)


def claim_of(url: str):
    return parse_link(url)


def test_link_is_taken_apart_as_it_was_made():
    now = utc_now()
    link = make_links().make(key := new_id(), "owner", now=now)
    claim = parse_link(link.url)

    assert claim.attachment_id == key
    assert claim.expires == int(now.timestamp()) + 600
    assert link.expires_at == now.replace(microsecond=0) + timedelta(seconds=600)
    assert make_links().is_valid(claim, "owner")
    assert not make_links().is_valid(claim, "somebody")
    assert not LinkSigner(UrlSigner(b"other", "attachment links"), seconds=1).is_valid(claim, "owner")
    assert not LinkSigner(UrlSigner(SECRET, "another use"), seconds=1).is_valid(claim, "owner")


@given(place=st.integers(0, 200), letter=st.sampled_from("0123456789abcdef"))
def test_link_with_one_altered_letter_is_not_ours(place: int, letter: str):
    links, now = make_links(), datetime.fromisoformat("2026-03-01T00:00:00Z")
    url = links.make("0" * 8 + "-0000-0000-0000-" + "0" * 12, "owner", now=now).url
    at = len(PREFIX) + place % (len(url) - len(PREFIX))
    altered = url[:at] + letter + url[at + 1 :]
    try:
        claim = parse_link(altered)
    except InvalidLink:
        return
    assert links.is_valid(claim, "owner") is (altered == url)


def test_facts_can_not_be_shifted_into_each_other():
    signer = UrlSigner(SECRET, "x")
    assert signer.sign("ab", "c") != signer.sign("a", "bc") != signer.sign("abc")


URL = make_links().make(new_id(), "owner", now=utc_now()).url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (f"https://evil.example{URL}", "other_host"),
        (f"//evil.example{URL}", "other_host"),
        (f"http://127.0.0.1:9{URL}", "other_host"),
        (f"https://kb.example@evil.example{URL}", "other_host"),
        (f"https://kb.example.evil.example{URL}", "other_host"),
        (f"file://kb.example{URL}", "other_host"),
        (f"javascript:{URL}", "other_host"),
        ("data:image/png;base64,AAAA", "other_host"),
        ("https://evil.example/picture.png", "other_host"),
        ("", "no_attachment_link"),
        ("https://[::1", "no_attachment_link"),
        (URL.replace("/content", ""), "no_attachment_link"),
        (URL.replace(PREFIX, f"{PREFIX}../"), "no_attachment_link"),
        (URL + "&x=1", "no_attachment_link"),
        (URL + "&expires=99999999999", "no_attachment_link"),
        (URL.partition("?")[0], "no_attachment_link"),
        (URL + "#x" + "y" * 3000, "no_attachment_link"),
    ],
)
def test_link_to_elsewhere_is_refused_by_name(url: str, reason: str):
    with pytest.raises(InvalidLink) as caught:
        parse_link(url, hosts=["kb.example"])
    assert caught.value.details["reason"] == reason


@pytest.mark.parametrize("host", ["kb.example", "KB.example:8443"])
def test_link_may_name_the_host_it_was_asked_at(host: str):
    assert parse_link(f"https://{host}{URL}", hosts=["kb.example", "kb.example:8443"])


# Rows and files


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "files")


@pytest.fixture
def attachments(database: Database, store: LocalObjectStore) -> AttachmentService:
    return AttachmentService(database, store, make_links(), limits=AttachmentLimits(100_000))


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


async def rows_in(database: Database) -> set[str]:
    from sqlmodel import select

    async with database.reading() as session:
        return {row.id for row in (await session.exec(select(Attachment))).all()}


async def test_image_is_found_by_its_owner_through_its_link(attachments: AttachmentService, principal: Principal):
    row = await attachments.add(principal, image_of("PNG"))
    link = attachments.link(row)

    assert (await attachments.resolve(link.url, principal)).id == row.id
    whole = f"http://localhost:8000{link.url}"
    assert (await attachments.resolve(whole, principal, hosts=["localhost:8000"])).id == row.id
    async with attachments.open(row) as path:
        assert open_image(path.read_bytes()).size == (40, 20)
        assert path.stat().st_size == row.size


async def test_links_of_others_and_forged_and_expired_ones_are_refused_by_name(
    attachments: AttachmentService, principal: Principal, database: Database
):
    row = await attachments.add(principal, image_of("PNG"))
    link, other = attachments.link(row), await register(database)
    forged = f"{PREFIX}{row.id}/content?" + urlencode({"expires": 9999999999, "signature": "0" * 64})
    unknown = make_links().make(new_id(), principal.user_id, now=utc_now()).url

    for url, who, reason in (
        (link.url, other, "foreign"),
        (forged, principal, "forged"),
        (unknown, principal, "forged"),
    ):
        with pytest.raises(InvalidLink) as caught:
            await attachments.resolve(url, who)
        assert caught.value.details["reason"] == reason
    later = link.expires_at + timedelta(seconds=1)
    with pytest.raises(LinkExpired):
        await attachments.resolve(link.url, principal, now=later)


async def test_link_of_an_account_that_is_switched_off_opens_nothing(
    attachments: AttachmentService, principal: Principal, database: Database
):
    row = await attachments.add(principal, image_of("PNG"))
    async with database.writing() as session:
        user = await session.get_one(User, principal.user_id)
        user.status = "disabled"
        session.add(user)
    with pytest.raises(InvalidLink):
        await attachments.resolve_claim(claim_of(attachments.link(row).url))


async def test_what_is_refused_leaves_no_row_and_no_file(
    database: Database, store: LocalObjectStore, principal: Principal
):
    small = AttachmentService(database, store, make_links(), limits=AttachmentLimits(100))
    with pytest.raises(FileTooLarge):
        await small.add(principal, image_of("PNG"))
    with pytest.raises(UnsupportedFileType):
        await small.add(principal, b"no image")
    assert await rows_in(database) == set()
    assert await store.keys() == []


async def test_quota_holds_for_images(database: Database, store: LocalObjectStore, principal: Principal):
    size = len((await ImageSanitizer().sanitize(image_of("PNG"))).content)
    limits = AttachmentLimits(100_000, quota_bytes=2 * size)
    attachments = AttachmentService(database, store, make_links(), limits=limits)
    for _ in range(2):
        await attachments.add(principal, image_of("PNG"))
    with pytest.raises(QuotaExceeded) as caught:
        await attachments.add(principal, image_of("PNG"))

    assert caught.value.details == {"used_bytes": 3 * size, "limit_bytes": 2 * size}
    assert len(await rows_in(database)) == len(await store.keys()) == 2
    await attachments.add(await register(database), image_of("PNG"))


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_image_that_can_not_be_read_in_time_is_not_shown(
    database: Database,
    store: LocalObjectStore,
    principal: Principal,
    monkeypatch: pytest.MonkeyPatch,
):
    attachments = AttachmentService(database, store, make_links(), limits=AttachmentLimits(100_000))
    there = await attachments.add(principal, image_of("PNG"))
    gone = await attachments.add(principal, image_of("PNG"))
    await store.delete(gone.storage_key)
    ids = [gone.id, there.id]

    (shown,) = await attachments.images_for_model(principal.user_id, ids)
    assert shown.mime_type == "image/jpeg"
    assert await attachments.images_for_model((await register(database)).user_id, ids) == []
    monkeypatch.setattr(service, "SHOWN_SECONDS", 0)
    assert await attachments.images_for_model(principal.user_id, ids) == []


class BrokenStore(LocalObjectStore):
    """Breaks after it wrote, as a store does whose answer is lost."""

    async def write(self, key: str, content: AsyncIterator[bytes]) -> None:
        await super().write(key, content)
        raise ObjectStoreUnavailable


async def test_store_that_fails_leaves_nothing(database: Database, tmp_path: Path, principal: Principal):
    store = BrokenStore(tmp_path / "files")
    attachments = AttachmentService(database, store, make_links(), limits=AttachmentLimits(100_000))
    with pytest.raises(ObjectStoreUnavailable):
        await attachments.add(principal, image_of("PNG"))
    assert await rows_in(database) == set()
    assert await store.keys() == []


async def test_unused_image_is_swept_after_a_day_and_a_used_one_with_its_session(
    attachments: AttachmentService,
    store: LocalObjectStore,
    database: Database,
    principal: Principal,
):
    unused, used = [await attachments.add(principal, image_of("PNG")) for _ in range(2)]
    async with unit_of_work(database) as work:
        session_row = await sessions.create(work, principal, title="", config={})
        await assign_to_session(work.session, [used], session_row.id)
    soon, late = utc_now() + timedelta(hours=23), utc_now() + timedelta(seconds=UNUSED_SECONDS + 60)

    assert await attachments.sweep(now=soon) == 0
    assert await attachments.sweep(now=late) == 1
    assert await rows_in(database) == {used.id}
    assert await store.keys() == [used.storage_key]
    async with database.reading() as session:
        assert set(await get_many(session, principal.user_id, [used.id, unused.id])) == {used.id}
        assert await get_many(session, "somebody", [used.id]) == {}

    async with unit_of_work(database) as work:
        await sessions.delete(work, [await sessions.get(work.session, principal, session_row.id)])
    with pytest.raises(InvalidLink):
        await attachments.resolve(attachments.link(used).url, principal)
    assert await attachments.sweep() == 1
    assert await rows_in(database) == set()
    assert await store.keys() == []


async def test_image_that_was_swept_can_not_be_taken_into_use(
    attachments: AttachmentService, database: Database, principal: Principal
):
    row = await attachments.add(principal, image_of("PNG"))
    await attachments.sweep(now=utc_now() + timedelta(days=2))
    async with unit_of_work(database) as work:
        created = await sessions.create(work, principal, title="", config={})
        with pytest.raises(InvalidLink):
            await assign_to_session(work.session, [row], created.id)


async def test_file_whose_upload_broke_off_goes_with_its_row(
    attachments: AttachmentService,
    store: LocalObjectStore,
    database: Database,
    principal: Principal,
):
    row = await attachments.add(principal, image_of("PNG"))
    async with database.writing() as session:
        promised = await session.get_one(Attachment, row.id)
        promised.stored_at = None
        session.add(promised)
    with pytest.raises(InvalidLink):
        await attachments.resolve(attachments.link(row).url, principal)
    assert await attachments.sweep(now=utc_now() + timedelta(days=2)) == 1
    assert await store.keys() == []
