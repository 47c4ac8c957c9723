# tries: to vanish without Python noticing
# must: held: the host reports the exit
import os

from attempt import held, syscall

held("exiting with 7, process %d" % os.getpid())
syscall("exit_group", 7)
