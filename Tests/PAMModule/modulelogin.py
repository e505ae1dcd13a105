"""Builds the driver and the stand-in helper once, and gives each test its own login in its own folder."""

import contextlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
from support import helper
from support.pace import Limit, seconds

MODULE = pathlib.Path(os.environ.get("LATCHKEY_PAM_MODULE", ROOT / ".build/pam/pam_latchkey.so")).resolve()
UNSTRIPPED = MODULE.with_suffix(".unstripped.so")
TOKEN = "tok-E7q.w9 ünïcode-Zx4"
ENTRY_POINTS = ["authenticate", "setcred", "acct_mgmt", "open_session", "close_session", "chauthtok"]
# The names in the module's Swift code, such as openSession.
OPERATIONS = {number: name[0].lower() + name.title().replace("_", "")[1:] for name, number in helper.OPERATIONS.items()}
FIELDS = [name.lower() for name in helper.FIELDS] + ["token"]
COLLECTION = "latchkey-collection"
# The stand-in helper's behaviours that are about the module's limits. With every other behaviour the helper answers at once, and
# the limits are longer.
TIMED = ("hang", "late", "linger", "silent", "deaf", "orphan")
LONGER = "5"


def pace(behaviour):
    """The variable of the driver for the module's limits with this behaviour."""
    return {"PAMDRIVER_SLOW": "1" if behaviour.startswith(TIMED) else LONGER}


def parse(data):
    """Decodes a request and checks every byte: no byte may be missing, and no byte may follow."""
    (length,) = struct.unpack_from("<I", data)
    assert length == len(data) - 4 <= helper.LIMIT
    version, operation, flags, given = struct.unpack_from("<BBBQ", data, 4)
    assert version == helper.VERSION
    request, at = {"operation": OPERATIONS[operation], "flags": flags}, 4 + helper.HEAD_SIZE
    for field in FIELDS + (["second"] if operation in (helper.CHANGE_PASSWORD, helper.REWRAP) else []):
        (size,) = struct.unpack_from("<H", data, at)
        request[field] = data[at + 2 : at + 2 + size]
        assert len(request[field]) == size
        at += 2 + size
    assert at == len(data)
    return request, given


class Record:
    """The data that one helper process received."""

    def __init__(self, folder, number):
        def read(what):
            return (folder / f".{what}.{number}").read_bytes()

        self.data = read("request")
        self.arguments = read("cmdline").split(b"\0")[:-1]
        self.environment = read("environ").split(b"\0")[:-1]
        self.status = dict(re.findall(r"(\w+):\t(.*)", read("status").decode()))
        lines = read("facts").decode().splitlines()
        self.descriptors = dict(line.split(" ", 2)[1:] for line in lines if line.startswith("fd "))
        self.facts = dict(line.split(" ", 1) for line in lines if not line.startswith("fd "))
        self.everything = read("cmdline") + read("environ") + read("status") + read("facts")

    @property
    def request(self):
        return parse(self.data)[0]

    @property
    def given(self):
        """The moment at which the person gave the request's secrets."""
        return parse(self.data)[1]


class Run:
    """The output and the log lines of one run of the driver."""

    def __init__(self, output, log):
        self.output = output
        self.calls = [(name, int(result)) for name, result, _ in map(str.split, output.splitlines())]
        self.results = [result for _, result in self.calls]
        self.seconds = sum(int(line.split()[2]) for line in output.splitlines()) / 1000
        self.log = [line.split("\t", 1) for line in log.splitlines() if "pam_latchkey(" in line]
        self.lines = [text.split("): ", 1)[1] for _, text in self.log]
        self.priorities = [int(priority) for priority, _ in self.log]


class Login:
    """One service file, one stand-in helper, one token."""

    user = "alice"

    def __init__(self, folder, tools):
        self.folder, self.tools = folder, tools
        self.helper = folder / "helper" / "latchkey-derive"
        self.helper.parent.mkdir()
        shutil.copy(tools / "standin", self.helper)
        self.log = folder / "log"
        self.token(TOKEN)
        self.behave("answer 0")
        self.configure()

    def token(self, token):
        (self.folder / "token").write_text(token)
        hashed = subprocess.run(
            ["openssl", "passwd", "-5", "-stdin"], input=token, check=True, capture_output=True, text=True).stdout
        (self.folder / "pwdfile").write_text(f"{self.user}:{hashed}")

    def behave(self, behaviour):
        (self.helper.parent / "behaviour").write_text(behaviour)
        self.pace = pace(behaviour)

    def configure(self, *options, service="login", helper=None, before=None, repeat=1):
        """Configures the module in all four stacks. The call fails if the module returns anything but PAM_IGNORE."""
        options = " ".join([f"helper={helper or self.helper}", *options])
        before = before or f"auth requisite pam_pwdfile.so pwdfile={self.folder}/pwdfile"
        stack = [before] if before != "none" else []
        for kind in ("auth", "account", "session", "password"):
            stack += [f"{kind} [ignore=1 default=bad] {MODULE} {options}", f"{kind} requisite pam_deny.so"] * repeat
            stack += [f"{kind} required pam_permit.so"]
        confdir = self.folder / "pam.d"
        confdir.mkdir(exist_ok=True)
        (confdir / service).write_text("\n".join(stack) + "\n")

    def ask(self, *options, service=COLLECTION, helper=None, after=(), before=()):
        """Configures a service that asks for a collection's passphrase, with only the module's line in `auth`."""
        line = f"auth required {MODULE} passphrase {' '.join([f'helper={helper or self.helper}', *options])}"
        confdir = self.folder / "pam.d"
        confdir.mkdir(exist_ok=True)
        (confdir / service).write_text("\n".join([*before, line, *after, "account required pam_permit.so"]) + "\n")

    def command(self, *commands, service="login", start=True):
        commands = ["start", *commands, "end"] if start else commands
        return [self.tools / "pamdriver", self.folder / "pam.d", service, self.user, self.folder / "token", *commands]

    def environment(self, **more):
        return {**os.environ, "PAMDRIVER_LOG": str(self.log), "PAMDRIVER_ASKED": str(self.folder / "asked"),
                "TOKEN_IN_CALLER": TOKEN, **self.pace, **more}

    def run(self, *commands, service="login", start=True, wrapper=(), **environment):
        self.log.unlink(missing_ok=True)
        (self.folder / "asked").unlink(missing_ok=True)
        done = subprocess.run(
            [*wrapper, *self.command(*commands, service=service, start=start)],
            env=self.environment(**environment), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds(60))
        assert done.returncode == 0, done.stderr
        log = self.log.read_text() if self.log.exists() else ""
        assert TOKEN not in log + done.stdout
        return Run(done.stdout, log)

    @contextlib.contextmanager
    def pausing(self, *commands, service="login", **environment):
        """The driver as a process. It is killed at the end, because a failed assertion would leave it at its pause."""
        with subprocess.Popen(
                self.command(*commands, service=service), env=self.environment(**environment),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    @property
    def questions(self):
        """The module's questions as bytes. Each comes with the style of its PAM message."""
        path = self.folder / "asked"
        lines = path.read_bytes().split(b"\0")[:-1] if path.exists() else []
        return [(int(style), text) for style, text in (line.split(b" ", 1) for line in lines)]

    @property
    def records(self):
        numbers = sorted(int(path.suffix[1:]) for path in self.helper.parent.glob("record.*"))
        return [Record(self.helper.parent, number) for number in numbers]

    @property
    def requests(self):
        return [record.request for record in self.records]

    def assert_helpers_gone(self):
        for record in self.records:
            limit = Limit(5)
            while pathlib.Path("/proc", record.facts["pid"]).exists():
                assert not limit.is_over, "a helper is still there"
                time.sleep(0.05)


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    for name in ("pamdriver", "standin"):
        # With -rdynamic, the driver's syslog and failing functions replace libc's in libpam and the module.
        subprocess.run(
            ["cc", "-Wall", "-Wextra", "-Werror", "-g", "-rdynamic", "-I", ROOT / "Sources/C/CHelper", "-o", folder / name,
             HERE / f"{name}.c", "-lpam"], check=True)
    return folder


@pytest.fixture
def login(tmp_path, tools):
    login = Login(tmp_path, tools)
    yield login
    login.assert_helpers_gone()
