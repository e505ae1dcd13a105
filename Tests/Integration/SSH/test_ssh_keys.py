"""ssh keys that are items of the vault: `latchkey ssh`, and the agent's use of these keys."""

import base64
import contextlib
import json
import os
import select
import signal

import pytest
from support.pace import Limit, seconds
from support.peer import Peer
from support.person import Person, ask_on_terminals
from support.session import wait_until
from support.sshagent import SIGNATURE, Client, agent, public_blob, string  # noqa: F401
from support.tmux import Tmux

pytestmark = pytest.mark.night("ssh")


def sign(agent, public):  # noqa: F811
    """Whether ssh-keygen, a local program, gets a signature."""
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
    # No client of the agent can delete an item of the vault.
    agent.run("ssh-add", "-D", check=True)
    assert agent.listed() == [] and not sign(agent, public)
    session.lock()
    assert session.locker().returncode == 0
    assert agent.listed() == ["me@example.com"]
    session.run("latchkey", "ssh", "rm", "me@example.com", check=True)
    assert agent.listed() == []


def test_a_change_of_the_vault_counts_at_the_next_signature(agent):  # noqa: F811
    """The agent caches the vault's keys, and signs with a single call. So the agent must hear of each change before the
    next signature."""
    session = agent.session
    path = agent.key()
    agent.will_say(False)

    def signs():
        # Other programs ask for the list of keys first, and the agent then reads the list again.
        return agent.run("ssh-add", "-T", f"{path}.pub").returncode == 0

    for _ in range(5):
        session.run("latchkey", "ssh", "add", "--ask", "never", path, check=True)
        assert signs() and signs()
        before = len(agent.asked())
        session.run("latchkey", "ssh", "edit", "--ask", "always", "key", check=True)
        assert not signs() and len(agent.asked()) == before + 1
        session.run("latchkey", "ssh", "edit", "--ask", "never", "key", check=True)
        assert signs()
        session.run("latchkey", "ssh", "rm", "key", check=True)
        assert not signs()


@pytest.mark.parametrize(("form", "begin"), [("PEM", "EC PRIVATE"), ("PKCS8", "ENCRYPTED PRIVATE"), ("RFC4716", "OPENSSH PRIVATE")])
def test_a_file_with_a_passphrase_comes_into_the_vault(agent, form, begin):  # noqa: F811
    session = agent.session
    path = agent.key("file", "ecdsa", "-b", "384", "-m", form)
    public = path.with_name("file.pub").read_text()
    session.run("ssh-keygen", "-p", "-q", "-f", path, "-P", "", "-N", "pass phrase", "-m", form, check=True)
    assert begin in path.read_text().splitlines()[0]
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
    # The class of the key allows signatures behind the locked screen.
    session.lock()
    with agent.connect() as client:
        assert client.identities() == [(public_blob(path), b"work")]
    assert sign(agent, f"{path}.pub")
    # The item's secret is a file that ssh-keygen can read.
    taken = agent.folder / "taken"
    taken.write_text(session.run("latchkey", "get", "xdg:schema=org.latchkey.SSHKey", check=True).stdout)
    taken.chmod(0o600)
    os.chown(taken, session.uid, session.gid)
    assert session.run("ssh-keygen", "-y", "-f", taken, check=True).stdout.split()[:2] == public.split()[:2]


def test_each_client_needs_an_answer_of_its_own(unlocked):
    """To the vault, the agent is a single client. If the person allows a read for one of the agent's clients, that must
    not serve another."""
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
        # The vault's prompt names the agent's client, and says that the origin of the request is unknown.
        person.expect("Perhaps forwarded, for 'python3").expect("login password")
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
            # The end of the former prompt drops typed characters, so the person types until the prompt accepts the
            # password.
            limit = Limit(20)
            while not limit.is_over:
                person.type(session.password)
                if select.select([client.socket], [], [], 2)[0]:
                    break
            assert client.receive()[0] == SIGNATURE
            client.close()
    finally:
        os.kill(person.pid, signal.SIGKILL)


def test_a_signature_has_the_vault_ask_where_only_the_vault_is_locked(unlocked):
    session = ask_on_terminals(unlocked)
    folder = session.root / "agent"
    folder.mkdir()
    folder.chmod(0o777)
    path, public, text = folder / "socket", folder / "made.pub", folder / "text"
    public.write_text(session.run("latchkey", "ssh", "generate", "--ask", "never", "me@example.com", check=True).stdout)
    text.write_text("text")
    text.chmod(0o666)
    person = Person(session, session.stage / "usr/libexec/latchkey-ssh-agent", "--socket", path)
    try:
        wait_until(path.exists, "the agent's socket")
        session.environment["SSH_AUTH_SOCK"] = str(path)
        session.lock()
        signing = session.start("ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", public, text)
        person.expect("password").type(session.password)
        assert signing.wait(seconds(60)) == 0
    finally:
        os.kill(person.pid, signal.SIGKILL)


def test_nobody_is_asked_behind_a_locker(agent):  # noqa: F811
    session = agent.session
    public = {name: agent.folder / f"{name}.pub" for name in ("silent", "asking", "locked")}
    for name, options in (("silent", ["--ask", "never"]), ("asking", ["--ask", "always"]), ("locked", ["--ask", "always"])):
        kind = "when-unlocked" if name == "locked" else "after-first-unlock"
        public[name].write_text(session.run("latchkey", "ssh", "generate", "--class", kind, *options, name, check=True).stdout)
    agent.will_say(True)
    with contextlib.closing(Peer(session)) as peer:
        peer.activate_screen_saver(True)
        wait_until(lambda: session.status()["locker_up"], "the locker")
        before = len(agent.asked())
        assert not sign(agent, public["asking"]) and not sign(agent, public["locked"]) and sign(agent, public["silent"])
        assert len(agent.asked()) == before
        peer.activate_screen_saver(False)
        assert session.locker().returncode == 0
        assert sign(agent, public["asking"]) and sign(agent, public["locked"])
        assert len(agent.asked()) == before + 2


@pytest.mark.parametrize(("kind", "word"), [
    (["--type", "ecdsa"], "256"), (["--type", "ecdsa", "--bits", "384"], "384"), (["--type", "ecdsa", "--bits", "521"], "521"),
    (["--type", "rsa", "--bits", "2048"], "2048"), (["--type", "rsa"], "3072")])
def test_keys_of_other_kinds_are_created(agent, kind, word):  # noqa: F811
    session = agent.session
    line = session.run("latchkey", "ssh", "generate", *kind, "--ask", "never", "made", check=True).stdout
    public = agent.folder / "made.pub"
    public.write_text(line)
    assert agent.run("ssh-keygen", "-lf", public, check=True).stdout.split()[0] == word
    agent.run("ssh-add", "-T", public, check=True)
    taken = agent.folder / "taken"
    taken.write_text(session.run("latchkey", "get", "xdg:schema=org.latchkey.SSHKey", check=True).stdout)
    taken.chmod(0o600)
    os.chown(taken, session.uid, session.gid)
    assert session.run("ssh-keygen", "-y", "-f", taken, check=True).stdout.split()[:2] == line.split()[:2]


def test_keys_of_no_kind_are_refused(unlocked):
    for options in (["--type", "dsa"], ["--bits", "256"], ["--type", "ecdsa", "--bits", "512"], ["--type", "rsa", "--bits", "1024"]):
        done = unlocked.run("latchkey", "ssh", "generate", *options, "made")
        assert done.returncode == 64 and "rsa (2048 to 8192 bits)" in done.stderr


def test_the_list_says_what_can_sign_now(unlocked):
    for name, options in (("plain", []), ("careful", ["--require", "user-presence"]), ("late", ["--class", "after-first-unlock"])):
        unlocked.run("latchkey", "ssh", "generate", *options, name, check=True)

    def states():
        listed = json.loads(unlocked.run("latchkey", "ssh", "list", "--json", check=True).stdout)
        return {key["comment"]: (key["state"], bool(key["reason"])) for key in listed}

    assert states() == {"plain": ("ready", False), "careful": ("asks", True), "late": ("ready", False)}
    told = unlocked.run("latchkey", "ssh", "list", check=True).stdout
    assert told.count("(can sign now)") == 2 and "(requires user-presence at each signature)" in told
    unlocked.lock()
    assert states() == {"plain": ("locked", True), "careful": ("locked", True), "late": ("ready", False)}


def test_copy_id_gives_ssh_copy_id_the_public_key(unlocked):
    line = unlocked.run("latchkey", "ssh", "generate", "me@example.com", check=True).stdout
    program = unlocked.root / "bin/ssh-copy-id"
    program.write_text('#!/bin/sh\necho "$@"; cat "$2" "${2%.pub}"; exit $STATUS\n')
    program.chmod(0o755)
    command = ["latchkey", "ssh", "copy-id", "me@example.com", "anna@server", "--", "-p", "2222"]
    done = unlocked.run(*command, check=True, env=unlocked.environment | {"STATUS": "0"})
    words, *lines = done.stdout.splitlines(keepends=True)
    assert words.split()[2:] == ["-p", "2222", "anna@server"] and lines == [line, line]
    assert unlocked.run(*command, env=unlocked.environment | {"STATUS": "3"}).returncode == 1
    assert not list(unlocked.runtime.glob("latchkey-ssh-*"))


def test_a_label_of_two_lines_is_one_key(unlocked):
    """Any program can change the label. A second line in authorized_keys would admit another key."""
    unlocked.run("latchkey", "ssh", "generate", "me\nssh-ed25519 AAAA other", check=True)
    told = unlocked.run("latchkey", "ssh", "public", "me\nssh-ed25519 AAAA other", check=True).stdout
    program = unlocked.root / "bin/ssh-copy-id"
    program.write_text('#!/bin/sh\ncat "$2"\n')
    program.chmod(0o755)
    done = unlocked.run("latchkey", "ssh", "copy-id", "me\nssh-ed25519 AAAA other", "server", check=True)
    assert done.stdout.count("\n") == 1 == told.count("\n") and " me ssh-ed25519 AAAA other\n" in done.stdout


def protected(agent):  # noqa: F811
    """A key file with a passphrase, and the environment in which OpenSSH runs our program to get the passphrase."""
    path = agent.key("file")
    agent.run("ssh-keygen", "-p", "-q", "-f", path, "-P", "", "-N", "pass phrase", check=True)
    program = agent.session.stage / "usr/libexec/latchkey-ssh-askpass"
    return path, agent.session.environment | {"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force"}


def test_ssh_add_gets_a_passphrase_of_the_vault(agent):  # noqa: F811
    """gnome-keyring and gcr store a passphrase in this form, so an imported one works."""
    path, environment = protected(agent)
    agent.session.store("pass phrase", "unique", f"ssh-store:{path}")
    agent.run("ssh-add", path, env=environment, check=True)
    assert agent.listed() == ["file"]
    agent.run("ssh-add", "-D", check=True)
    # A relative path, and then a wrong passphrase. No prompt can appear here.
    agent.run("ssh-add", path.name, cwd=agent.folder, env=environment, check=True)
    agent.run("ssh-add", "-D", check=True)
    agent.session.store("other", "unique", f"ssh-store:{path}")
    assert agent.run("ssh-add", path, env=environment).returncode != 0
    assert agent.listed() == []


def test_a_passphrase_is_asked_for_and_kept(agent):  # noqa: F811
    session = agent.session
    ask_on_terminals(session)
    path, environment = protected(agent)
    command = f"SSH_ASKPASS={environment['SSH_ASKPASS']} SSH_ASKPASS_REQUIRE=force ssh-add {path}"
    terminal = Tmux(session)
    try:
        terminal.run(command).expect("needs the passphrase of the key file").type("wrong")
        terminal.expect("The passphrase was wrong").type("pass phrase")
        terminal.expect("in the vault?").press("Enter")
        terminal.expect("Identity added").wait_for_shell()
    finally:
        terminal.close()
    assert session.lookup("unique", f"ssh-store:{path}") == "pass phrase"
    agent.run("ssh-add", "-D", check=True)
    agent.run("ssh-add", path, env=environment, check=True)
