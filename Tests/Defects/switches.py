"""Puts defects into the sources. Each has a switch that running programs read."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = REPOSITORY / "Sources"
FLOORS = ("System", "Vault", "Wire", "Daemon", "Prompt", "Tools", "PAM", "KeychainServices", "Programs")
# Every process of the machine can read this number, even in a container. The number only sets the memory that the
# kernel reserves for root, so a change is harmless.
NUMBER = Path("/proc/sys/vm/admin_reserve_kbytes")
BASE = 9000

# The switch imports nothing, because the PAM module imports nothing, not even Foundation.
SWITCH = """
@_silgen_name("__open") private func latchkeyOpen(_ path: UnsafePointer<UInt8>, _ flags: Int32) -> Int32
@_silgen_name("__read") private func latchkeyRead(_ file: Int32, _ into: UnsafeMutableRawPointer, _ count: Int) -> Int
@_silgen_name("__close") private func latchkeyClose(_ file: Int32) -> Int32
private func latchkeyDefect(_ number: UInt32) -> Bool {
  let file = latchkeyOpen(("%s" as StaticString).utf8Start, 0x80000)
  if file < 0 { return false }
  var digits: UInt32 = 0
  let count = latchkeyRead(file, &digits, 4)
  _ = latchkeyClose(file)
  if count != 4 { return false }
  let value =
    (digits & 15) &* 1000 &+ (digits >> 8 & 15) &* 100 &+ (digits >> 16 & 15) &* 10 &+ (digits >> 24 & 15)
  return value == %d &+ number
}
""" % (NUMBER, BASE)


def apply(defects):
    """Changes the sources. Returns the numbers of the defects that no longer apply."""
    gone = []
    texts = {}
    for defect in defects:
        path = SOURCES / defect.file
        text = texts.get(path) or (path.read_text() if path.exists() else "")
        if text.count(defect.old) != 1:
            gone.append(defect.number)
            continue
        texts[path] = text.replace(defect.old, defect.new.replace("§", f"latchkeyDefect({defect.number})"))
    for path, text in texts.items():
        path.write_text(text + SWITCH)
    return gone


def set_number(number):
    NUMBER.write_text(f"{BASE + number}\n" if number else "8192\n")
