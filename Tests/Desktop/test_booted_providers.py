"""`latchkey switch` beside KWallet, beside KeePassXC, and where no other program keeps secrets: the real programs, several logins
after each way. gnome-keyring has its own file, test_booted_switch.py."""

import contextlib

import pytest
from support.account import Account
from support.switching import ASIDE, await_owner, away, files, queue, switch

LOGINS = 2
GNOME_KEYRING = (
    "/usr/bin/gnome-keyring-daemon", "/etc/xdg/autostart/gnome-keyring-*.desktop", "/usr/lib/systemd/user/gnome-keyring-daemon.*",
    "/usr/share/dbus-1/services/org.gnome.keyring.service", "/usr/share/dbus-1/services/org.freedesktop.secrets.service",
)  # fmt: skip
KWALLET = ("/usr/bin/kwalletd5", "/usr/share/dbus-1/services/org.kde.kwalletd5.service")
KEEPASSXC = ("/usr/bin/keepassxc",)
# There is no screen.
SCREENLESS = "dbus-update-activation-environment --systemd QT_QPA_PLATFORM=offscreen"
# A program of KDE's asks for its wallet, and so has the bus start it.
ASK_KWALLET = "busctl --user call org.kde.kwalletd5 /modules/kwalletd5 org.kde.KWallet networkWallet >/tmp/wallet"
START_KEEPASSXC = "(QT_QPA_PLATFORM=offscreen setsid keepassxc >/dev/null 2>&1 &)"
HAS_KEEPASSXC = "busctl --user status org.keepassxc.KeePassXC.MainWindow >/dev/null"
END_KEEPASSXC = (
    "busctl --user call org.keepassxc.KeePassXC.MainWindow /keepassxc org.keepassxc.KeePassXC.MainWindow appExit 2>/dev/null;"
    " while pgrep -u $USER -x keepassxc >/dev/null; do sleep 0.1; done"
)


@pytest.fixture
def person(machine):
    """A user of a system without gnome-keyring."""
    with away(machine, *GNOME_KEYRING):
        yield Account(machine, "carol", 2003, "sesame-3")


def own(account, path, text):
    """A settings file of the person's."""
    script = f"mkdir -p ~/{path.rpartition('/')[0]} && printf '{text}' >~/{path} && chmod 600 ~/{path}"
    account.run("sh", "-c", f"HOME={account.home}; {script}")


class Former:
    """The provider from before: its process, how a session starts it, what ends it at logout, what handing back to it leaves to the
    person, and whether it keeps its settings where another program has the name."""

    # The link to the file by which the bus starts gnome-keyring, which is away.
    without = {"/.local/share/dbus-1/services/org.freedesktop.secrets.service"}

    def __init__(self, program, begin, end="true", left="", bears_others=True):
        self.program, self.begin, self.end, self.left, self.bears_others = program, begin, end, left, bears_others

    @contextlib.contextmanager
    def running(self, account, begins=True):
        """A login in which it runs."""
        with account.login() as session:
            if begins:
                self.begin(session)
            yield session
            session.run(self.end)
        account.await_end()


def logins(account, owner, former):
    for _ in range(LOGINS):
        with former.running(account) as session:
            await_owner(session, owner)


def taken_over_and_handed_back(account, former, own_file):
    """Both ways, and the first one again while the other provider has the name."""
    with former.running(account, begins=former.bears_others) as session:
        before = files(account)
        switch(session, account, "--to latchkey")
        await_owner(session, "latchkeyd")
        taken = files(account)
        assert taken[own_file] != before[own_file]
        assert switch(session, account, "--to latchkey")["changes"] == []
    logins(account, "latchkeyd", former)

    with former.running(account) as session:
        done = switch(session, account, "--back", status=4 if former.left else 0)
        assert all(former.left in line for line in done["left"])
        now = files(account)
        assert {name for name, state in now.items() if state != before.get(name)} == ASIDE - former.without
        assert before.items() <= now.items()
    logins(account, former.program, former)

    with former.running(account) as session:
        await_owner(session, former.program)
        switch(session, account, "--to latchkey")
        await_owner(session, "latchkeyd")
        # The record also says which folders were made.
        for name, state in files(account).items():
            assert state == taken[name] or name.endswith("switch.json")
        assert files(account).keys() == taken.keys()
    logins(account, "latchkeyd", former)


def test_kwallet(person):
    own(person, ".config/kwalletrc", "[Wallet]\\nEnabled=true\\nFirst Use=false\\n")

    def begin(session):
        session.run(SCREENLESS)
        session.run(ASK_KWALLET)

    taken_over_and_handed_back(person, Former("kwalletd5", begin), "/.config/kwalletrc")


def test_keepassxc(person):
    settings = ".config/keepassxc/keepassxc.ini"
    own(person, settings, "[General]\\nConfigVersion=2\\nUpdateCheckMessageShown=true\\n\\n[FdoSecrets]\\nEnabled=true\\n")

    def begin(session):
        session.run(START_KEEPASSXC)
        session.run(f"until {HAS_KEEPASSXC}; do sleep 0.1; done", timeout=60)

    with away(person.machine, *KWALLET):
        former = Former("keepassxc", begin, END_KEEPASSXC, left="start KeePassXC again", bears_others=False)
        with former.running(person, begins=False) as session:
            # Its first start writes settings of its own. Where another program has the name, it turns its part for secrets off.
            session.run("systemctl --user stop latchkeyd.socket latchkeyd.service")
            begin(session)
            await_owner(session, "keepassxc")
        taken_over_and_handed_back(person, former, f"/{settings}")


def test_no_other_provider(person):
    with away(person.machine, *KWALLET, *KEEPASSXC):
        nobody = Former(None, lambda session: None)
        with nobody.running(person) as session:
            await_owner(session, "latchkeyd")
            before = files(person)
            for way in ("--to latchkey", "--back"):
                done = switch(session, person, way)
                assert (done["changes"], done["state"]) == ([], "done") and files(person) == before
                assert queue(session) == ["latchkeyd"]
            assert any("Latchkey stays" in note for note in done["notes"])
        logins(person, "latchkeyd", nobody)
        assert files(person) == before
