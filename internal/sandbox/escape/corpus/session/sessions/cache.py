# tries: to learn from the page cache what others have read
# must: measured: side channels are not held
import ctypes

with open(sys.executable, "rb") as file:
    size = os.fstat(file.fileno()).st_size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(size), 1, 1, file.fileno(), ctypes.c_long(0))
    pages = ctypes.create_string_buffer(size // 4096 + 1)
    failed = libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages)
report("held" if failed else "measured", os.strerror(ctypes.get_errno()) if failed else "%d pages" % sum(b & 1 for b in pages.raw))
