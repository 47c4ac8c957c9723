"""The guest's half of codemode: it runs code and reports what the code did.

Standard library only, and the oldest Python it must run on is 3.9. Whatever `print(1)` does not need
is imported when it is needed: a sandbox starts for every session, and its files are compiled then.

Every module of this package begins by making early.builtins its own __builtins__, so that user code
that deletes or replaces builtins breaks only itself.
"""
