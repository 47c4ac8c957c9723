# tries: to be where no interrupt arrives
# must: killed: by the clock
import re

re.match(r"(a+)+$", "a" * 60 + "b")
