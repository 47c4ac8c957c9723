# tries: to meet another session at a message queue
# must: held: refused, or each sandbox's own
import ctypes

try:
    queue = ctypes.CDLL("librt.so.1", use_errno=True).mq_open(b"/codemode-door", os.O_CREAT | os.O_RDWR, 0o666, None)
    held("made" if queue >= 0 else os.strerror(ctypes.get_errno()))
except (OSError, AttributeError) as error:
    held(error)
# %% session b
import ctypes

try:
    queue = ctypes.CDLL("librt.so.1", use_errno=True).mq_open(b"/codemode-door", os.O_RDWR)
    judge(queue >= 0, os.strerror(ctypes.get_errno()))
except (OSError, AttributeError) as error:
    held(error)
