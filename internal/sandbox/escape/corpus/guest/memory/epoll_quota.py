# tries: to use up the epoll entries that all processes of the user outside share: one for each number that a file had
# must: held or killed: who has many entries is killed
import os
import select
import time

from attempt import escaped, held

total = 0
epolls = [select.epoll() for _ in range(80)]
files = [os.pipe()[0] for _ in range(40)]
try:
    for number in range(200, 250):
        for fd in files:
            os.dup2(fd, number)
            for epoll in epolls:
                epoll.register(number, 0)
                total += 1
        os.close(number)
except OSError as error:
    held("%d entries, then %s" % (total, error))
else:
    time.sleep(2)
    escaped("%d entries" % total)
