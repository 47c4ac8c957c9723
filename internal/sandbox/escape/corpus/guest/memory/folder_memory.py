# tries: to have a file system keep the names of a folder for each descriptor of it
# must: held or killed: at 2,048 of them
import os
import time

from attempt import escaped, held

FOLDER, PROCESSES, MOST = os.path.dirname(os.__file__), 20, 2048

ready, told = os.pipe()
try:
    count = 0
    for _ in range(PROCESSES):
        if os.fork() == 0:
            kept = []
            try:
                while True:
                    kept.append(os.open(FOLDER, os.O_RDONLY))
                    next(os.scandir(kept[-1]))
            except OSError:
                os.write(told, len(kept).to_bytes(4, "little"))
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
