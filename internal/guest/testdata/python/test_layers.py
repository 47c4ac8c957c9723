"""Tests that packages which were added are found and loaded as Python does it, by fewer operations."""

import importlib
import importlib.machinery
import importlib.resources
import inspect
import os
import pathlib
import pkgutil
import py_compile
import sys
import tempfile
import traceback
import unittest
from unittest import mock

from codemode_guest import layers

_EXTENSION = importlib.machinery.EXTENSION_SUFFIXES[-1]
_FILES = {
    "kit/__init__.py": "from . import part\nfrom .sub import deep\nfrom .spread import leaf\n",
    "kit/part.py": "def answer():\n    return 42\n",
    "kit/sub/__init__.py": "",
    "kit/sub/deep.py": "def fail():\n    1 / 0\n",
    "kit/spread/leaf.py": "x = 1\n",
    "kit/data.txt": "seven",
    "kit/both/__init__.py": "which = 'package'\n",
    "kit/both.py": "which = 'module'\n",
    "kit/empty/data.txt": "",
    "kit/empty.py": "which = 'module'\n",
    "kit/native.py": "",
    "kit/native" + _EXTENSION: "not machine code",
    "kit/wrong.py": "x = 1\nx = = 2\n",
    "kit/folder.py/x": "",
    "single.py": "x = 1\n",
}


class Layers(unittest.TestCase):
    def setUp(self):
        self.root = self.enter(tempfile.TemporaryDirectory())
        for name, text in _FILES.items():
            path = pathlib.Path(self.root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name.endswith(".py") and name != "kit/wrong.py":
                py_compile.compile(path, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        self.enter(mock.patch.object(layers, "_FOLDERS", (f"{self.root}/",)))
        self.enter(mock.patch.object(sys, "path", [*sys.path, self.root]))
        self.enter(mock.patch.object(sys, "path_hooks", sys.path_hooks[:]))
        self.enter(mock.patch.dict(sys.modules))
        self.enter(mock.patch.dict(sys.path_importer_cache))
        layers.find()

    def enter(self, context):
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def test_what_is_imported_is_what_python_imports(self):
        attributes = "__name__ __file__ __cached__ __path__ __package__".split()
        names = "kit kit.part kit.sub kit.sub.deep kit.spread.leaf kit.both kit.empty single".split()

        def imported():
            modules = [importlib.import_module(name) for name in names]
            return [[getattr(module, a, None) for a in attributes] + [module.__spec__.origin] for module in modules]

        ours = imported()
        self.assertIsInstance(sys.modules["kit.part"].__loader__, layers._Loader)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("kit", "single")]:
            del sys.modules[name]
        sys.path_hooks.remove(layers._hook)
        sys.path_importer_cache.clear()
        self.assertEqual(imported(), ours)
        self.assertNotIsInstance(sys.modules["kit.part"].__loader__, layers._Loader)

    def test_a_package_and_machine_code_come_before_a_module_of_that_name(self):
        self.assertEqual(importlib.import_module("kit.both").which, "package")
        self.assertEqual(importlib.import_module("kit.empty").which, "module")
        spec = importlib.util.find_spec("kit.native")
        self.assertIsInstance(spec.loader, importlib.machinery.ExtensionFileLoader)

    def test_what_is_not_there(self):
        for name in ("kit.absent", "kit.folder", "kit.part.more", "absent"):
            with self.subTest(name), self.assertRaises(ModuleNotFoundError):
                importlib.import_module(name)

    def test_the_source_is_not_looked_at(self):
        import kit

        for name in ("part", "sub/deep"):  # as long as the package is there, listed and compiled
            os.truncate(f"{self.root}/kit/{name}.py", 0)
        for name in ("kit.part", "kit.sub.deep"):
            del sys.modules[name]
        opened = []
        with mock.patch.object(layers.posix, "open", side_effect=lambda p, f: opened.append(p) or os.open(p, f)):
            with mock.patch.object(layers._external, "_path_stat", side_effect=AssertionError):
                self.assertEqual(importlib.import_module("kit.part").answer(), 42)
        self.assertEqual(opened, [kit.part.__spec__.cached])

    def test_bytecode_that_is_lost_or_damaged_or_to_be_compared(self):
        import kit

        cached = kit.part.__spec__.cached
        good = pathlib.Path(cached).read_bytes()
        cases = {
            "lost": None,
            "empty": b"",
            "short": good[:7],
            "of another Python": b"\0\0\r\n" + good[4:],
            "to be compared": good[:4] + b"\3\0\0\0" + b"otherone" + good[16:],
            "by time": good[:4] + b"\0" * 12 + good[16:],
        }
        for what, content in cases.items():
            with self.subTest(what):
                os.unlink(cached) if content is None else pathlib.Path(cached).write_bytes(content)
                pathlib.Path(kit.part.__file__).write_text("def answer():\n    return 'of the source'\n")
                del sys.modules["kit.part"]
                self.assertEqual(importlib.import_module("kit.part").answer(), "of the source")
                pathlib.Path(cached).write_bytes(good)

    def test_what_tells_of_modules(self):
        import kit

        self.assertEqual(inspect.getsource(kit.part.answer), _FILES["kit/part.py"])
        self.assertEqual(
            {module.name for module in pkgutil.iter_modules(kit.__path__)},
            {"both", "empty", "folder", "native", "part", "sub", "wrong"},
        )
        self.assertEqual(pkgutil.get_data("kit", "data.txt"), b"seven")
        if hasattr(importlib.resources, "files"):
            self.assertEqual((importlib.resources.files("kit") / "data.txt").read_text(), "seven")
        self.assertEqual(importlib.reload(kit.part).answer(), 42)

    def test_errors_have_the_lines_of_the_source(self):
        import kit

        try:
            kit.deep.fail()
        except ZeroDivisionError as e:
            last = traceback.extract_tb(e.__traceback__)[-1]
        self.assertEqual((last.filename, last.lineno, last.line), (kit.deep.__file__, 2, "1 / 0"))
        with self.assertRaises(SyntaxError) as raised:
            importlib.import_module("kit.wrong")
        self.assertEqual((raised.exception.filename, raised.exception.lineno), (f"{self.root}/kit/wrong.py", 2))

    def test_what_has_come_is_found_after_invalidate_caches(self):
        import kit

        pathlib.Path(self.root, "kit", "late.py").write_text("x = 1\n")
        importlib.invalidate_caches()
        self.assertEqual(importlib.import_module("kit.late").x, 1)

    def test_other_folders_are_left_to_python(self):
        with tempfile.TemporaryDirectory() as other:
            with self.assertRaises(ImportError):
                layers._hook(other)
            with self.assertRaises(ImportError):
                layers._hook(f"{self.root}-beside")
        layers.find()
        self.assertEqual(sys.path_hooks.count(layers._hook), 1)


if __name__ == "__main__":
    unittest.main()
