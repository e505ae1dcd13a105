"""The behavior of the SecItem functions with a real daemon and a real PAM login. Each behavior has a row.

The statuses are Apple's numbers. A row fails if its behavior breaks. conformance.py explains the form of a row. The
rows about the person and about parallel calls are in test_keychain_conformance_calls.py.
"""

import dataclasses

import pytest
from support.conformance import (
    ANYTHING, FIRST, LOCKED, NO_PASSWORD, SCREEN, UNLOCKED, Has, Kept, Keys, add, by, copy, delete, genp, inet, row,
    rows, seen, tried, update,
)
from support.program import (
    ALL,
    ATTRIBUTES,
    AUTH_FAILED,
    DATA,
    DUPLICATE,
    FAIL,
    NOT_ALLOWED,
    NOT_FOUND,
    PARAM,
    REFERENCE,
    SKIP,
    data,
    keychain_caller,  # noqa: F401
    merged,
    secret,
)

pytestmark = pytest.mark.night("clients")

NO_SUCH_CLASS = -25306
NO_SUCH_ATTRIBUTE = -25303
UNIMPLEMENTED = -4
TOO_LARGE = -25302
REF = {"r_Ref": True}
NULL = {"null": True}

# The attributes that form the primary key of each class, each with another value and an empty one. Other rows test the
# access group.
KEYS = {
    "genp": {"svce": ("other", ""), "acct": ("bea", ""), "sync": (True, False)},
    "inet": {
        "acct": ("bea", ""), "sdmn": ("other", ""), "srvr": ("example.org", ""), "ptcl": ("http", 0), "atyp": ("httd",
            ""),
        "port": (8443, 0), "path": ("/other", ""), "sync": (True, False),
    },
}
# Attributes outside the primary key.
VALUES = {
    "labl": "Label", "desc": "what it is", "icmt": "why", "crtr": 7, "type": 8, "invi": 1, "nega": 1, "pdmn": "ck",
    "gena": data(b"generic"),
}
ITEMS = {"genp": genp(), "inet": inet()}


def without(query, key):
    return {name: value for name, value in query.items() if name != key}


def ofs(name):
    """The classes that have this attribute."""
    return [each for each in ITEMS if name != "gena" or each == "genp"]


PRIMARY_KEYS = [
    row(
        f"{name}: another {part} alone is another item",
        add(item, secret(b"one")),
        add(item, {part: other}, secret(b"two")),
        copy(item, DATA).gives(data(b"one")),
        copy(item, {part: other}, DATA).gives(data(b"two")),
    )
    for name, item in ITEMS.items() for part, (other, _) in KEYS[name].items()
] + [
    row(
        f"{name}: no {part} is an empty one",
        add(without(item, part), secret(b"one")),
        add(item, {part: empty}).is_(DUPLICATE),
        copy(item, {part: empty}, DATA).gives(data(b"one")),
        delete(item, {part: empty}),
        add(item, {part: empty}, secret(b"two")),
        add(without(item, part)).is_(DUPLICATE),
        copy(item, {part: empty}, DATA).gives(data(b"two")),
        copy(item).is_(NOT_FOUND) if part != "sync" else copy(item),
    )
    for name, item in ITEMS.items() for part, (_, empty) in KEYS[name].items()
] + [
    row(
        f"{name}: another {attribute} is the same item",
        add(item, secret(b"one")),
        add(item, {attribute: value}, secret(b"two")).is_(DUPLICATE),
        copy(item, ALL, DATA).gives([data(b"one")]),
    )
    for attribute, value in VALUES.items() for name, item in ITEMS.items() if name in ofs(attribute)
] + [
    row(
        f"{name}: an update of {part} onto another item changes nothing",
        add(item, {"labl": "one"}, secret(b"one")),
        add(item, {part: other, "labl": "two"}, secret(b"two")),
        update(item | {"labl": "one"}, {part: other, "labl": "three"}, secret(b"three")).is_(DUPLICATE),
        copy(item, ATTRIBUTES, DATA).gives(Has(labl="one", v_Data=data(b"one"))),
        copy(item, {part: other}, ATTRIBUTES, DATA).gives(Has(labl="two", v_Data=data(b"two"))),
    )
    for name, item in ITEMS.items() for part, (other, _) in KEYS[name].items()
] + [
    row("both classes have an item of one account", add(genp()), add(inet()), copy(genp()), copy(inet())),
    row("data of the same bytes is the same key", add(genp()), add(genp(acct=data(b"anna"))).is_(DUPLICATE)),
    row(
        "of an update that makes two the same, none is carried out",
        add(genp(), {"labl": "one"}), add(genp(acct="bea"), {"labl": "two"}),
        update({"class": "genp"}, {"acct": "cleo"}).is_(DUPLICATE),
        copy({"class": "genp"}, ALL, ATTRIBUTES).gives([Has(acct="bea", labl="two"), Has(acct="anna", labl="one")]),
    ),
    row(
        "an update onto a free key",
        add(genp(), secret(b"x")), update(genp(), {"acct": "bea"}), copy(genp()).is_(NOT_FOUND),
        copy(genp(acct="bea"), DATA).gives(data(b"x")), add(genp()), add(genp(acct="bea")).is_(DUPLICATE),
    ),
]  # fmt: skip

THREE = (add(genp(acct="a"), secret(b"1")), add(genp(acct="b"), secret(b"2")), add(genp(acct="c"), secret(b"3")))
GENERIC = {"class": "genp"}
# The item that was changed last comes first. Latchkey chose this order, because Apple documents no order.
LIMITS = [
    row("no limit is one, not in an array", *THREE, copy(GENERIC, DATA).gives(data(b"3"))),
    row("limit one", *THREE, copy(GENERIC, DATA, {"m_Limit": "m_LimitOne"}).gives(data(b"3"))),
    row("limit 1", *THREE, copy(GENERIC, DATA, {"m_Limit": 1}).gives(data(b"3"))),
    row("limit 2", *THREE, copy(GENERIC, DATA, {"m_Limit": 2}).gives([data(b"3"), data(b"2")])),
    row("limit 9", *THREE, copy(GENERIC, DATA, {"m_Limit": 9}).gives([data(b"3"), data(b"2"), data(b"1")])),
    row("limit all", *THREE, copy(GENERIC, DATA, ALL).gives([data(b"3"), data(b"2"), data(b"1")])),
    row("limit all of one item is an array", *THREE, copy(genp(acct="b"), DATA, ALL).gives([data(b"2")])),
    row("limit 2 of one item is an array", *THREE, copy(genp(acct="b"), DATA, {"m_Limit": 2}).gives([data(b"2")])),
    row("limit all of nothing", *THREE, copy(genp(acct="d"), DATA, ALL).is_(NOT_FOUND)),
    row("a limit behind items that do not match", *THREE, *(add(genp(acct=f"d{number}")) for number in range(6)),
        add(genp(acct="z"), {"icmt": "here"}, secret(b"z")), copy(GENERIC, {"icmt": "here"}, DATA).gives(data(b"z"))),
    *(
        row(f"limit {limit} is none", *THREE, copy(GENERIC, {"m_Limit": limit}).is_(PARAM))
        for limit in (0, -1, 1.5, "2", "all", NULL)
    ),
    row("an update is for all matches", *THREE, update(GENERIC, {"labl": "L"}, secret(b"x")),
        copy(GENERIC, {"labl": "L"}, DATA, ALL).gives([data(b"x")] * 3)),
    row("an update without a match", *THREE, update(genp(acct="d"), {"labl": "L"}).is_(NOT_FOUND),
        copy(GENERIC, {"labl": "L"}).is_(NOT_FOUND)),
    row("an update takes no limit", *THREE, update(genp(acct="a") | ALL, {"labl": "L"}).is_(PARAM)),
    *(
        row(f"an update returns nothing: {key}", *THREE, update(genp(acct="a") | {key: True}, {"labl": "L"}).is_(PARAM),
            copy(GENERIC, {"labl": "L"}).is_(NOT_FOUND))
        for key in ("r_Data", "r_Attributes", "r_PersistentRef", "r_Ref")
    ),
    row("a deletion is for all matches", *THREE, add(genp("keep")), delete({"class": "genp", "svce": "mail"}),
        copy(GENERIC, ALL, ATTRIBUTES).gives([Has(svce="keep")])),
    row("a deletion without a match", *THREE, delete(genp(acct="d")).is_(NOT_FOUND), copy(genp(acct="a"))),
    *(
        row(f"a deletion takes no limit: {limit}", *THREE, delete(GENERIC, {"m_Limit": limit}).is_(PARAM),
            copy(GENERIC, ALL, DATA).gives([data(b"3"), data(b"2"), data(b"1")]))
        for limit in ("m_LimitOne", 1)
    ),
    # iOS refuses this query and macOS accepts it. The query states the default anyway.
    row("a deletion takes the limit of all", *THREE, add(genp("keep")), delete({"class": "genp", "svce": "mail"}, ALL),
        copy(GENERIC, ALL, ATTRIBUTES).gives([Has(svce="keep")])),
    row("a deletion is for good", *THREE, delete(genp(acct="a")), delete(genp(acct="a")).is_(NOT_FOUND)),
]  # fmt: skip

BARE = ("class", "agrp", "sync", "pdmn", "accc", "svce", "acct", "cdat", "mdat")
PASSWORD = data(b"the secret")
# The result for each combination of data (d), attributes (a), persistent reference (p) and reference (r).
RETURNS = {
    "": None,
    "d": PASSWORD,
    "a": Keys(*BARE),
    "p": Kept("reference"),
    "da": Keys(*BARE, "v_Data"),
    "dp": Keys("v_Data", "v_PersistentRef"),
    "ap": Keys(*BARE, "v_PersistentRef"),
    "dap": Keys(*BARE, "v_Data", "v_PersistentRef"),
    "dr": {"v_Data": PASSWORD},
    "ar": Keys(*BARE),
    "pr": {"v_PersistentRef": Kept("reference")},
    "dar": Keys(*BARE, "v_Data"),
    "dpr": {"v_Data": PASSWORD, "v_PersistentRef": Kept("reference")},
    "apr": Keys(*BARE, "v_PersistentRef"),
    "dapr": Keys(*BARE, "v_Data", "v_PersistentRef"),
}
KINDS = {"d": DATA, "a": ATTRIBUTES, "p": REFERENCE, "r": REF}


def wanted(letters):
    return merged(*(KINDS[letter] for letter in letters))


RETURNED = [
    row(
        f"returned: {letters or 'nothing'}",
        add(genp(), secret(b"the secret"), REFERENCE).kept("reference"),
        copy(genp(), wanted(letters)).gives(result),
        copy(genp(), wanted(letters), ALL).gives([result] if letters else None),
    )
    for letters, result in RETURNS.items()
] + [
    row(
        f"returned by an addition: {letters or 'nothing'}",
        add(genp(), secret(b"the secret"), wanted(letters)).gives(ANYTHING if result == Kept("reference") else result),
    )
    for letters, result in RETURNS.items() if "r" not in letters
] + [
    row("a reference alone is none", add(genp()), copy(genp(), REF).is_(UNIMPLEMENTED)),
    row("what is not to be returned", add(genp()), copy(genp(), {"r_Data": False, "r_Attributes": 0}).gives(None)),
    row("a query finds only what has its data's attributes, not its data",
        add(genp(), secret(b"x")), copy(genp(), secret(b"y"), DATA).gives(data(b"x"))),
]  # fmt: skip

LATER = "an item has the time of its change"
VALUES_KEPT = [
    row("what nothing is said of", add(genp()),
        copy(genp(), ATTRIBUTES).gives(Has(pdmn="ak", sync=0, accc={"control": "<SecAccessControl: ak>"}, **genp()))),
    *(
        row(f"accessible {pdmn}", add(genp(pdmn=pdmn)), copy(genp(), ATTRIBUTES).gives(Has(pdmn=pdmn)),
            copy(genp(pdmn=pdmn)), copy(genp(pdmn="dk" if pdmn != "dk" else "ck")).is_(NOT_FOUND))
        for pdmn in ("ak", "aku", "akpu", "ck", "cku", "dk", "dku")
    ),
    row("what is absent comes back empty", add(GENERIC), copy(GENERIC, ATTRIBUTES).gives(Has(svce="", acct="",
        labl=None, gena=None))),
    row("what is absent comes back empty, or as 0", add({"class": "inet"}), copy({"class": "inet"}, ATTRIBUTES).gives(
        Has(srvr="", acct="", sdmn="", path="", atyp="", ptcl=0, port=0, labl=None))),
    row("an accessibility that changes", add(genp(), secret(b"x")), update(genp(), {"pdmn": "cku"}),
        copy(genp(), ATTRIBUTES, DATA).gives(Has(pdmn="cku", v_Data=data(b"x")))),
    *(
        row(f"{key} {number}: {value}", add(GENERIC, {"acct": "anna"} | {key: value}),
            copy(GENERIC, ATTRIBUTES).gives(Has(**{key: value})), copy(GENERIC, {key: value}),
            copy(GENERIC, {key: "other"}).is_(NOT_FOUND))
        for key in ("acct", "svce", "gena", "labl", "desc", "icmt")
        for number, value in enumerate(
            ["text", data(b"text"), data(b"\xff\0\xfe"), data(b""), "", "Ä\u0301 \U0001f511", "nul\0nul", "text=x",
                "data"])
        if not (key in ("acct", "svce") and value in ("", data(b"")))
    ),
    *(
        row(f"{key} 5", add(inet(), {key: 5}), copy({"class": "inet"}, ATTRIBUTES).gives(Has(**{key: 5})),
            copy({"class": "inet", key: 5}), copy({"class": "inet", key: 6}).is_(NOT_FOUND))
        for key in ("port", "crtr", "type")
    ),
    row("text and data of the same bytes are found by each other", add(genp(acct="anna")), add(genp("b", data(b"bea"))),
        copy(genp(acct=data(b"anna")), ATTRIBUTES).gives(Has(acct="anna")),
        copy(genp("b", "bea"), ATTRIBUTES).gives(Has(acct=data(b"bea")))),
    row("the type changes with an update", add(genp()), update(genp(), {"acct": data(b"anna")}),
        copy(genp(), ATTRIBUTES).gives(Has(acct=data(b"anna")))),
    row("what an update does not name stays", add(genp(), {"labl": "L", "icmt": "C", "gena": data(b"g")}, secret(b"x")),
        update(genp(), {"labl": "M"}),
        copy(genp(), ATTRIBUTES, DATA).gives(Has(labl="M", icmt="C", gena=data(b"g"), v_Data=data(b"x"), pdmn="ak"))),
    row("empty data", add(genp(), secret(b"")), copy(genp(), DATA).gives(data(b""))),
    row("no data", add(genp()), copy(genp(), DATA).gives(data(b"")), copy(genp(), DATA,
        ATTRIBUTES).gives(Has(v_Data=data(b"")))),
    row("data with a NUL and no text", add(genp(), secret(b"\0\xff\n")), copy(genp(), DATA).gives(data(b"\0\xff\n"))),
    row("data becomes empty", add(genp(), secret(b"x")), update(genp(), secret(b"")), copy(genp(),
        DATA).gives(data(b""))),
    row("a mebibyte", add(genp(), secret(b"12345678" * (1 << 17))),
        copy(genp(), DATA).gives(data(b"12345678" * (1 << 17)))),
    row("too much data", add(genp(), {"v_Data": {"zeros": 33 << 20}}).is_(TOO_LARGE), copy(genp()).is_(NOT_FOUND)),
    row("dates", add(genp(), ATTRIBUTES).kept("added"),
        seen(lambda added: added["cdat"] == added["mdat"] and added["cdat"]["date"] > 1.7e9, "added"),
        copy(genp(), ATTRIBUTES).gives(Kept("added")), copy(genp(), {"cdat": Kept("added", "cdat")}),
        copy(genp(), {"cdat": {"date": 5}}).is_(NOT_FOUND), copy(genp(), {"mdat": {"date": 5}}).is_(NOT_FOUND)),
    row("dates are the vault's", add(genp(), {"cdat": {"date": 5}, "mdat": {"date": 5}}),
        update(genp(), {"cdat": {"date": 5}, "mdat": {"date": 5}, "labl": "L"}), copy(genp(), ATTRIBUTES).kept("item"),
        seen(lambda item: item["cdat"]["date"] > 5 and item["mdat"]["date"] > 5, "item")),
    row(LATER, add(genp(), ATTRIBUTES).kept("added"),
        lambda world: world.until_later("added"), update(genp(), secret(b"x")), copy(genp(),
            ATTRIBUTES).kept("changed"),
        seen(lambda one, two: one["cdat"] == two["cdat"] and two["mdat"]["date"] > one["mdat"]["date"], "added",
            "changed")),
    row("a password of the other class is none", add(genp()), copy({"class": "inet", "acct": "anna"}).is_(NOT_FOUND)),
    row("synchronizable: no key is no", add(genp(), secret(b"n")), add(genp(sync=True), secret(b"y")),
        copy(genp(), ALL, DATA).gives([data(b"n")])),
    row("synchronizable: no", add(genp(), secret(b"n")), add(genp(sync=True), secret(b"y")),
        copy(genp(sync=False), ALL, DATA).gives([data(b"n")])),
    row("synchronizable: yes", add(genp(), secret(b"n")), add(genp(sync=True), secret(b"y")),
        copy(genp(sync=True), ALL, DATA).gives([data(b"y")]), copy(genp(sync=True), ATTRIBUTES).gives(Has(sync=1))),
    row("synchronizable: any", add(genp(), secret(b"n")), add(genp(sync=True), secret(b"y")),
        copy(genp(sync="syna"), ALL, DATA).gives([data(b"y"), data(b"n")])),
    row("synchronizable: nobody stores any", add(genp(sync="syna")).is_(PARAM)),
    row("synchronizable: deletion without the key", add(genp()), add(genp(sync=True)), delete(genp()),
        copy(genp(sync=True))),
    row("synchronizable: update without the key", add(genp(sync=True)), update(genp(), {"labl": "L"}).is_(NOT_FOUND)),
    row("synchronizable and this device's", add(genp(sync=True, pdmn="aku")), copy(genp(sync=True, pdmn="aku"))),
]  # fmt: skip


def everywhere(query, status):
    """All four calls fail with this status."""
    return (
        add(query).is_(status), copy(query).is_(status), update(query, {"labl": "L"}).is_(status),
            delete(query).is_(status),
    )  # fmt: skip


MISTAKES = [
    *(
        row(f"class {name}", add({"class": name}).is_(UNIMPLEMENTED),
            *(call({"class": name}).is_(NOT_FOUND) for call in (copy, delete)),
            update({"class": name}, {"labl": "L"}).is_(NOT_FOUND))
        for name in ("keys", "cert", "idnt")
    ),
    row("an unknown class", *everywhere({"class": "such"}, NO_SUCH_CLASS)),
    row("no class", *everywhere({"acct": "anna"}, PARAM)),
    *(row(f"class {value}", *everywhere({"class": value}, PARAM)) for value in (5, NULL, data(b"genp"))),
    *(
        row(f"{key} is no key", *everywhere(genp(**{key: value}), PARAM), add(genp()))
        for key, value in {"m_Other": 1, "r_Other": True, "u_Other": True, "v_Other": 1, "other": "x", "": "x"}.items()
    ),
    row("an attribute that is none", *everywhere(genp(abcd="x"), NO_SUCH_ATTRIBUTE)),
    row("an attribute of the other class", *everywhere(genp(srvr="x"), NO_SUCH_ATTRIBUTE),
        *everywhere(inet(svce="x"), NO_SUCH_ATTRIBUTE)),
    *(
        row(f"{key} {value}", *everywhere(genp(**{key: value}), PARAM), add(genp()))
        for key, values in {
            "acct": [NULL, {"date": 1}, 1.5], "svce": [NULL], "labl": [NULL], "agrp": [5, NULL], "sync": ["x", 2, NULL],
            "pdmn": ["xx", 5, NULL], "accc": ["ak", NULL], "v_Data": ["secret", 5, NULL], "crtr": [1.5, NULL],
            "cdat": ["today", NULL], "u_AuthUI": ["u_AuthUIX", NULL], "u_NoAuthUI": ["yes"], "u_AuthCtx": ["c", NULL],
            "u_OpPrompt": [5], "r_Data": ["yes", 2, NULL], "v_PersistentRef": ["x", data(b"genp"), data(b"xxxx1")],
        }.items() for value in values
    ),
    *(
        row(f"an update to {key} {value}", add(genp(), secret(b"x")), update(genp(), {key: value}).is_(status),
            copy(genp(), DATA).gives(data(b"x")))
        for key, value, status in [
            ("acct", NULL, PARAM), ("v_Data", NULL, PARAM), ("pdmn", "xx", PARAM), ("sync", "syna", PARAM),
            ("class", "genp", NO_SUCH_ATTRIBUTE), ("r_Data", True, NO_SUCH_ATTRIBUTE), ("srvr", "x", NO_SUCH_ATTRIBUTE),
            ("agrp", "TEAM.foreign", -25243),
        ]
    ),
    row("accessible and another access control", *(
        add(genp(), {"pdmn": "ck", "accc": {"control": "ak", "flags": flags}}).is_(PARAM) for flags in (0, 1)),
        add(genp(), {"pdmn": "ak", "accc": {"control": "ak", "flags": 1}}).is_(PARAM),
        add(genp(), {"pdmn": "ck", "accc": {"control": "ck", "flags": 0}}),
        copy(genp(), ATTRIBUTES).gives(Has(pdmn="ck"))),
    row("access control for keys alone", add(genp(), {"accc": {"control": "ak", "flags": 1 << 30}}).is_(PARAM)),
]  # fmt: skip

CLASSES = ("ak", "aku", "akpu", "ck", "cku", "dk", "dku")
WHEN_UNLOCKED = ("ak", "aku", "akpu")


def of_classes(*classes):
    return tuple(add(genp(pdmn=pdmn, acct=pdmn), secret(pdmn.encode())) for pdmn in classes)


def locked(closed, silent):
    """The rows of a locked state, in which the `closed` classes are not readable. `silent` ensures that no prompt
    appears."""
    wants = {"data": DATA, "attributes": ATTRIBUTES, "existence": {}, "reference": REFERENCE, "data of all": DATA | ALL}
    opened = [pdmn for pdmn in CLASSES if pdmn not in closed]
    early = closed[-1]
    return [
        *(
            row(f"{name} of {pdmn}", copy(genp(acct=pdmn), want, silent).is_(NOT_ALLOWED), given=of_classes(*CLASSES))
            for name, want in wants.items() for pdmn in closed
        ),
        *(
            row(f"what is open: {pdmn}", copy(genp(acct=pdmn), DATA, ATTRIBUTES, silent).gives(
                Has(v_Data=data(pdmn.encode()), acct=pdmn, pdmn=pdmn)), given=of_classes(pdmn))
            for pdmn in opened
        ),
        *(
            row(f"no match for {name}", copy(genp(acct="nobody"), want, silent).is_(NOT_FOUND),
                copy(genp(svce="none"), want, silent).is_(NOT_FOUND), copy(inet(), want, silent).is_(NOT_FOUND),
                copy(genp(acct="ak", sync=True), want, silent).is_(NOT_FOUND), given=of_classes(*CLASSES))
            for name, want in wants.items()
        ),
        row("skip does not leave out what is locked", copy(genp(acct="ak"), SKIP).is_(NOT_ALLOWED),
            copy(genp(acct="ak"), SKIP, DATA).is_(NOT_ALLOWED), copy(genp(acct="ak"), SKIP, DATA, ALL).is_(NOT_ALLOWED),
            update(genp(acct="ak") | SKIP, {"labl": "L"}).is_(NOT_ALLOWED), given=of_classes("ak")),
        row("one locked item ends a search for all", copy(GENERIC, ALL, silent).is_(NOT_ALLOWED),
            copy(GENERIC, ALL, DATA, silent).is_(NOT_ALLOWED), delete(genp(acct="ak"), silent),
            copy(GENERIC, ALL, DATA, silent).gives([data(b"dk")]), given=of_classes("dk", "ak")),
        *(row(f"an addition of {pdmn}", add(genp(pdmn=pdmn), silent).is_(NOT_ALLOWED), copy(genp(),
            silent).is_(NOT_FOUND))
          for pdmn in closed),
        row("an addition without a word of it", add(genp(), silent).is_(NOT_ALLOWED), copy(genp(),
            silent).is_(NOT_FOUND)),
        row("an addition of what is there", add(genp(acct="ak"), silent).is_(NOT_ALLOWED), given=of_classes("ak")),
        *(row(f"an addition of {pdmn}, which is open", add(genp(pdmn=pdmn), secret(b"x"), silent),
              copy(genp(), DATA, silent).gives(data(b"x")), add(genp(pdmn=pdmn),
                  silent).is_(DUPLICATE)) for pdmn in opened),
        *(
            row(f"an update of {pdmn}", update(genp(acct=pdmn) | silent, {"labl": "L"}).is_(NOT_ALLOWED),
                update(genp(acct=pdmn) | silent, secret(b"y")).is_(NOT_ALLOWED),
                update(genp(acct=pdmn) | silent, {"acct": "x"}).is_(NOT_ALLOWED), given=of_classes(pdmn))
            for pdmn in closed
        ),
        *(
            row(f"an update of {pdmn}, which is open", update(genp(acct=pdmn) | silent, {"labl": "L"}, secret(b"y")),
                copy(genp(acct=pdmn), {"labl": "L"}, DATA, silent).gives(data(b"y")), given=of_classes(pdmn))
            for pdmn in opened
        ),
        row(f"an update to {early}", update(genp(acct="dk") | silent, {"pdmn": early}).is_(NOT_ALLOWED),
            copy(genp(acct="dk"), DATA, silent).gives(data(b"dk")), given=of_classes("dk")),
        row("an update to ak", update(genp(acct="dk") | silent, {"pdmn": "ak"}, secret(b"y")).is_(NOT_ALLOWED),
            copy(genp(acct="dk"), DATA, silent).gives(data(b"dk")), given=of_classes("dk")),
        *(row(f"a deletion of {pdmn}", delete(genp(acct=pdmn), silent), copy(genp(acct=pdmn), silent).is_(NOT_FOUND),
              given=of_classes(*CLASSES)) for pdmn in CLASSES),
        row("a reference of what is locked", copy(by("it"), silent).is_(NOT_ALLOWED), copy(by("it"), DATA,
            silent).is_(NOT_ALLOWED),
            update(by("it") | silent, {"labl": "L"}).is_(NOT_ALLOWED), copy(by("other"), DATA,
                silent).gives(data(b"y")),
            delete(by("it"), silent), copy(by("it"), silent).is_(NOT_FOUND), given=(add(genp(), secret(b"x"),
                REFERENCE).kept(
            "it"), add(genp(acct="bea", pdmn="dk"), secret(b"y"), REFERENCE).kept("other"))),
        row("a deletion of nothing", delete(genp(acct="nobody"), silent).is_(NOT_FOUND), given=of_classes("ak")),
        row("an item that asks is locked first", copy(genp(), DATA, silent).is_(NOT_ALLOWED),
            copy(genp(), DATA, SKIP).is_(NOT_ALLOWED), delete(genp(), silent),
            given=(add(genp(), {"accc": {"control": "ak", "flags": 1}}, secret(b"x")),)),
    ]  # fmt: skip


def named(state, table):
    return [dataclasses.replace(each, name=f"{state}: {each.name}") for each in rows(state, *table)]


TABLE = [
    *rows(UNLOCKED, *PRIMARY_KEYS, *LIMITS, *RETURNED, *VALUES_KEPT, *MISTAKES),
    *named(SCREEN, locked(WHEN_UNLOCKED, {})),
    *named(LOCKED, locked(WHEN_UNLOCKED, FAIL)),
    *named(FIRST, locked(("ak", "aku", "akpu", "ck", "cku"), FAIL)),
    *named(
        NO_PASSWORD,
        [
            row("nothing when a passcode is set", add(genp(pdmn="akpu"), secret(b"x")).is_(AUTH_FAILED),
                copy(genp()).is_(NOT_FOUND)),
            row("nothing with access control either", add(genp(), {"accc": {"control": "akpu"}}).is_(AUTH_FAILED)),
            row("no update to it", add(genp(), secret(b"x")), update(genp(), {"pdmn": "akpu"}).is_(AUTH_FAILED),
                copy(genp(), ATTRIBUTES, DATA).gives(Has(pdmn="ak", v_Data=data(b"x")))),
            *(row(f"all else: {pdmn}", add(genp(pdmn=pdmn), secret(b"x")), copy(genp(), DATA).gives(data(b"x")),
                  add(genp()).is_(DUPLICATE)) for pdmn in CLASSES if pdmn != "akpu"),
        ],
    ),
]  # fmt: skip

worlds, test_row = tried(TABLE)
