# tries: to have the kernel make the page tables of a whole range in one system call, which no signal ends
# must: held: EINVAL, for MADV_GUARD_INSTALL (Linux 6.13), which C libraries do without, too
import mmap

from attempt import refused

install = 102
refused(lambda: mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).madvise(install))
