"""Python's SecretStorage, and a client that calls as go-keyring does, against the real daemon."""

import textwrap


def python(session, code):
    """Runs code in the session, as its user, and returns what it prints."""
    done = session.run("/usr/bin/python3", "-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_secretstorage(session):
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


def test_a_client_like_go_keyring(session):
    session.login()
    session.store("secret", "service", "s", "username", "u")
    python(
        session,
        """
        from gi.repository import Gio, GLib
        bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        NAME, ROOT = "org.freedesktop.secrets", "/org/freedesktop/secrets"
        def call(path, interface, member, arguments=None):
            return bus.call_sync(NAME, path, interface, member, arguments, None, 0, 10000, None).unpack()
        service = "org.freedesktop.Secret.Service"
        (collections,) = call(ROOT, "org.freedesktop.DBus.Properties", "Get", GLib.Variant("(ss)", (service, "Collections")))
        login = ROOT + "/collection/login"
        assert login in collections
        output, session = call(ROOT, service, "OpenSession", GLib.Variant("(sv)", ("plain", GLib.Variant("s", ""))))
        assert output == ""
        # Exactly the one path that was asked for, and no prompt.
        assert call(ROOT, service, "Unlock", GLib.Variant("(ao)", ([login],))) == ([login], "/")
        (items,) = call(login, "org.freedesktop.Secret.Collection", "SearchItems", GLib.Variant("(a{ss})", ({"service": "s"},)))
        assert call(ROOT, service, "Unlock", GLib.Variant("(ao)", (items[:1],))) == (items[:1], "/")
        ((path, parameters, value, kind),) = call(items[0], "org.freedesktop.Secret.Item", "GetSecret", GLib.Variant("(o)", (session,)))
        assert (path, parameters, bytes(value)) == (session, [], b"secret"), (path, parameters, value)
        """,
    )


def test_a_class_alone_is_a_search_that_empties_nothing(session):
    session.login()
    session.store("one", "app", "one")
    session.store("two", "app", "two", "latchkey:accessible", "after-first-unlock")
    found = session.run("secret-tool", "search", "--all", "latchkey:accessible", "when-unlocked")
    assert "attribute.app = one" in found.stdout + found.stderr and "two" not in found.stdout + found.stderr
    session.run("secret-tool", "clear", "latchkey:accessible", "when-unlocked")
    assert session.lookup("app", "one") == "one" and session.lookup("app", "two") == "two"
    wrong = session.run("secret-tool", "store", "--label=x", "app", "x", "latchkey:accessible", "sometimes", input="x")
    assert wrong.returncode != 0 and "after-first-unlock-this-device-only" in wrong.stderr


def test_a_locked_collection_stays_so_until_a_login(session):
    session.login()
    session.store("secret", "app", "a")
    # secret-tool of libsecret 0.20 frees a list twice after it has locked, so its status says nothing.
    session.run("secret-tool", "lock", "--collection=login")
    assert session.lookup("app", "a") is None
    session.locker()
    assert session.lookup("app", "a") is None
    session.login()
    assert session.lookup("app", "a") == "secret"
