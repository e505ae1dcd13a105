#!/usr/bin/python3
"""Draws the Secret Service table of `make bench`: time by the number of items, for latchkeyd and gnome-keyring.

    plots.py REPORT FOLDER

gnuplot draws one picture for each operation of PICTURES into FOLDER. REPORT is the output of the benchmark, such as
docs/pictures/benchmark.txt. The report of a single part of the benchmark may lack the table, and then gives no picture.
"""

import pathlib
import subprocess
import sys

# By file name: the row in the table, and a title for people.
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
    """The table's rows: operation, number of items, latchkeyd's value, and gnome-keyring's value or None."""
    operation = ""
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:]]
        if len(cells) < 4 or not cells[1].replace(",", "").isdigit():
            continue
        operation = cells[0] or operation
        yield operation, int(cells[1].replace(",", "")), *(_number(cell) for cell in cells[2:4])


def _number(cell):
    """The median from a cell such as `11.5 (10.2–13.1)`."""
    try:
        return float(cell.split()[0])
    except (IndexError, ValueError):
        return None


def script(report, name):
    """The script of gnuplot for one picture, or None if the report does not have the row."""
    row, title = PICTURES[name]
    points = [(size, own, peer) for operation, size, own, peer in rows(report) if operation == row]
    if not points:
        return None
    unit = "PSS in kB" if name == "memory" else "time, in Pings of the bus"
    own, peer = (
        "\n".join(f"{point[0]} {point[column]:g}" for point in points if point[column] is not None) for column in (1, 2))
    return SCRIPT.format(title=title, unit=unit, own=own, peer=peer)


def draw(text):
    """gnuplot's picture, as SVG."""
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
