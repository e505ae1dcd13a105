"""More rows about the SecItem functions: prompts, owners of items, visibility to other programs, and lifetimes.

The rows have the form of test_keychain_conformance.py. Each row also checks the number of prompts, which is zero unless
the row names another number.
"""

import subprocess
import textwrap

import pytest
from support.conformance import (
    CANCELS, GIVES, LOCKED, MISTAKES, SCREEN, UNLOCKED, Has, Kept, add, by, context, copy, delete, genp, inet,
    invalidated, row, rows, tried, update, using,
)
from support.pace import seconds
from support.peer import ITEM
from support.program import (
    ALL,
    ATTRIBUTES,
    AUTH_FAILED,
    CANCELED,
    DATA,
    DUPLICATE,
    FAIL,
    MISSING_ENTITLEMENT,
    NOT_ALLOWED,
    NOT_AVAILABLE,
    NOT_FOUND,  # noqa: F401
    PARAM,
    REFERENCE,
    SKIP,
    SUCCESS,
    Program,
    data,
    keychain_caller,
    octets,
    secret,
)

pytestmark = pytest.mark.night("clients")

UNIMPLEMENTED = -4
GENERIC = {"class": "genp"}
OLD_FAIL = {"u_NoAuthUI": True}


def guarded(flags, accessible="ak"):
    return {"accc": {"control": accessible, "flags": flags}}


PRESENCE, PASSPHRASE = guarded(1), guarded(1 << 31)
GUARDED = (add(genp(), PRESENCE, secret(b"x")),)
SESAME = "open sesame"
RIGHT = context("right", passphrase=data(SESAME.encode())["data"])
SECRETIVE = (RIGHT, add(genp(), PASSPHRASE, using("right"), secret(b"x")))

# MARK: the person

PERSON = [
    row("a prompt reads it", copy(genp(), DATA).gives(data(b"x")), given=GUARDED, person=GIVES, asked=1),
    row("a prompt reads it, when it is allowed by name",
        copy(genp(), DATA, {"u_AuthUI": "u_AuthUIA"}).gives(data(b"x")), given=GUARDED, person=GIVES, asked=1),
    row("each reading asks", *[copy(genp(), DATA).gives(data(b"x"))] * 2, given=GUARDED, person=GIVES, asked=2),
    row("of all, each asks", copy(GENERIC, ALL, DATA).gives([data(b"z"), data(b"y"), data(b"x")]), person=GIVES,
        asked=2,
        given=(*GUARDED, add(genp(acct="bea"), PRESENCE, secret(b"y")), add(genp(acct="cleo"), secret(b"z")))),
    row("what cancels", copy(genp(), DATA).is_(CANCELED), given=GUARDED, person=CANCELS, asked=1),
    row("a wrong password, as often as it is taken", copy(genp(), DATA).is_(AUTH_FAILED), given=GUARDED,
        person=MISTAKES,
        asked=3),
    row("a prompt is forbidden", copy(genp(), DATA, FAIL).is_(NOT_ALLOWED), given=GUARDED, person=GIVES),
    row("a prompt is forbidden, as of old", copy(genp(), DATA, OLD_FAIL).is_(NOT_ALLOWED), given=GUARDED, person=GIVES),
    row("a prompt is forbidden by the context", context("silent", silent=True),
        copy(genp(), DATA, using("silent")).is_(NOT_ALLOWED), given=GUARDED, person=GIVES),
    row("a prompt is forbidden, for all", copy(GENERIC, ALL, DATA, FAIL).is_(NOT_ALLOWED), person=GIVES,
        given=(*GUARDED, add(genp(acct="bea"), secret(b"y")))),
    row("skipped: the only one", copy(genp(), DATA, SKIP).is_(NOT_FOUND), given=GUARDED, person=GIVES),
    row("skipped: one of several", copy(GENERIC, ALL, DATA, SKIP).gives([data(b"y")]),
        copy(GENERIC, DATA, SKIP).gives(data(b"y")), person=GIVES, given=(*GUARDED, add(genp(acct="bea"),
            secret(b"y")))),
    row("skipped: nothing, where no secret is wanted", copy(genp(), SKIP), copy(genp(), ATTRIBUTES, SKIP),
        given=GUARDED),
    row("attributes ask nobody", copy(genp(),
        ATTRIBUTES).gives(Has(accc={"control": "<SecAccessControl: ak; flags 0x1>"},
        pdmn="ak", v_Data=None, **genp())), copy(genp(), REFERENCE), copy(genp()), given=GUARDED, person=GIVES),
    row("an addition asks nobody", *GUARDED, add(genp()).is_(DUPLICATE), person=GIVES),
    row("an addition tells its data and asks nobody", add(genp(), PRESENCE, secret(b"x"), DATA).gives(data(b"x"))),
    row("a deletion asks nobody", delete(genp()), copy(genp()).is_(NOT_FOUND), given=GUARDED, person=GIVES),
    row("an update of data asks", update(genp(), secret(b"y")), copy(genp(), DATA).gives(data(b"y")), given=GUARDED,
        person=GIVES, asked=2),
    row("an update is cancelled", update(genp(), secret(b"y")).is_(CANCELED), given=GUARDED, asked=1),
    row("an update may not ask", update(genp() | FAIL, secret(b"y")).is_(NOT_ALLOWED), given=GUARDED, person=GIVES),
    row("an update skips", update(GENERIC | SKIP, {"labl": "L"}), copy(genp(acct="bea"), {"labl": "L"}),
        copy(genp(), {"labl": "L"}).is_(NOT_FOUND), person=GIVES, given=(*GUARDED, add(genp(acct="bea"),
            secret(b"y")))),
    row("an update may not take the question away", update(genp() | FAIL, {"pdmn": "ak"}).is_(NOT_ALLOWED),
        update(genp() | FAIL, guarded(0)).is_(NOT_ALLOWED), copy(genp(), DATA, FAIL).is_(NOT_ALLOWED), given=GUARDED,
        person=GIVES),
    row("an update makes it ask", update(genp(), PRESENCE), copy(genp(), ATTRIBUTES).gives(
        Has(accc={"control": "<SecAccessControl: ak; flags 0x1>"})), copy(genp(), DATA, FAIL).is_(NOT_ALLOWED),
        copy(genp(), DATA).gives(data(b"x")), given=(add(genp(), secret(b"x")),), person=GIVES, asked=1),
    row("an update makes it ask no longer", update(genp(), {"pdmn": "ck"}), copy(genp(), ATTRIBUTES, DATA, FAIL).gives(
        Has(pdmn="ck", accc={"control": "<SecAccessControl: ck>"}, v_Data=data(b"x"))), given=GUARDED, person=GIVES,
            asked=2),
    row("an update gives it a passphrase", RIGHT, update(genp() | using("right"), PASSPHRASE, {"labl": "L"}),
        copy(genp(labl="L"), DATA, FAIL).is_(NOT_ALLOWED), copy(genp(), DATA, using("right")).gives(data(b"x")),
        given=(add(genp(), secret(b"x")),)),
    row("an update may not ask for a passphrase", update(genp() | FAIL, PASSPHRASE, {"labl": "L"}).is_(NOT_ALLOWED),
        copy(genp(), ATTRIBUTES, DATA).gives(Has(labl=None, v_Data=data(b"x"))), given=(add(genp(), secret(b"x")),)),
    row("a reference asks as well", copy(by("it"), DATA).gives(data(b"x")), person=GIVES, asked=1,
        given=(add(genp(), PRESENCE, secret(b"x"), REFERENCE).kept("it"),)),
    row("a context that reads again", context("again", reuse=60),
        *[copy(genp(), DATA, using("again")).gives(data(b"x"))] * 2,
        copy(genp(), DATA, using("again"), FAIL).gives(data(b"x")), copy(genp(), DATA, FAIL).is_(NOT_ALLOWED),
        given=GUARDED, person=GIVES, asked=1),
    row("a context that reads once", context("once"), *[copy(genp(), DATA, using("once")).gives(data(b"x"))] * 2,
        given=GUARDED, person=GIVES, asked=2),
    row("an invalidated context", context("gone", reuse=60), copy(genp(), DATA, using("gone")).gives(data(b"x")),
        invalidated("gone"), copy(genp(), DATA, using("gone")).is_(AUTH_FAILED), copy(genp(),
            using("gone")).is_(AUTH_FAILED),
        add(genp(acct="bea"), using("gone")).is_(AUTH_FAILED), update(genp() | using("gone"),
            {"labl": "L"}).is_(AUTH_FAILED),
        delete(genp(), using("gone")).is_(AUTH_FAILED), copy(genp(), ATTRIBUTES).gives(Has(labl=None)),
        given=GUARDED, person=GIVES, asked=1),
    row("flags that stand for each other", add(genp(), guarded(1 << 4), secret(b"x")), copy(genp(), ATTRIBUTES).gives(
        Has(accc={"control": "<SecAccessControl: ak; flags 0x10>"})), copy(genp(), DATA).gives(data(b"x")),
        person=GIVES, asked=1),
    row("no flags ask nobody", add(genp(), guarded(0, "ck"), secret(b"x")), copy(genp(), DATA).gives(data(b"x")),
        copy(genp(), ATTRIBUTES).gives(Has(pdmn="ck"))),
    row("a passphrase: the right one", copy(genp(), DATA, using("right")).gives(data(b"x")), given=SECRETIVE,
        person=GIVES),
    row("a passphrase: the right one, and nobody may be asked", copy(genp(), DATA, using("right"),
        FAIL).gives(data(b"x")),
        copy(genp(), DATA, using("right"), SKIP).gives(data(b"x")), given=SECRETIVE),
    row("a passphrase: a wrong one", context("wrong", passphrase=data(b"x")["data"]),
        copy(genp(), DATA, using("wrong")).is_(AUTH_FAILED), copy(genp(), DATA, using("right")).gives(data(b"x")),
        given=SECRETIVE, person=GIVES),
    row("a passphrase: none, and nobody may be asked", copy(genp(), DATA, FAIL).is_(NOT_ALLOWED),
        copy(genp(), DATA, SKIP).is_(NOT_FOUND), given=SECRETIVE, person=SESAME),
    row("a passphrase: the person knows it", copy(genp(), DATA).gives(data(b"x")), given=SECRETIVE, person=SESAME,
        asked=1),
    row("a passphrase: the person cancels", copy(genp(), DATA).is_(CANCELED), given=SECRETIVE, asked=1),
    row("a passphrase: attributes ask nobody", copy(genp(), ATTRIBUTES).gives(Has(accc={
        "control": "<SecAccessControl: ak; flags 0x80000000>"})), given=SECRETIVE),
    row("a passphrase: an invalidated context", invalidated("right"), copy(genp(), DATA,
        using("right")).is_(AUTH_FAILED),
        given=SECRETIVE, person=GIVES),
    row("a passphrase for a new item: nobody may be asked", add(genp(), PASSPHRASE, FAIL).is_(NOT_ALLOWED),
        copy(genp()).is_(NOT_FOUND)),
    row("a passphrase for a new item: the person cancels", add(genp(), PASSPHRASE).is_(CANCELED),
        copy(genp()).is_(NOT_FOUND), asked=1),
    row("a passphrase for a new item: the same key", add(genp(), PASSPHRASE, using("right")).is_(DUPLICATE),
        copy(GENERIC, ALL, ATTRIBUTES).gives([Has(acct="anna")]), given=SECRETIVE),
    row("a passphrase for a new item: nobody chooses one in vain", add(genp(), PASSPHRASE).is_(DUPLICATE),
        given=(add(genp()),), person=SESAME),
    row("a passphrase and the person", RIGHT, add(genp(), guarded(1 << 31 | 1), using("right"), secret(b"x")),
        copy(genp(), DATA, using("right"), FAIL).is_(NOT_ALLOWED), copy(genp(), DATA, using("right")).gives(data(b"x")),
        person=GIVES, asked=1),
]  # fmt: skip

SCREEN_LOCKED = [
    row("the person opens the vault", copy(genp(), DATA).gives(data(b"x")), given=(add(genp(), secret(b"x")),),
        person=GIVES, asked=1),
    row("for an attribute as well", copy(genp(), ATTRIBUTES).gives(Has(**genp())), given=(add(genp()),), person=GIVES,
        asked=1),
    row("for an update", update(genp(), {"labl": "L"}), copy(genp(), {"labl": "L"}), given=(add(genp()),),
        person=GIVES, asked=1),
    row("for an addition", add(genp(), secret(b"x")), copy(genp(), DATA).gives(data(b"x")), person=GIVES, asked=1),
    row("for an item that moves to a class", update(genp(), {"pdmn": "ak"}), copy(genp(),
        ATTRIBUTES).gives(Has(pdmn="ak")),
        given=(add(genp(pdmn="ck")),), person=GIVES, asked=1),
    row("they do not", copy(genp(), DATA).is_(CANCELED), given=(add(genp()),), asked=1),
    row("they do not, for an update", update(genp(), {"labl": "L"}).is_(CANCELED), given=(add(genp()),), asked=1),
    row("they do not, for an addition", add(genp()).is_(CANCELED), copy(genp(), FAIL).is_(NOT_FOUND), asked=1),
    row("they cannot", copy(genp(), DATA).is_(AUTH_FAILED), given=(add(genp()),), person=MISTAKES, asked=3),
    row("nobody is asked in vain", copy(genp(acct="nobody"), DATA).is_(NOT_FOUND), add(genp()).is_(DUPLICATE),
        delete(genp(acct="nobody")).is_(NOT_FOUND), delete(genp()), given=(add(genp()),), person=GIVES),
    row("nobody is asked who may not be", copy(genp(), OLD_FAIL).is_(NOT_ALLOWED), context("silent", silent=True),
        copy(genp(), using("silent")).is_(NOT_ALLOWED), copy(genp(), SKIP).is_(NOT_ALLOWED), given=(add(genp()),),
            person=GIVES),
    row("for what is open nobody is asked", copy(genp(), DATA).gives(data(b"x")), update(genp(), {"labl": "L"}),
        add(genp(acct="bea", pdmn="ck")), given=(add(genp(pdmn="ck"), secret(b"x")),), person=GIVES),
]  # fmt: skip
BEHIND = [
    row("nobody is asked", copy(genp(), DATA, {"u_AuthUI": "u_AuthUIA"}).is_(NOT_ALLOWED), given=(add(genp()),),
        person=GIVES),
    row("it opens with the screen", lambda world: world.bring_to(UNLOCKED), copy(genp(), DATA).gives(data(b"x")),
        update(genp(), {"labl": "L"}), add(genp()).is_(DUPLICATE), add(genp(acct="bea")), delete(genp()),
        given=(add(genp(), secret(b"x")),), person=GIVES),
]  # fmt: skip

# MARK: access groups

MISSING = MISSING_ENTITLEMENT


def groups(name):
    return genp("groups " + name)


def without_groups(world):
    """The first file of entitlements names no group, and the second is unreadable."""
    for entitlements in ("<plist><dict/></plist>", "nonsense"):
        with world.copied(entitlements) as program:
            for call in ("add", "copy", "delete"):
                assert program.answer(call, query=genp())["status"] == MISSING
            assert program.update(genp(), {"labl": "L"}) == MISSING


def with_entitlements(world):
    """The access groups come first, and then the application's own group."""
    text = "<key>application-identifier</key><string>TEAM.app</string>"
    text += "<key>keychain-access-groups</key><array><string>TEAM.first</string></array>"
    with world.copied(f'<plist version="1.0"><dict>{text}</dict></plist>') as program:
        assert program.add(genp(), ATTRIBUTES)[1]["agrp"] == "TEAM.first"
        assert program.add(genp(agrp="TEAM.app"), ATTRIBUTES)[1]["agrp"] == "TEAM.app"
        assert program.add(genp(agrp="keychain-caller"))[0] == MISSING
        assert program.delete(genp()) == SUCCESS and program.delete(genp(agrp="TEAM.app")) == NOT_FOUND


ONE, TWO = {"agrp": "TEAM.one"}, {"agrp": "TEAM.two"}
SHARED = {"agrp": "TEAM.shared"}
WHOSE = [
    row("the first group is that of a new item", add(groups("a")).by("one"),
        copy(groups("a"), ATTRIBUTES).by("one").gives(Has(**ONE)), copy(groups("a"), ONE).by("one"),
        copy(groups("a"), SHARED).by("one").is_(NOT_FOUND)),
    row("another group, by name", add(groups("b"), SHARED, secret(b"x")).by("one"),
        copy(groups("b"), DATA).by("two").gives(data(b"x")), copy(groups("b"), SHARED,
            DATA).by("two").gives(data(b"x")),
        copy(groups("b"), TWO).by("two").is_(NOT_FOUND)),
    row("a foreign group, by name", add(groups("c")).by("one"), add(groups("c"), ONE).by("two").is_(MISSING),
        copy(groups("c"), ONE).by("two").is_(MISSING), update(groups("c") | ONE, {"labl": "L"}).by("two").is_(MISSING),
        delete(groups("c"), ONE).by("two").is_(MISSING), copy(groups("none"), ONE).by("two").is_(MISSING),
        copy(groups("c"), ATTRIBUTES).by("one").gives(Has(labl=None))),
    row("a search is in all groups, and no foreign one", add(groups("d"), secret(b"1")).by("one"),
        add(groups("d"), SHARED, secret(b"s")).by("one"), add(groups("d"), secret(b"2")).by("two"),
        copy(groups("d"), ALL, DATA).by("one").gives([data(b"s"), data(b"1")]),
        copy(groups("d"), ALL, DATA).by("two").gives([data(b"2"), data(b"s")])),
    row("only foreign items", add(groups("e")).by("one"), copy(groups("e")).by("two").is_(NOT_FOUND),
        update(groups("e"), {"labl": "L"}).by("two").is_(NOT_FOUND), delete(groups("e")).by("two").is_(NOT_FOUND),
        copy(groups("e"), ATTRIBUTES).by("one").gives(Has(labl=None))),
    row("a foreign item, by reference", add(groups("f"), REFERENCE).by("one").kept("it"),
        copy(by("it")).by("two").is_(NOT_FOUND), delete(by("it")).by("two").is_(
        NOT_FOUND), copy(by("it")).by("one")),
    row("the group is a part of the key", add(groups("g")).by("one"), add(groups("g"), SHARED).by("one"),
        add(groups("g"), SHARED).by("two").is_(DUPLICATE), add(groups("g"), ONE).by("one").is_(DUPLICATE)),
    row("an item moves to another group", add(groups("h"), secret(b"x")).by("one"), update(groups("h"),
        SHARED).by("one"),
        copy(groups("h"), DATA).by("two").gives(data(b"x")), update(groups("h"), TWO).by("two"),
        copy(groups("h")).by("one").is_(NOT_FOUND), copy(groups("h"), ATTRIBUTES).by("two").gives(Has(**TWO))),
    row("no item moves onto another one", add(groups("l"), secret(b"1")).by("one"), add(groups("l"), SHARED,
        secret(b"2")).by("one"),
        update(groups("l") | ONE, SHARED).by("one").is_(DUPLICATE), copy(groups("l"), ONE,
            DATA).by("one").gives(data(b"1"))),
    row("no item moves to a foreign group", add(groups("i")).by("one"), update(groups("i"), TWO).by("one").is_(-25243),
        copy(groups("i"), ONE).by("one")),
    row("a deletion is in all groups", add(groups("j")).by("one"), add(groups("j"), SHARED).by("one"),
        add(groups("j")).by("two"), delete(groups("j")).by("one"), copy(groups("j"), ALL,
            ATTRIBUTES).by("two").gives([Has(**TWO)])),
    row("without a word of it, the program's name is its group", add(groups("k"), ATTRIBUTES).by("plain").gives(
        Has(agrp="keychain-caller"))),
    row("a program without groups", without_groups),
    row("a file beside the program", with_entitlements),
]  # fmt: skip

# MARK: references


LASTING = [
    row("a reference finds its item", add(genp(), secret(b"x")), copy(genp(), REFERENCE).kept("it"),
        copy(by("it"), DATA).gives(data(b"x")), copy(by("it"), {"class": "genp"}), copy(by("it"),
            ATTRIBUTES).gives(Has(**genp())),
        copy(by("it"), ALL, DATA).gives([data(b"x")]), copy(by("it"), REFERENCE).gives(Kept("it"))),
    row("a reference of the other class", add(inet(), REFERENCE).kept("it"), copy(by("it"),
        {"class": "genp"}).is_(-25306),
        copy(by("it"), {"class": "inet"})),
    row("a reference goes with no attribute", add(genp(), REFERENCE).kept("it"), copy(by("it"),
        {"acct": "anna"}).is_(PARAM)),
    row("a reference outlasts a change of the key", add(genp(), secret(b"x"), REFERENCE).kept("it"),
        update(genp(), {"acct": "bea", "sync": True}), copy(by("it"), DATA).gives(data(b"x"))),
    row("a reference updates and deletes", add(genp(), REFERENCE).kept("it"), add(genp(acct="bea")), update(by("it"),
        {"labl": "L"}), copy(genp(), {"labl": "L"}), delete(by("it")), copy(genp()).is_(NOT_FOUND),
            copy(genp(acct="bea"))),
    row("a reference of a deleted item", add(genp(), REFERENCE).kept("it"), delete(genp()), add(genp(), secret(b"new")),
        copy(by("it")).is_(NOT_FOUND), update(by("it"), {"labl": "L"}).is_(NOT_FOUND), delete(by("it")).is_(NOT_FOUND),
        copy(genp(), DATA).gives(data(b"new"))),
    row("a reference of no vault of ours", copy({"v_PersistentRef": data(b"genp of another vault")}).is_(NOT_FOUND),
        copy({"v_PersistentRef": data(b"genp" + bytes(24))}).is_(NOT_FOUND)),
    row("a reference outlasts daemon and program", add(genp(), secret(b"x"), REFERENCE).kept("it"),
        lambda world: (world.log_in_again(world.session.restart), world.restart_program()),
        copy(by("it"), DATA).gives(data(b"x")), copy(genp(), REFERENCE).gives(Kept("it")),
        add(genp()).is_(DUPLICATE)),
    row("each call finds a daemon that was started again", lambda world: world.log_in_again(world.session.restart),
        add(genp(), secret(b"x")), lambda world: world.log_in_again(world.session.restart), copy(genp(),
            DATA).gives(data(b"x")),
        lambda world: world.log_in_again(world.session.restart), update(genp(), {"labl": "L"}),
        lambda world: world.log_in_again(world.session.restart), delete(genp(labl="L"))),
    row("each call has a killed daemon started", lambda world: world.kill(), add(genp(pdmn="dk"), secret(b"x")),
        lambda world: world.kill(), copy(genp(), DATA, FAIL).gives(data(b"x")), lambda world: world.kill(),
        update(genp(), {"labl": "L"}), lambda world: world.kill(), delete(genp(labl="L")),
            lambda world: world.unlock()),
    row("a reference alone of an addition", add(genp(), {"r_Ref": True}).is_(UNIMPLEMENTED),
        copy(genp()).is_(NOT_FOUND)),
]  # fmt: skip

# MARK: other programs


def store(value, *words, label="Test"):
    return lambda world: world.session.store(value, *words, label=label)


def lookup(value, *words):
    def look(world):
        assert world.session.lookup(*words) == value, words

    return look


def label(text, **attributes):
    """Every program sees this item by its label."""

    def look(world):
        (path,), _ = world.peer.search(attributes)
        assert world.peer.get(path, ITEM, "Label") == text

    return look


def created(value, **attributes):
    """Stores an item without replacing another."""
    return lambda world: world.peer.create(value, attributes, replace=False)


def copied_by_others(world):
    """Another client copies all attributes of an item from SecItemAdd. The copy is allowed, because only our own calls
    check for duplicates."""
    (path,), _ = world.peer.search({"service": "copied"})
    attributes = world.peer.get(path, ITEM, "Attributes")
    assert world.peer.create("y", attributes, replace=False) != path


def all_deleted_of_plain(world):
    program = world.program("plain")
    for name in ("genp", "inet"):
        assert program.delete({"class": name}) in (SUCCESS, NOT_FOUND)


PLAIN = {"agrp": "keychain-caller", "sync": 0}
PROTOCOLS = {"htps": "https", "http": "http", "ftp ": "ftp", "imps": "imaps", "smb ": "smb", "ssh ": "ssh",
    "ldps": "ldaps",
             "pops": "pop3s", "smtp": "smtp"}  # fmt: skip
SCHEMA = ("xdg:schema", "org.gnome.keyring.NetworkPassword")
OTHERS = [
    row("others find an Internet password", add(inet("here.org", labl="Site"), secret(b"x")), lookup("x", "server",
        "here.org",
        "user", "anna", "protocol", "https", "port", "443", "object", "/inbox", "domain", "realm", "authtype", "form",
            *SCHEMA),
        label("Site", server="here.org")),
    row("others find a generic password", add(genp("here", labl="Mail"), secret(b"x")), lookup("x", "service", "here",
        "account", "anna"), label("Mail", service="here")),
    row("others see a label where there is none", add(genp("bare")), add(inet("bare.org")), label("bare/anna",
        service="bare"),
        label("anna@bare.org", server="bare.org"), copy(genp("bare"), ATTRIBUTES).gives(Has(labl=None))),
    row("others see changes", add(genp("changing"), secret(b"x")), update(genp("changing"), {"acct": "bea",
        "labl": "L"}, secret(b"y")),
        lookup(None, "service", "changing", "account", "anna"), lookup("y", "service", "changing", "account", "bea"),
        label("L", service="changing"), delete(genp("changing", "bea")), lookup(None, "service", "changing")),
    *(
        row(f"the protocol {code!r} is {word}", add(inet(f"{word}.org", ptcl=code), secret(b"x")), lookup("x", "server",
            f"{word}.org", "protocol", word), store("y", "server", f"{word}.net", "protocol", word),
            copy({"class": "inet", "srvr": f"{word}.net", "ptcl": code}, ATTRIBUTES, DATA).by("plain").gives(
            Has(ptcl=code, v_Data=data(b"y"))))
        for code, word in PROTOCOLS.items()
    ),
    row("an Internet password of others is found", store("x", "server", "there.org", "user", "anna", "protocol",
        "https",
        "port", "443", "object", "/inbox", "domain", "realm", "authtype", "form", *SCHEMA, label="Site"),
        copy(inet("there.org"), ATTRIBUTES, DATA).by("plain").gives(
        Has(**inet("there.org"), **PLAIN, labl="Site", v_Data=data(b"x"))), copy(inet("there.org",
            port=80)).by("plain").is_(NOT_FOUND),
        copy(inet("there.org")).by("one"), copy(inet("there.org"), SHARED).by("one").is_(NOT_FOUND),
        copy(inet("there.org", sync=True)).by("plain").is_(NOT_FOUND)),
    row("a generic password of others is found", store("x", "service", "there", "account", "anna", label="Mail"),
        copy(genp("there"), ATTRIBUTES, DATA).by("plain").gives(Has(**genp("there"), **PLAIN, labl="Mail",
            v_Data=data(b"x"))),
        copy(genp("there"), REFERENCE).by("plain").kept("it"), copy(by("it"), DATA).by("plain").gives(data(b"x"))),
    row("items of others are no duplicates", created("1", service="twice", account="anna"),
        created("2", service="twice", account="anna"), add(genp("twice"), secret(b"3")).by("plain"),
        copy(genp("twice"), ALL, DATA).by("plain").gives([data(b"3"), data(b"2"), data(b"1")]),
        add(genp("twice")).by("plain").is_(DUPLICATE)),
    row("others store what they like", add(genp("copied"), secret(b"x")), copied_by_others,
        add(genp("copied")).is_(DUPLICATE)),
    row("nobody comes upon items of others", store("x", "service", "unnamed", "account", "hidden"),
        store("x", "server", "unnamed.org", "user", "hidden"), store("x", "name", "of neither"),
        copy({"class": "genp", "acct": "hidden"}).by("plain").is_(NOT_FOUND),
        copy({"class": "inet", "acct": "hidden"}).by("plain").is_(NOT_FOUND), all_deleted_of_plain,
        copy(GENERIC).by("plain").is_(NOT_FOUND), update(GENERIC, {"labl": "L"}).by("plain").is_(NOT_FOUND),
        lookup("x", "service", "unnamed"), lookup("x", "server", "unnamed.org"), lookup("x", "name", "of neither")),
    row("an item of others stays theirs", store("x", "service", "theirs", "account", "anna", "folder", "inbox"),
        update(genp("theirs"), {"acct": "bea"}, secret(b"y")).by("plain"), lookup("y", "service", "theirs", "account",
            "bea",
        "folder", "inbox"), add(genp("theirs", "bea")).by("plain"), delete(genp("theirs")).by("plain").is_(NOT_FOUND),
        delete(genp("theirs", "bea")).by("plain"), lookup(None, "service", "theirs")),
]  # fmt: skip

# MARK: many at once


def twenty_processes(world):
    programs = [world.start("plain") for _ in range(20)]
    try:
        for program in programs:
            assert program.copy(genp("raced"))[0] == NOT_FOUND
        for number, program in enumerate(programs):
            program.begin("add", query=genp("raced") | secret(f"{number}".encode()))
        statuses = [program.end()["status"] for program in programs]
        assert sorted(statuses) == [DUPLICATE] * 19 + [SUCCESS], statuses
        status, found = programs[0].copy(genp("raced"), ALL, DATA)
        assert status == SUCCESS and [octets(each) for each in found] == [f"{statuses.index(SUCCESS)}".encode()]
    finally:
        for program in programs:
            program.close()


def twenty_threads(world):
    statuses = world.of_many(world.program("main"), [add(genp("threads"), secret(b"x"))] * 20)
    assert sorted(statuses) == [DUPLICATE] * 19 + [SUCCESS], statuses


def threads_of_their_own(world):
    """Sixteen threads add, read, change and delete at once. No thread gets another thread's item."""
    steps = [
        [add(genp(f"thread {number}"), secret(b"%d" % number)), *[copy(genp(f"thread {number}"), DATA)] * 5,
         update(genp(f"thread {number}"), secret(b"new")), delete(genp(f"thread {number}"))]
        for number in range(16)
    ]  # fmt: skip
    for number, answers in enumerate(world.program("main").together(*(calls(world, each) for each in steps))):
        assert [answer["status"] for answer in answers] == [SUCCESS] * 8
        assert [answer["result"] for answer in answers[1:6]] == [data(b"%d" % number)] * 5


def calls(world, steps):
    changes = [{} if step.changes is None else {"changes": step.changes} for step in steps]
    return [{"call": step.call, "query": world.query(step), **more} for step, more in zip(steps, changes, strict=True)]


def loop_of_glib(world):
    """A handler of a GLib main loop makes the calls. The program also has its own GLib connection to the bus."""
    steps = [add(genp("loop"), secret(b"x")), copy(genp("loop"), DATA), delete(genp("loop"))]
    others = [calls(world, [copy(genp("loop"), {"acct": "nobody"})] * 10)] * 4
    answer = world.program("main").answer("loop", inside=calls(world, steps), calls=others)
    assert [each["status"] for each in answer["inside"]] == [SUCCESS] * 3
    assert answer["inside"][1]["result"] == data(b"x")
    assert [each["status"] for each in sum(answer["results"], [])] == [NOT_FOUND] * 40


def child(world):
    """The child of a fork gets its own connection, and the parent keeps its connection."""
    steps = [copy(genp("parent"), DATA), add(genp("child"), secret(b"y"))]
    copied, added = world.program("main").in_child(*calls(world, steps))
    assert copied["result"] == data(b"x") and added["status"] == SUCCESS


def one_waits_for_the_person(world):
    """One thread waits for the person. The other threads do not wait."""
    world.hold()
    other = world.start("plain")
    try:
        world.program("main").begin("copy", query=world.query(copy(genp(), DATA)))
        world.until_asked()
        assert other.add(genp("meanwhile"), secret(b"x"))[0] == SUCCESS and other.read(genp("meanwhile")) == b"x"
        assert world.program("main").is_waiting()
        world.release()
        assert world.program("main").end() == {"status": SUCCESS, "result": data(b"x")}
    finally:
        world.release()
        other.close()


def another_is_faster(world):
    """While the person chooses a passphrase, another process adds an item with the same key."""
    world.hold(SESAME)
    other = world.start("main")
    try:
        world.program("main").begin("add", query=world.query(add(genp(), PASSPHRASE, secret(b"slow"))))
        world.until_asked()
        assert other.add(world.query(add(genp(), secret(b"fast"))))[0] == SUCCESS
        world.release()
        assert world.program("main").end()["status"] == DUPLICATE
    finally:
        world.release()
        other.close()


NOBODY = """
    <busconfig><type>session</type><listen>unix:dir={folder}</listen><policy context="default"><allow user="*"/>
    <allow send_destination="*"/><allow own="*"/><allow receive_sender="*"/></policy></busconfig>
"""


def no_daemon(world):
    """On this bus, no program owns the Secret Service's name or could be started for it."""
    folder = world.session.root / "tmp"
    (folder / "bus.conf").write_text(textwrap.dedent(NOBODY.format(folder=folder)))
    bus = world.session.start("dbus-daemon", "--config-file", folder / "bus.conf", "--print-address=1", "--nofork",
                              stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        nothing_there(world, bus.stdout.readline().strip())
    finally:
        bus.kill()
        bus.wait(seconds(10))
        bus.stdout.close()


def nothing_there(world, address):
    program = Program(world.session, world.caller, DBUS_SESSION_BUS_ADDRESS=address)
    try:
        statuses = [program.answer(call, query=genp())["status"] for call in ("add", "copy", "delete")]
        assert [*statuses, program.update(genp(), {"labl": "L"})] == [NOT_AVAILABLE] * 4
        # A wrong query gives the same error as with a daemon.
        assert program.copy({"class": "such"})[0] == -25306
    finally:
        program.close()


MANY = [
    row("of twenty processes one adds", twenty_processes),
    row("of twenty threads one adds", twenty_threads, copy(genp("threads"), ALL, DATA).gives([data(b"x")])),
    row("threads do not meet", threads_of_their_own),
    row("a loop of the program's own", loop_of_glib),
    row("a child", add(genp("parent"), secret(b"x")), child, copy(genp("child"), DATA).gives(data(b"y")),
        copy(genp("parent"), DATA).gives(data(b"x"))),
    row("nobody waits for another's prompt", one_waits_for_the_person, given=GUARDED, asked=1),
    row("a key that is taken during a prompt", another_is_faster, copy(genp(), ALL, DATA).gives([data(b"fast")]),
        asked=2),
    row("no bus", lambda world: nothing_there(world, "unix:path=/nonexistent")),
    row("no daemon", no_daemon),
]  # fmt: skip

TABLE = [
    *rows(UNLOCKED, *PERSON, *WHOSE, *OTHERS, *MANY, *LASTING),
    *rows(LOCKED, *SCREEN_LOCKED),
    *rows(SCREEN, *BEHIND),
]

worlds, test_row = tried(TABLE)
