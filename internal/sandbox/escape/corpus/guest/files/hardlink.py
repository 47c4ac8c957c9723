# tries: to give a host file a second name that can be written
# must: held: another mount
import os

from attempt import refused, work

refused(lambda: os.link("/usr/bin/env", work + "/env"))
