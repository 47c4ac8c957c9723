# tries: to end another session's processes
# must: held: nobody outside is reached
import subprocess

child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
child.pid
# %% session b
import signal

for pid in {before[0], 1, *range(2, 40)} - {os.getpid(), os.getppid()}:
    try:
        os.kill(pid, signal.SIGTERM)
    except OSError:
        pass
# %% session a
judge(child.poll() is not None, child.poll())
