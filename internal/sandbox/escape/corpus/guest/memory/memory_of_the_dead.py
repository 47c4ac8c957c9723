# tries: to keep the memory of processes that have ended, by reading it
# must: held or killed: nobody reads another process's memory, for a watchdog would not find who has it
import ctypes
import mmap
import os
import signal
import time

from attempt import escaped, held, host

VICTIM, VICTIMS, READERS, READ = host.memory // 2, 4, 3, 4 << 20

ready, told = os.pipe()
source, target = (mmap.mmap(-1, READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2))
address = ctypes.addressof(ctypes.c_char.from_buffer(source))
try:
    for _ in range(VICTIMS):
        victim = os.fork()
        if victim == 0:
            mine = b"x" * VICTIM
            os.write(told, mine[:1])
            time.sleep(60)
        os.read(ready, 1)
        memory = os.open("/proc/%d/mem" % victim, os.O_RDONLY)
        for _ in range(READERS):  # one of them reads at any time
            if os.fork() == 0:
                os.nice(10)
                while os.preadv(memory, [target], address) > 0:
                    pass
                os._exit(0)
        time.sleep(0.2)
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        os.close(memory)
    time.sleep(2)
    escaped("the memory of %d processes of %d MB" % (VICTIMS, VICTIM >> 20))
except OSError as error:
    held(error)
os._exit(0)
