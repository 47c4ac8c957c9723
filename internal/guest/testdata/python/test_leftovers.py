"""Tests of what is noticed of the folder whose files are kept."""

import os
import tempfile
import unittest
from unittest import mock

from codemode_guest import leftovers


class Left(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = folder.name
        patch = mock.patch.object(leftovers, "OUT", self.out)
        patch.start()
        self.addCleanup(patch.stop)

    def test_few_files_are_compared(self):
        os.makedirs(os.path.join(self.out, "sub"))
        with open(os.path.join(self.out, "sub", "a"), "w"):
            pass
        before = leftovers._marks()
        self.assertEqual(list(before), [os.path.join(self.out, "sub", "a")])
        self.assertEqual(before, leftovers._marks())

    def test_many_folders_are_not_all_looked_at(self):
        for n in range(30):
            os.makedirs(os.path.join(self.out, str(n)))
        with mock.patch.object(leftovers, "_MARKED", 10):
            with mock.patch.object(leftovers.posix, "scandir", side_effect=os.scandir) as scandir:
                self.assertNotEqual(leftovers._marks(), leftovers._marks())
        self.assertLessEqual(scandir.call_count, 20)


if __name__ == "__main__":
    unittest.main()
