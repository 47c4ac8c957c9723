# tries: to list the home directory of the user who started codemode
# must: held: no such path
import os

from attempt import host, refused

refused(lambda: os.listdir(host.home))
