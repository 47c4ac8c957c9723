# tries: to leave another session without processes
# must: held: each has its own number
import threading

started = []
try:
    for _ in range(200):
        thread = threading.Thread(target=time.sleep, args=(600,), daemon=True)
        thread.start()
        started.append(thread)
except RuntimeError:
    pass
len(started)
# %% session b
import subprocess

held(subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True).returncode)
