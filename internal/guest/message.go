package guest

import "encoding/json"

// ProtocolVersion is the version of the wire in docs/protocol.md. Host and guest ship in one
// binary, so it changes freely; the guest refuses another one.
const ProtocolVersion = 1

// Methods the host sends.
const (
	MethodInitialize = "initialize" // request: Initialize -> Initialized
	MethodRun        = "run"        // request: Run -> RunResult
	MethodInterrupt  = "interrupt"  // notification: Interrupt
	MethodCatalog    = "catalog"    // notification: CatalogUpdate
	MethodProgress   = "progress"   // notification: Progress, of a request of the guest's
	MethodCheck      = "check"      // request: Check -> Checked; only ever to a guest that is never sent a run
)

// Methods the guest sends.
const (
	MethodOutput    = "output"       // notification: Output
	MethodDisplay   = "display"      // notification: Display
	MethodToolCall  = "tools/call"   // request: ToolCall -> the upstream's CallToolResult, verbatim
	MethodRequest   = "request"      // request: ServerRequest -> the upstream's result, a list's pages as one
	MethodSubscribe = "subscribe"    // request: Subscribe -> Subscribed
	MethodUpdates   = "updates"      // request: UpdatesQuery -> Updates
	MethodServers   = "servers"      // request: {} -> CatalogUpdate, where the run's says Later
	MethodServer    = "server"       // request: ServerQuery -> Server with its tools
	MethodSearch    = "search"       // request: SearchQuery -> SearchResult
	MethodStdin     = "stdin"        // request: {} -> Stdin
	MethodSave      = "tools/save"   // request: SaveTool -> {}
	MethodSaved     = "tools/saved"  // request: SavedQuery -> SavedTools
	MethodArtifacts = "artifacts"    // request: ArtifactQuery -> Artifacts
	MethodAddServer = "servers/add"  // request: AddServer -> AddedServer
	MethodPackages  = "packages/add" // request: AddPackages -> AddedPackages
	MethodCancel    = "cancel"       // notification: Cancel
)

// Initialize is the first request of a session.
type Initialize struct {
	Version    int      `json:"version"`
	Session    string   `json:"session"`
	Stdin      bool     `json:"stdin"`               // there is input of the caller's; false: input() explains itself
	PullStdin  bool     `json:"pullStdin,omitempty"` // descriptor 0 does not carry it: the guest asks (MethodStdin)
	Modules    string   `json:"modules,omitempty"`   // a folder before all others of sys.path
	Path       []string `json:"path,omitempty"`      // appended to sys.path: the interpreter's site-packages
	Layers     string   `json:"layers,omitempty"`    // a folder in which packages appear that code asks for
	MaxMessage int      `json:"maxMessage"`          // bytes in one line, either direction
}

// Initialized answers Initialize.
type Initialized struct {
	Version int    `json:"version"`
	Python  string `json:"python"` // "3.14.6"
}

// Run executes code. Runs of one session come one after the other.
type Run struct {
	Run      int      `json:"run"`      // counts from 1 within the session
	Code     string   `json:"code"`     // Python source with top-level await
	Filename string   `json:"filename"` // as tracebacks show it: "<run 3>" or a script's path
	Argv     []string `json:"argv"`     // sys.argv
	// A program, not a cell: no value of a last expression, __name__ == "__main__" all the same.
	Script bool `json:"script"`
	// Selected are the real names of the servers this run may call; nil means every configured one.
	Selected []string `json:"selected"`
	// Catalog brings servers the guest has not seen in this version yet; see CatalogUpdate.
	Catalog *CatalogUpdate `json:"catalog,omitempty"`
}

// A CatalogUpdate tells the guest about servers and their tools.
type CatalogUpdate struct {
	// Servers replaces the entries of the same name. An entry without Tools whose Loaded is false
	// is configured but not started; the guest asks for it (MethodServer) on first use.
	Servers []Server `json:"servers"`
	// Removed names servers that are no longer configured.
	Removed []string `json:"removed,omitempty"`
	// Later says that nobody has looked for servers yet: the guest asks for them (MethodServers) when code does.
	Later bool `json:"later,omitempty"`
	// Unusable, where it is there, replaces the list of servers that are configured and cannot be called.
	Unusable *[]Unusable `json:"unusable,omitempty"`
}

// Unusable is a server that is configured and cannot be used.
type Unusable struct {
	Name  string `json:"name"`
	Alias string `json:"alias"`
	Why   string `json:"why"` // and what the user can do: one line
}

// Server is one MCP server as the guest knows it.
type Server struct {
	Name        string `json:"name"`  // as configured
	Alias       string `json:"alias"` // legal Python name: mcp_<alias>
	Description string `json:"description,omitempty"`
	Cwd         string `json:"cwd,omitempty"`
	Loaded      bool   `json:"loaded"`
	Tools       []Tool `json:"tools,omitempty"`
}

// Tool is one tool, with what the guest needs to bind arguments and to document it.
type Tool struct {
	Name         string          `json:"name"`
	Alias        string          `json:"alias"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Params       []Param         `json:"params"`            // in schema order, required ones first
	Extra        bool            `json:"extra,omitempty"`   // the schema allows properties it does not name
	Returns      string          `json:"returns"`           // Python annotation of the result, "Any" when unknown
	Wrapped      bool            `json:"wrapped,omitempty"` // structuredContent is {"result": X} around a primitive
	// "create_issue(repo: str, title: str, body: str | None = None) -> dict".
	Signature string `json:"signature"`
	Summary   string `json:"summary,omitempty"` // the description in one short line, where that is another
	Policy    string `json:"policy,omitempty"`  // what the user's policy says of it: "policy denies it: …"
	// What to write: "await mcp_github.create_issue(repo=..., title=...)".
	Call string `json:"call,omitempty"`
}

// Param is one parameter of a tool.
type Param struct {
	Name        string          `json:"name"` // legal Python name
	Key         string          `json:"key"`  // property name in the schema
	Type        string          `json:"type"` // Python annotation
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default,omitempty"`
	Description string          `json:"description,omitempty"`
}

// RunStatus says how the guest's code ended, as the guest saw it.
type RunStatus string

// The ways a run ends inside the guest. Everything else (deadline, death) the host sees by itself.
const (
	RunOK          RunStatus = "ok"
	RunError       RunStatus = "error"       // an uncaught exception
	RunExit        RunStatus = "exit"        // SystemExit
	RunInterrupted RunStatus = "interrupted" // the host's Interrupt ended it
)

// RunResult answers Run. Output and Display of the run were all sent before it.
type RunResult struct {
	Status RunStatus  `json:"status"`
	Value  *Value     `json:"value,omitempty"` // of a last expression that is not None
	Error  *RunFailed `json:"error,omitempty"`
	Exit   *RunExited `json:"exit,omitempty"`
	Notes  Notes      `json:"notes,omitempty"` // things left behind, coroutines nobody awaited: one sentence each
	Left   bool       `json:"left,omitempty"`  // something in sandbox.OutDir is new, or has changed
}

// Value is a last expression's value.
type Value struct {
	Repr string          `json:"repr"`           // cut to a bound, with "… (N more characters)"
	JSON json.RawMessage `json:"json,omitempty"` // the value itself where it is plain JSON and small enough
}

// RunFailed is an uncaught exception.
type RunFailed struct {
	Type    string `json:"type"`    // "ValueError"
	Message string `json:"message"` // str(exception)
	// The user's frames with their source lines, then "ValueError: x", no final newline.
	Traceback string `json:"traceback"`
}

// RunExited is a SystemExit.
type RunExited struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"` // sys.exit("why"): printed to stderr by Python, code 1
}

// Interrupt asks the guest to stop a run; KeyboardInterrupt is raised in it.
type Interrupt struct {
	Run    int    `json:"run"`
	Reason string `json:"reason"` // "timeout" or "cancelled"
}

// Display is an image (or other media) the run showed.
type Display struct {
	Run  int    `json:"run"`
	MIME string `json:"mime"`
	Data []byte `json:"data"` // base64 on the wire
}

// ToolCall asks the host to call a tool; see [ParseToolCall]. A failure is an Error whose Data is ErrorData.
type ToolCall struct {
	Server    string          `json:"server"` // real name
	Tool      string          `json:"tool"`   // real name
	Arguments json.RawMessage `json:"arguments"`
	Progress  bool            `json:"progress,omitempty"` // the guest wants to be told of it (MethodProgress)

	// Written are the arguments as the guest has sent them, where paths are in the place of references in Arguments:
	// what the guest is told of the call has no path of the host's. It is nil where there is none.
	Written json.RawMessage `json:"-"`
}

// AsWritten are the arguments as the guest knows them.
func (c ToolCall) AsWritten() json.RawMessage {
	if c.Written != nil {
		return c.Written
	}
	return c.Arguments
}

// Progress is what a server has said last of a request under way. Done is there but for a task, of which there is a
// status.
type Progress struct {
	ID      int64    `json:"id"`
	Status  string   `json:"status,omitempty"` // of a task: working or input_required
	Done    *float64 `json:"progress,omitempty"`
	Total   float64  `json:"total,omitempty"`
	Message string   `json:"message,omitempty"`
}

// ServerRequest is a request to a server that is no call of a tool: one of a few methods of MCP, such as
// resources/read. A failure is told as that of a ToolCall.
type ServerRequest struct {
	Server string          `json:"server"` // real name
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"` // without a cursor
}

// Subscribe asks a server to tell of the changes of a resource, until the run ends or the guest has enough.
type Subscribe struct {
	Server string `json:"server"` // real name
	URI    string `json:"uri"`
}

// Subscribed answers Subscribe.
type Subscribed struct {
	Subscription int64 `json:"subscription"`
}

// UpdatesQuery waits for what a subscription brings, or ends it.
type UpdatesQuery struct {
	Subscription int64 `json:"subscription"`
	End          bool  `json:"end,omitempty"`
}

// Updates answers UpdatesQuery: what the server has said, verbatim, the oldest first.
type Updates struct {
	Updates []json.RawMessage `json:"updates"`
	Dropped int               `json:"dropped,omitempty"` // before them, because they were not asked for in time
}

// ServerQuery asks for one server's tools; the host starts it when it must.
type ServerQuery struct {
	Server string `json:"server"`
	Load   bool   `json:"load"` // true: the run is about to call it; false: documentation only
	// Fresh asks the server once more: code uses a tool that was not in its list.
	Fresh bool `json:"fresh,omitempty"`
}

// SearchQuery asks for the tools that fit a query best, over every server the tenant allows.
type SearchQuery struct {
	Query string `json:"query"`
	Limit int    `json:"limit"` // 0 is as many as usual
}

// SearchResult answers SearchQuery, best first.
type SearchResult struct {
	Matches []Match `json:"matches"`
	Text    string  `json:"text,omitempty"` // the best of them as a model reads it, and the names of more
}

// Match is a found tool.
type Match struct {
	Server      string `json:"server"`
	ServerAlias string `json:"serverAlias"`
	Tool        Tool   `json:"tool"`
}

// ArtifactQuery asks for the tenant's artifacts; with an ID, for the content of one from an offset on.
type ArtifactQuery struct {
	ID      string `json:"id"`
	Offset  int64  `json:"offset"`
	ForTool bool   `json:"forTool,omitempty"` // the answer is a word for its path, in the place of its content
}

// Artifacts answers ArtifactQuery.
type Artifacts struct {
	Artifacts []Artifact `json:"artifacts"`
	Base64    []byte     `json:"base64,omitempty"`    // a piece of the one's content; none is its end
	Reference string     `json:"reference,omitempty"` // in whose place, in a call's arguments, a tool gets its path
}

// Artifact is a file that was kept.
type Artifact struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Run    string `json:"run,omitempty"`
	Made   string `json:"made"` // RFC 3339
}

// Stdin is the next piece of the caller's input, or its end.
type Stdin struct {
	Base64 []byte `json:"base64,omitempty"`
	EOF    bool   `json:"eof,omitempty"`
}

// Cancel says that nobody waits any more for the guest's request ID.
type Cancel struct {
	ID int64 `json:"id"`
}

// Error codes in answers to the guest, beside JSON-RPC's own.
const (
	CodeToolFailed  = -32000 // the upstream answered with a JSON-RPC error; Data has its code and data
	CodeUnavailable = -32001 // the server is unknown, not selected for this run, or did not start
	CodeCancelled   = -32002 // the run ended or the guest cancelled the request
	CodeTimeout     = -32003 // the upstream did not answer in its own time limit
	CodeDenied      = -32004 // policy
)

// ErrorData is the data of an error answered to the guest.
type ErrorData struct {
	Server string          `json:"server,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Code   int64           `json:"code,omitempty"`   // the upstream's own code
	Data   json.RawMessage `json:"data,omitempty"`   // the upstream's own data
	Stderr string          `json:"stderr,omitempty"` // the server's last lines
	Hint   string          `json:"hint,omitempty"`   // "did you mean …"
	Rule   string          `json:"rule,omitempty"`   // of the policy, for CodeDenied: "deny:*.delete_*"
}
