"""Draws defects from the sources by a seed. Each is one operator on one line, and the floors take turns."""

import random
import re

from switches import FLOORS, SOURCES

OPERAND = r"[\w.?]+(?:\(\))?"
CONDITION = re.compile(r"^(\s*)(guard|(?:\} else )?if) ([^,{}\"]+?) (else \{.*|\{.*)$")
COMPARISON = re.compile(rf"(?<=[ (])({OPERAND}) (<|<=|>|>=) ({OPERAND})(?= else| \{{|\)|,| &&| \|\|)")
CALL = re.compile(r"^(\s*)((?:try\?? )?[a-z]\w*(?:[.?!]+\w+)*\([^{}]*\))$")
CASES = re.compile(r"^(\s*case [.\w, ]+: )(\.\w+)$")
BOOLEAN = re.compile(r"^(\s*(?:return|\w+(?:\.\w+)* =) )(true|false)$")
# Texts for people, and code that only describes a state, decide nothing.
LEFT_OUT = ("Gettext", "Doctor/", "Text.swift", "Wording", "@inlinable", "docc")
NEXT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def mutations(lines):
    """Yields tuples of the operator, the line, and the line's text with a switch."""
    for number, line in enumerate(lines):
        if "//" in line or '"' in line or lines.count(line) > 1:
            continue
        if (m := CONDITION.match(line)) and not re.search(r"\b(let|var|case|try|consume|borrowing|some)\b|#|\bis\b", m[3]):
            yield "negated condition", line, f"{m[1]}{m[2]} ({m[3]}) != § {m[4]}"
            if m[3].count("&&") == 1 and "||" not in m[3]:
                left, right = m[3].split(" && ")
                yield "and for or", line, f"{m[1]}{m[2]} § ? ({left} || {right}) : ({left} && {right}) {m[4]}"
        for m in COMPARISON.finditer(line):
            other = f"(§ ? {m[1]} {NEXT[m[2]]} {m[3]} : {m[1]} {m[2]} {m[3]})"
            yield "off by one", line, line[: m.start()] + other + line[m.end() :]
        if (m := CALL.match(line)) and not m[2].startswith(("super.", "precondition", "fatalError", "self.init")):
            yield "dropped call", line, f"{m[1]}if !§ {{ {m[2]} }}"
        if (m := BOOLEAN.match(line)):
            yield "other boolean", line, m[1] + ("§" if m[2] == "false" else "!§")
        if (m := CASES.match(line)) and number and (other := CASES.match(lines[number - 1])) and other[2] != m[2]:
            yield "swapped case", line, f"{m[1]}§ ? {other[2]} : {m[2]}"


def draw(seed, taken=()):
    """An endless series of (file, operator, old, new)."""
    chance = random.Random(seed)
    pools = {}
    for floor in FLOORS:
        pool = []
        for path in sorted((SOURCES / floor).rglob("*.swift")):
            name = path.relative_to(SOURCES).as_posix()
            text = path.read_text()
            if any(word in name or (word[0] == "@" and word in text) for word in LEFT_OUT):
                continue
            pool += [(name, *found) for found in mutations(text.splitlines())]
        # Each operator is equally likely, however many places it has.
        pools[floor] = {kind: [one for one in pool if one[1] == kind] for kind in sorted({one[1] for one in pool})}
    while True:
        for floor, kinds in pools.items():
            yield chance.choice(kinds[chance.choice(list(kinds))])
