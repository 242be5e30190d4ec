"""Words of every script: each question finds its passage by words alone, among the passages of all languages."""

import itertools
from collections.abc import AsyncIterator

import pytest

from kb_service.vector_index.bm25 import encode_document, encode_query
from kb_service.vector_index.protocol import ChunkPoint, VectorIndex, point_id
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex

pytestmark = pytest.mark.anyio

# Questions and passages; those of the same language are each other's distractors.
CASES = {
    "Thai": [
        ("ห้องสมุด", "ห้องสมุดเปิดเวลาเก้าโมงเช้าทุกวันจันทร์"),
        ("พายุไต้ฝุ่น", "เมื่อพายุไต้ฝุ่นมาถึงให้ปิดหน้าต่างและอยู่ในบ้าน"),
        ("วิธีติดตั้งฐานข้อมูล", "คู่มือนี้อธิบายการติดตั้งฐานข้อมูลบนเซิร์ฟเวอร์"),
        ("รหัสผ่าน", "ผู้ใช้ต้องเปลี่ยนรหัสผ่านทุกสามเดือน"),
        ("ประภาคาร", "ผู้ดูแลประภาคารจดบันทึกสภาพอากาศ"),
    ],
    "Lao": [
        ("ຫ້ອງສະໝຸດ", "ຫ້ອງສະໝຸດເປີດເວລາເກົ້າໂມງເຊົ້າ"),
        ("ລະຫັດຜ່ານ", "ຜູ້ໃຊ້ຕ້ອງປ່ຽນລະຫັດຜ່ານທຸກສາມເດືອນ"),
        ("ຖານຂໍ້ມູນ", "ຄູ່ມືນີ້ອະທິບາຍການຕິດຕັ້ງຖານຂໍ້ມູນ"),
        ("ນ້ຳຖ້ວມ", "ເມື່ອນ້ຳຖ້ວມໃຫ້ຍ້າຍຂຶ້ນບ່ອນສູງ"),
        ("ໂຮງຮຽນ", "ເດັກນ້ອຍໄປໂຮງຮຽນດ້ວຍລົດຖີບ"),
    ],
    "Khmer": [
        ("បណ្ណាល័យ", "បណ្ណាល័យបើកនៅម៉ោងប្រាំបួនព្រឹក"),
        ("ពាក្យសម្ងាត់", "អ្នកប្រើត្រូវប្តូរពាក្យសម្ងាត់រៀងរាល់បីខែ"),
        ("មូលដ្ឋានទិន្នន័យ", "សៀវភៅនេះពន្យល់ពីការដំឡើងមូលដ្ឋានទិន្នន័យ"),
        ("ទឹកជំនន់", "ពេលមានទឹកជំនន់សូមទៅកន្លែងខ្ពស់"),
        ("សាលារៀន", "កុមារទៅសាលា\u200bរៀនដោយជិះកង់"),
    ],
    "Burmese": [
        ("စာကြည့်တိုက်", "စာကြည့်တိုက်ကိုမနက်ကိုးနာရီမှာဖွင့်တယ်"),
        ("စကားဝှက်", "အသုံးပြုသူသည်စကားဝှက်ကိုသုံးလတစ်ကြိမ်ပြောင်းရမည်"),
        ("ဒေတာဘေ့စ်", "ဤလမ်းညွှန်သည်ဒေတာဘေ့စ်တပ်ဆင်ခြင်းကိုရှင်းပြသည်"),
        ("ရေကြီးခြင်း", "ရေကြီးခြင်းဖြစ်လျှင်မြင့်သောနေရာသို့သွားပါ"),
        ("ကျောင်း", "ကလေးများကျောင်းကိုစက်ဘီးဖြင့်သွားကြသည်"),
    ],
    "Japanese": [
        ("図書館", "東京都の図書館で本を借りました。"),
        ("接続", "データベースに接続できませんでした。"),
        ("パスワードの変更", "ﾊﾟｽﾜｰﾄﾞは三か月ごとに変更してください。"),
        ("台風が来たら", "台風が来たら、窓を閉めて家にいましょう。"),
        ("灯台守", "灯台守は毎日の天気を日誌に書いた。"),
        ("泳ぐ", "子どもたちは夏に海で泳ぎます。泳ぐ前に体操をします。"),
    ],
    "Korean": [
        ("도서관", "도서관은 아침 아홉 시에 문을 연다."),
        ("데이터베이스", "관리자가 데이터베이스를 삭제했습니다."),
        ("비밀번호 변경", "사용자는 비밀번호를 석 달마다 변경해야 한다."),
        ("태풍이", "태풍에는 창문을 닫고 집에 있어야 합니다."),
        ("책", "아이가 책을 읽는다."),
        ("등대", "등대지기는 날씨를 일지에 적었다."),
    ],
    "Arabic": [
        ("كتاب", "وضع المعلم الكتاب على الطاولة."),
        ("المكتبات", "تفتح مكتبة المدينة في التاسعة صباحا."),
        ("كلمة المرور", "يجب تغيير كَلِمَةِ المُرُورِ كل ثلاثة أشهر."),
        ("قلم", "كتب الطالب رسالته وبالقلم الأزرق وقّعها."),
        ("المـنـارة", "حارس منارة الميناء يدون حالة الطقس."),
        ("احمد", "سافر أحمد إلى القاهرة بالقطار."),
        ("مدرسة", "ذهب الأطفال والمدرسة ما زالت مغلقة."),
    ],
    "Hebrew": [
        ("ספר", "הספר מונח על השולחן."),
        ("ספריה", "בספריה יש שולחנות רבים."),
        ("סיסמה", "יש להחליף את הסיסמה כל שלושה חודשים."),
        ("שלום", "הנשיא דיבר על הַשָּׁלוֹם במזרח."),
        ("המגדלור", "שומר מגדלור כתב ביומן."),
        ("ירושלים", "נסענו לירושלים ברכבת."),
    ],
    "German": [
        ("Datenbank", "Die Datenbankverbindung ist seit gestern unterbrochen."),
        ("Größe", "Das Bild hat nicht die grosse Breite, die man sich wünscht."),
        ("strasse", "Die Straße vor dem Rathaus ist gesperrt."),
        ("Schlüssel", "Der Haustürschlüssel liegt unter der Matte."),
        (
            "Bibliotheksausweis verlängern",
            "Wer in die Bibliothek geht, braucht einen Ausweis, und der ist ein Jahr gültig.",
        ),
        ("Häuser", "Das Haus am See wurde von einem Architekten gebaut."),
        ("Netzwerk einrichten", "So wird eine Netzwerkeinrichtung auf dem Server gemacht."),
        ("Weißbrot", "Weissbrot: 500 g"),
    ],
    "French and Spanish": [
        ("bibliotheque", "La bibliothèque de la ville ouvre à neuf heures."),
        ("mots de passe", "Le mot de passe est à changer tous les trois mois, et il ne faut pas le noter."),
        ("niños", "El niño va a la escuela en bicicleta con su hermana."),
        ("contrasena", "La contraseña se debe cambiar cada tres meses."),
        ("connexions", "Une connexion à la base de données n'est pas possible."),
        ("mañanas", "Por la manana el faro está cerrado, pero el puerto no."),
        ("ŒUVRE", "Une œuvre d'art est dans le musée."),
    ],
    "Russian": [
        ("библиотека", "Открытие городской библиотеки состоится в понедельник."),
        ("пароль", "Пользователь обязан менять пароли каждые три месяца."),
        ("ёлка", "Дети украсили елку игрушками."),
        ("настройки сервера", "Страница описывает настройку серверов почты."),
        ("маяк", "Смотритель маяка записывал погоду."),
    ],
    "full width": [
        ("2024", "２０２４年度报告已经发布。"),
        ("ABC-99", "型号ＡＢＣ－９９已经停产。"),
        ("error", "显示Ｅｒｒｏｒ时请重新启动。"),
        ("ｐｏｓｔｇｒｅｓ", "Install postgres before the first start."),
        ("３１４１", "The pin of the safe is 3141."),
    ],
    "traditional and simplified Chinese": [
        ("台风", "颱風來襲時，請關閉門窗。"),
        ("图书馆几点开门", "圖書館早上九點開門。"),
        ("後臺設定", "在后台设定里修改密码。"),
        ("資料庫連線", "资料库连线已经断开。"),
        ("发展历史", "這座城市的發展歷史很長。"),
        ("頭髮", "理发店的头发样式很多。"),
    ],
    "codes": [
        ("err-1234", "ERR-1234 is shown when the disk is full."),
        ("ERR-1235", "ERR-1235 is shown when the disk is missing."),
        ("AB-77/3", "The valve AB-77/3 closes at 8 bar."),
        ("10.0.0.1", "The gateway has the address 10.0.0.1 in this network."),
        ("10.0.1.0", "The printer has the address 10.0.1.0 in this network."),
        ("version 2.1", "What is new in version 2.1 of the manual."),
        ("version 2.10", "What is new in version 2.10 of the manual."),
    ],
    "identifiers": [
        ("get_user_name", "The function getUserName returns a string."),
        ("read disk quota limit", "disk_quota_limit is read before each upload."),
        ("setHostPort", "Call set_host_port() before the start."),
        ("http server class", "class HTTPServer(BaseServer): pass"),
        ("max retry count", "The default of maxRetryCount is five."),
    ],
    "numbers": [
        ("1250000", "In 1990 the town had 1,250,000 inhabitants."),
        ("2,350,001", "Der Umsatz war 2.350.001 Euro."),
        ("3\u202f481\u202f002", "Le budget est de 3481002 euros."),
        ("1788", "The tower was built in 1788."),
        ("4.750.300", "４，７５０，３００人が住んでいる。"),
    ],
    "emoji": [
        ("🚀", "Takeoff 🚀 at noon."),
        ("🎈", "The party 🎈 begins at eight."),
        ("what does ⚠ mean", "⚠ is shown beside a broken part."),
        ("🐛", "A label 🐛 marks faults."),
        ("👍🏽", "Who agrees gives a 👍 below the text."),
    ],
}
TABLE = [(language, *case) for language, cases in CASES.items() for case in cases]

# The word itself stands before its other forms, its parts and its neighbours.
EXACT_FIRST = [
    ("2.1", "Version 2.1 is out.", "Version 2.10 is out."),
    ("2.10", "Version 2.10 is out.", "Version 2.1 is out."),
    ("библиотеки", "Книги библиотеки лежат здесь.", "Книги библиотека покупает здесь."),
    ("Datenbank", "Die Datenbank ist nicht zu erreichen.", "Die Datenbankverbindung ist nicht zu erreichen."),
    ("Haus", "Das ist ein Haus und das ist ein Garten.", "Das sind die Häuser und das ist ein Garten."),
    ("도서관", "도서관 옆에 은행이 있다.", "도서관은 은행 옆에 있다."),
    ("ספר", "ספר חדש על השולחן.", "הספר חדש על השולחן."),
    ("strasse", "Die Strasse ist gesperrt.", "Die Straße ist gesperrt."),
    ("Straße", "Die Straße ist gesperrt.", "Die Strasse ist gesperrt."),
    ("organisation", "The organisation of the office is new.", "The organ of the church is new."),
    ("general", "A general of the army.", "A generation of the army."),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def index(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[VectorIndex]:
    made = EdgeVectorIndex(tmp_path_factory.mktemp("index") / "vectors", 4)
    await made.ensure_ready()
    await made.upsert([_point("all", passage) for _, _, passage in TABLE])
    pairs = [("pair", text) for _, *texts in EXACT_FIRST for text in texts]
    await made.upsert([_point(f"{kb_id} {text}", text) for kb_id, text in pairs])
    yield made
    await made.close()


def _point(kb_id: str, text: str) -> ChunkPoint:
    return ChunkPoint(point_id(text, 1, 0), kb_id, text, 1, 0, None, encode_document(text))


@pytest.mark.parametrize(("language", "question", "passage"), TABLE)
async def test_question_finds_its_passage_first(index: VectorIndex, language: str, question: str, passage: str) -> None:
    legs = await index.query(kb_ids=["all"], dense=None, sparse=encode_query(question), depth=5)
    assert legs.sparse, f"no {language} passage has a word of the question"
    assert legs.sparse[0].document_id == passage
    assert all(hit.score < legs.sparse[0].score for hit in itertools.islice(legs.sparse, 1, None))


@pytest.mark.parametrize(("question", "exact", "other"), EXACT_FIRST)
async def test_exact_word_stands_before_other_forms(index: VectorIndex, question: str, exact: str, other: str) -> None:
    kb_ids = [f"pair {exact}", f"pair {other}"]
    legs = await index.query(kb_ids=kb_ids, dense=None, sparse=encode_query(question), depth=5)
    assert legs.sparse[0].document_id == exact
    assert len(legs.sparse) == 1 or legs.sparse[0].score > legs.sparse[1].score


async def test_simplified_question_finds_the_traditional_passage_before_one_with_its_small_words(
    index: VectorIndex,
) -> None:
    typhoon, tornado = "颱風警報發布後，請關閉門窗，準備糧食和飲水。", "龙卷风来了，要躲到地下室，远离窗户。"
    # As in any knowledge base, the small words of the question are in many passages.
    others = [
        "春天来了，花都开了。",
        "客人来了，请他坐下。",
        "他来了又走了。",
        "手续办完了就可以走了。",
        "怎么写信，书里都说了。",
        "不知道怎么办的时候，请问管理员。",
    ]
    await index.upsert([_point("typhoon", text) for text in (typhoon, tornado, *others)])
    legs = await index.query(kb_ids=["typhoon"], dense=None, sparse=encode_query("台风来了怎么办"), depth=10)
    places = [hit.document_id for hit in legs.sparse]
    assert places.index(typhoon) < places.index(tornado)


@pytest.mark.parametrize("word", ["ואתהעםהזההיה" * 3, "ה" * 100_000, "é" * 100_000, "책" * 10_000, "ก" * 10_000])
def test_long_run_is_read_in_time_and_bounds(word: str) -> None:
    assert len(encode_document(word).indices) < 50


def test_each_language_has_five_cases() -> None:
    assert all(len(cases) >= 5 for cases in CASES.values())
