# tries: to have every later import pass through its own code
# must: held: only its own session's
class Finder:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit("poisoned")


sys.meta_path.insert(0, Finder())
sys.path_hooks.insert(0, lambda path: (_ for _ in ()).throw(SystemExit("poisoned")))
sys.path_importer_cache.clear()
# %% session b
import colorsys

judge(any(type(finder).__name__ == "Finder" for finder in sys.meta_path), "clean")
