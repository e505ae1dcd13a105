"""The sizes of the programs and the module after `make install`, and the hardening by the linker."""

import re
import subprocess

import pytest

MB = 1_000_000
# The limits are slightly above today's sizes. If a program begins to use Foundation or regular expressions, it grows
# beyond its limit.
LIMITS = {
    "usr/bin/latchkey": 12.9 * MB,
    "usr/libexec/latchkeyd": 10.6 * MB,
    "usr/libexec/latchkey-derive": 6.9 * MB,
    "usr/libexec/latchkey-prompt": 7.3 * MB,
    "usr/libexec/latchkey-deviced": 7.8 * MB,
    "usr/libexec/latchkey-kwallet": 8.8 * MB,
    "usr/libexec/latchkey-ssh-agent": 9.7 * MB,
    "usr/libexec/latchkey-security-key": 6.8 * MB,
    "pam_latchkey.so": 0.06 * MB,
}
MODULE = "pam_latchkey.so"
TOTAL = 72 * MB


def tool(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def binaries(stage):
    """All compiled files, by path. The module's folder has the machine's name, so the module has a name of its own."""
    found = {}
    for path in stage.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
            found[path.name if path.suffix == ".so" else str(path.relative_to(stage))] = path
    return found


def test_all_of_them_are_known(binaries):
    assert binaries.keys() == LIMITS.keys()


@pytest.mark.parametrize("name", LIMITS)
def test_size(binaries, name):
    assert binaries[name].stat().st_size <= LIMITS[name]


def test_size_of_all_files(stage):
    assert sum(path.stat().st_size for path in stage.rglob("*") if path.is_file() and not path.is_symlink()) <= TOTAL


@pytest.mark.parametrize("name", LIMITS)
def test_position_independent(binaries, name):
    assert re.search(r"Type:\s+DYN\b", tool("readelf", "-hW", binaries[name]))
    dynamic = tool("readelf", "-dW", binaries[name])
    assert "TEXTREL" not in dynamic
    assert name == MODULE or re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic)


@pytest.mark.parametrize("name", LIMITS)
def test_functions_are_bound_at_the_start_and_read_only_then(binaries, name):
    # Lazy binding would save the vector registers on the stack, which may contain a part of a key.
    assert re.search(r"\(FLAGS_1\).*\bNOW\b", tool("readelf", "-dW", binaries[name]))
    assert re.search(r"^\s*GNU_RELRO\s", tool("readelf", "-lW", binaries[name]), re.M)


@pytest.mark.parametrize("name", LIMITS)
def test_no_memory_is_writable_and_executable(binaries, name):
    segments = dict.fromkeys(("LOAD", "GNU_STACK", "GNU_RELRO"), 0)
    for line in tool("readelf", "-lW", binaries[name]).splitlines():
        # The columns are type, offset, two addresses, two sizes, rights and alignment.
        if match := re.match(r"\s*(\w+)(?:\s+0x[0-9a-f]+){5}\s+([RWE ]{3})\s", line):
            if match[1] in segments:
                segments[match[1]] += 1
                assert not {"W", "E"} <= set(match[2]), line
    assert segments["LOAD"] >= 2 and segments["GNU_STACK"] == 1


@pytest.mark.parametrize("name", LIMITS)
def test_libraries_come_from_the_system(binaries, name):
    dynamic = tool("readelf", "-dW", binaries[name])
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    assert "libc.so.6" in needed
    assert not [library for library in needed if re.search(r"swift|Foundation|dispatch|ICU", library)]
    assert name != MODULE or needed == {"libc.so.6", "libpam.so.0"}


@pytest.mark.parametrize("name", LIMITS)
def test_exports_are_what_a_library_calls(binaries, name):
    exported = {line.split()[-1].split("@")[0] for line in tool("nm", "-D", "--defined-only", binaries[name]).splitlines()}
    match name:
        case "pam_latchkey.so":
            assert exported and all(symbol.startswith("pam_sm_") for symbol in exported)
        case "usr/libexec/latchkey-derive":
            assert exported == {"mmap", "munmap"}
        case _:
            assert exported == set()


@pytest.mark.parametrize("name", LIMITS)
def test_there_are_no_symbols_and_no_debug_information(binaries, name):
    sections = tool("readelf", "-SW", binaries[name])
    assert ".dynsym" in sections and ".symtab" not in sections and ".debug" not in sections
