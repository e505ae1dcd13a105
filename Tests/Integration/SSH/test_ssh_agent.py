"""The ssh agent with OpenSSH's own programs: keys of `ssh-add`, signatures, the lock, and questions to the person."""

import struct

import pytest
from support.session import wait_until
from support.sshagent import (
    EXTENSION_FAILURE, EXTENSION_RESPONSE, FAILURE, RESTRICT, SUCCESS, Host, agent, destination, login, private_fields,  # noqa: F401
    public_blob, string, strings)

KINDS = {"ed25519": [], "ecdsa": ["-b", "256"], "rsa": ["-b", "2048"]}


def test_keys_of_ssh_add_sign_until_they_are_removed(agent):  # noqa: F811
    paths = [agent.key(kind, kind, *options) for kind, options in KINDS.items()]
    for path in paths:
        agent.run("ssh-add", path, check=True)
        agent.run("ssh-add", "-T", f"{path}.pub", check=True)
    fingerprints = agent.run("ssh-add", "-l", check=True).stdout.splitlines()
    assert fingerprints == [agent.run("ssh-keygen", "-lf", path, check=True).stdout.strip() for path in paths]
    # The file of the private key is deleted, so only the agent can sign.
    paths[0].unlink()
    signed = agent.folder / "text"
    signed.write_text("text")
    signed.chmod(0o666)
    agent.run("ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", f"{paths[0]}.pub", signed, check=True)
    signature = (agent.folder / "text.sig").read_text()
    agent.run("ssh-keygen", "-Y", "check-novalidate", "-n", "file", "-s", agent.folder / "text.sig", input="text", check=True)
    assert "BEGIN SSH SIGNATURE" in signature
    agent.run("ssh-add", "-d", f"{paths[0]}.pub", check=True)
    assert agent.listed() == ["ecdsa", "rsa"]
    agent.run("ssh-add", "-D", check=True)
    assert agent.listed() == []
    assert agent.asked() == []


def test_no_key_of_ssh_add_signs_behind_the_lock(agent):  # noqa: F811
    path = agent.key()
    agent.run("ssh-add", path, check=True)
    agent.will_say(True)
    with agent.connect() as client:
        blob = public_blob(path)
        assert client.sign(blob, b"data")
        agent.session.lock()
        assert [comment for _, comment in client.identities()] == [b"key"]
        assert client.sign(blob, b"data") is None
        assert agent.run("ssh-add", path).returncode != 0
        assert agent.session.locker().returncode == 0
        assert client.sign(blob, b"data")


@pytest.mark.night("ssh")
def test_a_constrained_key_goes_only_where_it_may(agent):  # noqa: F811
    home, far, other = Host(), Host(), Host()
    path = agent.key()
    fields, blob = private_fields(path), public_blob(path)
    limits = destination("home", home, user="an*") + destination("far", far, from_name="home", origin=[home])
    agent.will_say(True)
    with agent.connect() as client:
        assert client.ask(25, fields, b"\xff", string(RESTRICT), string(limits))[0] == SUCCESS
        # Without a binding, the agent does not know where the login leads.
        assert client.sign(blob, login(blob, b"s1")) is None
    with agent.connect() as client:
        assert client.bind(home, b"s1", False)
        assert client.sign(blob, login(blob, b"s1"))
        assert client.sign(blob, login(blob, b"s2")) is None
        assert client.sign(blob, login(blob, b"s1", user="root")) is None
        assert client.sign(blob, b"something else") is None
    with agent.connect() as client:
        assert client.bind(other, b"s1", False)
        assert client.identities() == []
        assert client.sign(blob, login(blob, b"s1")) is None
    with agent.connect() as client:
        assert client.bind(home, b"s1", True)
        assert len(client.identities()) == 1
        assert client.sign(blob, login(blob, b"s1")) is None
        assert client.bind(far, b"s2", False)
        # Behind another host, a login must name the host that it comes from.
        assert client.sign(blob, login(blob, b"s2")) is None
        assert client.sign(blob, login(blob, b"s2", host=home)) is None
        assert client.sign(blob, login(blob, b"s2", host=far))


@pytest.mark.night("ssh")
def test_it_refuses_what_it_does_not_know_and_goes_on(agent):  # noqa: F811
    host = Host()
    fields = private_fields(agent.key())
    with agent.connect() as client:
        for message in (b"\x01", b"\xc8", b"\x0d", b"\x11" + fields[:40], b"\x1b" + string("nothing@example.com")):
            assert client.ask(message) == bytes([FAILURE]), message
        # An unknown constraint, a constraint that occurs twice, and a constraint that allows nothing.
        for constraint in (b"\x09", b"\xff" + string("new@example.com"), b"\x02\x02", b"\xff" + string(RESTRICT) + string("")):
            assert client.ask(25, fields, constraint) == bytes([FAILURE]), constraint
        assert client.identities() == []
        answer = client.extend("query")
        assert answer[0] == EXTENSION_RESPONSE
        assert strings(answer[1:]) == [b"query", b"query", b"session-bind@openssh.com"]
        forged = string(host.blob) + string(b"session") + string(host.sign(b"another")) + b"\0"
        assert client.extend("session-bind@openssh.com", forged) == bytes([EXTENSION_FAILURE])
        client.send(b"")
        with pytest.raises(ConnectionError):
            client.receive()
    with agent.connect() as client:
        client.socket.sendall(struct.pack(">I", 1 << 30))
        with pytest.raises(ConnectionError):
            client.receive()
    assert agent.listed() == []


@pytest.mark.night("ssh")
def test_lifetime_confirmation_and_the_lock_of_the_protocol(agent):  # noqa: F811
    path = agent.key()
    blob = public_blob(path)
    agent.run("ssh-add", "-c", path, check=True)
    agent.will_say(False)
    assert agent.run("ssh-add", "-T", f"{path}.pub").returncode != 0
    agent.will_say(True)
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)
    assert len(agent.asked()) == 2
    assert all("'key'" in question for question in agent.asked())
    with agent.connect() as client:
        assert client.ask(22, string("word"))[0] == SUCCESS
        assert client.identities() == []
        assert client.sign(blob, b"data") is None
        assert client.ask(23, string("other"))[0] == FAILURE
        assert client.ask(23, string("word"))[0] == SUCCESS
        assert len(client.identities()) == 1
    agent.run("ssh-add", "-t", "1", path, check=True)
    wait_until(lambda: agent.listed() == [], "the end of the key")


@pytest.mark.night("ssh")
def test_forwarded_and_unbound_requests_ask_each_time(agent):  # noqa: F811
    host = Host()
    path = agent.key()
    blob = public_blob(path)
    agent.run("ssh-add", path, check=True)
    agent.will_say(True)
    with agent.connect() as client:
        for _ in range(2):
            assert client.sign(blob, login(blob, b"s1"))
        assert len(agent.asked()) == 2
        assert client.bind(host, b"s1", True)
        assert client.sign(blob, login(blob, b"s1"))
        assert "from another machine" in agent.asked()[2]
        # The forwarding host does not say where the login leads.
        assert "'anna'" in agent.asked()[2] and "SHA256:" not in agent.asked()[2]
        assert client.sign(blob, login(blob, b"s2", host=host))
        assert "SHA256:" in agent.asked()[3]
        agent.will_say(False)
        assert client.sign(blob, login(blob, b"s1")) is None
    assert len(agent.asked()) == 5


@pytest.mark.night("ssh")
def test_a_host_does_not_pass_as_local_by_the_agents_lock(agent):  # noqa: F811
    """ssh ignores a failed binding. If a host could lock the agent meanwhile, the host could bind the connection
    itself."""
    host = Host()
    path = agent.key()
    blob = public_blob(path)
    agent.run("ssh-add", path, check=True)
    with agent.connect() as own, agent.connect() as forwarded, agent.connect() as later:
        assert forwarded.bind(host, b"s1", True)
        assert forwarded.ask(22, string("word"))[0] == FAILURE
        # Only the person can lock the agent.
        assert own.ask(22, string("word"))[0] == SUCCESS
        assert forwarded.ask(23, string("word"))[0] == FAILURE
        assert later.bind(host, b"s1", True)
        assert own.ask(23, string("word"))[0] == SUCCESS
        assert later.bind(host, b"s2", False)
        agent.will_say(True)
        assert later.sign(blob, login(blob, b"s2"))
    assert len(agent.asked()) == 1 and "from another machine" in agent.asked()[0]
