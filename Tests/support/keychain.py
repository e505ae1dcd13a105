"""A client of org.latchkey.Keychain and org.latchkey.Prompt, and a person whose prompts are all recorded."""

import urllib.parse
from typing import NamedTuple

from gi.repository import Gio, GLib
from support.pace import Limit
from support.peer import ITEM, LIMIT, NOTHING, PROMPT, ROOT, SECRETS, Failure, attributes_of, octets

KEYCHAIN, TOLD_PROMPT = "org.latchkey.Keychain", "org.latchkey.Prompt"
DUPLICATE = "org.latchkey.Error.Duplicate"
READABLE, LOCKED, ASKS = range(3)


class Item(NamedTuple):
    """An item, as the interface returns it."""

    path: str
    identifier: bytes
    attributes: dict
    label: str
    created: int
    modified: int
    accessible: str
    require: str
    state: int
    is_known: bool


class Found(NamedTuple):
    screen_locked: bool
    items: list
    # The secrets, by the path of the item.
    secrets: dict

    @property
    def paths(self):
        return [item.path for item in self.items]


def found(answer):
    screen_locked, items, secrets = (answer.get_child_value(index) for index in range(3))
    return Found(
        screen_locked.unpack(),
        [Item(*item)._replace(identifier=bytes(item[1])) for item in items.unpack()],
        {path: bytes(secret[2]) for path, secret in secrets.unpack().items()},
    )


def find(peer, *sets, limit=0, session=NOTHING):
    parameters = GLib.Variant("(aa{ss}uo)", (list(sets), limit, session))
    return found(peer.raw(ROOT, KEYCHAIN, "Find", parameters))


def read(peer, identifier, session=NOTHING):
    parameters = GLib.Variant.new_tuple(octets(identifier), GLib.Variant("o", session))
    return found(peer.raw(ROOT, KEYCHAIN, "Read", parameters))


def delete(peer, *items):
    """Deletes items. Each is an item from a search, or a path with an identifier. Returns the number of deleted items.
    """
    pairs = [item if isinstance(item, tuple) and len(item) == 2 else (item.path, item.identifier) for item in items]
    return peer.call(ROOT, KEYCHAIN, "Delete", "(a(oay))", pairs)


def properties(label=None, attributes=None):
    named = {}
    if label is not None:
        named[ITEM + ".Label"] = GLib.Variant("s", label)
    if attributes is not None:
        named[ITEM + ".Attributes"] = attributes_of(attributes)
    return GLib.Variant("a{sv}", named)


def addition(peer, value, attributes, unique, label="Test"):
    """The arguments of Add."""
    return GLib.Variant.new_tuple(properties(label, attributes), peer.secret(value), attributes_of(unique))


def add(peer, value, attributes, unique=None, label="Test"):
    """Adds an item. Returns path, identifier and prompt."""
    arguments = addition(peer, value, attributes, attributes if unique is None else unique, label)
    path, identifier, prompt = peer.raw(ROOT, KEYCHAIN, "Add", arguments).unpack()
    return path, bytes(identifier), prompt


def update(peer, *changes, value=None, content_type="text/plain"):
    """Changes items. Each change is a path with arguments of properties(), and may have `unique`."""
    written = []
    for path, named in changes:
        unique = named.pop("unique", {})
        written.append(GLib.Variant.new_tuple(GLib.Variant("o", path), properties(**named), attributes_of(unique)))
    secret = peer.secret(value or "", None if value is not None else NOTHING, content_type)
    kind = GLib.VariantType("(oa{sv}a{ss})")
    peer.raw(
        ROOT, KEYCHAIN, "Update",
        GLib.Variant.new_tuple(GLib.Variant.new_array(kind, written), GLib.Variant("b", value is not None), secret),
    )  # fmt: skip


def refused(call, *arguments, **options):
    """The error of a call that must fail."""
    try:
        answer = call(*arguments, **options)
    except Failure as failure:
        assert failure.message
        return failure.name
    raise AssertionError(f"it answered {answer}")


class ToldPrompt:
    """A prompt that a client calls by org.latchkey.Prompt, and the prompt's signals."""

    def __init__(self, peer, path, passphrase=None, **texts):
        self.peer, self.path = peer, path
        self.outcome = self.dismissed = self.result = None
        self._subscriptions = [
            peer.bus.signal_subscribe(SECRETS, interface, member, path, None, Gio.DBusSignalFlags.NONE, heard)
            for interface, member, heard in ((TOLD_PROMPT, "Ended", self._ended), (PROMPT, "Completed", self._completed))
        ]
        options = {name: GLib.Variant("s", text) for name, text in texts.items()}
        if passphrase is not None:
            options["passphrase"] = peer.secret(passphrase)
        peer.call(path, TOLD_PROMPT, "Prompt", "(a{sv})", options)

    def _ended(self, _bus, _sender, _path, _interface, _member, parameters):
        assert self.outcome is None and self.dismissed is None, "not once, or after Completed"
        (self.outcome,) = parameters.unpack()

    def _completed(self, _bus, _sender, _path, _interface, _member, parameters):
        assert self.outcome is not None and self.dismissed is None, "Completed came before Ended, or twice"
        self.dismissed, self.result = parameters.unpack()

    def end(self, limit=3 * LIMIT):
        """Waits for the end of the prompt, and returns the outcome."""
        deadline = Limit(limit)
        while self.dismissed is None:
            assert not deadline.is_over, "the prompt does not complete"
            self.peer.listen(0.01)
        for subscription in self._subscriptions:
            self.peer.bus.signal_unsubscribe(subscription)
        return self.outcome


def prompt(peer, path, passphrase=None, **texts):
    """Calls the prompt, and returns its outcome and its result."""
    told = ToldPrompt(peer, path, passphrase, **texts)
    told.end()
    return told


class Windows:
    """A pinentry that records its texts, and gives the prepared answers. The pinentry can also agree to all other
    windows."""

    PROGRAM = """#!/bin/sh
exec 3>>"$0.shown"
echo started >&3
echo OK
while read -r what; do
  echo "$what" >&3
  case $what in
    GETPIN*)
      answer=$(head -n 1 "$0.answers" 2>/dev/null)
      if [ -n "$answer" ]; then
        tail -n +2 "$0.answers" >"$0.rest"; cat "$0.rest" >"$0.answers"
        echo "D $answer"; echo OK
      else echo ERR 83886179 cancelled; fi;;
    CONFIRM*) if [ -e "$0.agrees" ]; then echo OK; else echo ERR 83886194 no; fi;;
    *) echo OK;;
  esac
done
"""

    def __init__(self, session):
        self._program = session.root / "bin/pinentry"
        self._program.write_text(self.PROGRAM)
        self._program.chmod(0o755)
        self._files = {name: session.root / f"bin/pinentry.{name}" for name in ("shown", "answers", "rest", "agrees")}
        for name in ("shown", "answers", "rest"):
            self._files[name].write_text("")
            self._files[name].chmod(0o666)
        # A desktop gives its display to the bus at its start.
        session.run("dbus-update-activation-environment", "DISPLAY=:4711", check=True)
        session.restart()

    def answer(self, *answers):
        self._files["answers"].write_text("".join(one + "\n" for one in answers))

    def agree(self, agrees=True):
        if agrees:
            self._files["agrees"].touch()
        else:
            self._files["agrees"].unlink(missing_ok=True)

    def take(self):
        """The texts since the last call. Empty if no pinentry was started."""
        text = self._files["shown"].read_text()
        self._files["shown"].write_text("")
        return urllib.parse.unquote(text)
