"""Reasons: the codes without values, read from the Swift types that declare them, and the encoded form of reasons."""

import re

from support.languages import REPOSITORY, extract

FOLDER = REPOSITORY / "Sources/Vault/Reasons"


def sentences():
    """The English sentence of each code that is translated."""
    found = {}
    for path in sorted(FOLDER.glob("*Reason.swift")):
        text = path.read_text()
        group = re.search(r'static let name = "(\w+)"', text)
        for case in re.finditer(r"case \.(\w+):\s*Phrase\(\s*(?=\")", text) if group else ():
            pieces, values, _ = extract.literal(text, case.end())
            found[f"{group[1]}.{case[1]}"] = extract.key(pieces, values)
    return found


def words(data):
    """The codes and values of an encoded reason, in order, such as "because device.tpmUnusable device.noMemory"."""
    found, rest = _take(data)
    assert not rest, data
    return " ".join(found)


def _text(data):
    size = int.from_bytes(data[:2], "little")
    return data[2 : 2 + size].decode(), data[2 + size :]


def _take(data):
    code, data = _text(data)
    count, data = data[0], data[1:]
    found = [code]
    for _ in range(count):
        kind, data = data[0], data[1:]
        if kind == 0:
            found.append(str(int.from_bytes(data[:8], "little")))
            data = data[8:]
        elif kind == 1:
            value, data = _text(data)
            found.append(value)
        else:
            part, data = _take(data)
            found += part
    return found, data
