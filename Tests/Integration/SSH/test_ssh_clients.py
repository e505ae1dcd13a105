"""Clients that flood the ssh agent, keep silent, withdraw their questions, or pretend to be other programs."""

import fcntl
import os
import random
import struct
import termios
import time

import pytest
from support.pace import seconds, slowness
from support.session import wait_until
from support.sshagent import (
    FAILURE, RESTRICT, SUCCESS, Client, Host, agent, destination, login, private_fields, public_blob, string)  # noqa: F401

pytestmark = pytest.mark.night("ssh")

# A prompter that nobody answers. The prompter notes when it appeared. The test chooses the prompter's action at
# SIGTERM.
WAITING = "#!/bin/sh\ntrap '{end}' TERM\n{{ cut -d' ' -f1 /proc/uptime; }} >>{shown}\nwhile :; do sleep 0.05; done\n"


@pytest.mark.parametrize("end", ["exit 1", ":"], ids=["ends", "goes on"])
def test_no_question_is_exchanged_for_another_at_once(agent, end):  # noqa: F811
    """A person who is about to click must notice that the question has changed."""
    shown = agent.folder / "shown"
    (agent.folder / "prompt").write_text(WAITING.format(end=end, shown=shown))

    def times():
        return [float(line) for line in shown.read_text().split()] if shown.exists() else []

    path = agent.key()
    agent.run("ssh-add", "-c", path, check=True)
    request = b"\x0d" + string(public_blob(path)) + string(b"data") + bytes(4)
    first, second = Client(agent.path), Client(agent.path)
    first.send(request)
    wait_until(lambda: len(times()) == 1, "the first question")
    second.send(request)
    withdrawn = time.clock_gettime(time.CLOCK_BOOTTIME)
    first.close()
    # The agent also ends a prompter that ignores SIGTERM.
    wait_until(lambda: len(times()) == 2, "the second question")
    # A busy machine can only make the pause longer.
    assert times()[1] - withdrawn > 1.9
    second.close()
    # The last prompter must end before the fixture ends the agent.
    wait_until(lambda: not children(agent.process.pid), "the end of the prompter")


def children(process):
    return open(f"/proc/{process}/task/{process}/children").read().split()


def test_a_silent_client_makes_room_for_the_next(agent):  # noqa: F811
    held = []

    def connect():
        try:
            held.append(Client(agent.path))
        except BlockingIOError:  # The kernel keeps only so many waiting connections.
            return False
        return len(held) == 520

    try:
        wait_until(connect, "the connections")
        assert held[-1].ask(11)[0] == 12
        # The agent drops the client that has been silent for longest.
        with pytest.raises(ConnectionError):
            held[0].ask(11)
    finally:
        for client in held:
            client.close()


def test_an_agent_without_descriptors_goes_on(unlocked):
    path = unlocked.root / "few"
    program = unlocked.stage / "usr/libexec/latchkey-ssh-agent"
    unlocked.root.chmod(0o777)
    few = unlocked.start("sh", "-c", 'ulimit -n 40; exec "$@"', "sh", program, "--socket", path)
    held = []
    try:
        wait_until(path.exists, "the agent's socket")
        for _ in range(60):
            held.append(Client(path))
        assert held[-1].ask(11)[0] == 12
    finally:
        for client in held:
            client.close()
        few.terminate()
        few.wait(seconds(10))


def unread(client):
    """The number of bytes that the agent has not read yet."""
    return struct.unpack("i", fcntl.ioctl(client.socket, termios.TIOCOUTQ, bytes(4)))[0]


def test_no_passphrase_is_tried_while_a_wrong_one_costs_its_time(agent):  # noqa: F811
    with agent.connect() as first, agent.connect() as second:
        assert first.ask(22, string("word"))[0] == SUCCESS
        # Each wrong passphrase makes the agent pause longer. The second client must come during the last pause.
        for _ in range(round(4 + slowness())):
            assert first.ask(23, string("other"))[0] == FAILURE
        first.send(b"\x17" + string("other"))
        wait_until(lambda: unread(first) == 0, "the agent's reading")
        assert second.ask(23, string("word"))[0] == FAILURE
        assert first.receive() == bytes([FAILURE])
        assert second.ask(23, string("word"))[0] == SUCCESS


def test_an_item_of_another_program_is_no_seal(agent):  # noqa: F811
    def plant(*options):
        agent.run("latchkey", "add", "--label", "planted", "xdg:schema=org.latchkey.SSHAgent", *options, input="x" * 32, check=True)

    plant("--collection", "session")
    path = agent.key()
    agent.run("ssh-add", path, check=True)
    plant("--collection", "session", "more=1")
    plant("more=2")
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)


def test_a_binding_of_another_program_than_ssh_is_not_believed(agent):  # noqa: F811
    """A remote machine can bind a connection that its local ssh left unbound. The machine has its own keys, which no
    known_hosts contains."""
    path = agent.key()
    blob = public_blob(path)
    agent.run("ssh-add", path, check=True)
    agent.will_say(False)
    host = Host()
    with agent.connect() as client:
        assert client.bind(host, b"s1", False)
        assert client.sign(blob, login(blob, b"s1")) is None
    assert "does not say whether" in agent.asked()[0]


MESSAGES = 5000
# A lock with an unknown passphrase would end the test, and each wrong passphrase makes the agent wait.
LOCKS = (22, 23)


def test_messages_at_random_do_no_harm(agent):  # noqa: F811
    """Random messages: valid, nearly valid and invalid. FUZZ_SEED repeats a run."""
    number = int(os.environ.get("FUZZ_SEED", random.SystemRandom().getrandbits(32)))
    choice, host, path = random.Random(number), Host(), agent.key()
    fields, blob = private_fields(path), public_blob(path)
    line = agent.run("latchkey", "ssh", "generate", "--ask", "never", "kept", check=True).stdout
    (agent.folder / "kept.pub").write_text(line)
    limits = b"\xff" + string(RESTRICT) + string(destination("home", host))
    valid = [
        b"\x0b", b"\x0d" + string(blob) + string(login(blob, b"s1")) + bytes(4), b"\x12" + string(blob), b"\x13",
        # A signature with this key asks no question, because no connection is bound to its host. A question would cost
        # seconds.
        b"\x19" + fields + b"\x01\0\0\1\0\x02" + limits, b"\x1b" + string("query"),
        b"\x19" + fields + b"\xff" + string("sk-provider@openssh.com") + string("internal"),
        b"\x1b" + string("session-bind@openssh.com") + string(host.blob) + string("s1") + string(host.sign(b"s1")) + b"\1"]
    # This call opens the agent's connection to the vault.
    agent.run("ssh-add", "-T", agent.folder / "kept.pub", check=True)
    before = len(os.listdir(f"/proc/{agent.process.pid}/fd"))
    clients = []
    try:
        for _ in range(MESSAGES):
            if len(clients) < 8:
                clients.append(Client(agent.path))
            client, data = choice.choice(clients), bytearray(choice.choice(valid))
            for _ in range(choice.choice([0, 1, 1, 4])):
                where = choice.randrange(len(data) + 1)
                data[where : where + choice.randrange(3)] = choice.randbytes(choice.randrange(4))
            if data and data[0] in LOCKS:
                continue
            whole = bytearray(string(bytes(data)))
            cut = choice.random() < 0.05
            try:
                client.socket.sendall(whole[: choice.randrange(len(whole))] if cut else whole)
                if not cut:
                    client.receive()
                    continue
            except OSError:  # The agent hung up on an empty message.
                pass
            client.close()
            clients.remove(client)
        for client in clients:
            client.close()
        wait_until(lambda: len(os.listdir(f"/proc/{agent.process.pid}/fd")) <= before, "the end of the connections")
        # Keys that a client removed come back with the next lock and unlock.
        agent.session.lock()
        assert agent.session.locker().returncode == 0
        assert "kept" in agent.listed()
        agent.run("ssh-add", "-T", agent.folder / "kept.pub", check=True)
    except BaseException as error:
        raise AssertionError(f"replay: FUZZ_SEED={number}") from error
