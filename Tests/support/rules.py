"""Class rules of the user's own."""

import os


def write_rules(session, text):
    """The user's own file, put in its place as editors do it."""
    folder = session.home / ".config/latchkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "rules.yaml.new").write_text(text)
    (folder / "rules.yaml.new").chmod(0o644)
    for path in (folder, folder / "rules.yaml.new"):
        os.chown(path, session.uid, session.gid)
    (folder / "rules.yaml.new").rename(folder / "rules.yaml")
    return folder / "rules.yaml"
