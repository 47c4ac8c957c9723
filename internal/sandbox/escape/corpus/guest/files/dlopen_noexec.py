# tries: to load a library it wrote
# must: held: nothing is mapped executable from a noexec mount
import ctypes
import os
import shutil

from attempt import refused, work

places = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib")
library = next(filter(os.path.exists, (place + "/libm.so.6" for place in places)))
shutil.copy(library, work + "/libown.so")
refused(lambda: ctypes.CDLL(work + "/libown.so"))
