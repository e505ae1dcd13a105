"""Real lockers with typed passwords. A lock erases the keys, a wrong password brings nothing back, and the right one does.

The tests run the locker commands of docs/user/screen-lockers.md."""

import re
import signal
import subprocess
import time
from pathlib import Path

import pexpect
import pytest
from screen import Display, Screen
from support.machine import REPOSITORY, eventually

pytestmark = pytest.mark.second_try

HERE = Path(__file__).resolve().parent
LOCKED = "org.freedesktop.Secret.Error.IsLocked"
WRONG = "wrong-one"
TOOLS = "/usr/local/lib/latchkey-test"


def advised(start):
    """The only line of docs/user/screen-lockers.md with this beginning."""
    page = (REPOSITORY / "docs/user/screen-lockers.md").read_text()
    (line,) = [line.strip() for line in page.splitlines() if line.startswith(f"    {start}")]
    return line


def fill(session):
    session.store("of default", app="default")
    session.store("of first", accessible="after-first-unlock", app="first")


@pytest.fixture
def desktop(alice):
    """A graphical session with an item that a lock closes, and one that stays readable."""
    with alice.graphical_login() as session:
        fill(session)
        yield session


@pytest.fixture
def display(alice, desktop):
    """The display of the graphical session."""
    display = Display(alice, desktop)
    yield display
    display.close()


def secrets(account):
    """The two secrets, or the errors of reading them."""
    found = [list(account.find(app=name)["items"].values()) for name in ("default", "first")]
    return [item.get("secret", item.get("error")) for (item,) in found]


def assert_open(account):
    # On a slow machine, the helper goes on after the locker has let the person in.
    eventually(lambda: account.status()["state"] == "unlocked", what="the unlock")
    assert secrets(account) == ["of default", "of first"]


def assert_locked(account):
    assert account.status()["state"] == "locked"
    assert secrets(account) == [LOCKED, "of first"]


def typed_until(true, type, what):
    """Types the text again until it has an effect. Keys from before a locker has the keyboard are lost."""
    for tries_left in (4, 3, 2, 1, 0):
        type()
        try:
            return eventually(true, 6, what)
        except AssertionError:
            if tries_left == 0:
                raise


def lock(account, is_up):
    """Checks the lock after a locker was started. `is_up()` says whether the locker is up."""
    eventually(is_up, 20, "the locker")
    eventually(lambda: account.status()["state"] == "locked", what="the lock")
    assert_locked(account)


def refuse(account, service, is_up, type):
    """Types a wrong password, which PAM refuses to the locker's service."""
    cursor = account.machine.cursor()
    refused = f"pam_unix({service}:auth): authentication failure"
    typed_until(lambda: refused in account.machine.journal(cursor), lambda: type(WRONG), f"the refusal of {service}")
    assert is_up()
    assert_locked(account)


def release(account, is_up, type):
    """Types the right password."""
    gone = lambda: not is_up() and account.status()["state"] == "unlocked"
    # On a slow machine, the helper can still work after the locker's end, when nobody can be asked any more.
    typed_until(gone, lambda: is_up() and type(account.password), "the unlock")
    assert_open(account)


def guard(account, service, is_up, type):
    """The whole test of a locker, after its start."""
    lock(account, is_up)
    refuse(account, service, is_up, type)
    release(account, is_up, type)


def running(account, program):
    """Whether the user runs a program."""
    return lambda: account.run("pgrep", "-x", "-u", account.uid, program, check=False).returncode == 0


# On a display


def test_xss_lock_with_i3lock(alice, desktop):
    screen = Screen(alice, desktop)
    assert_open(alice)
    screen.lock()
    guard(alice, "i3lock", screen.is_locked, screen.type)
    assert not alice.status()["locker_up"]
    screen.close()


@pytest.mark.parametrize("locker, service", [("i3lock", "i3lock"), ("xsecurelock", "common-auth")])
def test_a_bare_locker(alice, desktop, display, locker, service):
    assert_open(alice)
    desktop.run(f"(export DISPLAY=:5; {advised('latchkey lock; ' + locker)}) >/dev/null 2>&1 &")
    guard(alice, service, running(alice, locker), display.type)


class XScreenSaver:
    """xscreensaver on a display, and the program that watches it. Keys from before its dialog are lost."""

    def __init__(self, account, session, display):
        self.account, self.display = account, display
        session.run("(export DISPLAY=:5; xscreensaver --no-splash) >/dev/null 2>&1 &")
        eventually(lambda: self.command("-time").returncode == 0, 20, "xscreensaver")
        session.run(f"(export DISPLAY=:5; {advised('xscreensaver-command')}) >/dev/null 2>&1 &")
        eventually(running(account, "xscreensaver-co"), what="the watch")

    def command(self, option):
        return self.account.run("env", "DISPLAY=:5", "xscreensaver-command", option, check=False)

    def is_up(self):
        return "locked since" in self.command("-time").stdout

    def type(self, line):
        asks = running(self.account, "xscreensaver-au")
        eventually(lambda: not asks(), 20, "the end of the dialog before")
        eventually(lambda: self.display.press("BackSpace") and asks(), 20, "the dialog")
        eventually(self.has_dialog, what="its window")
        self.display.type(line)

    def has_dialog(self):
        """Whether there is a window that does not fill the screen."""
        sizes = self.display.sizes("XScreenSaver")
        return any("640x480" not in size for size in sizes)


def test_xscreensaver(alice, desktop, display):
    saver = XScreenSaver(alice, desktop, display)
    assert_open(alice)
    assert saver.command("-lock").returncode == 0
    guard(alice, "xscreensaver", saver.is_up, saver.type)


def test_mate_screensaver(alice, desktop, display):
    command = lambda option: alice.run("env", "DISPLAY=:5", "mate-screensaver-command", option, check=False)
    is_up = lambda: "is active" in command("--query").stdout
    desktop.run("(export DISPLAY=:5; mate-screensaver --no-daemon) >/dev/null 2>&1 &")
    eventually(lambda: "is inactive" in command("--query").stdout, 20, "mate-screensaver")
    assert_open(alice)
    assert command("--lock").returncode == 0
    guard(alice, "mate-screensaver", is_up, display.type)
    assert not alice.status()["locker_up"]


# Wayland: people also start sway from a terminal.


class Sway:
    """sway in a session, with the lines of the handbook's page. wtype plays the keyboard."""

    def __init__(self, account, session):
        self.account = account
        fill(session)
        lines = ["set $mod Mod4", advised("bindsym $mod+l exec 'latchkey lock;"), advised("exec swayidle")]
        account.machine.path(f"{account.home}/sway").write_text("\n".join(lines) + "\n")
        settings = "WLR_BACKENDS=headless WLR_LIBINPUT_NO_DEVICES=1 WLR_RENDERER=pixman"
        session.run(f"{settings} sway -c ~/sway >/dev/null 2>&1 &")
        eventually(running(account, "swayidle"), 20, "swayidle")
        assert_open(account)

    def wtype(self, *words):
        """Types on a new keyboard, which sway must know before the first key."""
        self.account.run("env", "WAYLAND_DISPLAY=wayland-1", "wtype", "-s", "500", *words, check=False)

    def type(self, line):
        self.wtype(line, "-s", "200", "-k", "Return")

    def close(self):
        self.account.run("pkill", "sway", check=False)


def test_swaylock_by_a_key(alice):
    with alice.login() as session:
        sway, is_up = Sway(alice, session), running(alice, "swaylock")
        typed_until(is_up, lambda: sway.wtype("-M", "logo", "-k", "l", "-m", "logo"), "swaylock by its key")
        guard(alice, "swaylock", is_up, sway.type)
        sway.close()


def takes_signals(account, program):
    """Whether the program handles SIGUSR1 by itself now: it has blocked the signal, and reads it."""
    number = account.run("pgrep", "-x", program).stdout
    status = Path(f"/proc/{account.machine.host_pid(number)}/status").read_text()
    (blocked,) = re.findall(r"^SigBlk:\s+(\S+)$", status, re.M)
    return bool(int(blocked, 16) & 1 << (signal.SIGUSR1 - 1))


def test_swayidle(alice):
    with alice.graphical_login(display="wayland-1") as session:
        sway, is_up = Sway(alice, session), running(alice, "swaylock")
        eventually(lambda: takes_signals(alice, "swayidle"), what="the signals of swayidle")
        alice.run("pkill", "-USR1", "swayidle")  # tells swayidle that the person is away
        guard(alice, "swaylock", is_up, sway.type)
        session.run("loginctl lock-session")
        lock(alice, is_up)
        release(alice, is_up, sway.type)
        sway.close()


# Without a display


def test_vlock(alice):
    with alice.login() as session:
        fill(session)
        assert_open(alice)

        def answer(line, question):
            """Types a line at vlock until it asks the next question."""

            def is_asked():
                try:
                    session.terminal.expect(question, timeout=0.1)
                except pexpect.TIMEOUT:
                    return False
                return True

            # The locker prints a question and then drops all earlier input.
            typed_until(is_asked, lambda: session.send(line), question)

        session.start(advised("latchkey lock; vlock"))
        session.expect("to unlock")
        assert_locked(alice)
        answer("", "alice's [Pp]assword: ")
        answer(WRONG, "root's [Pp]assword: ")  # root's password lets people in, too
        assert_locked(alice)
        answer("", "to unlock|alice's [Pp]assword: ")
        answer("", "alice's [Pp]assword: ")
        is_gone = lambda: alice.machine.root("pgrep", "-x", "vlock-main", check=False).returncode == 1
        typed_until(is_gone, lambda: session.send(alice.password), "the end of vlock")
        assert session.finish().returncode == 0
        assert_open(alice)


# A greeter over the session: root's process in another session asks, and it opens no session for the user


class Greeter:
    """lightdm. Its greeter logs the user in, and covers the locked session."""

    def __init__(self, account):
        self.account = account
        shim, drop_in = f"{TOOLS}/console.so", account.machine.path("/run/systemd/system/lightdm.service.d")
        library, source = account.machine.path(shim), HERE / "console.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-o", library, source, "-ldl"], check=True)
        drop_in.mkdir(parents=True, exist_ok=True)
        (drop_in / "console.conf").write_text(f"[Service]\nEnvironment=LD_PRELOAD={shim}\n")
        account.machine.root("systemctl", "daemon-reload")
        account.machine.root("systemctl", "start", "lightdm.service")

    def is_up(self):
        """Whether a greeter has the seat."""
        ask = lambda *words: self.account.machine.root("loginctl", *words, check=False).stdout  # sessions come and go
        numbers = [line.split()[0] for line in ask("list-sessions", "--no-legend").splitlines() if "seat0" in line]
        shown = [ask("show-session", number) for number in numbers]
        return any("Class=greeter" in session and "Active=yes" in session for session in shown)

    def do(self, *words):
        """Runs xdotool on the newest display."""
        number = max(file.name for file in self.account.machine.path("/run/lightdm/root").iterdir())
        display = [f"DISPLAY={number}", f"XAUTHORITY=/run/lightdm/root/{number}"]
        self.account.machine.root("env", *display, "xdotool", *words, check=False)

    def log(self):
        """The lines of lightdm's log."""
        return self.account.machine.path("/var/log/lightdm/lightdm.log").read_text().splitlines()

    def question(self):
        """The user whose password the greeter asks for; "" if it asks for a name, None if it asks for nothing. The question must
        still be the same half a second later. At its start, the greeter first asks for a name and takes that question back, which
        is slow on a busy machine. A password that is typed then becomes a user's name, and the greeter asks for that user's
        password from then on."""
        steps = ("Greeter start authentication", "Prompt greeter with", "Continue authentication")
        taken = lambda: [line for line in self.log() if any(step in line for step in steps)]
        before = taken()
        if not before or steps[1] not in before[-1]:
            return None
        time.sleep(0.5)
        begun = [line for line in before if steps[0] in line][-1]
        return begun.partition(steps[0])[2].removeprefix(" for ").strip() if taken() == before else None

    def wait(self, true, what):
        """Waits until the greeter has finished. If it does not, the failure shows lightdm's log."""
        try:
            eventually(true, 20, what)
        except AssertionError as error:
            raise AssertionError("\n".join([f"{error}; the end of lightdm's log:", *self.log()[-60:]])) from None

    def type(self, line, user=None):
        """Types a line once the greeter asks for it: the password of the account or of `user`; "" stands for a name."""
        user = self.account.name if user is None else user
        self.wait(lambda: not self.is_up() or self.comes_to_ask(user), f"the greeter's question for {user!r}")
        if self.is_up():
            self.do("type", "--delay", "30", line)
            self.do("key", "Return")

    def comes_to_ask(self, user):
        """Whether the greeter asks for the user's password. If it asks for another user's, the person goes back to the name."""
        asked = self.question()
        if asked == user:
            return True
        if asked is not None and user != "":
            self.name(user)
        return False

    def name(self, user):
        """Writes a name into the field above the password, and replaces the name there."""
        if self.question() != "":
            self.do("key", "shift+Tab")
        self.do("key", "ctrl+a")
        self.do("type", "--delay", "30", user)
        self.do("key", "Tab")

    def login(self):
        """Types name and password until there is a session."""
        self.wait(self.is_up, "the greeter")
        self.wait(lambda: self.question() is not None, "the greeter's first question")

        def both():
            if self.question() == "":
                self.type(self.account.name, user="")
            self.type(self.account.password)

        typed_until(lambda: self.account.manager_runs() and not self.is_up(), both, "the login")
        eventually(lambda: self.account.status()["state"] == "unlocked", what="the vault to be created")

    def lock(self):
        """Locks the session as the desktop's menu does."""
        seat = "XDG_SEAT_PATH=/org/freedesktop/DisplayManager/Seat0"
        self.account.run("env", seat, "dm-tool", "lock")

    def close(self):
        self.account.machine.root("systemctl", "stop", "lightdm.service")


def test_lightdm_as_locker(alice):
    greeter = Greeter(alice)
    greeter.login()
    for name, kind in (("default", "when-unlocked"), ("first", "after-first-unlock")):
        alice.run(f"{TOOLS}/items", "store", f"app={name}", f"latchkey:accessible={kind}", input=f"of {name}")
    assert_open(alice)
    greeter.lock()
    lock(alice, greeter.is_up)
    # On a busy machine the greeter can go on asking for a name, although the session is the user's.
    greeter.wait(lambda: greeter.comes_to_ask(alice.name), "the question of the greeter before the session")
    # A password that was typed too early is taken as a name that no user has. The person must find the way back.
    greeter.wait(lambda: greeter.comes_to_ask(WRONG), "the question for the password of nobody")
    guard(alice, "lightdm", greeter.is_up, greeter.type)
    assert not alice.status()["locker_up"]
    greeter.close()


# Reports of GNOME and Plasma


class Shell:
    """The reports of a desktop when it locks: LockedHint to logind, ActiveChanged to the session."""

    def __init__(self, account, session, path, interface):
        self.account, self.session = account, session
        session.run("rm -f /tmp/saver; mkfifo /tmp/saver")
        session.run(f"{TOOLS}/saver {path} {interface} </tmp/saver & exec 3>/tmp/saver")
        eventually(lambda: account.status()["locker_up"], what="the screen saver")
        session.set_locked_hint(True)
        lock(account, lambda: account.status()["locker_up"])

    def unlock(self):
        """Reports that the locker let somebody in."""
        self.session.run("echo >&3")
        self.session.set_locked_hint(False)
        eventually(lambda: not self.account.status()["locker_up"], what="the end of the lock")

    def close(self):
        self.session.run("exec 3>&-; rm /tmp/saver; wait")


@pytest.mark.parametrize("desktop_is", ["gnome", "plasma"])
def test_what_desktops_say(alice, desktop, desktop_is):
    saver = {
        "gnome": ("/org/gnome/ScreenSaver", "org.gnome.ScreenSaver"),
        "plasma": ("/ScreenSaver", "org.freedesktop.ScreenSaver"),
    }[desktop_is]
    assert_open(alice)
    shell = Shell(alice, desktop, *saver)

    def is_right(password):
        if desktop_is == "gnome":  # GDM asks, as root
            return alice.greeter_unlock(password)
        # A process of the user manager, which may have started the desktop.
        asking = "systemd-run --user --pipe --wait -q -p KillMode=process pamtester kde alice authenticate"
        return desktop.run(f"printf '%s\\n' {password} | {asking}", check=False).returncode == 0

    assert not is_right(WRONG)
    assert_locked(alice)
    assert is_right(alice.password)
    assert_locked(alice)  # until the desktop lets the person in
    shell.unlock()
    eventually(lambda: alice.status()["state"] == "unlocked", what="the unlock")
    assert_open(alice)
    # A later lock needs another password.
    desktop.set_locked_hint(True)
    lock(alice, lambda: alice.status()["locker_up"])
    shell.unlock()
    assert_locked(alice)
    shell.close()
