#!/bin/sh
# Draws a column of numbers of a CSV as bars, beside the texts of another column: chart.svg, in the folder OUT.
#
#     chart.sh sales.csv city amount charts
set -eu
exec codemode exec --file "$1" --out "$4" -c '
import csv, sys
from html import escape

name, label, number = sys.argv[1:]
with open(name, newline="") as file:
    rows = [(row[label], float(row[number])) for row in csv.DictReader(file)]
scale = 400 / max((value for _, value in rows), default=1)
with open("out/chart.svg", "w") as out:
    print(f"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"{20 * len(rows)}\">", file=out)
    for i, (text, value) in enumerate(rows):
        print(f"<text y=\"{20 * i + 14}\" font-size=\"12\">{escape(text)}</text>", file=out)
        print(f"<rect x=\"150\" y=\"{20 * i + 2}\" width=\"{value * scale:.1f}\" height=\"16\"/>", file=out)
    print("</svg>", file=out)
' "$(basename "$1")" "$2" "$3"
