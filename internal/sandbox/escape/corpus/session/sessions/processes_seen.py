# tries: to see another session's processes
# must: held: each sees its own alone
import subprocess

child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", "codemode" + "-door"])
# %% session b
found = []
for pid in os.listdir("/proc"):
    if pid.isdigit():
        with open("/proc/%s/cmdline" % pid, "rb") as file:
            if b"codemode-" + b"door" in file.read().replace(b"exec(", b"")[-64:]:
                found.append(pid)
judge(found, found)
