// Package fakemcp is an MCP server for tests, with misbehaviours that can be asked for by name.
//
// It is linked into test binaries alone, which become the server by calling [Main]: with testscript.Main as a
// command of its own, or from TestMain. The well-behaved part is the SDK's server; what the SDK cannot do
// wrong is raw JSON-RPC between it and the streams. It owns its process's streams and ends with them.
package fakemcp

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// options are the flags; each is a way to be.
type options struct {
	name         string
	tools        int
	pages        int
	banner       bool
	say          string
	chatty       int
	hang         string
	die          string
	wrong        bool
	stderrFlood  bool
	exitAtStart  int
	ignoreTerm   bool
	ignoreEOF    bool
	spawnChild   bool
	listChanged  bool
	garbage      bool
	startDelay   time.Duration
	oddNames     bool
	schemaZoo    bool
	modern       bool
	onlyInit     bool
	starts       string
	deaf         bool
	closeOnStart bool
	listing      string
	resources    bool
	endless      string
	subscribed   string
	flood        bool
	asCodemode   bool
	notes        string
	notePause    time.Duration
	stripNames   bool
	http         string
	token        string
	oauth        bool
	tokenLife    time.Duration
	lie          string
	device       string
	client       string
	asks         bool
	turns        bool
	reads        bool
	tasks        string
	ttl          time.Duration
	rootsChanged *atomic.Int64 // how often its client said so
}

func parse(args []string) (o options, err error) {
	fs := flag.NewFlagSet("fakemcp", flag.ContinueOnError)
	o.lifeFlags(fs)
	o.streamFlags(fs)
	o.toolFlags(fs)
	o.httpFlags(fs)
	err = fs.Parse(args)
	return o, err
}

// lifeFlags are those of how it starts and ends.
func (o *options) lifeFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.starts, "starts", "", "append a line to `FILE` at start")
	fs.IntVar(&o.exitAtStart, "exit-at-start", -1, "exit with `CODE` before reading anything")
	fs.DurationVar(&o.startDelay, "start-delay", 0, "wait before answering initialize")
	fs.BoolVar(&o.onlyInit, "only-initialize", false, "exit when the first message is not initialize")
	fs.BoolVar(&o.modern, "modern", false, "refuse initialize: revision 2026-07-28 alone")
	fs.StringVar(
		&o.die, "die", "",
		"exit with 3 at `STEP`: initialize, tools/list, tools/call (before the answer); listed, answered (after that of tools/list, of a call)",
	)
	fs.StringVar(&o.hang, "hang", "", "never answer `METHOD`: initialize, tools/list, call")
	fs.BoolVar(&o.ignoreTerm, "ignore-term", false, "ignore SIGTERM")
	fs.BoolVar(
		&o.spawnChild, "spawn-child", false,
		"start a grandchild in a session of its own that ignores every signal it can",
	)
}

// streamFlags are those of what it writes and reads beside messages.
func (o *options) streamFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.say, "say", "", "write `TEXT` to stderr at start, $VAR expanded")
	fs.IntVar(&o.chatty, "chatty-stderr", 0, "write `N` bytes to stderr at start")
	fs.BoolVar(&o.stderrFlood, "flood-stderr", false, "write to stderr without end")
	fs.BoolVar(&o.banner, "banner", false, "print a greeting and blank lines to stdout")
	fs.BoolVar(&o.flood, "flood", false, "write to stdout at start, without a line end and without end")
	fs.BoolVar(&o.garbage, "garbage", false, "print lines that are no messages before each answer")
	fs.BoolVar(&o.deaf, "deaf", false, "stop reading stdin once initialized and listed")
	fs.BoolVar(&o.closeOnStart, "close-stdout", false, "close stdout at start and stay")
	fs.BoolVar(&o.ignoreEOF, "ignore-eof", false, "keep running when stdin ends")
}

// toolFlags are those of what it serves and lists.
func (o *options) toolFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.name, "name", "fake", "serverInfo.name")
	fs.IntVar(&o.tools, "tools", 0, "also serve `N` tools tool_1 … tool_N")
	fs.IntVar(&o.pages, "pages", 0, "list `N` tools a page")
	fs.BoolVar(&o.oddNames, "odd-names", false, "list tools with names that are hard to write in Python")
	fs.BoolVar(&o.schemaZoo, "schema-zoo", false, "list tools with unusual schemas")
	fs.StringVar(&o.listing, "listing", "", "list too much: without end, where `HOW` is cycle, bytes, tools or pages; large tools, definition or definitions")
	fs.BoolVar(&o.listChanged, "list-changed", false, "send list_changed right after initialize")
	fs.BoolVar(
		&o.stripNames, "strip-names", false,
		"mind neither case nor white space around the name of a tool that is called",
	)
	fs.BoolVar(&o.wrong, "wrong", false, "also serve tools whose answers are wrong: "+strings.Join(wrongTools, ", "))
	fs.BoolVar(&o.reads, "reads", false, "also serve a tool that reads the file at a path")
	fs.StringVar(
		&o.notes, "notes", "",
		"also serve get_note, add_note and delete_note, with annotations, which append to `FILE` what they are called with",
	)
	fs.BoolVar(&o.turns, "turns", false, "with -notes, list get_note as destructive where FILE is there at start")
	fs.DurationVar(&o.notePause, "note-pause", 0, "wait between a note and the answer")
	fs.BoolVar(&o.asks, "asks", false, "also serve ask, which asks the client in the middle of a call, and can")
	fs.StringVar(&o.tasks, "tasks", "", "also serve long, which answers with a task; `FILE` gets what is asked of it")
	fs.BoolVar(&o.asCodemode, "as-codemode", false, "have the tool run_python, as codemode has")
	fs.DurationVar(&o.ttl, "ttl", 0, "how long lists are good, by what it says")
	fs.BoolVar(&o.resources, "resources", false, "also have resources, templates of them, prompts and completions")
	fs.StringVar(&o.endless, "resources-listing", "", "list resources as -listing lists tools, with `HOW`")
	fs.StringVar(
		&o.subscribed, "subscriptions", "",
		"with -resources, tell of their changes, by the tool touch; `FILE` gets a line for each subscription and its end",
	)
}

// httpFlags are those of how it is served by URL, and who is let in.
func (o *options) httpFlags(fs *flag.FlagSet) {
	fs.StringVar(
		&o.http, "http", "",
		"serve by URL, on a free port, or the one in `FILE`, and write http://HOST:PORT to it: /mcp, /json, /stateless, /sse below it",
	)
	fs.StringVar(&o.token, "token", "", "by URL, want the bearer token `TEXT`")
	fs.BoolVar(&o.oauth, "oauth", false, "by URL, have everybody sign in, at an authorization server beside it")
	fs.DurationVar(&o.tokenLife, "token-life", time.Hour, "how long an access token is good")
	fs.StringVar(&o.client, "client", "", "with -oauth, know a client `ID` that was registered by hand")
	fs.StringVar(
		&o.device, "device", "",
		"let users sign in by a code, and answer its client's polls with the `WORDS` with commas, the last for good: an error, ok, or hang-up",
	)
	fs.StringVar(
		&o.lie, "lie", "",
		"what the authorization server says wrongly: `WHAT` is issuer, iss, no-iss, no-pkce, state, resource, denied, no-token, mac, redirects, large, page, no-registration, or of a code: code-address, code-end, code-text, code-refused",
	)
}

// Main is the server's main function. args are without the program's name.
func Main(args []string) int {
	o, err := parse(args)
	if err != nil {
		return 2
	}
	if err := prepare(o); err != nil {
		fmt.Fprintln(os.Stderr, "fakemcp:", err)
		return 1
	}
	if o.exitAtStart >= 0 {
		fmt.Fprintln(os.Stderr, "fakemcp: cannot start")
		return o.exitAtStart
	}
	if o.closeOnStart {
		os.Stdout.Close()
		forever()
	}
	go keepAwake()
	if o.http != "" {
		if err := serveHTTP(o); err != nil {
			fmt.Fprintln(os.Stderr, "fakemcp:", err)
			return 1
		}
		return 0
	}
	in, out := io.Pipe()
	p := &peer{options: o, out: os.Stdout, toSDK: out, tasks: newTasks(o)}
	go p.read(os.Stdin)
	err = newServer(o).Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: p, MaxLineLength: -1})
	if o.ignoreEOF {
		forever()
	}
	if err != nil && !strings.Contains(err.Error(), "EOF") {
		fmt.Fprintln(os.Stderr, "fakemcp:", err)
		return 1
	}
	return 0
}

// keepAwake always has a timer that will soon be due. A thread of Go's that enters a system call just as the garbage
// collector stops the world can be missed (runtime.reentersyscall of 1.26 and 1.27 looks at gcwaiting before its status
// changes). It is looked for again when a timer is due, or after a minute: about one call in a million had no answer
// until then.
func keepAwake() {
	for range time.Tick(250 * time.Millisecond) {
	}
}

// prepare does what happens before the first message.
func prepare(o options) error {
	if o.starts != "" {
		f, err := os.OpenFile(o.starts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
	if o.ignoreTerm {
		signal.Ignore(syscall.SIGTERM)
	}
	if o.say != "" {
		fmt.Fprintln(os.Stderr, os.ExpandEnv(o.say))
	}
	if o.chatty > 0 {
		line := strings.Repeat("chatter ", 16) + "\n"
		for n := 0; n < o.chatty; n += len(line) {
			fmt.Fprint(os.Stderr, line)
		}
		fmt.Fprintln(os.Stderr, "end of chatter")
	}
	if o.banner {
		fmt.Print("Fake MCP server v1.0\n\n   \nlistening on stdio [ready]\n{not json\n")
	}
	if o.flood {
		flood(os.Stdout)
	}
	if o.stderrFlood {
		go flood(os.Stderr)
	}
	if o.spawnChild {
		return spawnChild()
	}
	return nil
}

// flood writes until nobody reads any more.
func flood(out *os.File) {
	line := []byte(strings.Repeat("flood ", 10_000))
	for {
		if _, err := out.Write(line); err != nil {
			os.Exit(1)
		}
	}
}

// forever keeps the process; a mere select{} would be found out as a deadlock.
func forever() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.Signal(0x3f))
	<-never
}

// raw is a message of any kind.
type raw struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}
