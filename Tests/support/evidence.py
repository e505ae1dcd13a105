"""What is shown beside a failed test: a journal, a screen, a log.

Whatever goes wrong while it is collected is a line of the report. A container that hangs must not hang the report, and no
exception may leave it: pytest ends a whole worker for one.
"""

import threading

from support.pace import seconds


def add_evidence(report, name, collect, within=40):
    """Adds the section `name` with the text that `collect()` returns, or with a line that says why there is none."""
    texts = []

    def work():
        try:
            texts.append(str(collect()))
        except BaseException as error:  # SystemExit and pytest's outcomes too: it is only about words
            texts.append(f"(could not be had: {type(error).__name__}: {str(error)[:2000]})")

    # A thread cannot be ended. A thread that hangs is left alone, and the process does not wait for it.
    thread = threading.Thread(target=work, daemon=True, name=f"evidence: {name}")
    thread.start()
    limit = seconds(within)
    thread.join(limit)
    report.sections.append((name, texts[0] if texts else f"(could not be had: no answer within {limit:.0f} s)"))
