"""The contents of the built pam_latchkey.so: exports, needed libraries, size, and forbidden parts."""

import re
import subprocess

from modulelogin import ENTRY_POINTS, MODULE, UNSTRIPPED


def tool(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def test_exports_only_the_entry_points():
    symbols = {line.split()[-1] for line in tool("nm", "-D", "--defined-only", MODULE).splitlines()}
    assert symbols == {f"pam_sm_{name}" for name in ENTRY_POINTS}


def test_needs_only_libc_and_libpam_and_is_bound_for_good():
    dynamic = tool("readelf", "-dW", MODULE)
    assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) == {"libc.so.6", "libpam.so.0"}
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic and "TEXTREL" not in dynamic
    assert re.search(r"\(FLAGS_1\).*NOW.*NODELETE", dynamic)
    segments = tool("readelf", "-lW", MODULE)
    assert "GNU_RELRO" in segments and not re.search(r"GNU_STACK.*RWE", segments)


def test_is_small():
    assert MODULE.stat().st_size < 64 * 1024 and UNSTRIPPED.stat().st_size < 512 * 1024


def test_has_no_traps_and_no_allocator():
    """A trap would end the caller, so the object may have no trapping instruction at all.

    The one exception is the handler for C++ unwinding. Embedded Swift always adds it, but nothing here throws or unwinds."""
    function, trapping, called, freeing = None, set(), set(), []
    for line in tool("objdump", "-d", "--no-show-raw-insn", UNSTRIPPED).splitlines():
        if match := re.match(r"[0-9a-f]+ <(.*)>:", line):
            function = match[1]
        elif re.search(r"\t(ud[012]|int3|hlt)\b", line):
            trapping.add(function)
        elif match := re.search(r"\t(?:call|jmp) .*<(\w+)@plt>", line):
            called.add(match[1])
            if match[1] == "free":
                freeing.append(function)
    assert "pam_sm_authenticate" not in trapping and trapping <= {"_swift_exceptionPersonality"}
    # Names of removed code stay in the dynamic symbol table, so the test counts calls and not names.
    libpam = {"pam_get_data", "pam_get_item", "pam_getenv", "pam_set_data", "pam_syslog"}
    assert {name for name in called if name.startswith("pam_")} == libpam
    unwanted = {"malloc", "calloc", "realloc", "posix_memalign", "fork", "abort", "getenv", "exit"}
    assert called & unwanted == set()
    # The module frees only the answer of a conversation: the text and its container.
    assert len(freeing) == 2 and all("Conversation" in name for name in freeing)
