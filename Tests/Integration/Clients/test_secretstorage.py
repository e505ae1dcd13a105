"""Python's SecretStorage."""

import pytest
from support.clients import LOCKED, answer_behind_a_locker, bring_back, bring_to, python, script

pytestmark = pytest.mark.second_try

STORAGE = """
import secretstorage
bus = secretstorage.dbus_init()
words = {"application": "test", "user": "me"}
def default():
    return secretstorage.get_default_collection(bus)
def found():
    return list(default().search_items(words))
"""


def test_secretstorage(session, peer):
    told = script(
        session,
        STORAGE
        + """
tell("check", lambda: secretstorage.check_service_availability(bus))
tell("label", lambda: default().get_label())
tell("labels", lambda: sorted(c.get_label() for c in secretstorage.get_all_collections(bus)))
tell("create", lambda: default().create_item("One", words, b"first", replace=True).get_label())
tell("replace", lambda: default().create_item("Two", words, b"second", replace=True).get_label())
tell("items", lambda: [item.get_secret() .decode() for item in found()])
tell("locked", lambda: [default().is_locked(), found()[0].is_locked()])
tell("unlock", lambda: [default().unlock(), found()[0].unlock()])
def setters():
    item = found()[0]
    item.set_label("Three")
    item.set_secret(b"third", "text/x-test")
    item.set_attributes(dict(words, more="yes"))
    item = found()[0]
    return [item.get_label(), item.get_secret().decode(), item.get_secret_content_type(), item.get_attributes(),
        item.get_created() <= item.get_modified()]
tell("setters", setters)
def collection():
    made = secretstorage.create_collection(bus, "Mine", alias="mine")
    item = made.create_item("In", {"a": "b"}, b"inside")
    made.set_label("Yours")
    answer = [made.get_label(), item.get_secret().decode(), len(list(made.get_all_items())),
        secretstorage.get_collection_by_alias(bus, "mine").collection_path == made.collection_path]
    made.delete()
    return answer
tell("collection", collection)
def gone():
    item = found()[0]
    item.delete()
    try: item.get_secret()
    except secretstorage.ItemNotFoundException: return len(found())
tell("delete", gone)
tell("any", lambda: secretstorage.get_any_collection(bus).get_label())
""",
    )
    assert told["check"] is True
    assert told["label"] == "Login" and told["any"] == "Login"
    assert told["labels"] == ["Login", "Session"]
    assert told["create"] == "One" and told["replace"] == "Two"
    assert told["items"] == ["second"]
    assert told["locked"] == [False, False]
    assert told["unlock"] == [False, False]
    attributes = {"application": "test", "user": "me", "more": "yes"}
    assert told["setters"] == ["Three", "third", "text/x-test", attributes, True]
    assert told["collection"] == ["Yours", "inside", 1, True]
    assert told["delete"] == 0


@pytest.mark.parametrize("state", LOCKED)
def test_secretstorage_while_locked(session, peer, state):
    script(session, STORAGE + 'tell("create", lambda: default().create_item("One", words, b"first").item_path)')
    bring_to(state, session, peer)
    told = script(
        session,
        STORAGE
        + """
tell("labels", lambda: [item.get_label() for item in found()])
tell("secrets", lambda: [item.get_secret() for item in found()])
tell("collection", lambda: default().is_locked())
tell("dismissed", lambda: default().unlock())
tell("item dismissed", lambda: found()[0].unlock())
tell("replace", lambda: default().create_item("Two", words, b"second", replace=True).item_path)
tell("everywhere", lambda: len(list(secretstorage.search_items(bus, words))))
""",
    )
    assert told["labels"] == ["" if state == "sealed" else "One"]
    assert told["secrets"].startswith("! LockedException")
    assert told["collection"] is True
    assert told["dismissed"] is True
    assert told["item dismissed"] is True
    assert told["replace"].startswith("! ")
    assert told["everywhere"] == 1
    bring_back(state, session, peer)
    told = script(session, STORAGE + 'tell("secrets", lambda: [i.get_secret().decode() for i in found()])')
    assert told["secrets"] == ["first"]


def test_secretstorage_behind_a_locker(session, peer):
    script(session, STORAGE + 'tell("create", lambda: default().create_item("One", words, b"first").item_path)')
    code = """
tell("secrets", lambda: [item.get_secret() for item in found()])
tell("collection", lambda: default().is_locked())
tell("dismissed", lambda: default().unlock())
tell("item dismissed", lambda: found()[0].unlock())
tell("then", lambda: [item.get_secret().decode() for item in found()])
"""
    told = answer_behind_a_locker(session, peer, lambda: script(session, STORAGE + code))
    assert told["secrets"].startswith("! LockedException")
    assert (told["collection"], told["dismissed"], told["item dismissed"]) == (False, False, False)
    assert told["then"] == ["first"]


def test_secrets_of_every_length_in_an_encrypted_session(session, peer):
    told = script(
        session,
        STORAGE
        + """
def lengths():
    wrong = []
    for length in [0, 1, 15, 16, 17, 31, 32, 255, 256, 65536, 1048577]:
        value = bytes(i % 251 for i in range(length))
        item = default().create_item("L", {"length": str(length)}, value)
        if item.get_secret() != value: wrong.append(length)
    return wrong
tell("wrong", lengths)
""",
    )
    assert told["wrong"] == []


def test_secretstorage_items(session):
    session.login()
    assert (
        python(
            session,
            """
            import secretstorage
            bus = secretstorage.dbus_init()
            collection = secretstorage.get_default_collection(bus)
            assert not collection.is_locked()
            item = collection.create_item("label", {"application": "a", "user": "u"}, b"one", replace=True)
            assert collection.create_item("label", {"application": "a", "user": "u"}, b"two", replace=True) == item
            item.set_label("new label")
            item.set_attributes({"application": "a", "user": "v"})
            (found,) = collection.search_items({"user": "v"})
            print(found.get_label(), found.get_secret().decode(), found.get_secret_content_type())
            found.set_secret(b"three\\0", "application/octet-stream")
            assert found.get_secret() == b"three\\0"
            found.delete()
            assert list(collection.search_items({"user": "v"})) == []
            other = secretstorage.create_collection(bus, "Other")
            assert other.get_label() == "Other"
            other.delete()
            """,
        )
        == "new label two text/plain\n"
    )


def test_secretstorage_behind_the_lock(session):
    session.login()
    python(
        session,
        """
        import secretstorage
        collection = secretstorage.get_default_collection(secretstorage.dbus_init())
        collection.create_item("label", {"user": "u"}, b"secret")
        """,
    )
    session.lock()
    python(
        session,
        """
        import secretstorage
        bus = secretstorage.dbus_init()
        collection = secretstorage.get_default_collection(bus)
        (item,) = collection.search_items({"user": "u"})
        assert item.is_locked() and item.get_label() == "label" and item.get_attributes() == {"user": "u"}
        assert item.unlock() is True  # SecretStorage returns whether the prompt was dismissed
        try:
            item.get_secret()
        except secretstorage.exceptions.LockedException:
            pass
        else:
            raise SystemExit("it was read")
        """,
    )
    assert session.locker()
    python(
        session,
        """
        import secretstorage
        collection = secretstorage.get_default_collection(secretstorage.dbus_init())
        (item,) = collection.search_items({"user": "u"})
        assert item.get_secret() == b"secret"
        """,
    )
