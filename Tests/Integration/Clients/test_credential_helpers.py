"""The credential helpers of Docker and git. The tests check the input and output of the helpers."""

import json
import shutil
import subprocess

import pytest
from support.clients import BEHIND, EVERY_LOCK, answer_behind_a_locker, bring_back, bring_to, run

pytestmark = [pytest.mark.night("clients"), pytest.mark.second_try]

# MARK: docker-credential-secretservice

REGISTRY = "https://registry.example/v1/"


def docker(session, verb, input=""):
    return run(session, "docker-credential-secretservice", verb, input=input)


def docker_store(session, secret, server=REGISTRY, user="demo"):
    return docker(session, "store", json.dumps({"ServerURL": server, "Username": user, "Secret": secret}))


def docker_get(session, server=REGISTRY):
    """User and secret, or the error."""
    done = docker(session, "get", server)
    if done.returncode != 0:
        return done.stdout.strip() or done.stderr.strip()
    told = json.loads(done.stdout)
    assert told["ServerURL"] == server
    return told["Username"], told["Secret"]


def test_docker(session, peer):
    assert docker(session, "list").stdout.strip() == "{}"
    assert "not found" in docker_get(session)
    assert docker_store(session, "first ä漢").returncode == 0
    assert docker_get(session) == ("demo", "first ä漢")
    assert docker_store(session, "second").returncode == 0
    assert docker_store(session, "third", "https://other.example", "me").returncode == 0
    assert docker_get(session) == ("demo", "second")
    listed = docker(session, "list")
    assert json.loads(listed.stdout) == {REGISTRY: "demo", "https://other.example": "me"}, listed
    assert len(peer.search({"server": REGISTRY})[0]) == 1
    assert docker(session, "erase", REGISTRY).returncode == 0
    assert "not found" in docker_get(session)
    assert json.loads(docker(session, "list").stdout) == {"https://other.example": "me"}


@pytest.mark.parametrize("state", EVERY_LOCK)
def test_docker_while_locked(session, peer, state):
    assert docker_store(session, "old").returncode == 0
    bring_to(state, session, peer)
    assert "old" not in docker_get(session)
    listed = docker(session, "list")
    assert "old" not in listed.stdout
    assert docker_store(session, "new").returncode != 0
    other = docker_store(session, "stored while locked", "https://other.example")
    assert (other.returncode == 0) is (state == "locked")
    # Even if docker reports success, the item still exists.
    docker(session, "erase", REGISTRY)
    assert len(peer.search({"server": REGISTRY})[1]) == 1
    bring_back(state, session, peer)
    assert docker_get(session) == ("demo", "old")
    assert len(peer.search({"server": REGISTRY})[0]) == 1
    expected = {REGISTRY: "demo"}
    if other.returncode == 0:
        expected["https://other.example"] = "demo"
        assert docker_get(session, "https://other.example") == ("demo", "stored while locked")
    assert json.loads(docker(session, "list").stdout) == expected


def test_docker_behind_a_locker(session, peer):
    assert docker_store(session, "old").returncode == 0
    assert answer_behind_a_locker(session, peer, lambda: docker_get(session)) == ("demo", "old")
    bring_to(BEHIND, session, peer)
    assert docker_store(session, "stored while locked", "https://other.example").returncode == 0
    bring_back(BEHIND, session, peer)
    assert docker_get(session, "https://other.example") == ("demo", "stored while locked")


# MARK: git-credential-libsecret


@pytest.fixture(scope="module")
def git_helper(tmp_path_factory):
    """The helper, built from the source in Debian's git package."""
    # The session's user may enter /tmp, but not pytest's folder.
    folder = tmp_path_factory.mktemp("git")
    source = "/usr/share/doc/git/contrib/credential/libsecret"
    shutil.copytree(source, folder / "libsecret")
    subprocess.run(["make", "-C", folder / "libsecret"], check=True, capture_output=True)
    return folder / "libsecret/git-credential-libsecret"


@pytest.fixture
def git(session, git_helper):
    """Runs a command of the helper with a credential. Returns its exit status and its answer."""
    program = session.root / "tmp/git-credential-libsecret"
    shutil.copy(git_helper, program)
    program.chmod(0o755)

    def run_helper(verb, **credential):
        done = run(session, program, verb, input="".join(f"{name}={value}\n" for name, value in credential.items()))
        return done.returncode, dict(line.split("=", 1) for line in done.stdout.splitlines())

    return run_helper


SITE = {"protocol": "https", "host": "git.example:8443"}
USER = {"username": "demo"}
# The helper's names of the attributes.
GIT_ATTRIBUTES = {"protocol": "https", "server": "git.example", "port": "8443"}


def test_git(session, peer, git):
    assert git("get", **SITE) == (0, {})
    assert git("store", **SITE, **USER, password="first ä漢")[0] == 0
    assert git("get", **SITE) == (0, USER | {"password": "first ä漢"})
    assert git("store", **SITE, **USER, password="second")[0] == 0
    assert git("get", **SITE, **USER) == (0, USER | {"password": "second"})
    assert git("store", protocol="https", host="git.example", username="me", password="other port")[0] == 0
    assert git("store", protocol="https", host="git.example", path="a.git", username="me", password="p")[0] == 0
    assert git("get", **SITE) == (0, USER | {"password": "second"})
    [item] = peer.search(GIT_ATTRIBUTES)[0]
    assert peer.read(item) == b"second"
    assert git("erase", **SITE)[0] == 0
    assert git("get", **SITE) == (0, {})
    assert git("get", protocol="https", host="git.example", path="a.git") == (0, {"username": "me", "password": "p"})


@pytest.mark.parametrize("state", EVERY_LOCK)
def test_git_while_locked(session, peer, git, state):
    assert git("store", **SITE, **USER, password="old")[0] == 0
    bring_to(state, session, peer)
    assert "password" not in git("get", **SITE)[1]
    assert git("store", **SITE, **USER, password="new")[0] != 0
    other = SITE | {"host": "other.example"}
    stored = git("store", **other, **USER, password="stored while locked")[0] == 0
    assert stored is (state == "locked")
    # git erases a credential after a server has refused it.
    git("erase", **SITE, **USER)
    assert len(peer.search(GIT_ATTRIBUTES)[1]) == 1
    bring_back(state, session, peer)
    assert git("get", **SITE) == (0, USER | {"password": "old"})
    assert len(peer.search(GIT_ATTRIBUTES)[0]) == 1
    assert git("get", **other)[1] == (USER | {"password": "stored while locked"} if stored else {})


def test_git_behind_a_locker(session, peer, git):
    assert git("store", **SITE, **USER, password="old")[0] == 0
    assert answer_behind_a_locker(session, peer, lambda: git("get", **SITE)) == (0, USER | {"password": "old"})
    other = SITE | {"host": "other.example"}
    bring_to(BEHIND, session, peer)
    assert git("store", **other, **USER, password="stored while locked")[0] == 0
    bring_back(BEHIND, session, peer)
    assert git("get", **other)[1] == USER | {"password": "stored while locked"}
