"""Class rules of the user's own."""

import os


def write_rules(session, text):
    """Writes the user's rules file, and replaces the old one as editors do."""
    folder = session.home / ".config/latchkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "rules.yaml.new").write_text(text)
    (folder / "rules.yaml.new").chmod(0o644)
    for path in (folder, folder / "rules.yaml.new"):
        os.chown(path, session.uid, session.gid)
    (folder / "rules.yaml.new").rename(folder / "rules.yaml")
    return folder / "rules.yaml"
