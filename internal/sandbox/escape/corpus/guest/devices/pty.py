# tries: to make a terminal
# must: measured: none, or one of the sandbox's own
import os

from attempt import held, measured

try:
    measured(os.openpty())
except OSError as error:
    held(error)
