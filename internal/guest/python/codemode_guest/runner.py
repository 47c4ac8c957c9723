"""One run: compile, execute, say how it ended."""

from .early import builtins as __builtins__

import posix
import sys

from . import compiled, early, frames, leftovers, timers
from .attempts import Attempts
from .display import is_plot_part

_EXIT_TEXT = 8 << 20  # characters of what a program ends with: as JSON they fit into a message, whatever they are
_excepthook = sys.excepthook


class Runner:
    """Runs code in the session's namespace, with what session.py gives it."""

    def __init__(self, outbox, streams, namespace, interrupts, loops, coroutines, displays):
        self._outbox = outbox
        self._streams = streams
        self._namespace = namespace
        self._interrupts = interrupts
        self._loops = loops
        self._coroutines = coroutines
        self._leftovers = leftovers.Leftovers()
        self._displays = displays
        self._attempts = Attempts()

    def run(self, params):
        """Execute code; return the RunResult."""
        number = params["run"]
        self._streams.restore()
        self._namespace.begin(params)
        self._loops.begin()
        self._displays.begin(number)
        self._coroutines.begin()
        frames.add_source(params["filename"], params["code"])
        self._outbox.begin(number)

        script = params.get("script")
        self._free = leftovers.free_descriptor() if script else None
        guard = self._interrupts.guard
        self._interrupts.begin(number, script)
        value, failure = guard(self._execute, params)
        self._disarm()
        if self._outbox.forked:
            if script:
                guard(self._end_program, 3)  # codemode's own descriptors are closed here
            self._leave_child(failure)
        # What follows calls the user's code, too: repr(value), str(exception), tasks that end.
        settled, late = guard(self._settle, params, value, failure)
        failure = settled["failure"] if settled else failure or late
        result, broken = guard(self._describe, failure, settled, params.get("script"))
        if broken is not None:
            status = "interrupted" if self._interrupts.delivered else "error"
            result = {"status": status, "error": _bare(failure or broken)}
        self._interrupts.end()
        del value, failure, late, broken  # the frames of a traceback hold what the user's code held
        notes = self._end(params.get("script"), settled["tasks"] if settled else ([], False))
        if notes:
            result["notes"] = notes
        if self._leftovers.left():
            result["left"] = True
        return result

    def _disarm(self):
        """Undo what the run may have done to the interpreter that would hit codemode's own code."""
        early.restore()
        timers.stop()
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000))

    def _execute(self, params):
        """Run the code; the value of its last expression."""
        script = params.get("script")
        code = compiled.compile_run(params["code"], params["filename"], script)
        self._interrupts.spare(self._namespace.provide, code)
        variables = self._namespace.globals
        try:
            if compiled.awaits(code):
                self._interrupts.spare(self._loops.load)
                self._loops.run(eval(code, variables))
            elif compiled.wants_loop(code) and not script:
                self._interrupts.spare(self._loops.load)
                self._loops.run(_within_loop(code, variables))
            else:
                eval(code, variables)
        finally:
            sys.settrace(None)  # at once: a tracer would be called for codemode's functions, too
            sys.setprofile(None)
            value = variables.pop(compiled.VALUE, None)
        return value

    def _settle(self, params, value, failure):
        """Look at the value, and let the user's code do what it still has to once it has ended."""
        settled = {"tasks": self._loops.settle(), "failure": failure}
        if params.get("script"):
            settled["failure"] = self._program_failure(failure)
            self._end_program(self._free)
        described = self._value(value) if failure is None else None
        shown = self._displays.show_figures()
        settled["value"] = None if shown and is_plot_part(value) else described
        self._streams.flush()
        if "_ctypes" in sys.modules:  # then C code may have printed, and have it in its own buffers
            import ctypes

            ctypes.CDLL(None).fflush(None)
        return settled

    def _end_program(self, first):
        _exit_handlers()
        leftovers.write_files(first)

    def _value(self, value):
        if value is None or self._displays.try_show(value):
            return None
        self._displays.show_within(value)
        if leftovers.is_unawaited(value):
            self._coroutines.add(value)
            value.close()
            return None
        from . import values

        return values.describe(value, self._namespace.keep_value)

    def _describe(self, failure, settled, script):
        """The RunResult without its notes."""
        if failure is None:
            value = settled["value"]
            return {"status": "ok", "value": value} if value else {"status": "ok"}
        if isinstance(failure, SystemExit):
            return {"status": "exit", "exit": _exit(failure.code)}
        from . import errors

        stopped = self._stopped(failure)
        error = errors.describe(failure, self._namespace.suggest, stopped, lambda error: self._instead(error, script))
        return {"status": "interrupted" if stopped else "error", "error": error}

    def _instead(self, error, script):
        from .restrictions import Restrictions

        return Restrictions(script, self._namespace.servers(), self._attempts.written).instead(error)

    def _stopped(self, failure):
        """Whether the host's interrupt is what ended the run."""
        return self._interrupts.delivered and type(failure).__name__ in ("KeyboardInterrupt", "CancelledError")

    def _program_failure(self, failure):
        """What a program ends with after an exception: its sys.excepthook may have told of it already."""
        hook = getattr(sys, "excepthook", _excepthook)
        if failure is None or hook is _excepthook or isinstance(failure, SystemExit) or self._stopped(failure):
            return failure
        failure.__traceback__ = frames.outermost_user(failure.__traceback__)
        try:
            hook(type(failure), failure, failure.__traceback__)
        except SystemExit as leave:
            return leave
        except BaseException as error:
            if self._stopped(error):
                raise
            from . import errors

            traceback = errors.describe(error, lambda name: None, False)["traceback"]
            sys.__stderr__.write(f"Error in sys.excepthook:\n{traceback}\n\nOriginal exception was:\n")
            return failure
        return SystemExit(130 if isinstance(failure, KeyboardInterrupt) else 1)

    def _end(self, script, tasks):
        """Close the run's output; notes on what the run leaves behind.

        Of a script's threads and child processes nothing is said, as python3 says nothing.
        """
        busy, threads = self._leftovers.threads()
        children, renew = self._leftovers.children()
        self._outbox.end(busy, renew)
        notes = self._coroutines.end_run(self._namespace.globals)
        notes += [note for note in self._namespace.end_run() if note not in notes]
        notes += self._attempts.end_run()
        tasks, gathered = tasks
        if gathered:
            notes.append(
                f"cancelled {_listed('task', tasks)} that ran beside the one that failed: "
                "asyncio.gather(..., return_exceptions=True) lets them all end"
            )
        elif tasks:
            notes.append(f"cancelled {_listed('task', tasks)} still running at the end: await them in the code")
        for noun, names in (("thread", threads), ("child process", children)):
            if names and not script:
                them = "it prints" if len(names) == 1 else "they print"
                notes.append(f"{_listed(noun, names)} still running: what {them} from now on is dropped")
        files = self._leftovers.files()
        if files:
            end = "program" if script else "session"
            if self._leftovers.keeps:
                advice = "what is to be kept belongs in /workspace/out"
            elif script:
                advice = "with --out DIR what is in /workspace/out is saved"
            else:
                advice = "print what is to be kept"
            notes.append(f"{_few(files)} in /workspace will be lost with the {end}: {advice}")
        return notes

    def _leave_child(self, failure):
        """End a child process that os.fork() made and that came to the end of the code."""
        code = 0
        if isinstance(failure, SystemExit):
            ended = _exit(failure.code)
            code, text = ended["code"], ended.get("message")
        elif failure is not None:
            from . import errors

            code, text = 1, errors.describe(failure, lambda name: None, False)["traceback"]
        else:
            text = None
        if text:
            sys.__stderr__.write(text + "\n")
        self._streams.flush()
        posix._exit(code)


async def _within_loop(code, variables):
    eval(code, variables)


def _exit(code):
    """How Python understands the argument of SystemExit."""
    if code is None:
        return {"code": 0}
    if isinstance(code, int):
        number = int(code)
        return {"code": number & 0xFF if -(2**63) <= number < 2**63 else 255}  # what is no long of C is -1
    try:
        message = str(code)
    except Exception:
        message = type(code).__name__
    if len(message) > _EXIT_TEXT:
        from . import values

        message = values.cut(message, _EXIT_TEXT)
    return {"code": 1, "message": message}


def _exit_handlers():
    """What the interpreter does when a program ends: wait for its threads, call its atexit handlers."""
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    import atexit

    atexit._run_exitfuncs()


def _bare(error):
    """An error whose description failed, by its type alone."""
    name = type.__getattribute__(type(error), "__name__")  # which its metaclass may refuse
    return {"type": name, "message": "", "traceback": name}


def _counted(names):
    return [(name, names.count(name)) for name in dict.fromkeys(names)]


def _few(names):
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _listed(noun, names):
    shown = _few([name if times == 1 else f"{name} × {times}" for name, times in _counted(names)])
    if len(names) == 1:
        return f"{noun} {shown}"
    return f"{len(names)} {noun}{'es' if noun.endswith('s') else 's'} ({shown})"
