"""ssh keys that are items of the vault: `latchkey ssh`, and what the agent does with them."""

import base64
import contextlib
import os
import select
import signal

import pytest
from support.peer import Peer
from support.person import Person, ask_on_terminals
from support.session import wait_until
from support.sshagent import SIGNATURE, Client, agent, public_blob, string  # noqa: F401

pytestmark = pytest.mark.night("ssh")


def sign(agent, public):  # noqa: F811
    """Whether ssh-keygen, which is a local program, gets a signature."""
    return agent.run("ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", public, input="text").returncode == 0


def test_a_key_of_the_vault_asks_once_until_the_lock(agent):  # noqa: F811
    session = agent.session
    public = agent.folder / "made.pub"
    line = session.run("latchkey", "ssh", "generate", "me@example.com", check=True).stdout
    public.write_text(line)
    assert session.run("latchkey", "ssh", "public", "me@example.com", check=True).stdout == line
    assert agent.run("ssh-add", "-L", check=True).stdout == line
    agent.will_say(False)
    assert not sign(agent, public)
    agent.will_say(True)
    assert sign(agent, public) and sign(agent, public)
    assert len(agent.asked()) == 2 and "git object" in agent.asked()[1]
    session.lock()
    assert not sign(agent, public)
    assert agent.listed() == ["me@example.com"]
    assert session.locker().returncode == 0
    assert sign(agent, public)
    assert len(agent.asked()) == 3
    session.run("latchkey", "ssh", "edit", "--ask", "never", "me@example.com", check=True)
    session.lock()
    assert session.locker().returncode == 0
    assert sign(agent, public)
    assert len(agent.asked()) == 3
    # No client of the agent deletes it.
    agent.run("ssh-add", "-D", check=True)
    assert agent.listed() == [] and not sign(agent, public)
    session.lock()
    assert session.locker().returncode == 0
    assert agent.listed() == ["me@example.com"]
    session.run("latchkey", "ssh", "rm", "me@example.com", check=True)
    assert agent.listed() == []


def test_a_file_with_a_passphrase_comes_into_the_vault(agent):  # noqa: F811
    session = agent.session
    path = agent.key("file", "ecdsa", "-b", "384", "-m", "PEM")
    public = path.with_name("file.pub").read_text()
    before = session.run("ssh-keygen", "-p", "-q", "-f", path, "-P", "", "-N", "pass phrase", "-m", "PEM", check=True)
    assert before.returncode == 0
    kept = path.read_bytes()
    answering = agent.folder / "askpass"
    answering.write_text("#!/bin/sh\necho 'pass phrase'\n")
    answering.chmod(0o755)
    asking = {"SSH_ASKPASS": str(answering), "SSH_ASKPASS_REQUIRE": "force"}
    told = session.run(
        "latchkey", "ssh", "add", "--comment", "work", "--class", "after-first-unlock", "--ask", "never", path,
        env=session.environment | asking, check=True).stdout
    assert f"{path} still has the private key" in told and path.read_bytes() == kept
    assert session.run("latchkey", "ssh", "add", path, env=session.environment | asking).returncode == 1
    path.unlink()
    # It signs behind the locked screen, as its class says.
    session.lock()
    with agent.connect() as client:
        assert client.identities() == [(public_blob(path), b"work")]
    assert sign(agent, f"{path}.pub")
    # And leaves the vault as a file that ssh-keygen reads.
    taken = agent.folder / "taken"
    taken.write_text(session.run("latchkey", "get", "xdg:schema=org.latchkey.SSHKey", check=True).stdout)
    taken.chmod(0o600)
    os.chown(taken, session.uid, session.gid)
    assert session.run("ssh-keygen", "-y", "-f", taken, check=True).stdout.split()[:2] == public.split()[:2]


def test_each_client_needs_an_answer_of_its_own(unlocked):
    """The vault knows one client, the agent. What a person allows for one of the agent's clients must not serve another."""
    session = ask_on_terminals(unlocked)
    line = session.run("latchkey", "ssh", "generate", "me@example.com", check=True).stdout
    blob = base64.b64decode(line.split()[1])
    session.run("latchkey", "edit", "xdg:schema=org.latchkey.SSHKey", "--require", "user-presence", check=True)
    folder = session.root / "agent"
    folder.mkdir()
    folder.chmod(0o777)
    path = folder / "socket"
    person = Person(session, session.stage / "usr/libexec/latchkey-ssh-agent", "--socket", path)
    try:
        wait_until(path.exists, "the agent's socket")
        request = b"\x0d" + string(blob) + string(b"data") + bytes(4)
        first, second, third = (Client(path) for _ in range(3))
        first.send(request)
        person.expect("login password")
        # The first client leaves while the person answers.
        os.kill(person.pid, signal.SIGSTOP)
        first.close()
        second.send(request)
        third.send(request)
        person.type(session.password)
        with contextlib.closing(Peer(session)) as peer:
            wait_until(lambda: peer.prompts() == [], "the end of the prompt")
        os.kill(person.pid, signal.SIGCONT)
        for client in (second, third):
            person.expect("login password")
            # The end of the prompt before drops what is typed, so the person types until it counts.
            for _ in range(10):
                person.type(session.password)
                if select.select([client.socket], [], [], 2)[0]:
                    break
            assert client.receive()[0] == SIGNATURE
            client.close()
    finally:
        os.kill(person.pid, signal.SIGKILL)
