"""The files that a change touches, compared to the commit before it."""

import os
import subprocess

from support.partrun import REPOSITORY

# If LATCHKEY_BASE does not name the base commit, a change consists of all commits within this many hours.
HOURS = 4


def changed_files():
    """The paths that differ from LATCHKEY_BASE, or else from the newest commit that is four hours older than the last
    one. All paths if no such commit exists, as in a shallow clone or for a first change."""
    base = os.environ.get("LATCHKEY_BASE") or commit_before_change()
    if base and (names := git("diff", "--name-only", base, "HEAD")) is not None:
        return names
    return git("ls-files") or []


def commit_before_change():
    """The newest commit that is too old to belong to the last change."""
    last = git("log", "-1", "--format=%ct")
    found = git("rev-list", "-1", f"--before={int(last[0]) - HOURS * 3600}", "HEAD") if last else None
    return found[0] if found else None


def git(*words):
    """The lines that git prints, or None if git fails."""
    done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else None
