"""What all Python tests share: which of them a run takes, the record of what became of them, signals as on a terminal, and the
mask of new files."""

import os
import signal

pytest_plugins = ["support.selection", "support.outcomes"]

# A shell lets what it starts in the background ignore both keys that end a program, nohup a hang-up. Programs under test would
# inherit that.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# Programs that run as another user read what the tests write.
os.umask(0o022)
