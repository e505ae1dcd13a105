"""Artificial languages, made from po/latchkey.pot. Each language has a translation of every message.

MARKED replaces English letters by similar letters, so that untranslated text stands out. RIGHT_TO_LEFT has Arabic
letters, and IDEOGRAPHIC has Japanese characters. Values stay unchanged.
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import string
import subprocess

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PLACEHOLDER = re.compile(r"(%(?:\d+\$s|%))")
HEADER = ('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: {}\\n'
          'Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n')


def loaded(name):
    """A program of po/, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(REPOSITORY / "po" / name))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


extract = loaded("extract")


def letters(others):
    """A table that replaces each English letter by one of these."""
    return str.maketrans(dict(zip(string.ascii_letters, (others * 52)[:52])))


MARKED = "en_XA", letters("ȧƀƈḓḗƒɠħīĵķŀḿƞǿƥɋřşŧŭṽẇẋẏẑȦƁƇḒḖƑƓĦĪĴĶĿḾȠǾƤɊŘŞŦŬṼẆẊẎẐ")
RIGHT_TO_LEFT = "ar_XB", letters("ابتثجحخدذرزسشصضطظعغفقكلمنه")
IDEOGRAPHIC = "ja_XC", letters("アイウエオカキクケコサシスセソ日本語文字鍵金庫秘密開閉")

# Other letters of the same two scripts. If both forms look the same on the screen, the font lacks these letters.
SHIFTED = {
    RIGHT_TO_LEFT[0]: ("ar_XD", letters("هنملكقفغعظطضصشسزرذدخحجثتبا")),
    IDEOGRAPHIC[0]: ("ja_XE", letters("閉開密秘庫金鍵字文語本日ソセスシサコケクキカオエウイア")),
}


def translation(text, language):
    """A message in one of the three languages."""
    parts = PLACEHOLDER.split(text)
    return "".join(part if PLACEHOLDER.fullmatch(part) else part.translate(language[1]) for part in parts)


def install(prefix, *languages):
    """Installs the catalogues for programs below `prefix`."""
    messages = extract.catalogue()
    for name, table in languages:
        lines = [HEADER.format(name)]
        for msgid, entry in messages.items():
            if not msgid:
                continue
            lines.append(f"msgid {extract.quoted(msgid)}")
            if entry["plural"]:
                plural = extract.quoted(translation(entry["plural"], (name, table)))
                lines.append(f"msgid_plural {extract.quoted(entry['plural'])}")
                lines.append(f"msgstr[0] {extract.quoted(translation(msgid, (name, table)))}\nmsgstr[1] {plural}")
            else:
                lines.append(f"msgstr {extract.quoted(translation(msgid, (name, table)))}")
            lines.append("")
        compile_catalogue(prefix, name, "\n".join(lines))


def compile_catalogue(prefix, name, text):
    """Installs a catalogue with these entries."""
    folder = pathlib.Path(prefix) / "share/locale" / name / "LC_MESSAGES"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["msgfmt", "-o", folder / "latchkey.mo", "-"], input=text, text=True, check=True)
    for path in [folder / "latchkey.mo", folder, folder.parent, folder.parent.parent, folder.parent.parent.parent]:
        path.chmod(0o755)


def speaking(language):
    """The environment of a session in that language. Every machine has the locale."""
    return {"LC_ALL": "C.UTF-8", "LANGUAGE": language[0] if isinstance(language, tuple) else language}


def english(shown, *values):
    """The words in a text that are still English, without the words of the values. The longest values are removed
    first."""
    for value in sorted(values, key=len, reverse=True):
        shown = shown.replace(value, " ")
    return [word for word in re.findall(r"[A-Za-z][A-Za-z']+", shown)]
