# tries: to switch off address randomisation
# must: held: EPERM
from attempt import refused_call

refused_call("personality", 0x0040000 | 0x0400000)
