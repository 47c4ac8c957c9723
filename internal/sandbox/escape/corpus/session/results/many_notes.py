# tries: to fill the caller's context by notes
# must: held: counted, and cut
def leave(name):
    async def never():
        pass

    never.__qualname__ = name
    never()


for i in range(5000):
    leave("n%d" % i + "x" * 1000)
held("cut")
