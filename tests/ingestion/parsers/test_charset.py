"""Recognition of character encodings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.parsers.text.charset import (
    DecodedText,
    decode,
    forced_codec,
    selectable_codec,
    selectable_codecs,
    wide_form,
)
from ingestion.parsers.text_cleanup import clean, flow, flow_lines

SIMPLIFIED = (
    "知识库问答系统把用户上传的文档切分成段落，并为每个段落计算向量。检索时同时使用关键词和语义两种方式，"
    "再把结果合并排序。如果没有找到足够可靠的依据，系统应当明确地告诉用户，而不是编造答案。\n"
    "数据库保存事实，队列只负责唤醒。苹果、香蕉和橙子的价格分别是 3.5 元、2 元和 4 元。"
)
TRADITIONAL = (
    "知識庫問答系統把使用者上傳的文件切分成段落，並為每個段落計算向量。檢索時同時使用關鍵詞和語義兩種方式，"
    "再把結果合併排序。如果沒有找到足夠可靠的依據，系統應當明確地告訴使用者，而不是編造答案。"
)
JAPANESE = (
    "ナレッジベースは、利用者がアップロードした文書を段落に分割し、それぞれの段落についてベクトルを計算します。"
    "検索では、キーワードと意味の両方を使い、結果をまとめて並べ替えます。東京の天気は晴れでした。"
)
KOREAN = (
    "지식 베이스는 사용자가 올린 문서를 문단으로 나누고 각 문단의 벡터를 계산합니다. 검색할 때에는 낱말과 "
    "의미를 함께 사용하며 결과를 합쳐서 순서를 매깁니다. 충분한 근거를 찾지 못하면 그 사실을 알려 줍니다."
)
RUSSIAN = (
    "База знаний делит загруженные документы на абзацы и вычисляет вектор для каждого из них. При поиске "
    "используются и ключевые слова, и смысл. Съешь же ещё этих мягких французских булок, да выпей чаю."
)
FRENCH = (
    "La base de connaissances découpe les documents téléversés en paragraphes et calcule un vecteur pour "
    "chacun d’eux. À défaut de preuves, le système l’indique clairement : « aucune réponse fiable »."
)
GERMAN = (
    "Die Wissensdatenbank teilt hochgeladene Dokumente in Absätze. Größere Änderungen müssen geprüft "
    "werden, bevor sie öffentlich verfügbar sind. Österreich, Straße, Fuß, Übung macht den Meister."
)
SPANISH = (
    "La base de conocimiento divide los documentos en párrafos. ¿Dónde está el niño? ¡Qué sorpresa! El "
    "señor Núñez llegó mañana a las tres; también habló con José, según él."
)
POLISH = (
    "Baza wiedzy dzieli przesłane dokumenty na akapity i oblicza wektor każdego z nich. Zażółć gęślą "
    "jaźń. Jeśli nie znajdzie źródeł, mówi o tym wprost."
)
GREEK = "Η βάση γνώσεων χωρίζει τα έγγραφα σε παραγράφους και υπολογίζει ένα διάνυσμα για κάθε μία."
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-8-sig")
CASES = [
    *((SIMPLIFIED, codec) for codec in ("gb18030", "gbk", "gb2312", "utf-8", *WIDE)),
    *((TRADITIONAL, codec) for codec in ("big5", "cp950", "gb18030", *WIDE)),
    *((JAPANESE, codec) for codec in ("shift_jis", "cp932", "euc_jp", "iso2022_jp", *WIDE)),
    *((KOREAN, codec) for codec in ("euc_kr", "cp949", *WIDE)),
    *((RUSSIAN, codec) for codec in ("koi8_r", "cp1251", "cp866", "iso8859_5", *WIDE)),
    *((text, codec) for text in (FRENCH, GERMAN, SPANISH) for codec in ("cp1252", *WIDE)),
    (GERMAN, "mac_roman"),
    (POLISH, "cp1250"),
    (POLISH, "iso8859_2"),
    (GREEK, "cp1253"),
]


@pytest.mark.parametrize(("text", "codec"), CASES)
def test_encoding_is_named_as_it_is_chosen(text, codec):
    named = decode(text.encode(codec)).encoding
    assert named == selectable_codec(named) or named == "utf-8-sig"


def test_declared_encoding_is_named_alike():
    data = RUSSIAN.encode("koi8-r")
    assert decode(data, declared="koi8_r") == decode(data, declared="KOI8-R")
    assert decode(data, declared="koi8_r").encoding == "koi8-r"


@pytest.mark.parametrize(("text", "codec"), CASES)
def test_text_comes_back_without_warning_when_it_is_long_enough(text, codec):
    decoded = decode(text.encode(codec))
    assert decoded.text == text
    assert decoded.warnings == ()
    assert decoded.confidence > 0.6


@pytest.mark.parametrize(("text", "codec"), CASES)
def test_start_of_text_comes_back_or_warns(text, codec):
    start = text[:48]
    decoded = decode(start.encode(codec))
    assert decoded.text == start or decoded.warnings == ("encoding",)


def test_few_bad_bytes_leave_utf8_readable_with_a_warning():
    decoded = decode("知识库 wörld ".encode() * 20 + b"\xff\xfe")
    assert decoded.text.startswith("知识库 wörld 知识库")
    assert decoded.encoding == "utf-8"
    assert decoded.warnings == ("encoding",)


def test_stray_nuls_do_not_make_utf16():
    for text in ("name\0value\0" * 20, "知识库\0问答\0" * 20, "a line\0 with one nul " * 20):
        decoded = decode(text.encode())
        assert (decoded.encoding, decoded.text) == ("utf-8", text)


def test_nuls_in_a_chinese_legacy_text_do_not_garble_it():
    decoded = decode(SIMPLIFIED.replace("。", "。\0").encode("gb18030"))
    assert decoded.text.replace("\0", "") == SIMPLIFIED


def test_one_bad_byte_far_inside_a_legacy_text_warns():
    data = (SIMPLIFIED * 200).encode("gb18030")
    decoded = decode(data[:30_000] + b"\xff" + data[30_000:])
    assert decoded.encoding == "gb18030"
    assert decoded.text.startswith(SIMPLIFIED)
    assert decoded.warnings == ("encoding",)


def test_declared_encoding_is_believed_only_if_it_fits():
    assert decode("Öl".encode("cp1252"), declared="cp1252").text == "Öl"
    assert decode("é".encode(), declared="cp1252").text == "é"
    assert decode(SIMPLIFIED.encode("gbk"), declared="ascii").text == SIMPLIFIED
    assert decode(SIMPLIFIED.encode("gbk"), declared="no-such-codec").text == SIMPLIFIED


def test_legacy_text_behind_a_long_ascii_head_is_found():
    decoded = decode(b"plain ascii line\n" * 10_000 + SIMPLIFIED.encode("gbk"))
    assert decoded.text.endswith(SIMPLIFIED)


@given(st.binary(max_size=300))
def test_any_bytes_can_be_decoded(data):
    decoded = decode(data)
    assert 0 <= decoded.confidence <= 1
    assert "\x00" not in clean(decoded.text)


@given(st.text(max_size=300))
def test_utf8_is_always_read_as_itself_unless_it_looks_wide(text):
    data = text.encode("utf-8", "ignore")
    marked = data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    if not marked and wide_form(data) is None and b"\x1b$" not in data:
        assert decode(data).text == data.decode()


@given(st.text(max_size=300))
def test_clean_text_holds_nothing_a_store_refuses(text):
    cleaned = clean(text)
    assert all(char in "\t\n" or char.isprintable() or not char.isascii() for char in cleaned)
    assert not any("\ud800" <= char <= "\udfff" for char in cleaned)
    assert clean(cleaned) == cleaned


def test_stacked_marks_are_capped_and_bidi_controls_kept():
    assert clean("e" + "\u0301" * 5000) == "e" + "\u0301" * 8
    assert clean("a\u202eb\u2066c\u200bd") == "a\u202eb\u2066c\u200bd"
    assert clean("a\r\nb\rc\u2028d\x85e\x0bf") == "a\nb\nc\nd\ne\nf"


def test_line_breaks_vanish_between_chinese_characters_only():
    assert flow(" 知识\n  库 and\nmore \t words ") == "知识库 and more words"
    assert flow_lines("one \x00 two\nthree\x00\x00") == "one\ntwo three"


@pytest.mark.parametrize("codec", sorted(selectable_codecs()))
def test_text_is_read_as_somebody_chose(codec):
    text = "Plain words, and a line.\n"
    data = text.encode(codec)
    with forced_codec(codec):
        assert decode(data) == DecodedText(text, codec, 1.0)
    # Afterwards it is found out again.
    assert decode("知识库".encode()).encoding == "utf-8"


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("KOI8-R", "koi8-r"),
        ("gbk", "gb18030"),
        ("GB2312", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("ISO-8859-1", "cp1252"),
        ("UTF8", "utf-8"),
        ("utf-8-sig", None),
        ("rot13", None),
        ("base64", None),
        ("x" * 1000, None),
        ("encodings.utf_8\n", None),
    ],
)
def test_names_that_a_person_may_choose_by(label, codec):
    assert selectable_codec(label) == codec


def test_choice_that_is_none_is_passed_over():
    with forced_codec("from-a-later-version"):
        assert decode(b"text").encoding == "utf-8"
