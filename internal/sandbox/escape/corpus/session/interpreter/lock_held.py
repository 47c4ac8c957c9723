# tries: to take the lock that output and results need
# must: killed: by the clock
import threading

threading.Thread(target=lambda: (guest("Outbox")._lock.acquire(), time.sleep(600))).start()
while True:
    time.sleep(1)
