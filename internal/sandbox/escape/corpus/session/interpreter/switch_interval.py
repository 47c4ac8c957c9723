# tries: to starve the thread that reads the channel
# must: killed: by the clock
import threading

sys.setswitchinterval(3600)
for _ in range(4):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()
while True:
    pass
