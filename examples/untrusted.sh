#!/bin/sh
# Runs a program that nobody has read, for five seconds at most and in 64 MB, and says how it ended. It sees its
# standard input and its arguments, and no file, variable or network of this machine.
#
#     untrusted.sh program.py ARG... <input
code=0
codemode exec --timeout 5s --memory 64m "$@" || code=$?
case $code in
0) echo "it ended well" >&2 ;;
124) echo "it was still running after five seconds" >&2 ;;
125) echo "it could not be run" >&2 ;;
*) echo "it ended with $code" >&2 ;;
esac
exit $code
