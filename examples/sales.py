#!/usr/bin/env -S codemode exec --file sales.csv --out charts
# /// script
# dependencies = ["pandas", "matplotlib"]
# ///
"""The sales of each city in sales.csv, as a chart in charts/sales.png."""
import matplotlib
import pandas

matplotlib.use("agg")
import matplotlib.pyplot as plt

frame = pandas.read_csv("sales.csv")
totals = dict(sorted(frame.groupby("city")["sales"].sum().items()))
print(totals)
plt.bar(list(totals), list(totals.values()))
plt.savefig("out/sales.png")
