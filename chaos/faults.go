package chaos

// Faults are all that codemode is held to survive. Each has its injection beside this file.
var Faults = []Fault{
	{
		Name:    "upstream dies at initialize",
		What:    "a server exits before it answers `initialize`",
		Promise: "the call raises, and says how the server ended",
	},
	{
		Name:    "upstream dies before tools/list",
		What:    "it exits between `initialize` and `tools/list`",
		Promise: "the same",
	},
	{
		Name: "upstream dies before a call", What: "it exits once it has listed its tools",
		Promise: "it is started again for the call, or the call raises",
	},
	{
		Name: "upstream dies in a call", What: "it exits with a call under way",
		Promise: "the call raises and is never repeated; the next starts the server again",
	},
	{
		Name: "upstream dies after a call", What: "it exits behind its answer",
		Promise: "the answer arrives; the next call starts it again",
	},
	{
		Name:    "upstream hangs at initialize",
		What:    "a server never answers `initialize`",
		Promise: "the call ends with `mcp.start_timeout`",
	},
	{Name: "upstream hangs at tools/list", What: "it never answers `tools/list`", Promise: "the same"},
	{Name: "upstream hangs in a call", What: "it never answers a call", Promise: "the same"},
	{
		Name:    "upstream hangs at its end",
		What:    "it ignores the end of its input and SIGTERM, and so does a child in a session of its own",
		Promise: "both are killed within the grace of a server's end",
	},
	{
		Name: "upstream floods stderr", What: "it writes to its standard error without end",
		Promise: "its calls are answered all the same",
	},
	{
		Name: "upstream floods stdout", What: "it writes without a line end, without end",
		Promise: "it is stopped and the call raises; the next starts it again",
	},
	{Name: "upstream answers twice", What: "one call has two answers", Promise: "the first counts"},
	{
		Name: "upstream answers another id", What: "the answer's id is none that was asked for",
		Promise: "the call ends with its run's deadline",
	},
	{Name: "upstream answers an id as text", What: "the answer's id is `\"5\"` for `5`", Promise: "the same"},
	{Name: "upstream answers a list", What: "the result is no object", Promise: "the call raises and says so"},
	{
		Name: "upstream answers 100 MB", What: "the answer is above the limit of 64 MB",
		Promise: "the call raises and says so; the server lives on",
	},
	{
		Name: "upstream dies in an answer", What: "half a message, then the end",
		Promise: "the call raises; the next starts the server again",
	},
	{
		Name: "upstream closes stdout", What: "it closes its standard output and lives on",
		Promise: "it is ended, the call raises, the next starts it again",
	},

	{
		Name: "guest killed", What: "Python is killed from outside in the midst of a run",
		Promise: "the run's result says so, and that its variables are lost",
	},
	{
		Name: "guest stopped", What: "Python is stopped (SIGSTOP) in the midst of a run",
		Promise: "it is killed when its deadline and grace are over",
	},
	{
		Name: "guest out of memory", What: "the code takes more than its limit",
		Promise: "Python alone is ended, and the result says why",
	},
	{
		Name:    "engine killed",
		What:    "the engine's command, what it has beside a container (conmon, containerd's shim), the container or docker's daemon is killed, told to end or stopped; or codemode is killed with containers under way: while one is started, in a run, idle, at the end",
		Promise: "a run whose container died ends with 125, one whose engine stands still with its deadline; no container is left",
	},

	{
		Name:    "disk full: state",
		What:    "the file system of the audit log and the saved tools is full",
		Promise: "runs go on; `save_tool` raises, and the result says that the audit log lacks a part",
	},
	{
		Name: "disk full: cache", What: "the file system of the cache is full",
		Promise: "once Python and the guest's files are there, runs go on; what cannot be kept is asked for again",
	},
	{Name: "disk full: tmp", What: "the file system of TMPDIR is full", Promise: "runs go on"},
	{
		Name: "disk full: unpacking", What: "the disk is full while Python is unpacked",
		Promise: "the error names folder and cause, nothing half is left; the next run with room unpacks it",
	},
	{
		Name:    "descriptors",
		What:    "codemode reaches its limit of descriptors at a random point",
		Promise: "what cannot be started says `too many open files`; with room again, the same session works",
	},

	{
		Name: "client closes stdin", What: "the client closes the pipe it writes to",
		Promise: "codemode ends itself, with 0",
	},
	{
		Name: "client closes stdout", What: "it closes the pipe it reads from",
		Promise: "codemode ends itself once it has the next result",
	},
	{Name: "client closes both", What: "it closes both at once", Promise: "codemode ends itself, with 0"},
	{
		Name: "client sends garbage", What: "bytes that are no message, of any length",
		Promise: "codemode ends itself, or answers on",
	},
	{
		Name: "client reads nothing", What: "it leaves results in the pipe, and then closes its own end",
		Promise: "codemode ends itself",
	},

	{
		Name:    "SIGTERM",
		What:    "codemode is asked to end: at its start, while Python is unpacked, in a call, while a tool is saved, in the audit log, idle, in its end",
		Promise: "it ends itself",
	},
	{Name: "SIGINT", What: "the same", Promise: "the same"},
	{Name: "SIGHUP", What: "the same", Promise: "the same"},
	{
		Name: "SIGKILL", What: "codemode is killed at the same moments",
		Promise: "what it has started ends without it; the next codemode takes away what it left on disk",
	},

	{
		Name:    "clock jumps",
		What:    "the time of day goes back and forward, by seconds, years, or to 1970 or 2106, while codemode works and between one and the next",
		Promise: "deadlines and limits per minute do not see it; the audit log keeps its order; `install` is taken back exactly",
	},
}
