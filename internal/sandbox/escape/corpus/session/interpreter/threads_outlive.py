# tries: to print into later runs from a thread that goes on
# must: held: dropped, and ended with the session
import threading

interrupts = guest("Interrupts")
first = interrupts._run


def forever():
    while interrupts._run in (first, None):  # what it prints before the next run is the first one's
        time.sleep(0.001)
    while True:
        print('{"verdict": "escaped", "detail": "printed by a thread of an earlier run"}')
        time.sleep(0.001)


threading.Thread(target=forever).start()
held("a note says so")
# %% session a
time.sleep(0.3)
held("nothing of it is here")
