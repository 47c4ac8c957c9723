# tries: to use up the pages of pipes of the user outside with pipes that have no descriptor: threads wait for them
# must: held or killed: what threads wait for counts once pages run out
import fcntl
import os
import select
import threading
import time

from attempt import escaped, held

GET_SIZE = 1032
sizes = []
for _ in range(40):
    files = [fd for _ in range(90) for fd in os.pipe()]
    sizes.append(fcntl.fcntl(files[-1], GET_SIZE))
    waiter = select.poll()
    for fd in files:
        waiter.register(fd, 0)
    threading.Thread(target=waiter.poll, args=(60000,), daemon=True).start()
    time.sleep(0.02)
    for fd in files:
        os.close(fd)
time.sleep(3)
verdict = escaped if min(sizes) < 16 * os.sysconf("SC_PAGE_SIZE") else held
verdict("%d threads wait for 90 pipes each, the smallest of %d bytes" % (threading.active_count() - 1, min(sizes)))
