"""The items for tests of import and export. LATCHKEY_CORPUS is their number, and their secrets are of many kinds."""

import os

COUNT = int(os.environ.get("LATCHKEY_CORPUS", "60"))
TIMEOUT = 900
TEXT, OCTETS = "text/plain", "application/octet-stream"


def text(number):
    """Text that every target accepts: several scripts, several lines, and long values."""
    return [f"secret {number}", "\u00e4\u6f22\U0001f511" * (number % 50 + 1), f"line {number}\nanother <&>\"'", "x" * (number % 997 + 1)][number % 4]


def octets(number):
    """A value with every byte, in another order and length for each number."""
    return bytes((number + 7 * place) % 256 for place in range(256 + number % 61))


def secret(number):
    """A secret and its content type. Most secrets are text, some are binary, and some are empty."""
    if number % 6 == 4:
        return octets(number), OCTETS
    if number % 6 == 5:
        return b"", TEXT
    return text(number).encode(), TEXT


def attributes(number):
    return {"xdg:schema": "org.example.Corpus", "n": str(number)}


def items():
    """The items: label, attributes, secret and content type of each."""
    return [(f"Label {number}", attributes(number), *secret(number)) for number in range(COUNT)]
