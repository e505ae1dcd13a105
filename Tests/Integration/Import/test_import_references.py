"""latchkey import keepass: a reference to another entry's value arrives as the value that the real KeePassXC shows."""

import pytest
from support.foreign import PASSWORD, seen
from support.importing import (
    DONE, PARTLY, encoded, keepass_database, keepass_entry, keepass_group, keepass_string, report, run)  # fmt: skip


def identifier(number):
    return f"{number:032X}"


ENTRIES = {
    "SSO": {"UserName": "ann", "Password": "real-secret", "URL": "https://sso.example", "Notes": "two\nlines"},
    "App": {"UserName": f"{{REF:U@I:{identifier(10)}}}", "Password": f"{{REF:P@I:{identifier(10)}}}", "URL": "https://app.example"},
    "Wiki": {"UserName": "x{TITLE}", "Password": "{REF:P@T:SSO}-{REF:P@T:App}", "URL": "https://{TITLE}.example"},
    "Odd": {"UserName": "{USER}", "Password": "{ } {{TITLE {abc} {\"a\":1}", "URL": "https://{S:host}/{S:own}", "Notes": "see {REF:N@T:SSO}",
            "host": "odd.example", "own": "{USERNAME} {REF:U@P:real-secret} {S:host}"},
}  # fmt: skip


def database(session, entries):
    told = (keepass_entry(10 + number, keepass_string("Title", title), *(keepass_string(*field) for field in fields.items()))
            for number, (title, fields) in enumerate(entries.items()))  # fmt: skip
    xml = "<?xml version='1.0' encoding='UTF-8'?><KeePassFile><Meta><Generator>test</Generator></Meta><Root>"
    return keepass_database(session, xml + keepass_group(1, "Passwords", *told) + "</Root></KeePassFile>")


def shown(session, file, title, field):
    done = session.run("keepassxc-cli", "show", "-q", "-s", "-a", field, file, title, input=PASSWORD + "\n", check=True, timeout=120)
    return done.stdout.removesuffix("\n")


def test_values_are_those_that_keepassxc_shows(unlocked):
    file = database(unlocked, ENTRIES)
    done = run(unlocked, "keepass", file)
    assert done.returncode == DONE, done.stdout
    arrived = {(one[1], dict(map(tuple, one[2]))["field"]): (dict(map(tuple, one[2])), one[3]) for one in seen(unlocked)}
    for title, fields in ENTRIES.items():
        for field in fields:
            real = shown(unlocked, file, title, field)
            if field in ("UserName", "URL"):
                assert arrived[title, "password"][0][{"UserName": "user", "URL": "url"}[field]] == real
            else:
                kind = {"Password": "password", "Notes": "notes"}.get(field, "custom")
                label = {"password": title, "notes": f"{title} (notes)", "custom": f"{title} ({field})"}[kind]
                assert arrived[label, kind][1] == encoded(real.encode()), (title, field)
    assert arrived["App", "password"][1] == encoded(b"real-secret") and arrived["Wiki", "password"][0]["server"] == "wiki.example"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{REF:P@T:none}", "refers to an entry or a field that does not exist"),
        ("{PASSWORD}", "refers to itself"),
        ("{DT_YEAR}", "has the placeholder DT_, whose value only KeePass knows"),
        ("{REF:P@T:{TITLE}}", "has the placeholder REF:"),
    ],
)
def test_values_that_stay_behind(unlocked, value, reason):
    file = database(unlocked, {"SSO": {"Password": "p"}, "App": {"Password": value}, "Web": {"Password": "p", "URL": "https://{PASSWORD}/"}})
    done = run(unlocked, "keepass", file, "--json")
    assert done.returncode == PARTLY
    left = {line["label"]: line["reason"] for line in report(done)["lines"] if line["outcome"] == "left"}
    assert list(left) == ["App (Password)", "Web (URL)"] and reason in left["App (Password)"]
    assert "refers to a secret, which does not belong into an attribute" in left["Web (URL)"]
    assert [one[1] for one in seen(unlocked)] == ["SSO", "Web"]
