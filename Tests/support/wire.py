"""The numbers in the packets of the control socket and of the device key service. This module reads them from the Swift
types in Sources/Wire, and from enums of lower modules that packets contain. If a number is not declared in the expected
form, the import of this module fails.
"""

import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "Sources"
CONTROL = "".join(
    file.read_text() for folder in ("Control", "BackupControl", "HistoryControl", "LogControl") for file in sorted((SOURCES / "Wire" / folder).rglob("*.swift")))
DEVICE = "".join((SOURCES / f"Wire/DeviceService/{name}.swift").read_text() for name in ("DevicePacket", "HoldPacket"))
KEYBAG = "".join((SOURCES / f"Vault/Keybag/{name}.swift").read_text() for name in ("DeviceKey", "HoldEnd"))

NUMBER = r"static let operation: UInt8 = (\d+)"
# The operation number of each message, by the name of its type.
MESSAGES = {name: int(number) for name, number in re.findall(rf"struct (\w+): \w+Message\b.*?{NUMBER}", CONTROL, re.S)}
# Two messages share a generic type. The type of their purpose declares the number.
MESSAGES |= {
    name: int(re.search(rf"enum {purpose}: TierPurpose \{{\s+package {NUMBER}", CONTROL)[1])
    for name, purpose in re.findall(r"typealias (\w+) = TierMessage<(\w+)>", CONTROL)}


def constant(name, source=CONTROL):
    """The value of `static let name`."""
    return int(re.search(rf"static let {name}(?:: UInt8)? = (\d+)", source)[1])


def _type(name, source):
    """The text of a type, up to the end of its block."""
    return re.search(rf"^( *)(?:\w+ )*(?:enum|struct) {name}\b.*?^\1\}}", source, re.M | re.S)[0]


def raw_values(name, source=CONTROL):
    """The number of each case, for an enum whose cases are declared with numbers."""
    return {case: int(number) for case, number in re.findall(r"^ *case (\w+) = (\d+)$", _type(name, source), re.M)}


def codes(name, source=CONTROL):
    """The number of each case, for an enum that is written and read in a `switch`. Both directions must agree."""
    text = _type(name, source)
    read = {case: int(number) for number, case in re.findall(r"case (\d+): (?:self = )?\.(\w+)", text)}
    written = {case: int(number) for case, number in re.findall(r"case \.(\w+)(?:\([^)]*\))?: \(?(\d+)", text)}
    assert read.items() <= written.items(), (name, read, written)
    return written


def order(name, source=CONTROL):
    """The position of each case in the array `name`."""
    return {case: at for at, case in enumerate(re.search(rf"static let {name}\b.*?= \[(.*?)\]", source)[1].replace(".", "").split(", "))}
