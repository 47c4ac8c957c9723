import importlib
import sys
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
