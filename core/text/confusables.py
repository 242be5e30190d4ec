"""Detection of user names that look alike, and of mixed alphabets.

A small part of Unicode's confusables (UTS 39) is enough here: letters that pass for a Latin one in a
common font. They come from Cyrillic, Greek, Armenian, Cherokee, Lisu and rare Latin letters.
"""

import unicodedata

from core.db.types import is_id

_PAIRS = {
    # Cyrillic, in lower case: names are folded before.
    "аa", "вb", "сc", "ԁd", "еe", "ԍg", "һh", "нh", "іi", "ӏl", "јj", "кk", "мm", "оo", "рp", "ԛq",
    "гr", "ѕs", "тt", "ѵv", "ԝw", "хx", "уy", "ёë", "їï",
    # Greek
    "αa", "βb", "εe", "ηn", "ιi", "κk", "μm", "νv", "οo", "ρp", "τt", "υu", "χx", "ωw", "γy",
    "ζz", "ϳj",
    # Armenian
    "օo", "սu", "ոn", "հh", "ցg", "յj", "զq", "աw", "լl",
    # Latin beyond the alphabet
    "ɑa", "ɡg", "ıi", "ɩi", "ɪi", "ʏy", "ʀr", "ɴn", "ʟl", "ʜh", "ɢg", "ʙb", "ᴀa", "ᴄc", "ᴅd", "ᴇe",
    "ꜰf", "ᴊj", "ᴋk", "ᴍm", "ᴏo", "ᴘp", "ꜱs", "ᴛt", "ᴜu", "ᴠv", "ᴡw", "ᴢz", "ƿp",
    # Cherokee, whose folded form is upper case, and Lisu
    "Ꭰd", "Ꭱr", "Ꭲt", "Ꭵi", "Ꭺa", "Ꭻj", "Ꭼe", "Ꮃw", "Ꮇm", "Ꮋh", "Ꮐg", "Ꮓz", "Ꮪs", "Ꮮl", "Ꮯc",
    "Ꮲp", "Ꮶk", "Ꮩv", "Ᏼb", "Ᏻg", "ꓐb", "ꓑp", "ꓓd", "ꓔt", "ꓖg", "ꓗk", "ꓙj", "ꓚc", "ꓜz", "ꓝf", "ꓟm",
    "ꓠn", "ꓡl", "ꓢs", "ꓣr", "ꓦv", "ꓧh", "ꓪw", "ꓫx", "ꓬy", "ꓮa", "ꓰe", "ꓲi", "ꓳo", "ꓴu",
}  # fmt: skip
_SHOWN_AS = {ord(letter): latin for letter, latin in _PAIRS}
# First words of Unicode's names: alphabets that people write beside Latin letters.
_EAST_ASIAN = {"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO", "HANGUL"}


def fold(text: str) -> str:
    """The form in which two names or addresses count as the same."""
    return unicodedata.normalize("NFKC", text).casefold()


def name_key(name: str) -> str:
    """The form in which two user names count as the same, also if they only look alike."""
    return fold(name).translate(_SHOWN_AS)


def looks_like_id(name: str) -> bool:
    """Whether a name has the form of an id, which may stand in place of a name."""
    return is_id(name_key(name))


def mixes_alphabets(name: str) -> bool:
    """Whether the letters are of alphabets that are only mixed to deceive.

    Chinese, Japanese and Korean may be mixed with Latin letters and with each other (UTS 39, highly restrictive).
    """
    letters = [letter for letter in name if letter.isalpha()]
    scripts = {unicodedata.name(letter, "?").partition(" ")[0] for letter in letters}
    # Both use characters that Unicode names after the letter's use.
    scripts -= {"MODIFIER", "FEMININE", "MASCULINE", "MICRO"}
    return len(scripts) > 1 and not scripts <= {*_EAST_ASIAN, "LATIN"}
