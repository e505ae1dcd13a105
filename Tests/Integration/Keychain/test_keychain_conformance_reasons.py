"""Some status codes of the SecItem functions have several causes. For each cause, the error text names the cause and
the remedy.
"""

import pytest
from support.conformance import (
    FIRST, GIVES, LOCKED, SCREEN, UNLOCKED, add, context, copy, delete, genp, invalidated, row, rows, says, silent, tried,
    update, using,
)  # fmt: skip
from support.program import (
    ALL, AUTH_FAILED, CANCELED, DATA, FAIL, MISSING_ENTITLEMENT, NOT_ALLOWED, NOT_AVAILABLE, NOT_FOUND, keychain_caller, secret,  # noqa: F401
)

pytestmark = pytest.mark.night("clients")

UNIMPLEMENTED = -4
PRESENCE = {"accc": {"control": "ak", "flags": 1}}
ANY_FINGER = {"accc": {"control": "ak", "flags": 2}}
ENROLLED_FINGERS = {"accc": {"control": "ak", "flags": 8}}
NO_ACCESS = -25243
WRONG = "The user name or passphrase you entered is not correct."
NO_KEY = "User interaction is not allowed."
STORED = (add(genp(), secret(b"x")),)


def reads(status=NOT_ALLOWED, *parts):
    return copy(genp(), DATA, *parts).is_(status)


TABLE = [
    *rows(
        UNLOCKED,
        row("locked by what it asks for", reads(NOT_ALLOWED, FAIL), says(NOT_ALLOWED, NO_KEY, "forbids asking"),
            given=(add(genp(), PRESENCE, secret(b"x")),), person=GIVES),
        row("by the context", context("silent", silent=True), reads(NOT_ALLOWED, using("silent")),
            says(NOT_ALLOWED, NO_KEY, "forbids asking"), given=(add(genp(), PRESENCE, secret(b"x")),), person=GIVES),
        row("another code says nothing of it", reads(NOT_ALLOWED, FAIL), says(NOT_FOUND, "The specified item could not be found in the keychain."), reads(CANCELED),
            says(NOT_ALLOWED, NO_KEY), given=(add(genp(), PRESENCE, secret(b"x")),), asked=1),
        row("after a call that worked", reads(NOT_ALLOWED, FAIL), copy(genp()), says(NOT_ALLOWED, NO_KEY),
            given=(add(genp(), PRESENCE, secret(b"x")),), person=GIVES),
        row("a group that is not declared", copy(genp(agrp="TEAM.undeclared")).is_(MISSING_ENTITLEMENT),
            says(MISSING_ENTITLEMENT, "A required entitlement isn't present.", "LATCHKEY_ACCESS_GROUPS")),
        row("a group that is not declared, as the new one", update(genp(), {"agrp": "TEAM.undeclared"}).is_(NO_ACCESS),
            says(NO_ACCESS, "The specified item has no access control.", "LATCHKEY_ACCESS_GROUPS"), given=STORED),
        row("an invalidated context", context("gone"), invalidated("gone"), copy(genp(), using("gone")).is_(AUTH_FAILED),
            says(AUTH_FAILED, WRONG, "invalidated"), given=STORED),
        row("no finger is enrolled", add(genp(), ENROLLED_FINGERS, secret(b"x")).is_(AUTH_FAILED), says(AUTH_FAILED, WRONG, "No finger")),
        row("no reader", reads(), says(NOT_ALLOWED, NO_KEY, "fingerprint reader"), given=(add(genp(), ANY_FINGER, secret(b"x")),)),
        row("a list of items", *(call({"class": "genp", "m_ItemList": []}).is_(UNIMPLEMENTED) for call in (add, copy, delete)),
            update({"class": "genp", "m_ItemList": []}, {"labl": "L"}).is_(UNIMPLEMENTED)),
        row("all are deleted", *(add(genp(acct=str(n)), secret(b"x")) for n in range(20)),
            delete({"class": "genp"}, ALL), copy({"class": "genp"}).is_(NOT_FOUND)),
        row("latchkeyd is stopped", silent, says(NOT_AVAILABLE, "No keychain is available.", "does not answer"),
            given=STORED),
    ),
    *rows(SCREEN, row("behind a locker", reads(), says(NOT_ALLOWED, NO_KEY, "The session is locked."), given=STORED)),
    *rows(LOCKED, row("locked", reads(NOT_ALLOWED, FAIL), says(NOT_ALLOWED, NO_KEY, "The session is locked."), given=STORED)),
    *rows(FIRST, row("not logged in", reads(NOT_ALLOWED, FAIL), says(NOT_ALLOWED, NO_KEY, "Nobody has unlocked"), given=STORED)),
]  # fmt: skip

worlds, test_row = tried(TABLE)
