"""What a change touches, against the commit before it."""

import os
import subprocess

from support.partrun import REPOSITORY

# Where nobody says which commit was the last that landed: a change is what was committed within this many hours.
HOURS = 4


def changed_files():
    """The paths that differ from LATCHKEY_BASE, or from the newest commit that is four hours older than the last. All paths,
    where no such commit is there: a clone without history, or a first change."""
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
    """The lines that git prints; None if it fails."""
    done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else None
