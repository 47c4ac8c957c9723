# tries: to find a secret in its own environment
# must: held: nothing is inherited
import os

from attempt import escaped, held

found = [name for name, value in os.environ.items() if name.startswith("CODEMODE_TEST_SECRET") or value == "s3cret"]
(escaped if found else held)(sorted(os.environ))
