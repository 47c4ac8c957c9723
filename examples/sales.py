import matplotlib
import pandas

matplotlib.use("agg")
import matplotlib.pyplot as plt

frame = pandas.read_csv("sales.csv")
totals = dict(sorted(frame.groupby("city")["sales"].sum().items()))
print(totals)
plt.bar(list(totals), list(totals.values()))
plt.savefig("out/sales.png")
