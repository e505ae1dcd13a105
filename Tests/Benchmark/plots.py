#!/usr/bin/python3
"""Draws the table of Secret Service that `make bench` prints: time against the number of items, latchkeyd beside gnome-keyring.

    plots.py REPORT FOLDER

gnuplot draws one picture for each operation of PICTURES into FOLDER. REPORT is what the benchmark printed, or
docs/pictures/benchmark.txt. A report without that table, as that of one part of the benchmark, gives no picture.
"""

import pathlib
import subprocess
import sys

# By file name: the table's row, and what a person calls it.
PICTURES = {
    "lookup": ("lookup (SearchItems, GetSecrets)", "Look up a secret"),
    "store": ("store (CreateItem)", "Store a secret"),
    "memory": ("memory: PSS, kB", "Memory of the daemon"),
}
SCRIPT = """
set terminal svg size 640,400 font "sans-serif,14" background "white"
set title "{title}"
set xlabel "items in the vault"
set ylabel "{unit}"
set logscale xy
set xtics ("10" 10, "1,000" 1000, "10,000" 10000, "100,000" 100000)
set xrange [6:160000]
set grid ytics linecolor rgb "#d0d0d0"
set key top left
set border 3
set tics nomirror
$latchkey << END
{own}
END
$gnome << END
{peer}
END
plot $gnome using 1:2 with linespoints linewidth 2 pointtype 5 linecolor rgb "#9a9a9a" title "gnome-keyring", \\
     $latchkey using 1:2 with linespoints linewidth 2 pointtype 7 linecolor rgb "#2f6fb0" title "latchkeyd"
"""


def rows(report):
    """The table's rows: operation, number of items, latchkeyd's value, gnome-keyring's or None."""
    operation = ""
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:]]
        if len(cells) < 4 or not cells[1].replace(",", "").isdigit():
            continue
        operation = cells[0] or operation
        yield operation, int(cells[1].replace(",", "")), *(_number(cell) for cell in cells[2:4])


def _number(cell):
    """The median of a cell as `11.5 (10.2–13.1)`."""
    try:
        return float(cell.split()[0])
    except (IndexError, ValueError):
        return None


def script(report, name):
    """What gnuplot is told for one picture; None if the report does not have its row."""
    row, title = PICTURES[name]
    points = [(size, own, peer) for operation, size, own, peer in rows(report) if operation == row]
    if not points:
        return None
    unit = "PSS in kB" if name == "memory" else "time, in Pings of the bus"
    own, peer = (
        "\n".join(f"{point[0]} {point[column]:g}" for point in points if point[column] is not None) for column in (1, 2))
    return SCRIPT.format(title=title, unit=unit, own=own, peer=peer)


def draw(text):
    """The picture that gnuplot draws, as SVG."""
    return subprocess.run(["gnuplot"], input=text, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[2].strip())
    report, folder = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        if text := script(report, name):
            (folder / f"{name}.svg").write_text(draw(text))


if __name__ == "__main__":
    main()
