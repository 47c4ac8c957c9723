//lint:file-ignore SA1019 roots are deprecated since MCP 2026-07-28, and clients of today have them

package testscripts

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// caller is mcp-call's command line.
type caller struct {
	serve      string
	arguments  string
	structured bool
	parallel   bool
	list       bool
	instructed bool
	read       string
	answers    string
	protocol   string
	roots      string
	files      []string
}

// mcpCall is a real MCP client: it starts codemode serve, calls run_python once for each file, prints
// the results as they come, and goes away. It ends with 1 when a result was an error, with 3 when serve did not end
// well.
func mcpCall(args []string) int {
	var c caller
	fs := flag.NewFlagSet("mcp-call", flag.ContinueOnError)
	fs.StringVar(&c.serve, "serve", "", "flags of codemode serve, separated by blanks")
	fs.StringVar(&c.arguments, "args", "{}", "more arguments of every call, as JSON")
	fs.BoolVar(
		&c.structured, "structured", false, "have results with structuredContent, and print that, one line a call",
	)
	fs.BoolVar(&c.parallel, "parallel", false, "make all calls at once; results are printed in order")
	fs.BoolVar(&c.list, "list", false, "print the answer to tools/list first")
	fs.BoolVar(&c.instructed, "instructions", false, "print what the server says of itself first")
	fs.StringVar(&c.read, "read", "", "print a resource last")
	fs.StringVar(
		&c.answers, "elicit", "",
		"offer elicitation, and give these answers, separated by blanks: once, run, session, deny, open, decline, cancel, never",
	)
	fs.StringVar(&c.roots, "roots", "", "offer these folders as roots, separated by blanks")
	fs.StringVar(&c.protocol, "protocol", "", "revision of MCP to speak")
	if fs.Parse(args) != nil {
		return 2
	}
	c.files = fs.Args()
	failed, err := c.run(context.Background())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mcp-call:", err)
		return 3
	case failed:
		return 1
	}
	return 0
}

func (c caller) run(ctx context.Context) (failed bool, err error) {
	cmd := exec.Command("codemode", append([]string{"serve"}, strings.Fields(c.serve)...)...)
	cmd.Stderr = os.Stderr
	if c.structured {
		cmd.Env = append(os.Environ(), "CODEMODE_OUTPUT_STRUCTURED=true")
	}
	options := &mcp.ClientOptions{}
	if c.answers != "" {
		options.ElicitationHandler = elicited(strings.Fields(c.answers))
		options.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "mcp-call", Version: "1"}, options)
	for _, path := range strings.FieldsFunc(c.roots, func(r rune) bool { return r == ' ' }) {
		client.AddRoots(&mcp.Root{URI: (&url.URL{Scheme: "file", Path: path}).String()})
	}
	session, err := client.Connect(
		ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: c.protocol},
	)
	if err != nil {
		return false, fmt.Errorf("connecting: %w", err)
	}
	defer func() {
		err = errors.Join(err, session.Close())
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			err = errors.Join(err, fmt.Errorf("codemode serve ended with %d", code))
		}
	}()
	if c.instructed {
		fmt.Println(session.InitializeResult().Instructions)
	}
	if c.list {
		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			return false, err
		}
		printJSON(tools)
	}
	failed, err = c.calls(ctx, session)
	if err != nil || c.read == "" {
		return failed, err
	}
	resource, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: c.read})
	if err != nil {
		return failed, err
	}
	for _, content := range resource.Contents {
		fmt.Print(content.Text)
	}
	return failed, nil
}

// elicited is a user who is shown what the server asks, and gives one answer after the other. "never" is none, "open"
// opens a page.
func elicited(answers []string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	var mu sync.Mutex
	return func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println("asked:", req.Params.Message)
		if len(answers) == 0 {
			return nil, errors.New("one question too many")
		}
		given := answers[0]
		answers = answers[1:]
		switch given {
		case "never":
			<-ctx.Done()
			return nil, ctx.Err()
		case "open":
			browser([]string{req.Params.URL})
			return &mcp.ElicitResult{Action: "accept"}, nil
		case "decline", "cancel":
			return &mcp.ElicitResult{Action: given}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": given}}, nil
	}
}

func (c caller) calls(ctx context.Context, session *mcp.ClientSession) (failed bool, err error) {
	results := make([]*mcp.CallToolResult, len(c.files))
	errs := make([]error, len(c.files))
	var work sync.WaitGroup
	for i, name := range c.files {
		work.Go(func() { results[i], errs[i] = c.call(ctx, session, name) })
		if !c.parallel {
			work.Wait()
			failed = c.report(results[i]) || failed
		}
	}
	work.Wait()
	for _, result := range results {
		if c.parallel {
			failed = c.report(result) || failed
		}
	}
	return failed, errors.Join(errs...)
}

// report prints a result, if there is one, and says whether it is an error.
func (c caller) report(result *mcp.CallToolResult) (failed bool) {
	if result == nil {
		return false
	}
	c.print(result)
	return result.IsError
}

// call makes one call, or waits for a file where the name says so. A file that begins with a line "# args: {…}" has
// arguments of its own; one called "none" has no code.
func (c caller) call(ctx context.Context, session *mcp.ClientSession, name string) (*mcp.CallToolResult, error) {
	if awaited, ok := strings.CutPrefix(name, "await:"); ok {
		if !poll(func() bool { _, err := os.Stat(awaited); return err == nil }) {
			return nil, fmt.Errorf("%s was not there within %v", awaited, patience)
		}
		return nil, nil
	}
	arguments := map[string]any{}
	if err := json.Unmarshal([]byte(c.arguments), &arguments); err != nil {
		return nil, fmt.Errorf("-args: %w", err)
	}
	if name != "none" {
		code, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		arguments["code"] = string(code)
		if own, ok := strings.CutPrefix(strings.SplitN(string(code), "\n", 2)[0], "# args: "); ok {
			more := map[string]any{}
			if err := json.Unmarshal([]byte(own), &more); err != nil {
				return nil, fmt.Errorf("arguments of %s: %w", name, err)
			}
			maps.Copy(arguments, more)
		}
	}
	return session.CallTool(ctx, &mcp.CallToolParams{Name: "run_python", Arguments: arguments})
}

func (c caller) print(result *mcp.CallToolResult) {
	if c.structured {
		printJSON(result.StructuredContent)
		return
	}
	for _, content := range result.Content {
		switch content := content.(type) {
		case *mcp.TextContent:
			fmt.Println(content.Text)
		case *mcp.ImageContent:
			fmt.Printf("[%s, %d bytes]\n", content.MIMEType, len(content.Data))
		default:
			fmt.Printf("[%T]\n", content)
		}
	}
}

func printJSON(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came as JSON
	}
	fmt.Printf("%s\n", line)
}
