"""The ssh agent with clients of others: libraries of Python and Go, rsync, scp and ansible, and an agent that is
forwarded over two hosts.
"""

import json
import os
import pathlib
import shutil
import sys

import pytest
from support.session import wait_until
from support.sshagent import agent  # noqa: F401
from support.sshserver import Hosts

pytestmark = pytest.mark.night("ssh")

KINDS = {"ed25519": ["-t", "ed25519"], "ecdsa": ["-t", "ecdsa", "-b", "256"], "rsa": ["-t", "rsa", "-b", "2048"]}

PARAMIKO = """
import json
import paramiko
keys = paramiko.Agent().get_keys()
told = []
for key in keys:
    flag = {"ssh-rsa": "rsa-sha2-512"}.get(key.get_name())
    signature = key.sign_ssh_data(b"data", *([flag] if flag else []))
    public = paramiko.PKey.from_type_string(key.get_name(), key.asbytes()) if hasattr(paramiko.PKey, "from_type_string") else {
        "ssh-ed25519": paramiko.Ed25519Key, "ssh-rsa": paramiko.RSAKey, "ecdsa-sha2-nistp256": paramiko.ECDSAKey,
    }[key.get_name()](data=key.asbytes())
    told.append([key.get_name(), public.verify_ssh_sig(b"data", paramiko.Message(signature))])
print(json.dumps(told))
"""

ASYNCSSH = """
import asyncio, json, os
import asyncssh

async def main():
    told = []
    async with asyncssh.connect_agent(os.environ["SSH_AUTH_SOCK"]) as agent:
        for pair in await agent.get_keys():
            algorithm = pair.sig_algorithms[0]
            pair.set_sig_algorithm(algorithm)
            signature = await pair.sign_async(b"data")
            key = asyncssh.public_key.decode_ssh_public_key(pair.public_data)
            told.append([key.algorithm.decode(), key.verify(b"data", signature)])
    print(json.dumps(told))

asyncio.run(main())
"""

GO = """
package main

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/crypto/ssh/agent"
)

func main() {
	connection, err := net.Dial("unix", os.Getenv("SSH_AUTH_SOCK"))
	if err != nil { panic(err) }
	client := agent.NewClient(connection)
	keys, err := client.List()
	if err != nil { panic(err) }
	for _, key := range keys {
		signature, err := client.SignWithFlags(key, []byte("data"), agent.SignatureFlagRsaSha512)
		if err != nil { panic(err) }
		if err := key.Verify([]byte("data"), signature); err != nil { panic(err) }
		fmt.Println(key.Format, "verified")
	}
}
"""


@pytest.fixture
def keys(agent):  # noqa: F811
    for name, options in KINDS.items():
        agent.run("ssh-add", agent.key(name, *options[1:]), check=True)
    agent.will_say(True)
    return agent


@pytest.mark.parametrize(("module", "program"), [("paramiko", PARAMIKO), ("asyncssh", ASYNCSSH)])
def test_a_library_of_python(keys, module, program):
    if keys.run(sys.executable, "-c", f"import {module}").returncode != 0:
        pytest.skip(f"the package python3-{module} is missing")
    told = json.loads(keys.run(sys.executable, "-W", "ignore", "-c", program, check=True).stdout)
    assert [kind for kind, _ in told] == ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"]
    assert all(is_right for _, is_right in told)
    # Libraries bind no connection, so each signature caused a question.
    assert len(keys.asked()) == 3


@pytest.mark.skipif(shutil.which("go") is None, reason="the package golang-go is missing")
def test_the_library_of_go(keys):
    source = keys.folder / "client.go"
    source.write_text(GO)
    environment = keys.session.environment | {
        "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(keys.session.home / "go"), "GOFLAGS": "-p=1", "CGO_ENABLED": "0"}
    if not pathlib.Path("/usr/share/gocode/src/golang.org/x/crypto/ssh/agent").is_dir():
        pytest.skip("the package golang-golang-x-crypto-dev is missing")
    told = keys.run("go", "run", source, env=environment, check=True, timeout=300).stdout.splitlines()
    assert told == ["ssh-ed25519 verified", "ecdsa-sha2-nistp256 verified", "ssh-rsa verified"]
    assert len(keys.asked()) == 3


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="the logins need a shell for the session's user")


def answered(agent, count):  # noqa: F811
    """Waits for this number of questions and for the agent's end of the last one. Returns the questions."""
    wait_until(lambda: len(agent.asked()) == count, "the questions")
    children = pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children")
    wait_until(lambda: not children.read_text(), "the end of the last question")
    agent.listed()
    return agent.asked()


@needs_root
def test_an_agent_that_is_forwarded_over_two_hosts(agent):  # noqa: F811
    hosts = Hosts(agent, "home", "far")
    path = agent.key()
    hosts.allow(f"{path}.pub")
    agent.run("ssh-add", path, check=True)
    agent.will_say(True)
    there = hosts.run("ssh", "-A", "-F", hosts.config, "home", f"ssh -F {hosts.config} far echo arrived")
    assert there.stdout == "arrived\n", there.stderr
    # The first login comes from this machine, and causes no question.
    asked = answered(agent, 2)
    fingerprint = agent.run("ssh-keygen", "-lf", agent.folder / "host-far", check=True).stdout.split()[1]
    assert len(asked) == 2 and "from another machine" in asked[0] and fingerprint in asked[0], asked
    assert "'key', until the lock?" in asked[1] and asked[1].endswith("|host")
    # The person was asked once whether to allow the host, and refused.
    agent.will_say(False, host=True)
    refused = hosts.run("ssh", "-A", "-F", hosts.config, "home", f"ssh -F {hosts.config} far echo arrived")
    assert refused.returncode != 0 and hosts.logins() == [2, 1] and len(agent.asked()) == 3


@needs_root
@pytest.mark.parametrize("asks", [False, True], ids=["never", "always"])
def test_a_host_that_is_allowed_until_the_lock(agent, asks):  # noqa: F811
    hosts = Hosts(agent, "home", "other", "far")
    path = agent.key()
    hosts.allow(f"{path}.pub")
    agent.run("ssh-add", *(["-c"] if asks else []), path, check=True)

    def goes_by(host):
        return hosts.run("ssh", "-A", "-F", hosts.config, host, f"ssh -F {hosts.config} far echo arrived").stdout == "arrived\n"

    def kinds():
        return [question.rpartition("|")[2] for question in agent.asked()]

    agent.will_say(True, host=True)
    assert goes_by("home")
    if asks:
        # A key that asks each time does not remember hosts.
        assert goes_by("home") and kinds() == 4 * ["agreement"]
        return
    answered(agent, 2)
    assert kinds() == ["agreement", "host"]
    agent.will_say(False)
    assert goes_by("home") and len(agent.asked()) == 2
    # The permission is for that host alone, and until the lock.
    assert not goes_by("other") and len(agent.asked()) == 3
    agent.session.lock()
    assert agent.session.locker().returncode == 0
    assert not goes_by("home") and len(agent.asked()) == 4


@needs_root
def test_git_pushes_by_ssh(agent):  # noqa: F811
    hosts = Hosts(agent, "home")
    path = agent.key()
    hosts.allow(f"{path}.pub")
    agent.run("ssh-add", path, check=True)
    path.unlink()
    there, here = agent.session.home / "there.git", agent.session.home / "here"
    agent.run("git", "init", "-q", "--bare", there, check=True)
    agent.run("git", "init", "-q", here, check=True)
    names = ["-c", "user.name=Anna", "-c", "user.email=anna@example.com"]
    agent.run("git", "-C", here, *names, "commit", "-q", "--allow-empty", "-m", "first", check=True)
    push = ["env", f"GIT_SSH_COMMAND=ssh -F {hosts.config}", "git", "-C", here, "push", "-q", f"home:{there}", "HEAD:refs/heads/main"]
    pushed = hosts.run(*push)
    assert pushed.returncode == 0, pushed.stderr
    assert agent.run("git", "-C", there, "log", "--format=%s", "main", check=True).stdout == "first\n" and agent.asked() == []
    agent.session.lock()
    assert hosts.run(*push).returncode != 0


@needs_root
def test_a_key_goes_only_the_way_that_its_destinations_name(agent):  # noqa: F811
    hosts = Hosts(agent, "home", "far")
    path = agent.key()
    hosts.allow(f"{path}.pub")
    agent.will_say(True)
    way = ["ssh", "-A", "-F", hosts.config, "home", f"ssh -F {hosts.config} far echo arrived"]
    agent.run("ssh-add", "-H", hosts.servers[0].known, "-h", "home", path, check=True)
    assert hosts.run(*way).returncode != 0 and hosts.logins() == [1, 0]
    agent.run("ssh-add", "-D", check=True)
    agent.run("ssh-add", "-H", hosts.servers[0].known, "-h", "home", "-h", "home>far", path, check=True)
    assert hosts.run(*way).stdout == "arrived\n" and hosts.logins() == [2, 1]
    # The login fails without the first host.
    assert hosts.run("ssh", "-F", hosts.config, "far", "true").returncode != 0


@needs_root
def test_copies_and_a_connection_that_stays(agent):  # noqa: F811
    hosts = Hosts(agent, "home")
    path = agent.key()
    hosts.allow(f"{path}.pub")
    agent.run("ssh-add", path, check=True)
    source = agent.session.home / "source"
    agent.session.run("tee", source, input="text", check=True)
    copied = hosts.run("scp", "-F", hosts.config, source, f"home:{source}-scp")
    assert copied.returncode == 0, copied.stderr
    assert (agent.session.home / "source-scp").read_text() == "text"
    if shutil.which("rsync"):
        copied = hosts.run("rsync", "-e", f"ssh -F {hosts.config}", source, f"home:{source}-rsync")
        assert copied.returncode == 0, copied.stderr
        assert (agent.session.home / "source-rsync").read_text() == "text"
    before = hosts.logins()
    # ansible keeps its connection open. An open connection needs no signature, even behind the lock.
    master = ["-o", "ControlMaster=auto", "-o", f"ControlPath={agent.folder}/master", "-o", "ControlPersist=60"]
    login = ["ssh", "-F", hosts.config, *master, "home", "echo here"]
    assert hosts.run("sh", "-c", 'exec "$@" 2>/dev/null', "sh", *login).stdout == "here\n"
    try:
        agent.session.lock()
        assert hosts.run(*login).stdout == "here\n"
    finally:
        assert hosts.run("ssh", "-F", hosts.config, *master, "-O", "exit", "home").returncode == 0
    assert hosts.run(*login).returncode != 0
    assert hosts.logins() == [before[0] + 1] and agent.asked() == []


PLAYS = """
- hosts: home
  gather_facts: false
  tasks:
    - command: echo {word}
      register: said
    - copy:
        content: "{{{{ said.stdout }}}}"
        dest: "{file}"
- hosts: home
  gather_facts: false
  tasks:
    - command: cat {file}
"""


@needs_root
@pytest.mark.skipif(shutil.which("ansible-playbook") is None, reason="the package ansible-core is missing")
def test_ansible_keeps_one_connection_for_its_plays(agent):  # noqa: F811
    hosts = Hosts(agent, "home")
    path = agent.key()
    hosts.allow(f"{path}.pub")
    agent.run("ssh-add", path, check=True)
    path.unlink()
    settings = {
        "ANSIBLE_SSH_ARGS": f"-F {hosts.config} -o ControlMaster=auto -o ControlPersist=60s", "ANSIBLE_LOCAL_TEMP": f"{agent.session.home}/ansible",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(agent.folder), "ANSIBLE_SSH_USETTY": "False", "ANSIBLE_SSH_CONTROL_PATH": "%(directory)s/master"}
    book, words = agent.folder / "plays.yml", ["ansible-playbook", "-i", "home,", "-e", f"ansible_python_interpreter={sys.executable}"]

    def play(word):
        book.write_text(PLAYS.format(word=word, file=agent.session.home / "said"))
        done = hosts.run("env", *(f"{name}={value}" for name, value in settings.items()), *words, book, limit=120)
        return done.returncode == 0, done.stdout + done.stderr

    worked, told = play("first")
    try:
        assert worked and (agent.session.home / "said").read_text() == "first", told
        # Two plays with three tasks needed one signature.
        assert hosts.logins() == [1] and agent.asked() == []
        agent.session.lock()
        worked, told = play("locked")
        assert worked and (agent.session.home / "said").read_text() == "locked", told
    finally:
        ended = hosts.run("ssh", "-F", hosts.config, "-o", f"ControlPath={agent.folder}/master", "-O", "exit", "home")
    assert ended.returncode == 0 and not play("new")[0]
    assert hosts.logins() == [1]
    assert agent.session.locker().returncode == 0
    worked, told = play("unlocked")
    hosts.run("ssh", "-F", hosts.config, "-o", f"ControlPath={agent.folder}/master", "-O", "exit", "home")
    assert worked and hosts.logins() == [2], told
