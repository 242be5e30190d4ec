"""Text recognition: pictures and scanned pages, in the parser child and out of it."""

import io
import random
from collections.abc import Sequence
from difflib import SequenceMatcher

import psutil
import pytest
from PIL import Image, ImageChops, ImageDraw, ImageOps
from PIL.TiffImagePlugin import IFDRational

from core.types.text_boxes import TextBox
from ingestion.parsers import parser_for
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.image import ocr, preprocess
from ingestion.parsers.image import parser as pictures
from ingestion.parsers.image.ocr import GreyImage, OcrResult, OcrSettings, is_ready
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.sandbox.client import ParserChild
from ingestion.parsers.sandbox.protocol import ParseRequest
from tests.fixtures.files.hostile_documents import page_pdf
from tests.fixtures.files.sample_files import scanned_pdf
from tests.fixtures.paths import DATA, PARSER_DATA

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not is_ready(), reason="no text recognition here: agentex[ocr] and its language data"),
]
ENGLISH, CHINESE = "backup runs every night", "备份每天凌晨两点运行"
NOTICE = PARSER_DATA / "notice.png"


@pytest.fixture
async def child():
    child = ParserChild()
    yield child
    await child.close()


@pytest.fixture
def configured():
    yield lambda settings: ocr.configure(settings, grant_time=lambda _: None)
    ocr.configure(OcrSettings(), grant_time=lambda _: None)


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


def encode_image(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


async def test_scanned_page_and_picture_are_read_in_the_child(child, tmp_path):
    scan = await child.parse(put(tmp_path, "a.pdf", scanned_pdf()), "application/pdf")
    shot = await child.parse(NOTICE, "image/png")
    for parsed in (scan, shot):
        assert ENGLISH in parsed.text
        assert CHINESE in parsed.text
        assert parsed.warnings == ("recognised",)
        assert [element.page for element in parsed.elements] == [1, 1]


async def test_child_is_light_until_a_picture_is_read_and_replaced_after_a_heavy_one(tmp_path):
    child = ParserChild(recycle_bytes=70 * 2**20)
    await child.parse(PARSER_DATA / "guide.md", "text/markdown")
    await child.parse(PARSER_DATA / "stock.xlsx", MEDIA["xlsx"])
    first = child.pid
    assert psutil.Process(first).memory_info().rss < 60 * 2**20
    await child.parse(NOTICE, "image/png")
    assert child.pid == first
    await child.parse(PARSER_DATA / "guide.md", "text/markdown")
    assert child.pid != first
    assert psutil.Process(child.pid).memory_info().rss < 60 * 2**20
    await child.close()


MEDIA = {"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}


async def test_recognition_has_time_of_its_own_and_no_more(child, tmp_path):
    path = put(tmp_path, "a.pdf", scanned_pdf())
    short = ParseLimits(seconds=0.05, recognition_seconds=0.05)
    with pytest.raises(ParseFailure) as caught:
        await child.parse(path, "application/pdf", limits=short)
    assert caught.value.reason == "parse_timeout"
    assert CHINESE in (await child.parse(path, "application/pdf")).text


async def test_each_page_has_its_time_and_no_page_has_that_of_all(child, tmp_path):
    book = put(tmp_path, "book.pdf", scanned_pdf(pages=10))
    # Less than all pages take together.
    parsed = await child.parse(book, "application/pdf", limits=ParseLimits(picture_seconds=1.5))
    assert parsed.pages == 10
    noise = Image.frombytes("L", (3000, 2000), random.Random(1).randbytes(6_000_000))
    picture = put(tmp_path, "noise.png", encode_image(noise, "PNG"))
    with pytest.raises(ParseFailure) as caught:
        await child.parse(picture, "image/png", limits=ParseLimits(picture_seconds=0.1))
    assert caught.value.reason == "parse_timeout"


async def test_recognition_says_how_far_it_is(child, tmp_path):
    told: list[int] = []

    async def hear(percent: int) -> None:
        told.append(percent)

    path = put(tmp_path, "a.pdf", scanned_pdf(pages=12))
    request = ParseRequest(path, "application/pdf", ParseLimits())
    (parsed,) = await child.parse_each([request], listener=hear)
    assert parsed.pages == 12
    assert told == sorted(set(told))
    assert told
    assert all(0 < percent < 100 for percent in told)


async def test_who_hears_how_far_it_is_may_end_it(child, tmp_path):
    async def stop(_: int) -> None:
        raise LookupError

    path = put(tmp_path, "a.pdf", scanned_pdf(pages=12))
    with pytest.raises(LookupError):
        await child.parse_each([ParseRequest(path, "application/pdf", ParseLimits())], listener=stop)
    assert child.pid is None
    assert (await child.parse(PARSER_DATA / "guide.md", "text/markdown")).text


def test_each_page_of_a_tiff_is_read(tmp_path):
    with Image.open(NOTICE) as image:
        grey = image.convert("L")
        blank = Image.new("L", grey.size, 255)
        content = encode_image(grey, "TIFF", save_all=True, append_images=[blank, grey], dpi=(300, 300))
    parsed = parser_for("image/tiff")(put(tmp_path, "a.tiff", content), ParseLimits())
    assert parsed.pages == 3
    assert [element.page for element in parsed.elements] == [1, 1, 3, 3]
    with pytest.raises(ParseFailure) as caught:
        parser_for("image/tiff")(tmp_path / "a.tiff", ParseLimits(pages=2))
    assert caught.value.reason == "too_many_pages"


def test_picture_of_a_whole_chat_is_read_in_parts_that_cut_no_line(tmp_path):
    notice = Image.open(NOTICE).convert("L")
    notice = notice.resize((1_400, notice.height * 1_400 // notice.width))
    chat = Image.new("L", (notice.width, 33_500), 255)
    # A part of an even height would end in the middle of the second one's first Chinese line.
    for top in (0, 8_000 - 313, chat.height - notice.height):
        chat.paste(notice, (0, top))
    path = put(tmp_path, "a.png", encode_image(chat, "PNG"))
    parsed = parser_for("image/png")(path, ParseLimits())
    assert parsed.pages == 1
    assert parsed.text.count(ENGLISH) == parsed.text.count(CHINESE) == 3
    ink, area = covered(chat, parsed.boxes)
    assert ink > 0.97
    assert area < 0.01


def test_picture_that_is_too_wide_to_be_read_says_so(tmp_path):
    path = put(tmp_path, "a.png", encode_image(Image.new("L", (33_000, 10), 255), "PNG"))
    with pytest.raises(ParseFailure) as caught:
        parser_for("image/png")(path, ParseLimits())
    assert caught.value.reason == "image_too_large"


def test_picture_is_turned_upright_and_set_on_white(tmp_path):
    with Image.open(NOTICE) as image:
        exif = Image.Exif()
        exif[0x0112] = 6
        turned = image.convert("L").rotate(90, expand=True)
        content = encode_image(turned, "JPEG", exif=exif, quality=95, dpi=(300, 300))
        grey = image.convert("L")
        black = Image.new("L", grey.size, 0)
        clear = Image.merge("RGBA", (black, black, black, ImageOps.invert(grey)))
        transparent = encode_image(clear, "PNG", dpi=(300, 300))
    parsed = parser_for("image/jpeg")(put(tmp_path, "a.jpg", content), ParseLimits())
    assert ENGLISH in parsed.text
    parsed = parser_for("image/png")(put(tmp_path, "a.png", transparent), ParseLimits())
    assert ENGLISH in parsed.text


def test_of_an_animation_the_first_picture_is_read(tmp_path):
    with Image.open(NOTICE) as image:
        grey = image.convert("L")
        blank = Image.new("L", grey.size, 255)
        content = encode_image(grey, "PNG", save_all=True, append_images=[blank], dpi=(300, 300))
    parsed = parser_for("image/png")(put(tmp_path, "a.png", content), ParseLimits())
    assert parsed.pages == 1
    assert ENGLISH in parsed.text


def test_small_letters_of_a_screenshot_are_read(tmp_path):
    with Image.open(NOTICE) as image:
        small = image.convert("L").resize((500, 187), Image.Resampling.LANCZOS)
    parsed = parser_for("image/png")(put(tmp_path, "a.png", encode_image(small, "PNG")), ParseLimits())
    assert "backup" in parsed.text


def similar(wanted: str, text: str) -> float:
    """The share of the wanted characters that are in the text, one after the other."""
    blocks = SequenceMatcher(None, wanted, text, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(wanted)


def grainy(image):
    """As a camera in a dark room leaves it."""
    grain = Image.effect_noise(image.size, 60)
    return ImageChops.add(image, grain, offset=-128)


def on_its_side_and_tilted(image):
    return image.rotate(96, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


STATES = {
    "upside down": lambda image: image.rotate(180),
    "on its left side": lambda image: image.rotate(90, expand=True),
    "on its right side": lambda image: image.rotate(270, expand=True),
    "tilted": lambda image: image.rotate(7, Image.Resampling.BICUBIC, expand=True, fillcolor=255),
    "tilted the other way": lambda image: image.rotate(-4, Image.Resampling.BICUBIC, expand=True, fillcolor=255),
    "on its side and tilted": on_its_side_and_tilted,
    "white on black and tilted": lambda image: ImageOps.invert(image).rotate(5, Image.Resampling.BICUBIC, expand=True),
    "grainy": grainy,
    "with letters of a poster": lambda image: image.resize((4500, 1680)),
    "with letters of a screen": lambda image: image.resize((500, 187), Image.Resampling.LANCZOS),
}


BLACK_BEYOND_WORDS = ("grainy", "white on black and tilted")


def covered(page: Image.Image, boxes: Sequence[TextBox]) -> tuple[float, float]:
    """The share of a page's ink that its boxes cover, and their share of the page."""
    mask = Image.new("L", page.size, 0)
    for box in boxes:
        (left, top), (right, bottom) = (
            (page.width * x / 10_000, page.height * y / 10_000)
            for x, y in ((box.left, box.top), (box.left + box.width, box.top + box.height))
        )
        ImageDraw.Draw(mask).rectangle((left, top, right, bottom), fill=255)
    ink = page.convert("L").point(lambda shade: 255 if shade < 128 else 0)
    both = ImageChops.multiply(ink, mask)
    return both.histogram()[255] / ink.histogram()[255], mask.histogram()[255] / (page.width * page.height)


@pytest.mark.parametrize("kind", ["PNG", "PDF"])
@pytest.mark.parametrize("state", STATES)
def test_page_is_read_in_whatever_state_it_came(tmp_path, state: str, kind: str):
    with Image.open(NOTICE) as image:
        page = STATES[state](image.convert("L"))
    content = encode_image(page, kind, dpi=(300, 300), resolution=72)
    media_type = "image/png" if kind == "PNG" else "application/pdf"
    parsed = parser_for(media_type)(put(tmp_path, "a", content), ParseLimits())
    assert ENGLISH in parsed.text
    # Turning by a few degrees blurs: a character of the test's picture may be taken for another.
    assert similar(CHINESE, parsed.text) >= 0.9
    assert parsed.warnings == ("recognised",)
    if state not in BLACK_BEYOND_WORDS:
        ink, area = covered(page, parsed.boxes)
        assert ink > 0.97
        # Upright the lines take 0.17; what is tilted needs more, and loses little.
        assert area < 0.34


class Read:
    """Reads the same in every picture, and keeps their sizes."""

    def __init__(self, reading: OcrResult):
        self.reading = reading
        self.pictures = []

    def read(self, picture):
        self.pictures.append(picture)
        return self.reading


@pytest.mark.parametrize("angle", [0, 1, 90, 180])
def test_page_that_needs_nothing_is_read_once_and_as_it_is(angle: int):
    with Image.open(NOTICE) as image:
        grey = image.convert("L").rotate(angle, expand=True, fillcolor=255)
    picture = GreyImage(grey.tobytes(), grey.width, grey.height, grey.width, 300)
    recogniser = Read(OcrResult(("text",), confidence=90.0))
    assert preprocess.read(recogniser, picture).paragraphs == ("text",)
    assert recogniser.pictures == [picture]


@pytest.mark.parametrize("size", [(900, 20_000), (7_000, 7_100), (40_000, 30), (1, 1)])
@pytest.mark.parametrize("line_height", [0.0, 3.0, 12.0, 400.0])
def test_no_picture_is_made_larger_than_can_be_read(size: tuple[int, int], line_height: float):
    recogniser = Read(OcrResult(("text",), confidence=40.0, line_height=line_height))
    width, height = size
    preprocess.read(recogniser, GreyImage(b"\xff" * (width * height), width, height, width))
    for picture in recogniser.pictures[1:]:
        assert max(picture.width, picture.height) <= max(ocr.MAX_SIDE, *size)
        assert picture.width * picture.height <= 100_100_000


def test_line_across_a_page_does_not_turn_it(tmp_path):
    with Image.open(NOTICE) as image:
        page = Image.new("L", (image.width, 2 * image.height), 255)
        page.paste(image.convert("L"))
    height = page.height
    ImageDraw.Draw(page).line([(0, height - 400), (page.width, height - 110)], fill=0, width=14)
    parsed = parser_for("image/png")(put(tmp_path, "a.png", encode_image(page, "PNG")), ParseLimits())
    assert ENGLISH in parsed.text
    assert CHINESE in parsed.text


@pytest.mark.parametrize("size", [(1_000, 3_000), (300, 33_000)])
def test_blank_picture_is_read_as_it_is_and_has_no_text(size: tuple[int, int], tmp_path):
    recogniser = Read(OcrResult())
    width, height = size
    preprocess.read(recogniser, GreyImage(b"\xff" * (width * height), width, height, width))
    assert (recogniser.pictures[0].width, recogniser.pictures[0].height) == size
    blank = encode_image(Image.new("L", size, 255), "PNG")
    with pytest.raises(ParseFailure) as caught:
        parser_for("image/png")(put(tmp_path, "a.png", blank), ParseLimits())
    assert caught.value.reason == "empty_text"


@pytest.mark.parametrize("dpi", [(0, 0), (1, 0), (10**9, 1)])
def test_resolution_that_is_none_is_passed_over(dpi: tuple[int, int], tmp_path):
    value = IFDRational(*dpi)
    with Image.open(NOTICE) as image:
        content = encode_image(image.convert("L"), "TIFF", tiffinfo={282: value, 283: value, 296: 2})
    parsed = parser_for("image/tiff")(put(tmp_path, "a.tiff", content), ParseLimits())
    assert ENGLISH in parsed.text


def test_page_as_large_as_a_town_is_blank(tmp_path):
    large = scanned_pdf().replace(b"360.0 134.4", b"2000000 2000000")
    assert b"2000000" in large
    with pytest.raises(ParseFailure) as caught:
        parser_for("application/pdf")(put(tmp_path, "a.pdf", large), ParseLimits())
    assert caught.value.reason == "empty_text"


def test_picture_beyond_the_limit_is_refused_before_it_is_decoded():
    with pytest.raises(ParseFailure) as caught:
        parser_for("image/png")(NOTICE, ParseLimits(image_pixels=10_000))
    assert caught.value.reason == "image_too_large"


async def test_photos_of_telephones_are_read_in_the_child(child, tmp_path):
    avif = put(tmp_path, "a.avif", encode_image(Image.open(NOTICE).convert("L"), "AVIF"))
    for path, media_type in ((PARSER_DATA / "notice.heic", "image/heic"), (avif, "image/avif")):
        parsed = await child.parse(path, media_type)
        assert ENGLISH in parsed.text
        assert CHINESE in parsed.text
    # Under the name of another picture, as people send them on.
    renamed = put(tmp_path, "a.jpg", (PARSER_DATA / "notice.heic").read_bytes())
    assert ENGLISH in (await child.parse(renamed, "image/jpeg")).text


@pytest.mark.parametrize(
    ("cut", "reason"),
    [(None, "image_too_large"), (40, "corrupt_image"), (300, "corrupt_image"), (9000, "corrupt_image")],
)
async def test_huge_and_damaged_photos_fail_with_their_reasons(child, tmp_path, cut, reason):
    source = DATA / "pictures" / "flood.heic" if cut is None else PARSER_DATA / "notice.heic"
    path = put(tmp_path, "a.heic", source.read_bytes()[:cut])
    with pytest.raises(ParseFailure) as caught:
        await child.parse(path, "image/heic")
    assert caught.value.reason == reason


def test_photo_without_its_decoder_says_so(monkeypatch):
    monkeypatch.setattr(pictures, "is_decodable", lambda _: False)
    with pytest.raises(ParseFailure) as caught:
        parser_for("image/heic")(PARSER_DATA / "notice.heic", ParseLimits())
    assert caught.value.reason == "decoder_missing"
    assert "agentex[heic]" in caught.value.next_action_zh


def test_without_language_data_pictures_say_so_and_scans_have_no_text_layer(configured, tmp_path):
    configured(OcrSettings(data_dir=str(tmp_path)))
    with pytest.raises(ParseFailure) as caught:
        parser_for("image/png")(NOTICE, ParseLimits())
    assert caught.value.reason == "recognition_missing"
    with pytest.raises(ParseFailure) as caught:
        parser_for("application/pdf")(put(tmp_path, "a.pdf", scanned_pdf()), ParseLimits())
    assert caught.value.reason == "no_text_layer"


def test_languages_that_are_not_installed_are_passed_over(configured):
    configured(OcrSettings("xxx+eng"))
    assert ENGLISH in parser_for("image/png")(NOTICE, ParseLimits()).text


def test_pdf_with_a_text_layer_is_not_recognised(tmp_path, monkeypatch):
    monkeypatch.setattr(ocr, "OcrEngine", None)
    parsed = parser_for("application/pdf")(put(tmp_path, "a.pdf", page_pdf()), ParseLimits())
    assert (parsed.text, parsed.warnings) == ("ab", ())
