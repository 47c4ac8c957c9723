# tries: to compute for ever in the repr of its value
# must: killed: by the clock
class Endless:
    def __repr__(self):
        while True:
            try:
                time.sleep(1)
            except BaseException:
                pass


Endless()
