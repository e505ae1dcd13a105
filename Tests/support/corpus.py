"""The corpus of the tests of import and export: as many items as LATCHKEY_CORPUS says, with secrets of many kinds."""

import os

COUNT = int(os.environ.get("LATCHKEY_CORPUS", "60"))
TIMEOUT = 900


def secret(number):
    """Texts of several scripts, lines, and long ones."""
    return [f"secret {number}", "\u00e4\u6f22\U0001f511" * (number % 50 + 1), f"line {number}\nanother <&>\"'", "x" * (number % 997 + 1)][number % 4]


def attributes(number):
    return {"xdg:schema": "org.example.Corpus", "n": str(number)}


def items():
    """Label, attributes, secret and content type of each."""
    return [(f"Label {number}", attributes(number), secret(number).encode(), "text/plain") for number in range(COUNT)]
