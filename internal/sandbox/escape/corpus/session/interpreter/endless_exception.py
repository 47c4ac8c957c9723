# tries: to compute for ever in the text of its exception
# must: killed: by the clock
class Endless(Exception):
    def __str__(self):
        while True:
            try:
                time.sleep(1)
            except BaseException:
                pass


raise Endless
