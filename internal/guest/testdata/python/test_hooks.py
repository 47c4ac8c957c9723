import importlib
import os
import sys
import tempfile
import unittest

from codemode_guest.hooks import Hooks


class TestHooks(unittest.TestCase):
    def setUp(self):
        self.hooks = Hooks()
        self.hooks.install()
        self.addCleanup(sys.meta_path.remove, self.hooks)
        sys.modules.pop("colorsys", None)

    def test_called_once_after_the_module_ran(self):
        seen = []
        self.hooks.after("colorsys", lambda module: seen.append((module, module.rgb_to_hsv)))
        import colorsys

        self.assertEqual(seen, [(colorsys, colorsys.rgb_to_hsv)])
        importlib.reload(colorsys)
        self.assertEqual(len(seen), 1)

    def test_module_looks_as_if_nobody_watched(self):
        self.hooks.after("colorsys", lambda module: None)
        import colorsys

        self.assertEqual(type(colorsys.__loader__).__name__, "SourceFileLoader")
        self.assertIs(colorsys.__spec__.loader, colorsys.__loader__)

    def test_imported_before(self):
        seen = []
        self.hooks.after("sys", seen.append)
        self.assertEqual(seen, [sys])

    def test_module_that_is_not_there_yet(self):
        seen = []
        self.hooks.after("no_such_module", seen.append)
        for _ in range(2):
            with self.assertRaises(ModuleNotFoundError):
                import no_such_module  # noqa: F401
        self.assertEqual(seen, [])

    def test_interrupted_package_is_imported_whole_the_next_time(self):
        # As asyncio does, the package uses a submodule by the name that loading it has bound.
        seen = []
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "stopped_package")
            os.mkdir(package)
            with open(os.path.join(package, "__init__.py"), "w") as file:
                file.write("from .first import ONE\nfrom .second import TWO\nboth = first.ONE + TWO\n")
            with open(os.path.join(package, "first.py"), "w") as file:
                file.write("ONE = 1\n")
            with open(os.path.join(package, "second.py"), "w") as file:
                file.write("import sys\nTWO = 2\nif sys.stop_once:\n    sys.stop_once = False\n    raise KeyboardInterrupt\n")
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            sys.stop_once = True
            self.addCleanup(delattr, sys, "stop_once")
            self.hooks.after("stopped_package", seen.append)
            with self.assertRaises(KeyboardInterrupt):
                import stopped_package
            self.assertEqual(seen, [])
            import stopped_package  # noqa: F811

        self.assertEqual(stopped_package.both, 3)
        self.assertEqual(seen, [stopped_package])
