# tries: to have the kernel keep what it reads a file of /proc or /sys into, for each descriptor of one
# must: held or killed: at 256 of them
import os
import time

from attempt import escaped, held

FILES = "/proc/self/net/rt_acct", "/proc/zoneinfo", "/proc/self/status", "/sys/kernel/notes", "/sys/kernel/fscaps"
PROCESSES, MOST = 20, 256

ready, told = os.pipe()


def fill():
    """Reads a byte of each, in as many descriptors as there can be."""
    count, files = 0, list(FILES)
    while files:
        try:
            os.read(os.open(files[count % len(files)], os.O_RDONLY), 1)
            count += 1
        except (FileNotFoundError, PermissionError):
            files.pop(count % len(files))
        except OSError:
            break
    return count


try:
    count = 0
    for _ in range(PROCESSES):
        if os.fork() == 0:
            os.write(told, fill().to_bytes(4, "little"))
            time.sleep(60)
            os._exit(0)
        count += int.from_bytes(os.read(ready, 4), "little")
    time.sleep(6)
    if count > MOST:
        escaped("%d descriptors" % count)
    else:
        held("%d descriptors" % count)
except OSError as error:
    held(error)
os._exit(0)
