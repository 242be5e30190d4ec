"""Import of skill packages: accepted and refused members."""

import hashlib
import random
import struct
import tarfile
from io import BytesIO
from zipfile import ZIP_LZMA, ZIP_STORED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills.packages.errors import PackageFault, package_problem
from skills.packages.file_rules import PackageLimits, check_files, is_executable, is_safe_path
from skills.packages.reader import PackageReading, read_package
from skills.schema import SkillFile
from tests.fixtures.cpu_time import processor_seconds
from tests.skills.archives import NATIVE, pack, pack_link


def _refused(reading: PackageReading) -> list[PackageFault]:
    assert reading.skills == ()
    return [problem.code for problem in reading.problems]


def test_a_lone_markdown_file_is_a_skill_without_files():
    (skill,) = read_package(NATIVE, "daily.md").skills
    assert (skill.content, skill.files, skill.folder_name) == (NATIVE, (), None)
    assert not skill.problems


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md"])
@pytest.mark.parametrize("folder", ["", "daily/"])
def test_a_skill_at_the_top_or_in_one_folder_is_found(name: str, folder: str):
    archive = pack((f"{folder}{name}", NATIVE), (f"{folder}scripts/run.py", b"print(1)\n"))
    (skill,) = read_package(archive, "daily.skill").skills
    assert skill.content == NATIVE
    assert skill.files == (SkillFile("scripts/run.py", b"print(1)\n"),)
    assert skill.folder_name == (folder.rstrip("/") or None)


def test_several_skills_have_an_outcome_each_when_one_of_them_is_refused():
    reading = read_package(
        pack(
            ("repo/README.md", b"about"),
            ("repo/skills/a/SKILL.md", NATIVE),
            ("repo/skills/a/references/x.md", b"x"),
            ("repo/skills/b/SKILL.md", NATIVE),
            ("repo/skills/b/bin/tool", b"\x7fELF\x02\x01"),
        ),
        "all.zip",
    )
    first, second = reading.skills
    assert (first.folder, first.problems) == ("repo/skills/a", ())
    assert [file.path for file in first.files] == ["references/x.md"]
    assert [(found.code, found.path) for found in second.problems] == [(PackageFault.EXECUTABLE, "bin/tool")]
    assert reading.ignored == ("repo/README.md",)


def test_a_file_belongs_to_the_nearest_skill_above_it():
    outer, inner = read_package(
        pack(("a/SKILL.md", NATIVE), ("a/b/SKILL.md", b"# SKILL: b\n"), ("a/b/c/d.md", b"d")),
        "nested.zip",
    ).skills
    assert (outer.folder, outer.files) == ("a", ())
    assert (inner.folder, [file.path for file in inner.files]) == ("a/b", ["c/d.md"])


def test_junk_of_systems_is_left_out():
    (skill,) = read_package(
        pack(
            ("a/SKILL.md", NATIVE),
            ("__MACOSX/a/._SKILL.md", b"x"),
            ("a/.DS_Store", b"x"),
            ("a/.git/config", b"x"),
            ("a/scripts/__pycache__/x.pyc", b"x"),
            ("a/.GIT/hooks/y", b"x"),
            ("__macosx/x", b"x"),
        ),
        "a.zip",
    ).skills
    assert skill.files == ()


@pytest.mark.parametrize(
    "name",
    [
        "../evil.md",
        "a/../../evil.md",
        "/etc/passwd",
        "C:/evil.md",
        "a\\..\\evil.md",
        "a/x:stream",
        "a//b",
        "a/./b",
        "a/ /b",
        "a/nul\0.md",
        "a/line\nbreak",
        "a/\u202egpj.exe",
        "a/\u2028",
        "x" * 401,
        "a/" * 16 + "x.md",
        *("con", "a/NUL.txt", "COM1", "a/lpt\u00b9.md", "aux.tar.gz", "a.", "a /b", "x.md "),
        *("a*b", "a?b", "<x>", "a|b", '"q"'),
    ],
)
def test_a_name_that_leaves_its_folder_or_hides_something_is_refused(name: str):
    assert not is_safe_path(name)
    assert _refused(read_package(pack(("a/SKILL.md", NATIVE), (name, b"x")), "a.zip")) == [PackageFault.UNSAFE_NAME]
    faults = {problem.code for problem in check_files([SkillFile(name, b"x")])}
    assert faults == {PackageFault.UNSAFE_NAME}


def test_the_name_of_a_refused_member_is_shown_without_its_control_characters():
    reading = read_package(pack(("../\x1b[31m\n", b"x")), "a.zip")
    assert reading.problems[0].path == "../?[31m?"


@given(st.text())
def test_a_safe_name_has_no_part_that_leads_upwards(path: str):
    if is_safe_path(path):
        assert ".." not in path.split("/")
        assert not path.startswith("/")
        assert not set(path) & set("\\:\0\n\r")


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "SKILL.md"])
def test_a_link_is_refused_and_its_skill_with_it(target: str):
    (skill,) = read_package(pack_link("a/x.md", target, ("a/SKILL.md", NATIVE)), "a.zip").skills
    assert [(found.code, found.path) for found in skill.problems] == [(PackageFault.LINK, "x.md")]
    assert skill.files == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a/Guide.md", "a/guide.md"),
        ("a/caf\u00e9.md", "a/cafe\u0301.md"),
        ("a/x", "a/x/y.md"),
        ("a/x/y.md", "a/X"),
        ("a/skill.md", "a/z.md"),
    ],
)
def test_names_that_meet_on_some_systems_are_refused(first: str, second: str):
    archive = pack(("a/SKILL.md", NATIVE), (first, b"1"), (second, b"2"))
    assert _refused(read_package(archive, "a.zip")) == [PackageFault.DUPLICATE_NAME]


def test_an_encrypted_member_is_refused():
    archive = bytearray(pack(("a/SKILL.md", NATIVE)))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(mark) + place] |= 1
    assert _refused(read_package(bytes(archive), "a.zip")) == [PackageFault.ENCRYPTED]


def test_a_compression_with_unbounded_memory_is_refused():
    archive = pack(("a/SKILL.md", NATIVE), method=ZIP_LZMA)
    assert _refused(read_package(archive, "a.zip")) == [PackageFault.UNSUPPORTED_COMPRESSION]


@pytest.mark.parametrize(("count", "faults"), [(500, []), (501, [PackageFault.TOO_MANY_FILES])])
def test_a_skill_has_at_most_500_files(count: int, faults: list[PackageFault]):
    files = [(f"a/assets/{number}.txt", b"") for number in range(count)]
    (skill,) = read_package(pack(("a/SKILL.md", NATIVE), *files), "a.zip").skills
    assert [found.code for found in skill.problems] == faults


def test_an_archive_with_a_huge_directory_is_refused_before_it_is_read():
    archive = pack(*((f"{number:0300}", b"") for number in range(8000)))
    assert _refused(read_package(archive, "a.zip")) == [PackageFault.TOO_MANY_FILES]


def test_the_larger_directory_of_a_zip64_archive_is_the_one_that_counts():
    archive = pack(*((f"{number:0300}", b"") for number in range(8000)))
    place = archive.rindex(b"PK\x05\x06")
    _, _, _, _, count, size, start, _ = struct.unpack_from("<4s4H2LH", archive, place)
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, place, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 10, 10, 500, start, 0)
    whole = archive[:place] + record + locator + end
    assert _refused(read_package(whole, "a.zip")) == [PackageFault.TOO_MANY_FILES]


def test_an_archive_of_very_many_short_names_is_refused():
    archive = pack(*((str(number), b"") for number in range(12_000)))
    assert _refused(read_package(archive, "a.zip")) == [PackageFault.TOO_MANY_FILES]


@pytest.mark.parametrize("comment", [b"notes", b"PK\x05\x06", b"PK\x05\x06" * 9, b"\0" * 40])
def test_an_archives_comment_may_say_anything(comment: bytes):
    archive = pack(("a/SKILL.md", NATIVE))
    commented = archive[:-2] + struct.pack("<H", len(comment)) + comment
    (skill,) = read_package(commented, "a.zip").skills
    assert skill.content == NATIVE


def test_an_archive_with_anything_around_it_is_refused():
    archive = pack(("a/SKILL.md", NATIVE))
    for whole in (archive + b"x", archive + archive, archive + b"\0" * 30, archive[:-1]):
        assert _refused(read_package(whole, "a.zip")) == [PackageFault.DAMAGED]


def test_a_bomb_is_refused_while_it_is_inflated():
    archive = pack(("a/SKILL.md", NATIVE), ("a/assets/zeros", bytes(80 * 2**20)))
    assert _refused(read_package(archive, "a.zip")) == [PackageFault.BOMB]
    refusing = processor_seconds(lambda: read_package(archive, "a.zip"))
    with ZipFile(BytesIO(archive)) as whole:
        # A tenth of it is as much as its packed size may give.
        assert refusing < processor_seconds(lambda: whole.read("a/assets/zeros")) / 2


def test_a_bomb_beside_a_large_honest_file_is_refused_too():
    noise = random.Random(1).randbytes(2**20)
    archive = pack(("a/SKILL.md", NATIVE), ("a/noise", noise), ("a/zeros", bytes(5 * 2**20)))
    reading = read_package(archive, "a.zip")
    assert _refused(reading) == [PackageFault.BOMB]
    assert reading.problems[0].path == "a/zeros"


def test_sizes_that_the_archive_claims_are_not_trusted():
    content = bytes(20 * 2**20)
    archive = bytearray(pack(("a/SKILL.md", NATIVE), ("a/assets/zeros", content)))
    place = archive.rindex(b"PK\x01\x02")
    struct.pack_into("<L", archive, place + 24, 10)
    assert _refused(read_package(bytes(archive), "a.zip")) == [PackageFault.DAMAGED]


def test_files_beyond_the_limit_together_are_refused():
    limits = PackageLimits(total_bytes=3000)
    members = [(f"a/assets/{number}", b"x" * 1000) for number in range(3)]
    archive = pack(("a/SKILL.md", NATIVE), *members, method=ZIP_STORED)
    assert _refused(read_package(archive, "a.zip", limits)) == [PackageFault.TOO_LARGE]


@pytest.mark.parametrize(
    ("content", "is_program"),
    [
        (b"\x7fELF\x02\x01\x01", True),
        (bytes.fromhex("cffaedfe0c000001"), True),
        (bytes.fromhex("cafebabe00000002"), True),
        (bytes.fromhex("cafebabe00000041"), False),
        (b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0", True),
        (b"MZ is how this text begins, and it goes on for more than sixty-four letters.", False),
        (b"#!/bin/sh\necho hello\n", False),
        (b"", False),
    ],
)
def test_machine_code_is_told_from_text_and_scripts(content: bytes, is_program: bool):
    assert is_executable(content) is is_program


def test_an_archive_within_the_archive_stays_a_file():
    inner = pack(("../evil", b"x"))
    (skill,) = read_package(pack(("a/SKILL.md", NATIVE), ("a/assets/x.zip", inner)), "a").skills
    assert skill.files == (SkillFile("assets/x.zip", inner),)
    assert not skill.problems


def test_an_archive_without_a_skill_is_refused():
    assert _refused(read_package(pack(("a/README.md", b"x")), "a.zip")) == [PackageFault.NO_SKILL]
    assert _refused(read_package(pack(), "a.zip")) == [PackageFault.NO_SKILL]


def test_bytes_that_are_no_archive_are_refused_when_their_name_says_archive():
    assert _refused(read_package(b"hello", "a.skill")) == [PackageFault.NOT_AN_ARCHIVE]


def test_names_from_a_chinese_system_are_read():
    archive = bytearray(pack(("a/SKILL.md", NATIVE), ("a/assets/ABCD.txt", b"x")))
    packed_name = "a/assets/模板.txt".encode("gb18030")
    content = bytes(archive).replace(b"a/assets/ABCD.txt", packed_name)
    (skill,) = read_package(content, "a.zip").skills
    assert [file.path for file in skill.files] == ["assets/模板.txt"]


def test_a_second_skill_file_among_files_of_a_request_is_refused():
    faults = [problem.code for problem in check_files([SkillFile("assets/Skill.md", b"x")])]
    assert faults == [PackageFault.SECOND_SKILL]


def test_our_own_export_is_stored_as_the_content_that_was_exported():
    digest = hashlib.sha256(NATIVE).hexdigest()
    head = (
        f'---\nname: "daily"\nmetadata:\n  source-format: "native-skill/1"\n  source-sha256: "{digest}"\n---\n'
    ).encode()
    (skill,) = read_package(head + NATIVE, "a.md").skills
    assert (skill.content, skill.is_own_export) == (NATIVE, True)
    (edited,) = read_package(head + NATIVE + b"more\n", "a.md").skills
    assert (edited.content, edited.is_own_export) == (head + NATIVE + b"more\n", False)


@given(st.binary(max_size=2000))
def test_any_bytes_give_an_answer(content: bytes):
    read_package(content, "a.zip")
    read_package(b"PK\x03\x04" + content, "a.zip")


@given(st.data())
def test_a_damaged_archive_gives_an_answer(data: st.DataObject):
    archive = bytearray(pack(("a/SKILL.md", NATIVE), ("a/assets/x", bytes(range(256)) * 20)))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    reading = read_package(bytes(archive[: data.draw(st.integers(0, len(archive)))]), "a.md")
    assert reading.skills or reading.problems


@pytest.mark.parametrize("code", list(PackageFault))
def test_every_problem_is_told_in_both_languages(code: PackageFault):
    found = package_problem(code, "x", 3)
    assert found.message.isascii()
    assert not found.message_zh.isascii()
    assert "{" not in found.message + found.message_zh


def test_an_archive_with_backslashes_is_read_as_folders():
    archive = pack(
        ("notes\\", b""),
        ("notes\\SKILL.md", NATIVE),
        ("notes\\references\\style.md", b"short\n"),
        ("__MACOSX\\x", b""),
        ("mixed/a\\SKILL.md", NATIVE),
    )
    mixed, notes = read_package(archive, "a.zip").skills
    assert (notes.folder, notes.files) == ("notes", (SkillFile("references/style.md", b"short\n"),))
    assert mixed.folder == "mixed/a"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("notes\\..\\..\\x", PackageFault.UNSAFE_NAME),
        ("\\\\server\\x", PackageFault.UNSAFE_NAME),
        ("C:\\x", PackageFault.UNSAFE_NAME),
        ("a\\SKILL.md", PackageFault.DUPLICATE_NAME),
    ],
)
def test_backslashes_hide_no_name(name: str, fault: PackageFault):
    assert _refused(read_package(pack(("a/SKILL.md", NATIVE), (name, b"x")), "a.zip")) == [fault]


def _tar(mode: str) -> bytes:
    target = BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:
        entry = tarfile.TarInfo("a/SKILL.md")
        entry.size = len(NATIVE)
        archive.addfile(entry, BytesIO(NATIVE))
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "filename", "kind"),
    [
        (_tar("w:gz"), "notes.tar.gz", "gzip"),
        (_tar("w:gz"), "notes.tgz", "gzip"),
        (_tar("w:gz"), "notes.zip", "gzip"),
        (_tar("w:bz2"), "notes.tar.bz2", "bzip2"),
        (_tar("w:xz"), "notes.tar.xz", "xz"),
        (_tar("w"), "notes.tar", "tar"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "notes.7z", "7z"),
        (b"Rar!\x1a\x07\x01\0", "notes.rar", "rar"),
        (b"\x28\xb5\x2f\xfd\0", "notes.tar.zst", "zstd"),
    ],
)
def test_an_archive_of_another_kind_is_called_what_it_is(content: bytes, filename: str, kind: str):
    (problem,) = read_package(content, filename).problems
    assert (problem.code, problem.path) == (PackageFault.OTHER_ARCHIVE, filename)
    assert f" {kind} " in problem.message
    assert f" {kind} " in problem.message_zh
    assert ".zip" in problem.message


@pytest.mark.parametrize("text", [b"7z is a program", b"Rar! it said", b"BZh", "\u00fd7zXZ".encode()])
def test_a_text_is_no_archive_whatever_it_begins_with(text: bytes):
    assert read_package(text, "x.md").problems == ()
