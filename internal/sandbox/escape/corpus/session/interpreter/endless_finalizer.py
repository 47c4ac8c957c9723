# tries: to compute for ever where objects are freed
# must: killed: by the clock
class Endless:
    def __del__(self):
        while True:
            try:
                time.sleep(1)
            except BaseException:
                pass


thing = Endless()
del thing
