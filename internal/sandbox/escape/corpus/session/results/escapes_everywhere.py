# tries: to act on the terminal through errors, names and notes
# must: held: control characters are written out
evil = "\x1b[2J\x1b]0;x\x07\r\u202e"


async def never():
    pass


never.__name__ = never.__qualname__ = evil
never()
import threading

threading.Thread(target=time.sleep, args=(3,), name=evil).start()
held("written out")
raise type(evil, (Exception,), {})(evil)
# %% session a
held("written out")
sys.exit("\x1b[2J\u202e")
