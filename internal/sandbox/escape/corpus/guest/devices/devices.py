# tries: to open devices of the machine
# must: held: not there
import os

from attempt import escaped, held

opened = []
for name in ("mem kmsg vda sda nvme0n1 kvm fuse tty ptmx net/tun vsock loop-control port console snd/timer "
             "dri/card0 userfaultfd cpu_dma_latency hpet rtc0").split():
    try:
        os.open("/dev/" + name, os.O_RDWR | os.O_NOCTTY)
        opened.append(name)
    except OSError:
        pass
# A pseudo-terminal of the sandbox's own is harmless.
(escaped if set(opened) - {"tty", "ptmx"} else held)("opened %s of %s" % (opened, sorted(os.listdir("/dev"))))
