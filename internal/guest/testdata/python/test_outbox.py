import base64
import json
import os
import socket
import threading
import time
import unittest

from codemode_guest import outbox


class Host(unittest.TestCase):
    """A host that collects messages, and an outbox with pipes that stand for descriptors 1 and 2."""

    def setUp(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.theirs = theirs
        self.out_read, self.out = os.pipe()
        self.err_read, self.err = os.pipe()
        self.outbox = outbox.Outbox(theirs.fileno(), self.out_read, self.err_read)
        self.outbox._whole = lambda: True  # descriptors 1 and 2 are this test's own
        self.received = []
        self.reader = threading.Thread(target=self.read, args=[ours.makefile("rb")])
        self.reader.start()
        self.outbox.begin(1)

    def read(self, file):
        with file:
            self.received.extend(json.loads(line) for line in file)

    def messages(self):
        """What has been said, after the end."""
        self.theirs.close()
        self.reader.join()
        for fd in (self.out_read, self.out, self.err_read, self.err, self.outbox._wake, self.outbox._wake_read):
            os.close(fd)
        return self.received

    def printed(self):
        """What was printed, joined for each stretch of one stream."""
        stretches = []
        for message in self.messages():
            params = message["params"]
            data = params["text"].encode() if "text" in params else base64.b64decode(params["base64"])
            self.assertLessEqual(len(data), outbox.MESSAGE)
            if stretches and stretches[-1][0] == params["stream"]:
                stretches[-1][1] += data
            else:
                stretches.append([params["stream"], data])
        return stretches


class TestOutbox(Host):
    def test_order_of_writes_and_pipes(self):
        self.outbox.write("stdout", b"a")
        os.write(self.out, b"b")
        self.outbox.write("stdout", b"c")
        os.write(self.err, b"d")
        self.outbox.write("stderr", b"e\n")
        os.write(self.out, b"f")
        self.outbox.end({}, False)
        self.assertEqual(self.printed(), [["stdout", b"abc"], ["stderr", b"de\n"], ["stdout", b"f"]])

    def test_one_of_many_is_to_flush_also_behind_what_was_written(self):
        self.outbox.write("stdout", b"a")
        first = [self.outbox.send_soon(b'{"method":"%d"}' % i) for i in range(3)]
        self.assertEqual(first, [True, False, False])
        self.outbox.flush()
        self.assertTrue(self.outbox.send_soon(b'{"method":"3"}'))
        self.outbox.write("stdout", b"b\n")
        self.outbox.end({}, False)
        said = [m.get("params", m).get("text", m.get("method")) for m in self.messages()]
        self.assertEqual(said, ["a", "0", "1", "2", "3", "b\n"])

    def test_what_is_long_is_not_kept(self):
        self.assertFalse(self.outbox.send_soon(b'{"method":"%b"}' % (b"x" * outbox.GATHER)))
        self.assertFalse(self.outbox._queue)
        self.outbox.end({}, False)
        self.assertEqual(len(self.messages()), 1)

    def test_what_nobody_flushes_is_the_relays(self):
        self.outbox.send_soon(b'{"method":"x"}')
        self.assertEqual(os.read(self.outbox._wake_read, 2), b".")
        self.outbox.end({}, False)
        self.assertEqual(self.messages(), [{"method": "x"}])

    def test_messages_come_behind_what_was_written_before(self):
        self.outbox.write("stdout", b"a")
        os.write(self.err, b"b")
        self.outbox.send(b'{"method":"x"}')
        self.outbox.write("stdout", b"c\n")
        self.outbox.end({}, False)
        said = [m.get("params", m).get("text", m.get("method")) for m in self.messages()]
        self.assertEqual(said, ["a", "b", "x", "c\n"])

    def test_small_writes_are_gathered(self):
        for i in range(10_000):
            self.outbox.write("stdout", b"%d\n" % i)
        self.outbox.end({}, False)
        self.assertLess(len(self.messages()), 200)

    def test_small_writes_into_pipes_are_gathered(self):
        def relay():
            with self.assertRaises(InterruptedError):
                self.outbox._relay()

        def end():
            raise InterruptedError

        thread = threading.Thread(target=relay)
        thread.start()
        for _ in range(2000):
            os.write(self.out, b"x")
            time.sleep(0.0001)  # for the relay to see each
        self.outbox.end({}, False)
        self.outbox._drain = end
        os.write(self.outbox._wake, b".")
        thread.join()
        said = [m["params"]["text"] for m in self.messages()]
        self.assertEqual(len("".join(said)), 2000)
        self.assertLess(len(said), 500)

    def test_large_write_is_split_between_characters(self):
        text = "aé€😀" * 50_000
        self.outbox.write("stdout", text.encode())
        self.outbox.end({}, False)
        messages = self.messages()
        self.assertTrue(all("text" in m["params"] for m in messages))
        self.assertEqual("".join(m["params"]["text"] for m in messages), text)

    def test_bytes_that_are_no_text(self):
        data = bytes(range(256)) * 1000
        self.outbox.write("stdout", data)
        self.outbox.end({}, False)
        self.assertEqual(self.printed(), [["stdout", data]])

    def test_character_in_two_writes(self):
        os.write(self.out, "é".encode()[:1])
        self.outbox.send(b'{"params":{"stream":"stderr","text":""}}')
        os.write(self.out, "é".encode()[1:])
        self.outbox.end({}, False)
        self.assertEqual(b"".join(data for stream, data in self.printed() if stream == "stdout"), "é".encode())

    def test_nothing_between_runs(self):
        self.outbox.end({}, False)
        self.outbox.write("stdout", b"late\n")
        os.write(self.out, b"late\n")
        self.outbox.begin(2)
        self.outbox.write("stdout", b"second\n")
        self.outbox.end({}, False)
        self.assertEqual(self.printed(), [["stdout", b"second\n"]])

    def test_stale_thread_is_not_heard(self):
        go, said = threading.Event(), threading.Event()

        def work():
            import sys

            frame.append(sys._getframe())
            go.wait()
            self.outbox.write("stdout", b"stale\n")
            said.set()

        frame = []
        thread = threading.Thread(target=work)
        thread.start()
        while not frame:
            pass
        self.outbox.end({thread.ident: frame[0]}, False)
        self.outbox.begin(2)
        go.set()
        said.wait()
        thread.join()
        self.outbox.write("stdout", b"fresh\n")
        self.outbox.end({}, False)
        self.assertEqual(self.printed(), [["stdout", b"fresh\n"]])

    def test_many_threads(self):
        def work(name):
            for i in range(500):
                self.outbox.write("stdout", b"%s%d\n" % (name, i))
                self.outbox.send(b'{"params":{"stream":"stderr","text":""}}')

        threads = [threading.Thread(target=work, args=[name]) for name in (b"a", b"b", b"c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.outbox.end({}, False)
        lines = b"".join(data for stream, data in self.printed() if stream == "stdout").split()
        for name in (b"a", b"b", b"c"):
            self.assertEqual([x for x in lines if x.startswith(name)], [b"%s%d" % (name, i) for i in range(500)])


class TestInterruptedAnywhere(Host):
    """An exception at every single line of the outbox tears no message, and loses and repeats none."""

    def test(self):
        import sys

        here = outbox.__file__
        strikes = 0
        for strike in range(1, 400):
            count = 0

            def trace(frame, event, arg):
                nonlocal count
                if frame.f_code.co_filename != here:
                    return None
                count += event == "line"
                if count == strike:
                    sys.settrace(None)
                    raise InterruptedError("a signal handler")
                return trace

            sys.settrace(trace)
            try:
                self.outbox.send(b'{"strike":%d}' % strike)
            except InterruptedError:
                strikes += 1
            finally:
                sys.settrace(None)
            if count < strike:
                break  # beyond the last line
        self.outbox.send(b'{"strike":0}')
        got = [message["strike"] for message in self.messages()]
        self.assertGreater(strikes, 20)
        self.assertEqual(got[-1], 0)
        self.assertEqual(got, list(dict.fromkeys(got)), "a message was repeated")
        sent = [n for n in got[:-1]]
        self.assertEqual(sent, sorted(sent))
        self.assertGreater(len(sent), strikes // 2, "messages were lost")
