# tries: to remove audit hooks
# must: held: none of codemode's restrictions is one
import ctypes

sys.addaudithook(lambda event, args: None)
ctypes.pythonapi._PySys_ClearAuditHooks if hasattr(ctypes.pythonapi, "_PySys_ClearAuditHooks") else None
failed = []
for path in ("/etc/shadow", "/root/.ssh/id_rsa", "/workspace/../etc/hostname"):
    try:
        failed.append(os.open(path, os.O_RDWR))
    except OSError:
        pass
judge(failed, "files are held by the kernel")
