# tries: to take huge pages
# must: held: EPERM, or ENOSYS
import mmap

from attempt import refused

refused(lambda: mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000))
