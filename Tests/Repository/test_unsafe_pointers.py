"""Unsafe pointers stop at the layer that wraps each library: below System, C and PAM. Other files name none, but for a reason."""

import pathlib
import re

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "Sources"
# PAM has C alone below it.
LAYERS = {"C", "System", "PAM"}
POINTER = re.compile(r"withUnsafe\w*|Unsafe(?:Mutable)?(?:Raw)?(?:Buffer)?Pointer|OpaquePointer")

APPLE = "a function of Apple's API, with Apple's types"
ALLOWED = {
    "KeychainServices/Keychain/ItemCalls.swift": APPLE,
    "KeychainServices/Security/Certificates/SecKey.swift": APPLE,
    "KeychainServices/Security/Constants/StatusMessage.swift": APPLE,
    "KeychainServices/Security/Items/ItemService.swift": APPLE,
    "KeychainServices/Security/Items/SecItem.swift": APPLE,
    "KeychainServices/Security/Protection/SecAccessControl.swift": APPLE,
    "KeychainServices/Security/SecRandom.swift": APPLE,
    "KeychainServices/KeychainClient/PerProcess.swift": "a lock of pthread's has a fixed place in memory",
    "KeychainServices/KeychainClient/VaultLink.swift": "Foundation makes Data from a pointer",
    "KeychainServices/LocalAuthentication/LockedBytes.swift": "owns locked pages, as this library imports no module of C",
    "Programs/latchkey/Run/CommandEnvironment.swift": "hands arguments and variables to the kernel byte by byte",
    "Prompt/Prompters/Pinentry/PinentryProcess.swift": "hands variables to the kernel byte by byte",
    "Wire/HelperProgram/RequestMemory.swift": "owns the memory that it shares with latchkey-derive",
    "Wire/SecurityKeys/SecurityKeys.swift": "owns the memory that it shares with latchkey-security-key",
}


def test_unsafe_pointers_stay_in_the_layers():
    found = set()
    for file in SOURCES.rglob("*.swift"):
        name = file.relative_to(SOURCES)
        if name.parts[0] in LAYERS:
            continue
        code = re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.M)
        if POINTER.search(code):
            found.add(name.as_posix())
    # A file that needs its place no more loses it.
    assert found == set(ALLOWED)
