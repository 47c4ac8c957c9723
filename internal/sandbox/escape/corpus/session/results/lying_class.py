# tries: to deceive codemode about what a value is
# must: held or killed: it is asked for its type alone
class Meta(type):
    def __getattribute__(cls, name):
        raise SystemExit("poisoned")

    def __instancecheck__(cls, instance):
        raise SystemExit("poisoned")


class Lie(metaclass=Meta):
    def __getattribute__(self, name):
        raise SystemExit("poisoned")

    def __repr__(self):
        raise KeyboardInterrupt

    def __eq__(self, other):
        raise SystemExit("poisoned")

    __hash__ = None


held("asked for its type alone")
Lie()
