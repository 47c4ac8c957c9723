# tries: to hang without any descriptor
# must: killed: by the clock
import os
import time

os.closerange(0, 256)
time.sleep(60)
