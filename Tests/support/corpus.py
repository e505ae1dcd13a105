"""The corpus of the tests of import and export: as many items as LATCHKEY_CORPUS says, with secrets of many kinds."""

import os

COUNT = int(os.environ.get("LATCHKEY_CORPUS", "60"))
TIMEOUT = 900
TEXT, OCTETS = "text/plain", "application/octet-stream"


def text(number):
    """Texts of several scripts, lines, and long ones: what every place takes."""
    return [f"secret {number}", "\u00e4\u6f22\U0001f511" * (number % 50 + 1), f"line {number}\nanother <&>\"'", "x" * (number % 997 + 1)][number % 4]


def octets(number):
    """Every octet, in another order and length each time."""
    return bytes((number + 7 * place) % 256 for place in range(256 + number % 61))


def secret(number):
    """Text mostly, and octets and nothing at all: the secret and its content type."""
    if number % 6 == 4:
        return octets(number), OCTETS
    if number % 6 == 5:
        return b"", TEXT
    return text(number).encode(), TEXT


def attributes(number):
    return {"xdg:schema": "org.example.Corpus", "n": str(number)}


def items():
    """Label, attributes, secret and content type of each."""
    return [(f"Label {number}", attributes(number), *secret(number)) for number in range(COUNT)]
