"""A line with the option `finger`. At a screen locker it makes the device key service verify a finger, and it never fails a
login."""

import contextlib
import os
import pwd
import socket
import struct
import threading
import time

import pytest
from modulelogin import MODULE, TOKEN, Login
from support.helper import EXCLUDED_SERVICES, FINGER_SERVICES
from support.pace import Limit, seconds

SUCCESS, PERM_DENIED, AUTH_ERR, AUTHINFO_UNAVAIL, MAXTRIES, CONV_ERR, IGNORED = 0, 6, 7, 9, 11, 19, 6
LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG = 3, 4, 5, 7
ERROR, INFO = 3, 4
HELD, VERIFY = 11, 12
LOCKER = "gdm-fingerprint"
USER = pwd.getpwuid(os.getuid())
PLACE, SWIPE, AGAIN, NO_MATCH = 1, 2, 3, 4
STEPS = {PLACE: (INFO, b"Place your finger on the reader"), SWIPE: (INFO, b"Swipe your finger over the reader"),
         AGAIN: (ERROR, b"The reader saw too little. Try again"), NO_MATCH: (ERROR, b"That finger does not match. Try again")}
MATCHED, USED_UP, GIVEN_UP, NOT_HELD, NO_READER = 16, 17, 18, 19, 20
ACCEPTED = "finger accepted: it opens the vault"
# For each outcome: libpam's result and the log line. The stack has only this line, so it fails if the line is ignored.
OUTCOMES = {
    MATCHED: (SUCCESS, ACCEPTED, LOG_DEBUG), USED_UP: (MAXTRIES, "no finger matched, and all tries are used up", LOG_NOTICE),
    GIVEN_UP: (AUTHINFO_UNAVAIL, "no finger was given", LOG_DEBUG),
    NOT_HELD: (IGNORED, "a finger does not open the vault any more: no reason was told", LOG_WARNING),
    NO_READER: (IGNORED, "the fingerprint reader is missing, busy or silent", LOG_WARNING)}
LATE = "the device key service did not answer about the finger in time"
ENDED = "the device key service ended the connection about the finger"
INVALID = "the device key service returned an invalid reply about the finger"
REFUSED = "no finger asked for: the device key service does not let this locker ask"


ENDS = {
    1: "48 hours have passed since the password", 2: "too many fingers did not match", 3: "the enrolled fingers have changed",
    4: "the machine was started or hibernated since the password", 5: "/etc/latchkey/finger says 'off'",
    6: "the machine slept, and no TPM keeps the key", 7: "the vault was unlocked meanwhile", 8: "the vault gave it up",
    9: "no reason was told"}


def packet(*fields, version=1, outcome=0):
    return bytes([version, outcome, *fields])


def held(state, touches=5, end=0, version=1):
    return packet(state, touches, end, version=version)


def word(step, end=0, version=1):
    return packet(step, end, version=version)


class Device:
    """The service's socket. A reply is bytes, None for silence, or "end" to end the connection."""

    def __init__(self, path):
        self.path, self.requests, self.ends = path, [], 0
        self.held = held(1)
        self.steps = [word(PLACE), word(MATCHED)]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(str(path))
        self.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def listen(self):
        self.socket.listen(8)

    def stop(self):
        """Stops listening. After close() alone, the thread in accept() would accept one more connection."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, contextlib.suppress(OSError):
            while request := connection.recv(600):
                self.requests.append(request)
                for reply in [self.held] if request[1] == HELD else self.steps:
                    if reply == "end":
                        return
                    if reply is not None:
                        connection.send(reply)
        self.ends += 1

    def assert_closed(self):
        """Checks that the module released the reader."""
        limit = Limit(5)
        while not self.ends:
            assert not limit.is_over, "the connection stays open"
            time.sleep(0.01)

    @property
    def operations(self):
        return [request[1] for request in self.requests]


@pytest.fixture
def device(tmp_path):
    device = Device(tmp_path / "device.sock")
    yield device
    device.socket.close()


class Locker:
    """A screen locker with the finger line, and with the tests' user."""

    def __init__(self, login, device):
        self.login, self.device = login, device
        login.user = USER.pw_name
        self.configure()

    def configure(self, *options, service=LOCKER, control="required", before=(), after=()):
        line = f"auth {control} {MODULE} finger device={self.device.path} helper={self.login.helper} {' '.join(options)}"
        folder = self.login.folder / "pam.d"
        folder.mkdir(exist_ok=True)
        stacks = [f"account required pam_permit.so", f"session required {MODULE} finger helper={self.login.helper}",
                  "session required pam_permit.so"]
        (folder / service).write_text("\n".join([*before, line, *after, *stacks]) + "\n")

    def run(self, *commands, service=LOCKER, peer="0" if os.geteuid() else None, **environment):
        if peer is not None:
            environment["PAMDRIVER_PEER"] = peer
        return self.login.run(*(commands or ["auth"]), service=service, **environment)

    def assert_ignored(self, run, line=None, priority=LOG_DEBUG, questions=()):
        """Checks that the line has no effect: libpam finds no module that decides."""
        assert result(run) == IGNORED and self.login.questions == list(questions)
        assert run.lines == ([] if line is None else [line]) and run.priorities == ([] if line is None else [priority])


@pytest.fixture
def locker(login, device):
    yield Locker(login, device)
    assert login.records == [], "it starts no helper"


def result(run):
    return next(result for name, result in run.calls if name == "auth")


# ---- the case in which the finger opens ----


def test_the_service_is_asked_about_the_user_and_then_verifies(locker, device):
    run = locker.run()
    number = struct.pack("<I", os.getuid())
    assert result(run) == SUCCESS and run.lines == []
    assert device.requests == [bytes([1, HELD]) + number, bytes([1, VERIFY]) + number]
    assert locker.login.questions == [STEPS[PLACE]]
    device.assert_closed()


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome(locker, device, outcome):
    code, line, priority = OUTCOMES[outcome]
    device.steps = [word(PLACE), word(AGAIN), word(NO_MATCH), word(outcome)]
    locker.configure("debug")
    run = locker.run()
    assert result(run) == code and run.lines == [line] and run.priorities == [priority]
    assert locker.login.questions == [STEPS[PLACE], STEPS[AGAIN], STEPS[NO_MATCH]]
    locker.configure()
    assert locker.run().lines == ([] if priority == LOG_DEBUG else [line])


def test_each_step_is_said_as_pam_fprintd_says_it(locker, device):
    device.steps = [*map(word, STEPS), word(MATCHED)]
    assert result(locker.run()) == SUCCESS and locker.login.questions == [*STEPS.values()]


def test_a_key_in_memory_counts(locker, device):
    device.held, device.steps = held(2, 1), [word(SWIPE), word(MATCHED)]
    assert result(locker.run()) == SUCCESS and locker.login.questions == [STEPS[SWIPE]]


@pytest.mark.parametrize("end", ENDS)
def test_the_log_says_why_a_finger_opens_no_more(locker, device, end):
    """The log has a line for every reason, even for one that only a later version knows."""
    device.steps = [word(PLACE), word(NOT_HELD, end)]
    locker.assert_ignored(locker.run(), f"a finger does not open the vault any more: {ENDS[end]}", LOG_WARNING, [STEPS[PLACE]])
    device.held = held(0, end=end)
    locker.configure("debug")
    unknown = "the vault waits for the password"
    locker.assert_ignored(locker.run(), f"no finger asked for: {ENDS[end] if end < 9 else unknown}")


def test_in_front_of_another_line_it_is_enough_or_the_other_decides(locker, device):
    """The line is `sufficient`, so the locker's setcred succeeds."""
    locker.configure(control="sufficient", after=["auth required pam_deny.so"])
    run = locker.run("auth", "setcred", "acct", "open", "close")
    assert set(run.results) == {SUCCESS}
    device.held = held(0, 0)
    assert result(locker.run()) == AUTH_ERR
    locker.configure(control="sufficient", after=["auth required pam_permit.so"])
    run = locker.run("auth", "setcred")
    assert set(run.results) == {SUCCESS} and locker.login.questions == []


# ---- calls without a question ----


@pytest.mark.parametrize("state, line", [
    (0, "no finger asked for: the vault waits for the password"), (3, "no finger asked for: another locker asks for one")])
def test_unless_a_key_is_held_nothing_is_claimed(locker, device, state, line):
    device.held = held(state, 0)
    locker.assert_ignored(locker.run())
    locker.configure("debug")
    locker.assert_ignored(locker.run(), line)
    assert set(device.operations) == {HELD}


@pytest.mark.parametrize("service", ["login", "sshd", "gdm-password", "sddm", "latchkey-unlock", "latchkey-biometry"])
def test_a_service_that_is_no_locker_asks_nobody(locker, device, service):
    locker.configure(service=service)
    run = locker.run(service=service)
    locker.assert_ignored(run, f"no finger asked for: not a screen locker: {service}", LOG_WARNING)
    assert device.requests == []


@pytest.mark.parametrize("service", EXCLUDED_SERVICES)
def test_services_that_are_left_alone_are_left_alone(locker, device, service):
    locker.configure(service=service)
    locker.assert_ignored(locker.run(service=service))
    assert device.requests == []


@pytest.mark.parametrize("service", FINGER_SERVICES)
def test_lockers(locker, service):
    locker.configure(service=service)
    assert result(locker.run(service=service)) == SUCCESS


@pytest.mark.parametrize("host, is_asked", [("10.0.0.9", False), ("localhost", True), ("localhost.evil", False), ("", True)])
def test_a_person_elsewhere_does_not_see_this_reader(locker, device, host, is_asked):
    run = locker.run(f"rhost={host}", "auth")
    assert result(run) == (SUCCESS if is_asked else IGNORED) and bool(device.requests) == is_asked


def test_a_user_without_an_account(locker, device):
    run = locker.run("user=nobody-of-this-name", "auth")
    locker.assert_ignored(run, "no finger asked for: the user's number is unknown", LOG_WARNING)
    run = locker.run("user=", "auth")
    assert result(run) != SUCCESS and device.requests == []


def test_without_the_service_nothing_is_said(locker, device):
    device.stop()
    locker.assert_ignored(locker.run())  # the file stays
    device.path.unlink()
    locker.assert_ignored(locker.run())
    locker.configure("debug")
    locker.assert_ignored(locker.run(), "no finger asked for: the device key service does not run")


@pytest.mark.parametrize("peer", ["65534", "1000", "-1"])
def test_somebody_else_than_root_is_not_asked(locker, device, peer):
    run = locker.run(peer=peer)
    locker.assert_ignored(run, "no finger asked for: the device key service is not root's", LOG_ERR)
    assert device.requests == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_kernel_says_who_listens(login, tmp_path):
    class Others(Device):
        def listen(self):
            os.seteuid(65534)
            try:
                super().listen()
            finally:
                os.seteuid(0)

    device = Others(tmp_path / "device.sock")
    locker = Locker(login, device)
    locker.assert_ignored(locker.run(), "no finger asked for: the device key service is not root's", LOG_ERR)
    device.socket.close()


def test_a_path_that_is_not_absolute_or_too_long(locker, device):
    locker.configure("device=x")
    locker.assert_ignored(locker.run(), "nothing done: a path is not absolute: x", LOG_ERR)
    locker.configure(f"device=/{'x' * 200}")
    line = "the device key service cannot be asked about the finger: File name too long"
    locker.assert_ignored(locker.run(), line, LOG_ERR)


# ---- a service with wrong answers ----


GARBAGE = [
    b"\0", b"\x01", b"x", packet(), held(1, version=2), held(1, version=0), held(4), held(255), packet(1, 5), packet(1, 5, 0, 0),
    packet(1, 5, 0, outcome=4), packet(1, 5, 0, outcome=255), held(1) + b"x" * 700, b"y" * 60000]


@pytest.mark.parametrize("reply", GARBAGE, ids=lambda reply: f"{reply[:6].hex()}-{len(reply)}")
def test_garbage_about_the_key(locker, device, reply):
    device.held = reply
    locker.assert_ignored(locker.run(), INVALID, LOG_ERR)
    assert device.operations == [HELD]


@pytest.mark.parametrize("reply", [
    b"\0", b"\x01", packet(), word(PLACE, version=2), word(MATCHED, version=2), word(MATCHED, version=0), word(0), word(5), word(15),
    word(21), word(255), packet(MATCHED), packet(MATCHED, 0, 0), packet(PLACE), packet(PLACE, 0, 0), packet(MATCHED, 0, outcome=4),
    packet(MATCHED, 0, outcome=255), word(MATCHED) + b"x" * 700], ids=lambda reply: f"{reply[:6].hex()}-{len(reply)}")
def test_garbage_about_the_finger(locker, device, reply):
    device.steps = [word(PLACE), reply, word(MATCHED)]
    locker.assert_ignored(locker.run(), INVALID, LOG_ERR, [STEPS[PLACE]])
    device.assert_closed()


@pytest.mark.parametrize("outcome", [1, 2, 3])
@pytest.mark.parametrize("operation", [HELD, VERIFY])
def test_a_refusal_leaves_it_to_the_next_line(locker, device, operation, outcome):
    """The service gives these answers to a locker that runs with the person's rights."""
    refusal = packet(7, 7, 7, outcome=outcome)
    if operation == HELD:
        device.held = refusal
    else:
        device.steps = [refusal]
    locker.assert_ignored(locker.run())
    locker.configure("debug")
    locker.assert_ignored(locker.run(), REFUSED)


def test_the_end_of_the_connection(locker, device):
    device.held = "end"
    locker.assert_ignored(locker.run(), ENDED, LOG_WARNING)
    device.held, device.steps = held(1), [word(PLACE), "end"]
    locker.assert_ignored(locker.run(), ENDED, LOG_WARNING, [STEPS[PLACE]])


@pytest.mark.parametrize("caller", [(), ("storm",)])
def test_silence_about_the_key_takes_a_second(locker, device, caller):
    device.held = None
    run = locker.run(*caller, "auth")
    locker.assert_ignored(run, LATE, LOG_WARNING)
    assert run.seconds < seconds(3)


def test_a_full_queue_takes_a_second(login, tmp_path):
    """Nobody accepts connections, and the queue is full."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, contextlib.ExitStack() as waiting:
        listener.bind(str(tmp_path / "device.sock"))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            for _ in range(50):
                client = waiting.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                client.setblocking(False)
                client.connect(listener.getsockname())
        device = type("Nobody", (), {"path": tmp_path / "device.sock"})
        locker = Locker(login, device)
        run = locker.run()
        locker.assert_ignored(run, LATE, LOG_WARNING)
        assert run.seconds < seconds(3)


@pytest.mark.night("login")
@pytest.mark.parametrize("steps", [[word(PLACE), None], [word(PLACE), *[word(AGAIN)] * 5, None]])
def test_silence_about_the_finger_takes_35_seconds(locker, device, steps):
    device.steps = steps
    run = locker.run("storm", "auth")
    assert result(run) == IGNORED and run.lines == [LATE] and 34 < run.seconds < seconds(40)
    device.assert_closed()


# ---- the application ----


@pytest.mark.parametrize("way", ["fail", "fail, freed"])
def test_a_conversation_that_fails_gives_the_reader_up(locker, device, way):
    device.steps = [word(PLACE), None]
    run = locker.run(PAMDRIVER_CONVERSE=way)
    assert result(run) == CONV_ERR and run.lines == []
    device.assert_closed()


@pytest.mark.parametrize("way", ["nothing", "no text"])
def test_a_conversation_without_an_answer_is_none_that_fails(locker, way):
    assert result(locker.run(PAMDRIVER_CONVERSE=way)) == SUCCESS


def test_the_end_of_the_locker_gives_the_reader_up(locker, device):
    device.steps = [word(PLACE), None]
    environment = {} if os.geteuid() == 0 else {"PAMDRIVER_PEER": "0"}
    with locker.login.pausing("auth", service=LOCKER, **environment):
        limit = Limit(10)
        while device.operations != [HELD, VERIFY]:
            assert not limit.is_over
            time.sleep(0.01)
    device.assert_closed()


def test_nothing_is_left_open(locker, device):
    for device.steps in ([word(MATCHED)], [word(0)], ["end"]):
        run = locker.run("close-standard", "descriptors", "auth", "auth", "descriptors")
        counts = [result for name, result in run.calls if name == "descriptors"]
        assert counts[0] == counts[1]


def test_a_token_of_the_stack_goes_nowhere(locker, login):
    """The line before the finger line has a password. The finger line does not keep the password, and starts no helper."""
    locker.configure(before=[f"auth requisite pam_pwdfile.so pwdfile={login.folder}/pwdfile"])
    (login.folder / "pwdfile").write_text((login.folder / "pwdfile").read_text().replace(Login.user, USER.pw_name))
    run = locker.run("auth", "setcred", "open", "close")
    assert set(run.results) == {SUCCESS} and run.lines == []


def test_a_line_that_asks_for_a_passphrase_asks_for_no_finger(locker, device, login):
    login.ask("finger", f"device={device.path}")
    run = login.run("auth", service="latchkey-collection")
    assert result(run) == AUTHINFO_UNAVAIL and device.requests == []


# ---- every failure of the system, one at a time ----


FAILURES = ["mmap:1", "socket:1", "connect:1", "connect:*", "getsockopt:1", "getpwnam_r:1", "send:1", "send:2", "recv:1", "recv:2", "recv:3", "poll:1",
            "poll:2", "poll:*", *(f"pam_get_item:{number}" for number in range(1, 8)), "pam_get_item:*"]
# The module repeats interrupted calls.
HARMLESS = {"connect:1", "send:1", "send:2", "recv:1", "recv:2", "recv:3"}


@pytest.mark.parametrize("failure", FAILURES)
def test_failures_let_nobody_in_and_leak_nothing(locker, device, failure):
    run = locker.run("descriptors", "auth", "descriptors", PAMDRIVER_FAIL=failure)
    counts = [result for name, result in run.calls if name == "descriptors"]
    assert counts[0] == counts[1]
    assert result(run) == SUCCESS if failure in HARMLESS else result(run) in (SUCCESS, IGNORED, CONV_ERR)
    assert len(run.lines) <= 1


def test_valgrind_finds_nothing(locker, device):
    device.steps = [*map(word, STEPS), word(NOT_HELD, 1)]
    wrapper = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
               "--show-leak-kinds=definite,indirect,possible", "--errors-for-leak-kinds=definite,indirect,possible"]
    run = locker.run("auth", "setcred", "open", "close", wrapper=wrapper)
    assert result(run) == IGNORED and locker.login.questions == [*STEPS.values()]
