# tries: to use up the epoll entries of the user outside with epolls that have no descriptor: threads wait for them
# must: held or killed: what goes away while threads wait may be theirs, and counts
import os
import select
import threading
import time

from attempt import escaped, held

total = 0
files = [os.pipe()[0] for _ in range(20)]
try:
    for _ in range(30):
        epolls = [select.epoll() for _ in range(10)]
        for number in range(200, 250):
            for fd in files:
                os.dup2(fd, number)
                for epoll in epolls:
                    epoll.register(number, 0)
                    total += 1
            os.close(number)
        waiter = select.poll()
        for epoll in epolls:
            waiter.register(epoll, 0)
        threading.Thread(target=waiter.poll, args=(60000,), daemon=True).start()
        time.sleep(0.02)
        for epoll in epolls:
            epoll.close()
except OSError as error:
    held("%d entries, then %s" % (total, error))
else:
    time.sleep(2)
    escaped("%d entries" % total)
