# tries: to send output whose members have other types
# must: killed: the session ends
send(message(method="output", params={"run": "1", "stream": 3, "text": ["x"]}))
stay()
