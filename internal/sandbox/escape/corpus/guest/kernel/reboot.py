# tries: to restart the machine
# must: held: EPERM
from attempt import refused_call

refused_call("reboot", 0xFEE1DEAD - (1 << 32), 672274793, 0, 0)
