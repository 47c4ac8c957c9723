#!/usr/bin/env -S codemode exec
"""Totals of one column by another, of a CSV on standard input, the largest first.

    csv_totals.py region amount <sales.csv
"""
import collections
import csv
import sys
from decimal import Decimal

by, column = sys.argv[1:]
totals = collections.defaultdict(Decimal)
for row in csv.DictReader(sys.stdin):
    totals[row[by]] += Decimal(row[column])
for name, total in sorted(totals.items(), key=lambda item: -item[1]):
    print(name, total, sep="\t")
