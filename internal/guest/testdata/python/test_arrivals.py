import asyncio
import threading
import unittest

from codemode_guest.arrivals import Arrivals


class Interrupted(Exception):
    """What a signal handler of the user's may raise."""


class TestArrivals(unittest.TestCase):
    def setUp(self):
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)
        self.woken = 0
        self.wake = self.loop.call_soon_threadsafe
        self.loop.call_soon_threadsafe = self.count
        self.arrivals = Arrivals(self.loop)

    def count(self, *args):
        self.woken += 1
        self.wake(*args)

    def futures(self, n):
        return [self.loop.create_future() for _ in range(n)]

    def all(self, futures):
        return self.loop.run_until_complete(asyncio.wait_for(_all(futures), 10))

    def test_one_wake_up_for_many(self):
        futures = self.futures(5)
        for number, future in enumerate(futures):
            self.arrivals.put(future, number)
        self.assertEqual(self.woken, 1)
        self.assertEqual(self.all(futures), [0, 1, 2, 3, 4])

    def test_from_another_thread(self):
        futures = self.futures(2000)
        reader = threading.Thread(target=lambda: [self.arrivals.put(f, n) for n, f in enumerate(futures)])
        reader.start()
        self.assertEqual(self.all(futures), list(range(2000)))
        reader.join()

    def test_interrupted_before_it_has_woken(self):
        first, second = self.futures(2)

        def interrupted(*args):
            self.loop.call_soon_threadsafe = self.count
            raise Interrupted

        self.loop.call_soon_threadsafe = interrupted
        with self.assertRaises(Interrupted):
            self.arrivals.put(first, 1)
        self.arrivals.put(second, 2)
        self.assertEqual(self.all([first, second]), [1, 2])

    def test_interrupted_while_it_settles(self):
        first, second = self.futures(2)
        set_once = first.set_result

        class Once:
            calls = 0

            def done(self):
                return False

            def set_result(self, answer):
                Once.calls += 1
                if Once.calls == 1:
                    raise Interrupted
                set_once(answer)

        self.loop.set_exception_handler(lambda loop, context: None)
        self.arrivals.put(Once(), 1)
        self.arrivals.put(second, 2)
        self.assertEqual(self.all([first, second]), [1, 2])

    def test_who_does_not_wait_any_more(self):
        first, second = self.futures(2)
        first.cancel()
        self.arrivals.put(first, 1)
        self.arrivals.put(second, 2)
        self.assertEqual(self.all([second]), [2])

    def test_closed_loop(self):
        (future,) = self.futures(1)
        self.loop.close()
        self.arrivals.put(future, 1)
        self.assertFalse(future.done())


async def _all(futures):
    return [await future for future in futures]
