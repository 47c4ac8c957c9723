"""What the guest's core calls of the mcp package, written down."""

channel = None
log = []
servers = []


def attach(to, given, give):
    global channel
    channel = to


def update(catalog):
    servers.extend(server["name"] for server in catalog["servers"])


def begin_run(selected):
    log.append(("begin", selected))


def namespace():
    return {"runtime": "the runtime", **{f"mcp_{name}": f"server {name}" for name in servers}}


def end_run():
    log.append(("end",))
    return []


def suggest(name):
    return next((f"did you mean mcp_{s}?" for s in servers if s[:3] in name), None)
