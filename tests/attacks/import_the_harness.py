# Restore the import system and import the harness.
# expect: ok|load_error
# stopped by: landlock, seccomp

import sys
import importlib.machinery

def attack():
    sys.meta_path[:] = [importlib.machinery.PathFinder]
    sys.path[:] = ["@ROOT@"]
    sys.path_importer_cache.clear()
    import evaluator
    import evaluator.untrusted
    return evaluator.__file__
