"""Additions to the report of a failed test: a journal, a screen, a log.

An error during the collection becomes a line of the report. A hanging container must not make the report hang. No
exception may leave this module, because pytest would end the whole worker.
"""

import threading

from support.pace import seconds


def add_evidence(report, name, collect, within=40):
    """Adds the section `name` with the text that `collect()` returns. If `collect()` fails, adds a line with the
    reason."""
    texts = []

    def work():
        try:
            texts.append(str(collect()))
        except BaseException as error:  # Even SystemExit and pytest's outcomes must only become a text.
            texts.append(f"(could not be had: {type(error).__name__}: {str(error)[:2000]})")

    # Python cannot end a thread. So a hanging thread is left running, and as a daemon thread it does not delay the end
    # of the process.
    thread = threading.Thread(target=work, daemon=True, name=f"evidence: {name}")
    thread.start()
    limit = seconds(within)
    thread.join(limit)
    report.sections.append((name, texts[0] if texts else f"(could not be had: no answer within {limit:.0f} s)"))
