# tries: to leave later runs without descriptors, files or processes
# must: held or killed: the session is of no use to itself any more; others are
import resource

held("its own limits")
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
# %% session b
import subprocess

held(subprocess.run([sys.executable, "-I", "-S", "-c", "pass"]).returncode)
