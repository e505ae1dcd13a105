"""Other programs that keep secrets, in a booted system. The helpers start each in a session, and run `latchkey switch`
in both directions.
"""

import contextlib

from support.account import TOOLS
from support.machine import eventually
from support.switching import ASIDE, await_owner, files, queue, switch

GNOME_KEYRING = (
    "/usr/bin/gnome-keyring-daemon", "/etc/xdg/autostart/gnome-keyring-*.desktop", "/usr/lib/systemd/user/gnome-keyring-daemon.*",
    "/usr/share/dbus-1/services/org.gnome.keyring.service", "/usr/share/dbus-1/services/org.freedesktop.secrets.service",
)  # fmt: skip
KWALLET = ("/usr/bin/kwalletd[56]", "/usr/share/dbus-1/services/org.kde.kwalletd*.service")
KEEPASSXC = ("/usr/bin/keepassxc",)
# The machine has no screen.
SCREENLESS = "dbus-update-activation-environment --systemd QT_QPA_PLATFORM=offscreen"
START_KEEPASSXC = "(QT_QPA_PLATFORM=offscreen setsid keepassxc >/dev/null 2>&1 &)"
CALL_KEEPASSXC = "busctl --user call org.keepassxc.KeePassXC.MainWindow /keepassxc org.keepassxc.KeePassXC.MainWindow"
# KeePassXC first gets its own name on the bus, then asks for the Secret Service's name, and answers calls only after
# that.
HAS_KEEPASSXC = f"{CALL_KEEPASSXC} lockAllDatabases >/dev/null 2>&1"
END_KEEPASSXC = (
    f"{CALL_KEEPASSXC} appExit 2>/dev/null;"
    " while pgrep -u $USER -x keepassxc >/dev/null; do sleep 0.1; done"
)
# gnome-keyring's ssh agent, and gcr's agent, which succeeds it.
AGENTS = "for agent in keyring/ssh gcr/ssh; do SSH_AUTH_SOCK=$XDG_RUNTIME_DIR/$agent ssh-add -l; done"
# The step that `latchkey switch` leaves to a person who returns to KeePassXC.
START_AGAIN = "start KeePassXC again"


class Former:
    """The former provider: its process, its start in a session, whether it ends at logout, and the step that `--back` leaves to
    the person. Also whether the provider waits for a name that another program owns, whether the provider then keeps
    its settings, and whether its ssh agent runs in the session."""

    def __init__(self, program, begin, end="true", left="", waits=False, bears_others=True, without=frozenset(), has_agent=False):
        self.program, self.begin, self.end, self.left = program, begin, end, left
        self.waits, self.bears_others = waits, bears_others
        # Files that `--back` does not restore.
        self.without, self.has_agent = without, has_agent

    @contextlib.contextmanager
    def running(self, account, begins=True):
        """A login in which the provider runs."""
        with account.login() as session:
            if begins:
                self.begin(session)
            yield session
            session.run(self.end)
        account.await_end()


# A link to the file by which the bus starts gnome-keyring. The link is needed if the usual file is missing.
BUS_LINK = {"/.local/share/dbus-1/services/org.freedesktop.secrets.service"}


def gnome_keyring():
    return Former("gnome-keyring-d", lambda session: session.run(f"{TOOLS}/autostart"), waits=True, has_agent=True)


def kwallet(version):
    """A KDE program opens its wallet, so the bus starts KWallet."""

    def begin(session):
        session.run(SCREENLESS)
        session.run(
            f"busctl --user call org.kde.kwalletd{version} /modules/kwalletd{version} org.kde.KWallet networkWallet >/tmp/wallet")

    return Former(f"kwalletd{version}", begin, without=BUS_LINK)


def keepassxc():
    def begin(session):
        session.run(START_KEEPASSXC)
        session.run(f"until {HAS_KEEPASSXC}; do sleep 0.1; done", timeout=60)

    return Former("keepassxc", begin, END_KEEPASSXC, left=START_AGAIN, bears_others=False, without=BUS_LINK)


def nobody():
    return Former(None, lambda session: None)


def own(account, path, text):
    """Writes a settings file of the person."""
    script = f"mkdir -p ~/{path.rpartition('/')[0]} && printf '{text}' >~/{path} && chmod 600 ~/{path}"
    account.run("sh", "-c", f"HOME={account.home}; {script}")


def kwallet_settings(account):
    """The settings of a person who uses KWallet."""
    own(account, ".config/kwalletrc", "[Wallet]\\nEnabled=true\\nFirst Use=false\\n")


def keepassxc_settings(account, former):
    """The settings of a person who has enabled KeePassXC's Secret Service. The first start writes further settings. If
    another program owns the name, KeePassXC disables its Secret Service."""
    settings = ".config/keepassxc/keepassxc.ini"
    own(account, settings, "[General]\\nConfigVersion=2\\nUpdateCheckMessageShown=true\\n\\n[FdoSecrets]\\nEnabled=true\\n")
    with former.running(account, begins=False) as session:
        session.run("systemctl --user stop latchkeyd.socket latchkeyd.service")
        former.begin(session)
        await_owner(session, "keepassxc")


def agents(session, former):
    """The keys in the ssh agents, and whether any agent runs. A running agent has the user's key."""
    if not former.has_agent:
        return session.run(AGENTS, check=False).stdout
    eventually(lambda: "(ED25519)" in session.run(AGENTS, check=False).stdout, 20, "a key in an agent for ssh")
    return session.run(AGENTS, check=False).stdout


def logins(account, owner, former, count, look=lambda session: None):
    """Makes this many logins. Each login must show the same single owner of the name, and the same keys in the agents.
    `look` may check more."""
    seen = set()
    for _ in range(count):
        with former.running(account) as session:
            await_owner(session, owner)
            seen.add(agents(session, former))
            look(session)
    assert len(seen) == 1, seen
    return seen.pop()


def take_over(account, former, first=True):
    """Switches to Latchkey, and returns the files before and after. On the first switch, a provider that does not
    tolerate another owner of the name must not be running."""
    with former.running(account, begins=former.bears_others or not first) as session:
        if former.waits and first:
            eventually(lambda: former.program in queue(session), 20, f"{former.program}, which wants the name")
        keys, before = agents(session, former), files(account)
        switch(session, account, "--to latchkey")
        await_owner(session, "latchkeyd")
        assert agents(session, former) == keys
        taken = files(account)
        assert switch(session, account, "--to latchkey")["changes"] == []
    return before, taken


def hand_back(account, former, before):
    """Switches back, and compares the files before and after."""
    with former.running(account) as session:
        done = switch(session, account, "--back", status=4 if former.left else 0)
        assert all(former.left in line for line in done["left"])
        now = files(account)
        assert {name for name, state in now.items() if state != before.get(name)} == ASIDE - former.without
        assert before.items() <= now.items()


def there_and_back(account, former, count):
    """Switches in both directions, with some logins after each. Then switches to Latchkey again, while the other
    provider owns the name."""
    before, taken = take_over(account, former)
    assert taken != before
    keys = logins(account, "latchkeyd", former, count)
    hand_back(account, former, before)
    assert logins(account, former.program, former, count) == keys
    _, again = take_over(account, former, first=False)
    # The record also lists the folders that the command created.
    for name, state in again.items():
        assert state == taken[name] or name.endswith("switch.json")
    assert again.keys() == taken.keys()
    assert logins(account, "latchkeyd", former, count) == keys


def with_nobody(account, count):
    """Switches to Latchkey and back, although no other provider exists. The files stay the same."""
    former = nobody()
    with former.running(account) as session:
        await_owner(session, "latchkeyd")
        before = files(account)
        for way in ("--to latchkey", "--back"):
            done = switch(session, account, way)
            assert (done["changes"], done["state"]) == ([], "done") and files(account) == before
            assert queue(session) == ["latchkeyd"]
        assert any("Latchkey stays" in note for note in done["notes"])
    logins(account, "latchkeyd", former, count)
    assert files(account) == before
