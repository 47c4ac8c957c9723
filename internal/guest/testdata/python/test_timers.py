import contextlib
import os
import signal
import threading
import time
import unittest

from codemode_guest import timers


class TestTimers(unittest.TestCase):
    def setUp(self):
        self.came = []
        before = signal.signal(signal.SIGALRM, lambda number, frame: self.came.append(time.monotonic()))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(timers.stop)

    def wait(self, count, most=10.0):
        end = time.monotonic() + most
        while len(self.came) < count and time.monotonic() < end:
            time.sleep(0.005)
        self.assertGreaterEqual(len(self.came), count)

    def test_once(self):
        began = time.monotonic()
        self.assertEqual(timers.setitimer(signal.ITIMER_REAL, 0.05), (0.0, 0.0))
        self.wait(1)
        self.assertGreaterEqual(self.came[0] - began, 0.05)
        self.assertEqual(timers.getitimer(signal.ITIMER_REAL), (0.0, 0.0))
        time.sleep(0.1)
        self.assertEqual(len(self.came), 1)

    def test_ends_a_wait(self):
        class Late(Exception):
            pass

        def raise_late(number, frame):
            raise Late

        signal.signal(signal.SIGALRM, raise_late)
        timers.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(Late):
            time.sleep(60)

    def test_again_and_again(self):
        timers.setitimer(signal.ITIMER_REAL, 0.01, 0.02)
        self.wait(5)
        left, interval = timers.setitimer(signal.ITIMER_REAL, 0)
        self.assertTrue(0 < left <= 0.02, left)
        self.assertEqual(interval, 0.02)
        count = len(self.came)
        time.sleep(0.1)
        self.assertEqual(len(self.came), count)

    def test_no_more_than_each_5_ms(self):
        began = time.monotonic()
        timers.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        self.wait(20)
        timers.stop()
        self.assertLessEqual(len(self.came), (time.monotonic() - began) / timers._APART + 1)

    def test_sooner_and_later(self):
        timers.setitimer(signal.ITIMER_REAL, 60)
        left, _ = timers.setitimer(signal.ITIMER_REAL, 0.02)
        self.assertTrue(59 < left <= 60, left)
        self.wait(1)
        timers.setitimer(signal.ITIMER_REAL, 0.05)
        began = time.monotonic()
        timers.setitimer(signal.ITIMER_REAL, 0.3)
        self.wait(2)
        self.assertGreaterEqual(self.came[1] - began, 0.3)

    def test_many_settings_are_one_thread(self):
        before = len(os.listdir("/proc/self/task"))
        for _ in range(2000):
            timers.setitimer(signal.ITIMER_REAL, 5)
            timers.setitimer(signal.ITIMER_REAL, 0)
        self.assertLessEqual(len(os.listdir("/proc/self/task")), before + 1)

    def test_alarm_counts_whole_seconds(self):
        self.assertEqual(timers.alarm(30), 0)
        self.assertEqual(timers.alarm(0), 30)
        timers.setitimer(signal.ITIMER_REAL, 0.2)
        self.assertEqual(timers.alarm(0), 1)
        self.assertEqual(timers.alarm(0), 0)

    def test_alarm_goes_on_in_a_program(self):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            timers.setitimer(signal.ITIMER_REAL, 0.1)
            timers.alarm(1)
            os.execvp("sleep", ["sleep", "10"])
        self.assertEqual(os.waitpid(child, 0)[1], signal.SIGALRM)

    def test_alarm_where_the_kernel_has_none(self):
        real = timers._kernel["alarm"]
        self.addCleanup(timers._kernel.update, alarm=real)
        timers._kernel["alarm"] = lambda seconds: 0
        self.assertEqual(timers.alarm(1), 0)
        self.wait(1)
        timers.alarm(30)
        self.assertEqual(timers.alarm(0), 30)

    def test_one_timer(self):
        timers.alarm(60)
        left, _ = timers.getitimer(signal.ITIMER_REAL)
        self.assertTrue(59 < left <= 60, left)
        left, _ = timers.setitimer(signal.ITIMER_REAL, 0.2)
        self.assertTrue(59 < left <= 60, left)
        self.assertLess(timers.getitimer(signal.ITIMER_REAL)[0], 1)
        self.assertEqual(timers.alarm(0), 1)
        self.assertEqual(timers.getitimer(signal.ITIMER_REAL), (0.0, 0.0))

    def test_not_to_be_set(self):
        for values in ((signal.ITIMER_REAL, -1), (signal.ITIMER_REAL, 1, -1), (7, 1)):
            with self.assertRaises(signal.ItimerError, msg=values):
                timers.setitimer(*values)
        for value in (float("nan"), float("inf"), 1e10):
            for values in ((value,), (1, value)):
                with self.assertRaises(ValueError, msg=values):
                    timers.setitimer(signal.ITIMER_REAL, *values)
        for values in (("x",), (1.5,)):
            with self.assertRaises(TypeError, msg=values):
                timers.alarm(*values)
        self.assertEqual(timers.getitimer(signal.ITIMER_REAL), (0.0, 0.0))

    def test_of_the_processor_is_the_kernels(self):
        timers.setitimer(signal.ITIMER_VIRTUAL, 60)
        self.assertGreater(signal.getitimer(signal.ITIMER_VIRTUAL)[0], 0)
        self.assertGreater(timers.setitimer(signal.ITIMER_VIRTUAL, 0)[0], 0)

    def test_a_handler_sets_it(self):
        def again(number, frame):
            self.came.append(time.monotonic())
            timers.setitimer(signal.ITIMER_REAL, 0.001)

        signal.signal(signal.SIGALRM, again)
        timers.setitimer(signal.ITIMER_REAL, 0.001)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:  # in the midst of what sets it, too
            timers.setitimer(signal.ITIMER_REAL, 0.001)
            time.sleep(0.0015)
        timers.stop()
        self.assertGreater(len(self.came), 5)
        count = len(self.came)
        time.sleep(0.05)
        self.assertEqual(len(self.came), count)

    def test_a_thread_may_wait_for_it(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        self.addCleanup(signal.pthread_sigmask, signal.SIG_UNBLOCK, [signal.SIGALRM])
        got = []
        waits = threading.Thread(target=lambda: got.append(signal.sigtimedwait([signal.SIGALRM], 10)))
        waits.start()
        timers.setitimer(signal.ITIMER_REAL, 0.02)
        waits.join()
        self.assertEqual(got[0].si_signo, signal.SIGALRM)

    def test_a_child_has_none_and_can_set_one(self):
        with contextlib.ExitStack() as stack:
            for module in (signal, __import__("_signal")):
                for name in ("setitimer", "getitimer", "alarm"):
                    stack.callback(setattr, module, name, getattr(module, name))
            timers.install()
            timers.setitimer(signal.ITIMER_REAL, 0.05)
            child = os.fork()
            if child == 0:
                own = signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
                time.sleep(0.1)
                own = own and not self.came
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                time.sleep(0.5)
                os._exit(0 if own and len(self.came) == 1 else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.wait(1)


if __name__ == "__main__":
    unittest.main()
