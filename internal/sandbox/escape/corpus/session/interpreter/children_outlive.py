# tries: to print into later runs from a process that goes on
# must: held: dropped, and ended with the session
import os
import subprocess

code = """
import os, time
while not os.path.exists("/tmp/go"):
    time.sleep(0.001)
while True:
    print('{"verdict": "escaped", "detail": "printed by a child of an earlier run"}', flush=True)
    time.sleep(0.001)
"""
subprocess.Popen([sys.executable, "-I", "-S", "-c", code], preexec_fn=os.setpgrp)
held("a note says so")
# %% session a
open("/tmp/go", "w").close()
time.sleep(0.5)
held("nothing of it is here")
