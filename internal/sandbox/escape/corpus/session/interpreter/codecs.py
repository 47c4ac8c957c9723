# tries: to change how text is encoded
# must: held: only its own
import codecs

codecs.register(lambda name: (_ for _ in ()).throw(SystemExit("poisoned")))
codecs.register_error("backslashreplace", lambda error: ("", 1 << 40))
codecs.register_error("strict", lambda error: ("", 0))
print("\ud800")
held("text is text")
