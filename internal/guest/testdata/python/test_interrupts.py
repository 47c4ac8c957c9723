import _signal
import threading
import time
import unittest

from codemode_guest.interrupts import Interrupts


class TestInterrupts(unittest.TestCase):
    def setUp(self):
        self.interrupts = Interrupts(threading.get_ident())
        for number in (_signal.SIGURG, _signal.SIGINT):
            self.addCleanup(_signal.signal, number, _signal.getsignal(number))
        self.interrupts.install()

    def guarded(self, step, run=1):
        self.interrupts.begin(run)
        try:
            return self.interrupts.guard(step)
        finally:
            self.interrupts.end()

    def ask_soon(self, run):
        timer = threading.Timer(0.02, self.interrupts.ask, [{"run": run}])
        timer.start()
        self.addCleanup(timer.join)

    def test_ends_a_wait(self):
        self.ask_soon(1)
        _, error = self.guarded(lambda: time.sleep(60))
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assertTrue(self.interrupts.delivered)

    def test_asked_for_before_the_run_began(self):
        self.interrupts.ask({"run": 1})
        _, error = self.guarded(lambda: time.sleep(60))
        self.assertIsInstance(error, KeyboardInterrupt)

    def test_another_run_is_left_alone(self):
        self.interrupts.ask({"run": 1})
        self.assertEqual(self.guarded(lambda: "value", run=2), ("value", None))
        self.ask_soon(2)
        result, error = self.guarded(lambda: time.sleep(0.1) or "value", run=3)
        self.assertEqual((result, error), ("value", None))

    def test_never_outside_guard(self):
        self.interrupts.begin(1)
        self.interrupts.ask({"run": 1})
        deadline = time.monotonic() + 0.05
        while time.monotonic() < deadline:
            pass  # signals arrive here, and nothing is raised
        _, error = self.interrupts.guard(lambda: time.sleep(60))
        self.assertIsInstance(error, KeyboardInterrupt)

    def test_waits_for_a_step_of_codemode(self):
        done = []

        def steps():
            self.interrupts.spare(lambda: time.sleep(0.1) or done.append("own"))
            time.sleep(60)

        self.ask_soon(1)
        _, error = self.guarded(steps)
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assertEqual(done, ["own"])

    def test_caught_by_the_code(self):
        def catches():
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                return "caught"

        self.ask_soon(1)
        self.assertEqual(self.guarded(catches), ("caught", None))

    def test_often_and_at_any_moment(self):
        for run in range(1, 200):
            thread = threading.Thread(target=self.interrupts.ask, args=[{"run": run}])
            thread.start()
            _, error = self.guarded(lambda: sum(range(run * 10)), run)
            thread.join()
            self.assertIn(type(error), (type(None), KeyboardInterrupt))
        self.assertEqual(self.guarded(lambda: "calm", 1000), ("calm", None))

    def test_own_sigint(self):
        _, error = self.guarded(lambda: _signal.raise_signal(_signal.SIGINT))
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assertFalse(self.interrupts.delivered)
        _signal.raise_signal(_signal.SIGINT)  # between two runs: ignored
