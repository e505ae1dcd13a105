"""A program that makes the SecItem calls of a test: Tests/KeychainCaller."""

import base64
import json
import os
import pathlib
import select
import subprocess

import pytest
from support import clientpackage
from support.pace import seconds
from support.session import REPOSITORY

SUCCESS = 0
PARAM = -50
IO = -36
CANCELED = -128
MISSING_ENTITLEMENT = -34018
NOT_AVAILABLE = -25291
AUTH_FAILED = -25293
DUPLICATE = -25299
NOT_FOUND = -25300
NOT_ALLOWED = -25308
# The timeout of a call that does not wait for a person.
TIMEOUT = 30.0

FAIL = {"u_AuthUI": "u_AuthUIF"}
SKIP = {"u_AuthUI": "u_AuthUIS"}
DATA = {"r_Data": True}
ATTRIBUTES = {"r_Attributes": True}
REFERENCE = {"r_PersistentRef": True}
ALL = {"m_Limit": "m_LimitAll"}


def data(value):
    """Bytes in the form of a query."""
    return {"data": base64.b64encode(value).decode()}


def octets(value):
    """The bytes of a result."""
    return base64.b64decode(value["data"])


def secret(value):
    return {"v_Data": data(value)}


def generic(service="mail", account="anna", **more):
    return {"class": "genp", "svce": service, "acct": account, **more}


def internet(server="example.com", account="anna", **more):
    return {"class": "inet", "srvr": server, "acct": account, "ptcl": "htps", "port": 443, **more}


@pytest.fixture(scope="session")
def keychain_caller():
    """The path of the program. LATCHKEY_CALLER may name an existing program."""
    options = {}
    if "LATCHKEY_CALLER" in os.environ:
        options["built"] = pathlib.Path(os.environ["LATCHKEY_CALLER"]).parent
    else:
        clientpackage.build(REPOSITORY, "--product", "keychain-caller")
    with clientpackage.readable("keychain-caller", **options) as folder:
        yield folder / "keychain-caller"


class Program:
    """The program in a session. For each SecItem call there is a method, which returns the status and the result."""

    def __init__(self, session, path, errors=None, **environment):
        """`errors` is the target of the program's standard error."""
        self._process = session.start(
            path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=session.environment | environment
        )
        self.pid = self._process.pid

    def descriptors(self):
        """The number of its open file descriptors."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.kill()
        self._process.wait(seconds(10))

    def begin(self, call, **more):
        """Starts a call. `end` returns the answer."""
        self._process.stdin.write(json.dumps({"call": call, **more}).encode() + b"\n")
        self._process.stdin.flush()

    def is_waiting(self, seconds=0.0):
        """Whether the call still runs after so many seconds."""
        return not select.select([self._process.stdout], [], [], seconds)[0]

    def end(self):
        assert not self.is_waiting(seconds(TIMEOUT)), "no answer"
        answer = json.loads(self._process.stdout.readline())
        assert "mistake" not in answer, answer
        return answer

    def answer(self, call, **more):
        self.begin(call, **more)
        return self.end()

    def add(self, *parts):
        """The status, and the result if the query asks for one."""
        return self._of_query("add", *parts)

    def copy(self, *parts):
        return self._of_query("copy", *parts)

    def update(self, query, changes):
        return self.answer("update", query=query, changes=changes)["status"]

    def delete(self, *parts):
        return self.answer("delete", query=merged(*parts))["status"]

    def message(self, status):
        """The text for a status, after the last call."""
        return self.answer("message", status=status)["text"]

    def read(self, *parts):
        """The secret of the only matching item."""
        status, result = self.copy(*parts, DATA)
        assert status == SUCCESS, status
        return octets(result)

    def together(self, *lists):
        """Runs all lists of calls at the same time, and returns the answers for each list."""
        return self.answer("together", calls=lists)["results"]

    def in_child(self, *calls):
        """Runs the calls in a forked child of the program, and returns the answers."""
        return self.answer("fork", calls=calls)["results"]

    def context(self, name, **more):
        self.answer("context", name=name, **more)
        return {"u_AuthCtx": {"context": name}}

    def invalidate(self, name):
        self.answer("invalidate", name=name)

    def _of_query(self, call, *parts):
        answer = self.answer(call, query=merged(*parts))
        return answer["status"], answer["result"]


def merged(*parts):
    query = {}
    for part in parts:
        query |= part
    return query
