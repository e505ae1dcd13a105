"""The ssh agent with OpenSSH's programs, git and other clients, over many locks. A scan looks for keys in the agent's
memory.
"""

import base64
import os

import pytest
from support.memory import scan
from support.pace import seconds
from support.person import ask_on_terminals
from support.session import wait_until
from support.sshagent import Agent, agent, private_fields, public_blob, strings_until  # noqa: F401
from support.sshserver import Server
from support.tmux import Tmux

pytestmark = pytest.mark.night("ssh")

KINDS = {
    "ed25519": ["-t", "ed25519"], "p256": ["-t", "ecdsa", "-b", "256"], "p384": ["-t", "ecdsa", "-b", "384"],
    "p521": ["-t", "ecdsa", "-b", "521"], "rsa": ["-t", "rsa", "-b", "3072"],
}


@pytest.fixture
def server(agent):  # noqa: F811
    return Server(agent, "home")


@pytest.mark.parametrize("kind", KINDS)
def test_a_login_by_each_kind_of_key_and_its_certificate(agent, server, kind):  # noqa: F811
    path = agent.key(kind, *KINDS[kind][1:])
    server.allowed.write_text(path.with_name(f"{kind}.pub").read_text())
    authority = agent.folder / "authority"
    agent.run("ssh-add", path, check=True)
    assert server.login() and agent.asked() == []
    # The server no longer allows the key itself, but allows its certificate.
    server.allowed.write_text("")
    agent.run("ssh-keygen", "-q", "-s", authority, "-I", "id", "-n", agent.session.user, f"{path}.pub", check=True)
    assert not server.login()
    agent.run("ssh-add", path, check=True)
    assert agent.run("ssh-add", "-l", check=True).stdout.count("-CERT)") == 1
    assert server.login()
    agent.session.lock()
    assert not server.login()


def test_a_question_names_the_user_and_the_host(agent, server):  # noqa: F811
    session = agent.session
    path = agent.key()
    server.allowed.write_text(path.with_name("key.pub").read_text())
    agent.run("ssh-add", "-c", path, check=True)
    agent.will_say(True)
    assert server.login()
    fingerprint = agent.run("ssh-keygen", "-lf", agent.folder / "host-home", check=True).stdout.split()[1]
    assert f"'{session.user}'" in agent.asked()[0] and f"the host {fingerprint}" in agent.asked()[0]
    # Debian's ssh writes hashes of names into known_hosts.
    session.run("mkdir", session.home / ".ssh", check=True)
    session.run("tee", session.home / ".ssh/known_hosts", input=server.known.read_text(), check=True)
    session.run("ssh-keygen", "-H", "-f", session.home / ".ssh/known_hosts", check=True)
    assert server.login()
    assert f"the host 'home' ({fingerprint})" in agent.asked()[1]
    # Only ssh's configuration has this name.
    configuration = agent.folder / "ssh_config"
    configuration.write_text("Host home\n  HostName far.example\n")
    server.known.write_text(server.known.read_text().replace("home ", "far.example "))
    session.run("tee", session.home / ".ssh/known_hosts", input=server.known.read_text(), check=True)
    session.run("ssh-keygen", "-H", "-f", session.home / ".ssh/known_hosts", check=True)
    assert server.login("-F", configuration)
    assert f"the host 'far.example' ({fingerprint})" in agent.asked()[2]


def test_the_agent_asks_on_the_terminal_of_its_client(unlocked):
    ask_on_terminals(unlocked)
    agent = Agent(unlocked, asks_itself=True)  # noqa: F811
    terminal = Tmux(unlocked)
    try:
        path = agent.key()
        agent.run("ssh-add", "-c", path, check=True)
        test = f"ssh-add -T {path}.pub; echo status $?"
        terminal.run(test).expect("wants to use the ssh key 'key'").press("Enter")
        terminal.expect("status 0").wait_for_shell()
        terminal.run(f"clear; {test}").expect("wants to use the ssh key 'key'", gone="status 0").press("C-c")
        terminal.expect("status 1").wait_for_shell()
    finally:
        terminal.close()
        agent.close()


def test_destinations_of_ssh_add(agent, server):  # noqa: F811
    other = Server(agent, "other")
    path = agent.key()
    for one in (server, other):
        one.allowed.write_text(path.with_name("key.pub").read_text())
    agent.run("ssh-add", "-H", server.known, "-h", "home", path, check=True)
    assert server.login()
    assert not other.login()
    assert other.allowed.read_text()


def test_git_signs_commits(agent):  # noqa: F811
    path = agent.key()
    agent.run("ssh-add", path, check=True)
    path.unlink()
    project, signers = agent.folder / "project", agent.folder / "signers"
    signers.write_text(f"anna@example.com {path.with_name('key.pub').read_text()}")
    agent.run("git", "init", "-q", project, check=True)
    settings = {
        "user.name": "Anna", "user.email": "anna@example.com", "gpg.format": "ssh", "user.signingkey": f"{path}.pub",
        "gpg.ssh.allowedSignersFile": str(signers),
    }
    for name, value in settings.items():
        agent.run("git", "-C", project, "config", name, value, check=True)
    agent.run("git", "-C", project, "commit", "-q", "-S", "--allow-empty", "-m", "first", check=True)
    agent.run("git", "-C", project, "verify-commit", "HEAD", check=True)
    assert agent.asked() == []
    agent.session.lock()
    assert agent.run("git", "-C", project, "commit", "-q", "-S", "--allow-empty", "-m", "second").returncode != 0


def test_fifty_locks_with_connections_open(agent):  # noqa: F811
    path = agent.key()
    agent.run("ssh-add", path, check=True)
    agent.will_say(True)
    blob = public_blob(path)
    with agent.connect() as first, agent.connect() as second:
        for _ in range(50):
            assert first.sign(blob, b"data") and second.sign(blob, b"data")
            agent.session.lock()
            assert first.sign(blob, b"data") is None and second.sign(blob, b"data") is None
            assert agent.session.locker().returncode == 0


def test_many_clients(agent):  # noqa: F811
    path = agent.key()
    agent.run("ssh-add", path, check=True)
    held = [agent.connect() for _ in range(8)]
    clients = [one.__enter__() for one in held]
    for client in clients:
        client.send(b"\x0b")
    assert all(client.receive()[0] == 12 for client in clients)
    for one in held:
        one.__exit__(None, None, None)
    before = len(os.listdir(f"/proc/{agent.process.pid}/fd"))
    for number in range(10_000):
        with agent.connect() as client:
            if number % 100 == 0:
                assert len(client.identities()) == 1
    wait_until(lambda: len(os.listdir(f"/proc/{agent.process.pid}/fd")) <= before, "the end of the connections")


@pytest.mark.skipif(os.getuid() != 0, reason="reading another process's memory needs root")
def test_no_process_has_a_key_behind_the_lock(agent):  # noqa: F811
    path = agent.key()
    # The field has the seed and then the public key. The seed is the secret part.
    seed = strings_until(private_fields(path))[2][:32]
    agent.run("ssh-add", path, check=True)
    agent.will_say(True)
    other = agent.key("stored")
    stored = strings_until(private_fields(other))[2][:32]
    agent.run("latchkey", "ssh", "add", "--ask", "never", other, check=True)
    with agent.connect() as client:
        assert client.sign(public_blob(path), b"data") and client.sign(public_blob(other), b"data")
        agent.session.lock()
        needles = {"seed": seed, "stored": stored}
        # The forms of the values in key files. Base64 works in groups, so a value may start at any of three positions.
        needles |= {
            f"{name} as text {shift}": base64.b64encode(bytes(shift) + value)[4:40]
            for name, value in (("seed", seed), ("stored", stored)) for shift in range(3)}
        # The control: the scan finds the comment of the key.
        assert "comment" in scan(agent.process.pid, {"comment": b"/org/freedesktop/secrets"})
        for process in (agent.process.pid, agent.session.daemon_pid()):
            assert scan(process, needles) == {}


def test_a_new_agent_goes_on_with_the_keys_of_the_session(agent):  # noqa: F811
    path = agent.key()
    agent.run("ssh-add", path, check=True)
    agent.process.terminate()
    agent.process.wait(seconds(10))
    program = agent.session.stage / "usr/libexec/latchkey-ssh-agent"
    agent.process = agent.session.start(program, "--socket", agent.path, "--prompt-program", agent.folder / "prompt")
    wait_until(agent.path.exists, "the agent's socket")
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)
    # A new daemon starts sealed.
    agent.session.restart()
    assert agent.session.locker().returncode == 0
    assert agent.listed() == []
    agent.run("ssh-add", path, check=True)
    agent.run("ssh-add", "-T", f"{path}.pub", check=True)
