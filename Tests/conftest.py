"""What all Python tests share: which of them a run takes, the record of what became of them, and signals as on a terminal."""

import signal

pytest_plugins = ["support.selection", "support.outcomes"]

# A shell lets what it starts in the background ignore both keys that end a program, nohup a hang-up. Programs under test would
# inherit that.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)
