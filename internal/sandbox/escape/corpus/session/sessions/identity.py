# tries: to learn the name of the machine, of its user or of codemode's directories
# must: held: nothing says so
import pwd
import socket

names = [socket.gethostname(), os.environ.get("USER", ""), os.environ.get("HOME", ""), os.getcwd()]
names += [entry.pw_dir for entry in pwd.getpwall()]
judge(any(name.startswith("/home/") and len(name) > len("/home/") for name in names), names)
