import signal
import socket
import threading
import time
import unittest

from codemode_guest import reader


class TestReader(unittest.TestCase):
    def setUp(self):
        self.host, self.guest = socket.socketpair()
        self.addCleanup(self.host.close)
        self.lines = []
        self.came = threading.Condition()
        self.ended = threading.Event()
        self.reader = reader.Reader(self.guest.fileno(), self.take, self.ended.set)

    def tearDown(self):
        self.host.close()
        if self.started:
            self.assertTrue(self.ended.wait(10))
        self.guest.close()

    started = False

    def start(self):
        self.started = True
        self.reader.start()

    def take(self, line):
        with self.came:
            self.lines.append(line)
            self.came.notify_all()

    def wait_for(self, *lines):
        with self.came:
            self.assertTrue(self.came.wait_for(lambda: self.lines == list(lines), 10), self.lines)

    def test_lines_however_they_come(self):
        self.start()
        for part in (b"a", b"b\nc\n\nd", b"e", b"f\n"):
            self.host.sendall(part)
            time.sleep(0.001)
        self.wait_for(b"ab", b"c", b"", b"def")

    def test_a_long_line(self):
        long = b"x" * (5 << 20)
        sender = threading.Thread(target=self.host.sendall, args=[long + b"\ny\n"])
        sender.start()
        self.reader.lead(self.lines)
        sender.join()
        self.assertEqual(self.lines, [long, b"y"])

    def test_leads_and_leaves_the_rest_to_the_thread(self):
        self.start()
        for i in range(200):
            self.host.sendall(b"%d\n" % i)
            self.reader.lead(self.lines)
            self.wait_for(b"%d" % i)
            self.lines.clear()
        self.host.sendall(b"later\n")  # the thread stands by; it gets up although nobody rouses it
        self.wait_for(b"later")

    def test_roused_from_a_standby(self):
        reader.TICK, tick = 3600, reader.TICK
        try:
            self.start()
            for _ in range(20):
                self.host.sendall(b"led\n")
                self.reader.lead(self.lines)
                self.lines.clear()
            while not self.reader._standing_by:
                self.host.sendall(b"led\n")
                self.reader.lead(self.lines)
                time.sleep(0.001)
                self.lines.clear()
            self.host.sendall(b"other\n")
            self.reader.rouse()
            self.wait_for(b"other")
        finally:
            self.reader.rouse()
            reader.TICK = tick

    def test_listens_at_once(self):
        reader.TICK, tick = 3600, reader.TICK
        try:
            self.start()
            for _ in range(200):  # the thread may not have noticed yet that the main thread has read
                self.host.sendall(b"led\n")
                self.reader.lead(self.lines)
                self.reader.listen()
                self.lines.clear()
                self.host.sendall(b"next\n")
                self.wait_for(b"next")
                self.lines.clear()
        finally:
            self.reader.rouse()
            reader.TICK = tick

    def test_end(self):
        self.start()
        self.host.sendall(b"last\n")
        self.host.shutdown(socket.SHUT_WR)
        with self.assertRaises(EOFError):
            self.reader.lead([])
        self.wait_for(b"last")

    def test_no_line_is_lost_when_a_handler_raises_at_any_moment(self):
        class Alarm(Exception):
            pass

        def on_alarm(signum, frame):
            while frame is not None:
                if frame.f_code is reader.Reader.lead.__code__:
                    raise Alarm
                frame = frame.f_back

        count, alarms = 3000, 0
        sender = threading.Thread(target=self.send_slowly, args=[count])
        before = signal.signal(signal.SIGALRM, on_alarm)
        try:
            sender.start()
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
            while True:
                try:
                    self.reader.lead([])
                except Alarm:
                    alarms += 1
                except EOFError:
                    break
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            sender.join()
        self.assertGreater(alarms, 10)
        self.assertEqual(list(dict.fromkeys(self.lines)), [b"%d" % i for i in range(count)])  # some came twice

    def send_slowly(self, count):
        for i in range(count):
            self.host.sendall(b"%d\n" % i)
            if i % 10 == 0:
                time.sleep(0.0005)
        self.host.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    unittest.main()
