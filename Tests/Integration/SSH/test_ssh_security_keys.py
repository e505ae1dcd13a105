"""Keys of security keys in the ssh agent. OpenSSH's ssh-sk-helper signs with a software security key."""

import concurrent.futures
import contextlib
import pathlib
import struct
import time

import pytest
from support.notifications import Notifications
from support.securitykey import DUMMY, SecurityKeyLibrary
from support.session import wait_until
from support.sshagent import FAILURE, SIGNATURE, SUCCESS, Agent, Client, Host, private_fields, public_blob, string
from support.sshserver import Server

pytestmark = [
    pytest.mark.night("ssh"), pytest.mark.skipif(not DUMMY.exists(), reason="the package openssh-tests is missing")]

# The data that ssh-keygen signs.
DATA = b"SSHSIG" + b"".join(map(string, ("file", "", "sha512", "hash")))
PROVIDER = b"\xff" + string("sk-provider@openssh.com")


@pytest.fixture
def library(unlocked):
    folder = unlocked.root / "securitykey"
    folder.mkdir()
    folder.chmod(0o777)
    unlocked.root.chmod(0o777)
    return SecurityKeyLibrary(folder)


@pytest.fixture
def agent(unlocked, library):
    with running(unlocked, providers=f"/nothing*,{library.path}") as opened:
        yield opened


@contextlib.contextmanager
def running(session, **options):
    opened = Agent(session, **options)
    try:
        yield opened
    finally:
        opened.close()


def make(agent, library, kind="ed25519-sk", name="key"):
    return agent.key(name, kind, "-w", library.path)


def children(agent):
    """The names of the agent's running child processes."""
    names = []
    for process in open(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read().split():
        with contextlib.suppress(OSError):
            names.append(pathlib.Path(f"/proc/{process}/comm").read_text().strip())
    return names


def request(path):
    """A request for a signature. The client does not say where the request comes from, so the agent asks the person."""
    return b"\x0d" + string(public_blob(path)) + string(DATA) + bytes(4)


HELPER = "ssh-sk-helper"


@pytest.mark.parametrize("kind", ["ed25519-sk", "ecdsa-sk"])
def test_a_security_key_logs_in_and_signs(agent, library, kind):
    server = Server(agent, "home")
    path = make(agent, library, kind)
    agent.run("ssh-add", "-S", library.path, path, check=True)
    path.rename(path.with_name("private"))
    assert "-SK)" in agent.run("ssh-add", "-l", check=True).stdout
    server.allowed.write_text(path.with_name("key.pub").read_text())
    assert server.login()
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)
    signed = agent.run("ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", f"{path}.pub", input="text", check=True).stdout
    (agent.folder / "text.sig").write_text(signed)
    agent.run("ssh-keygen", "-Y", "check-novalidate", "-n", "file", "-s", agent.folder / "text.sig", input="text", check=True)
    # The server allows only the key's certificate.
    server.allowed.write_text("")
    agent.run("ssh-keygen", "-q", "-s", agent.folder / "authority", "-I", "id", "-n", agent.session.user, f"{path}.pub", check=True)
    path.with_name("private").rename(path)
    agent.run("ssh-add", "-S", library.path, path, check=True)
    assert "-CERT)" in agent.run("ssh-add", "-l", check=True).stdout
    assert server.login()
    agent.session.lock()
    assert not server.login()
    agent.run("ssh-add", "-D", check=True)
    assert agent.listed() == []


def test_a_key_file_of_a_security_key_comes_into_the_vault(agent, library):
    session = agent.session
    path = make(agent, library)
    told = session.run(
        "latchkey", "ssh", "add", "--ask", "never", "--class", "after-first-unlock", "--provider", library.path, path, check=True).stdout
    assert "Each signature needs the security key." in told
    assert "sk-ssh-ed25519@openssh.com" in session.run("latchkey", "ssh", "list", check=True).stdout
    path.unlink()
    session.lock()
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)
    assert session.locker().returncode == 0
    # Any program of the person can change this attribute.
    other = agent.folder / "other.so"
    other.write_bytes(library.path.read_bytes())
    (item,) = [line.split()[0] for line in session.run("latchkey", "ssh", "list", check=True).stdout.splitlines()]
    session.run("latchkey", "edit", item, "--set", f"provider={other}", check=True)
    assert agent.run("ssh-add", "-T", f"{path}.pub").returncode != 0
    plain = agent.key("plain")
    assert session.run("latchkey", "ssh", "add", "--provider", library.path, plain).returncode == 1


def test_only_providers_of_the_list_are_taken(unlocked, library):
    with running(unlocked) as agent:
        path, plain = make(agent, library), agent.key("plain")
        assert agent.run("ssh-add", "-S", library.path, path).returncode != 0
        agent.run("ssh-add", "-S", "internal", path, check=True)
        # Without the library, OpenSSH finds no device here.
        assert agent.run("ssh-add", "-T", f"{path}.pub").returncode != 0
        with agent.connect() as client:
            fields = private_fields(plain)
            assert client.ask(25, fields, PROVIDER, string("internal")) == bytes([FAILURE])
            assert client.ask(25, fields, PROVIDER, string("internal"), PROVIDER, string("internal")) == bytes([FAILURE])
            assert client.ask(17, fields)[0] == SUCCESS
        assert agent.listed() == ["key", "plain"]


def test_a_touch_holds_no_other_client_up(agent, library):
    path, plain = make(agent, library), agent.key("plain")
    for one in (("-S", library.path, path), (plain,)):
        agent.run("ssh-add", *one, check=True)
    agent.will_say(True)
    library.wait_for_touch()
    first, second = Client(agent.path), Client(agent.path)
    first.send(request(path))
    wait_until(library.is_waiting, "the signature that waits")
    wait_until(lambda: len(agent.asked()) == 2, "the notice")
    assert agent.asked()[1].startswith("Touch your security key for the ssh key 'key'.") and agent.asked()[1].endswith("|notice")
    agent.run("ssh-add", "-T", f"{plain}.pub", check=True)
    # The agent serves the second client after the end of the first client and its helper.
    second.send(request(path))
    first.close()
    wait_until(lambda: len(agent.asked()) == 4, "the second notice")
    library.touch()
    assert second.receive()[0] == 14
    # A lock ends a waiting signature.
    library.wait_for_touch()
    second.send(request(path))
    wait_until(library.is_waiting, "the third signature")
    agent.session.lock()
    assert second.receive() == bytes([FAILURE])
    wait_until(lambda: not children(agent), "the end of the helper")
    second.close()


def test_a_request_that_was_allowed_waits_for_its_turn_and_a_lock_ends_all(agent, library):
    path = make(agent, library)
    agent.run("ssh-add", "-S", library.path, path, check=True)
    agent.will_say(True)
    library.wait_for_touch()
    with agent.connect() as first, agent.connect() as second, agent.connect() as other:
        for client in (first, second):
            client.send(request(path))
        wait_until(lambda: [line.rpartition("|")[2] for line in agent.asked()].count("agreement") == 2, "both questions")
        wait_until(lambda: set(children(agent)) == {HELPER}, "the end of the second question")
        # When the agent answers this call, it has finished the question.
        assert len(other.identities()) == 1
        assert children(agent) == [HELPER]
        agent.session.lock()
        assert [client.receive() for client in (first, second)] == 2 * [bytes([FAILURE])]
    wait_until(lambda: not children(agent), "the end of the helper")


@pytest.mark.parametrize("command", [("ssh-add", "-S"), ("latchkey", "ssh", "add", "--provider")], ids=["session", "vault"])
def test_another_machine_replaces_no_security_key(agent, library, command):
    path, other = make(agent, library), make(agent, library, name="other")
    agent.run(*command, library.path, path, check=True)
    agent.will_say(True)
    with agent.connect() as forwarded, agent.connect() as unknown:
        assert forwarded.bind(Host(), b"s1", True)
        for client in (forwarded, unknown):
            assert client.ask(25, private_fields(path), PROVIDER, string("internal")) == bytes([FAILURE])
        # Another key than the vault's is allowed.
        assert forwarded.ask(25, private_fields(other), PROVIDER, string("internal")) == bytes([SUCCESS])
    assert sorted(agent.listed()) == ["key", "other"]
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)


def test_a_key_that_is_removed_signs_nothing(agent, library):
    path = make(agent, library)
    agent.will_say(True)
    for remove in (("ssh-add", "-D"), ("latchkey", "ssh", "rm", "key")):
        agent.run("latchkey", "ssh", "add", "--ask", "never", "--provider", library.path, path, check=True)
        library.wait_for_touch()
        with agent.connect() as client:
            client.send(request(path))
            wait_until(lambda: children(agent) == [HELPER] and library.is_waiting(), "the signature that waits")
            agent.run(*remove, check=True)
            # A removal by ssh-add ends the waiting signature at once, before the touch's timeout of a minute.
            if remove[0] == "ssh-add":
                client.socket.settimeout(40)
            else:
                library.touch()
            assert client.receive() == bytes([FAILURE])
        wait_until(lambda: not children(agent), "the end of the helper")
        library.forget_touch()
        # The removed keys come back with the next lock and unlock.
        agent.session.lock()
        assert agent.session.locker().returncode == 0
        if remove[0] == "ssh-add":
            agent.run("latchkey", "ssh", "rm", "key", check=True)


def test_not_too_many_wait_for_a_touch(agent, library):
    path = make(agent, library)
    agent.run("ssh-add", "-S", library.path, path, check=True)
    library.wait_for_touch()
    ended = agent.folder / "ended"
    # One signature is under way, and 32 wait for it.
    started = agent.session.start(
        "sh", "-c", 'for n in $(seq 40); do { ssh-add -T "$1" 2>/dev/null; echo $? >>"$2"; } & done; wait', "sh", f"{path}.pub", ended)

    def statuses():
        return ended.read_text().split() if ended.exists() else []

    wait_until(lambda: len(statuses()) == 7, "those that are too many")
    assert "0" not in statuses() and library.is_waiting()
    agent.session.lock()
    started.wait(60)
    assert len(statuses()) == 40 and "0" not in statuses()


def test_after_a_touch_that_did_not_come_the_next_notice_waits(agent, library):
    """A person who is about to touch must notice that the next signature is another one."""
    shown = agent.folder / "shown"
    (agent.folder / "prompt").write_text(f"#!/bin/sh\ncut -d' ' -f1 /proc/uptime >>{shown}\n")

    def times():
        return [float(line) for line in shown.read_text().split()] if shown.exists() else []

    def start():
        return agent.session.start("ssh-add", "-T", f"{path}.pub")

    path = make(agent, library)
    agent.run("ssh-add", "-S", library.path, path, check=True)
    library.wait_for_touch()
    first = start()
    wait_until(lambda: len(times()) == 1 and library.is_waiting(), "the first notice")
    second = start()
    withdrawn = time.clock_gettime(time.CLOCK_BOOTTIME)
    first.kill()
    wait_until(lambda: len(times()) == 2, "the second notice")
    # A busy machine can only make the pause longer.
    assert times()[1] - withdrawn > 1.9
    third = start()
    touched = time.clock_gettime(time.CLOCK_BOOTTIME)
    library.touch()
    assert second.wait(60) == 0 and third.wait(60) == 0
    # The third signature needs no second touch, so its notice may be withdrawn before it is shown.
    assert all(time - touched > 0.4 for time in times()[2:])


def test_a_pin_is_asked_for_where_the_key_requires_it(agent, library):
    path = make(agent, library)
    agent.run("ssh-add", "-S", library.path, path, check=True)
    library.require_pin("1234")
    agent.will_say(False)
    assert agent.run("ssh-add", "-T", f"{path}.pub").returncode != 0
    agent.will_say(True)
    agent.pin.write_text("0000")
    assert agent.run("ssh-add", "-T", f"{path}.pub").returncode != 0
    agent.pin.write_text("1234")
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)
    asked = [question for question in agent.asked() if question.endswith("|pin")]
    assert len(asked) == 3
    for question in asked:
        assert "PIN of your security key for the ssh key 'key'" in question and "'ssh-add (" in question, question


def test_a_notice_names_the_program_the_key_and_the_host(agent, library):
    server, session = Server(agent, "home"), agent.session
    path = make(agent, library)
    agent.run("ssh-add", "-S", library.path, path, check=True)
    server.allowed.write_text(path.with_name("key.pub").read_text())
    session.run("mkdir", session.home / ".ssh", check=True)
    session.run("tee", session.home / ".ssh/known_hosts", input=server.known.read_text(), check=True)
    library.wait_for_touch()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        login = pool.submit(server.login)
        wait_until(agent.asked, "the notice")
        library.touch()
        assert login.result()
    (notice,) = agent.asked()
    message, detail, _, kind = notice.split("|")
    assert kind == "notice" and "'key'" in message
    assert "'ssh (" in detail and f"a login as '{session.user}'" in detail and "the host 'home' (SHA256:" in detail, detail


def test_a_notification_says_that_the_key_waits_for_a_touch(unlocked, library):
    desktop = Notifications(unlocked)
    with running(unlocked, asks_itself=True, providers=str(library.path)) as agent:
        path = make(agent, library)
        agent.run("ssh-add", "-S", library.path, path, check=True)
        library.wait_for_touch()
        test = agent.session.start("ssh-add", "-T", f"{path}.pub")
        wait_until(lambda: ("Touch your security key for the ssh key 'key'.") in [title for title, _ in desktop.look()], "the notification")
        library.touch()
        assert test.wait(60) == 0
        wait_until(lambda: desktop.look() and desktop.closed, "the end of the notification")
    desktop.close()


def answer(*parts):
    body = b"".join(parts)
    return struct.pack(">I", len(body)) + body


@pytest.mark.parametrize("said", [
    answer(b"\6", struct.pack(">I", 1), string("signature")), answer(b"\5", struct.pack(">I", 1), string("signature")),
    answer(b"\5", struct.pack(">II", 0, 60)), b"\0\0\0\xff", b""], ids=["version", "signature", "error", "cut", "nothing"])
def test_a_helper_that_says_something_else_gives_no_signature(unlocked, library, said):
    helper, saying = library.path.with_name("helper"), library.path.with_name("said")
    saying.write_bytes(said)
    helper.write_text(f"#!/bin/sh\ncat {saying}\n")
    helper.chmod(0o755)
    unlocked.environment["SSH_SK_HELPER"] = str(helper)
    with running(unlocked, providers=str(library.path)) as agent:
        del unlocked.environment["SSH_SK_HELPER"]
        path, plain = make(agent, library), agent.key("plain")
        agent.run("ssh-add", "-S", library.path, path, check=True)
        agent.will_say(True)
        with agent.connect() as client:
            assert client.sign(public_blob(path), DATA) is None
        agent.run("ssh-add", plain, check=True)
        agent.run("ssh-add", "-T", f"{plain}.pub", check=True)
