"""Languages that nobody speaks, made of po/latchkey.pot: in each, every message has a translation.

MARKED writes English letters as others of the same shape, so that a text that is not translated stands out. RIGHT_TO_LEFT has
Arabic letters, and IDEOGRAPHIC those of Japanese. Values are left as they are.
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
    """Each English letter by one of these."""
    return str.maketrans(dict(zip(string.ascii_letters, (others * 52)[:52])))


MARKED = "en_XA", letters("ȧƀƈḓḗƒɠħīĵķŀḿƞǿƥɋřşŧŭṽẇẋẏẑȦƁƇḒḖƑƓĦĪĴĶĿḾȠǾƤɊŘŞŦŬṼẆẊẎẐ")
RIGHT_TO_LEFT = "ar_XB", letters("ابتثجحخدذرزسشصضطظعغفقكلمنه")
IDEOGRAPHIC = "ja_XC", letters("アイウエオカキクケコサシスセソ日本語文字鍵金庫秘密開閉")

# Other letters of the same two scripts: where these look the same on the screen, it shows none of them.
SHIFTED = {
    RIGHT_TO_LEFT[0]: ("ar_XD", letters("هنملكقفغعظطضصشسزرذدخحجثتبا")),
    IDEOGRAPHIC[0]: ("ja_XE", letters("閉開密秘庫金鍵字文語本日ソセスシサコケクキカオエウイア")),
}


def translation(text, language):
    """What a message is in one of the three."""
    parts = PLACEHOLDER.split(text)
    return "".join(part if PLACEHOLDER.fullmatch(part) else part.translate(language[1]) for part in parts)


def install(prefix, *languages):
    """Puts the catalogues where programs below `prefix` find them."""
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
    """A catalogue of these entries."""
    folder = pathlib.Path(prefix) / "share/locale" / name / "LC_MESSAGES"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["msgfmt", "-o", folder / "latchkey.mo", "-"], input=text, text=True, check=True)
    for path in [folder / "latchkey.mo", folder, folder.parent, folder.parent.parent, folder.parent.parent.parent]:
        path.chmod(0o755)


def speaking(language):
    """The environment of a session in that language: the locale is one that every machine has."""
    return {"LC_ALL": "C.UTF-8", "LANGUAGE": language[0] if isinstance(language, tuple) else language}


def english(shown, *values):
    """The words that somebody left in English, without those of values; the longest values go first."""
    for value in sorted(values, key=len, reverse=True):
        shown = shown.replace(value, " ")
    return [word for word in re.findall(r"[A-Za-z][A-Za-z']+", shown)]
