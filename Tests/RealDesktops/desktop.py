"""A person in a real desktop, with the actions that all desktops share."""

import contextlib
import json
import subprocess
import time

from support.account import TOOLS
from support.machine import CLEAN, REPOSITORY, eventually
from support.pace import seconds

PICTURES = REPOSITORY / ".build/pictures"
NAME = "org.freedesktop.secrets"
# Stands for a connection that has ended, or that the service manager keeps for an ended process.
ENDED = "(ended)"


class Desktop:
    """The desktop of an account that is logged in. A subclass for each desktop types and takes pictures."""

    # A part of the names of its pictures.
    name = ""
    # The command that the desktop's own menu or key runs to lock the screen.
    own_lock = ()
    # Whether the desktop locks the screen when logind announces sleep.
    locks_for_sleep = True

    def __init__(self, account):
        self.account = account
        self.machine = account.machine

    # MARK: programs of the session

    def _application(self, *command):
        """The command in the form in which the desktop starts an application: in a unit of the user manager, with the
        desktop's environment."""
        return ["systemd-run", "--user", "-q", "--pipe", "--wait", "--collect", "--", *map(str, command)]

    def run(self, *command, check=True, **options):
        """Runs a program as the desktop starts one."""
        return self.account.run(*self._application(*command), check=check, **options)

    def start(self, *command, **options):
        """Starts a program without waiting for its end. Takes Popen's options."""
        folder = f"/run/user/{self.account.uid}"
        unit = self.machine._unit(
            "--pipe", f"--uid={self.account.name}", f"--setenv=XDG_RUNTIME_DIR={folder}",
            f"--setenv=DBUS_SESSION_BUS_ADDRESS=unix:path={folder}/bus", "--",
        )  # fmt: skip
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([*unit, *self._application(*command)], env=CLEAN, **given)

    def store(self, secret, *words, **attributes):
        """Stores an item with secret-tool."""
        pairs = [word for pair in attributes.items() for word in pair]
        store = f"printf %s '{secret}' | secret-tool store --label='{attributes['app']}' \"$@\""
        self.run("sh", "-c", store, "store", *pairs, *words)

    def start_lookup(self, **attributes):
        """Starts a lookup with secret-tool without waiting, because a prompt may appear."""
        pairs = [word for pair in attributes.items() for word in pair]
        return self.start("timeout", seconds(120), "secret-tool", "lookup", *pairs)

    def lookup(self, **attributes):
        """The secret that secret-tool prints, or None if it prints none."""
        lookup = self.start_lookup(**attributes)
        output, _ = lookup.communicate(timeout=seconds(150))
        return output if lookup.returncode == 0 and output else None

    def secret(self, **attributes):
        """The secret of the only item with these attributes, or the error of the read. No prompt appears."""
        pairs = [f"{name}={value}" for name, value in attributes.items()]
        found = json.loads(self.run(f"{TOOLS}/items", "find", *pairs).stdout)
        (item,) = found["items"].values()
        return item.get("secret", item.get("error"))

    def status(self):
        return self.account.status()

    def doctor(self):
        """The exit status of `latchkey doctor`, and the findings of each check that is not ok."""
        done = self.run("latchkey", "doctor", "--json", check=False)
        checks = json.loads(done.stdout)["checks"]
        return done.returncode, {check["id"]: check["found"] for check in checks if check["state"] != "ok"}

    # MARK: the bus

    def bus(self, method, *arguments):
        """Calls the session bus itself. Returns the answer, or None for an error."""
        command = ["busctl", "--user", "--json=short", "call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", method]
        done = self.account.run(*command, *arguments, check=False)
        if done.returncode != 0:
            return None
        return json.loads(done.stdout)["data"][0] if done.stdout else True

    def owners(self):
        """The programs that own the name or wait for it, the owner first."""
        found = []
        for connection in self.bus("ListQueuedOwners", "s", NAME) or []:
            pid = self.bus("GetConnectionUnixProcessID", "s", connection)
            try:
                found.append(self.machine.path(f"/proc/{pid}/comm").read_text().strip())
            except OSError:
                found.append(ENDED)
        return found

    # MARK: the session

    def session(self):
        """The number of the graphical session."""
        show = lambda number: self.machine.root("loginctl", "show-session", number, "-p", "Name", "-p", "Class", check=False).stdout
        listed = self.machine.root("loginctl", "list-sessions", "--no-legend").stdout
        found = [line.split()[0] for line in listed.splitlines()]
        (number,) = [n for n in found if {f"Name={self.account.name}", "Class=user"} <= set(show(n).splitlines())]
        return number

    def session_property(self, name):
        return self.machine.root("loginctl", "show-session", self.session(), "-P", name).stdout.strip()

    def is_locked(self):
        """Whether the desktop reports a locked screen."""
        return self.session_property("LockedHint") == "yes"

    def lock(self, means="own"):
        """Locks the screen in the desktop's own way or through logind."""
        if means == "own":
            self.run(*self.own_lock)
        else:
            self.machine.root("loginctl", "lock-session", self.session())
        eventually(self.is_locked, 20, "the locked screen")
        # The locker fades in slowly.
        time.sleep(seconds(1))

    def await_state(self, state):
        eventually(lambda: self.status()["state"] == state, 30, f"a vault that is {state}")

    def unlock(self, password=None):
        """Types the password at the locked screen until the screen unlocks."""
        for _ in range(3):
            self.enter_at_lock(password or self.account.password)
            with contextlib.suppress(AssertionError):
                eventually(lambda: not self.is_locked(), 10, "the open screen")
                return
        raise AssertionError(f"the screen stays locked: {self.picture_of_failure('unlock')}")

    def refuse(self, password):
        """Types a wrong password at the locked screen, which must stay locked. Keeps a picture of the screen."""
        cursor = self.machine.cursor()
        self.wake()
        self.type(password)
        self.picture("locked")
        self.press("Return")
        refused = lambda: "authentication failure" in self.machine.journal(cursor)
        eventually(refused, 20, "the refusal of a wrong password")
        assert self.is_locked()

    # MARK: the person

    def type(self, text):
        raise NotImplementedError

    def press(self, *keys):
        raise NotImplementedError

    def camera(self, path):
        """Writes the content of the screen to a PNG file."""
        raise NotImplementedError

    def picture(self, name):
        """Keeps a picture of the screen, and returns its path."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{self.name}-{name}.png"
        path.unlink(missing_ok=True)
        self.camera(path)
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no picture"
        return str(path)

    def picture_of_failure(self, name):
        """Keeps a picture for the report of another failure. If that fails, returns the reason, because the first
        failure counts."""
        try:
            return self.picture(f"failed-{name}")
        except (AssertionError, OSError) as error:
            return f"no picture: {error}"

    def open(self, name, program):
        """Opens an application as a person finds it: by a part of its name, in the menu of the desktop. `program` is the name
        of its process."""
        runs = lambda: self.machine.root("pgrep", "-u", self.account.name, "-x", program, check=False).returncode == 0
        for tries_left in (2, 1, 0):
            self.find_in_menu(name)
            try:
                eventually(runs, 20, program)
                return
            except AssertionError:
                # A menu that is still drawing drops keys.
                if tries_left == 0:
                    raise
                self.press("Escape")

    def find_in_menu(self, name):
        """Opens the menu, types the name, and starts the first application that the menu finds."""
        raise NotImplementedError

    def wake(self):
        """Makes the locked screen show the password field."""
        raise NotImplementedError

    def enter_at_lock(self, password):
        """Types a line at the locked screen."""
        self.wake()
        self.type(password)
        self.press("Return")

    def await_prompt(self):
        """Waits for a prompt of the vault, and until the desktop shows it."""
        eventually(self.prompts, 20, "a prompt")
        time.sleep(seconds(1.5))

    def prompts(self):
        """The running units of prompts."""
        listed = ("systemctl", "--user", "list-units", "--plain", "--no-legend", "latchkey-prompt@*")
        return self.account.run(*listed).stdout.splitlines()

    def enter_new_passphrase(self, text):
        """Types a passphrase twice, as a prompt for a new one requires."""
        self.type(text)
        self.press("Tab")
        self.type(text)
        self.press("Return")

    def answer(self, text):
        """Types a line into the prompt."""
        self.type(text)
        self.press("Return")
