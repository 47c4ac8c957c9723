# tries: to hold up the end of the session by an exit handler
# must: held: ended after a grace period
import atexit


def forever():
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass


atexit.register(forever)
held("the session ends all the same")
