"""The ssh agent and clients that flood it, keep silent, withdraw their questions or claim to be others."""

import fcntl
import struct
import termios
import time

import pytest
from support.pace import seconds, slowness
from support.session import wait_until
from support.sshagent import FAILURE, SUCCESS, Client, Host, agent, login, public_blob, string  # noqa: F401

pytestmark = pytest.mark.night("ssh")

# A prompter that nobody answers. It notes when it was shown, and what it does when it shall end.
WAITING = "#!/bin/sh\ntrap '{end}' TERM\n{{ cut -d' ' -f1 /proc/uptime; }} >>{shown}\nwhile :; do sleep 0.05; done\n"


@pytest.mark.parametrize("end", ["exit 1", ":"], ids=["ends", "goes on"])
def test_no_question_is_exchanged_for_another_at_once(agent, end):  # noqa: F811
    """A person who is about to click must see that the next question is another one."""
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
    # A prompter that goes on is ended, too.
    wait_until(lambda: len(times()) == 2, "the second question")
    # No clock of a busy machine makes the pause shorter.
    assert times()[1] - withdrawn > 1.9
    second.close()
    # The agent ends the last one, before the fixture ends the agent.
    wait_until(lambda: not children(agent.process.pid), "the end of the prompter")


def children(process):
    return open(f"/proc/{process}/task/{process}/children").read().split()


def test_a_silent_client_makes_room_for_the_next(agent):  # noqa: F811
    held = []

    def connect():
        try:
            held.append(Client(agent.path))
        except BlockingIOError:  # As many as the kernel keeps wait.
            return False
        return len(held) == 520

    try:
        wait_until(connect, "the connections")
        assert held[-1].ask(11)[0] == 12
        # The client that was silent for longest is the one that goes.
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
    """How many bytes the agent has not read yet."""
    return struct.unpack("i", fcntl.ioctl(client.socket, termios.TIOCOUTQ, bytes(4)))[0]


def test_no_passphrase_is_tried_while_a_wrong_one_costs_its_time(agent):  # noqa: F811
    with agent.connect() as first, agent.connect() as second:
        assert first.ask(22, string("word"))[0] == SUCCESS
        # Each wrong passphrase costs more time than the one before, and the second client must come within the last one's.
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
    """A remote machine can bind a connection that its ssh here left unbound. It holds keys that no known_hosts has."""
    path = agent.key()
    blob = public_blob(path)
    agent.run("ssh-add", path, check=True)
    agent.will_say(False)
    host = Host()
    with agent.connect() as client:
        assert client.bind(host, b"s1", False)
        assert client.sign(blob, login(blob, b"s1")) is None
    assert "does not say whether" in agent.asked()[0]
