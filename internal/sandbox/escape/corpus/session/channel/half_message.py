# tries: to end in the middle of a message
# must: killed: the run says that Python ended
send(message(method="output", params={"run": 1, "stream": "stdout", "text": "half"})[:30])
os._exit(0)
