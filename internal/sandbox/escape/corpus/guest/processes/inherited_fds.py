# tries: to use a descriptor that codemode had open
# must: held: only those it was given
from attempt import escaped, held, inherited

(escaped if inherited else held)(inherited)
