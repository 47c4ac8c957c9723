package mcpserver

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/internal/config"
	"codemode/internal/require"
)

// everything is what npm's server-everything has, as code gets it: each tool that needs no task, and what is beside
// them.
var everything = []struct{ code, want string }{
	{"echo(message='hi')", "'Echo: hi'"},
	{"get_annotated_message(messageType='error', includeImage=True)", "['Error: Operation failed', <mcp.Image image/png"},
	{"get_env()", "PATH"},
	{"get_resource_links(count=1)", "<mcp.Resource demo://resource/dynamic/blob/1 text/plain, link>"},
	{"get_resource_reference(resourceType='Text', resourceId=1)", "<mcp.Resource demo://resource/dynamic/text/1 text/plain"},
	{"get_structured_content(location='New York')", "{'temperature': 33, 'conditions': 'Cloudy', 'humidity': 82}"},
	{"get_sum(a=1, b=2)", "'The sum of 1 and 2 is 3.'"},
	{"get_tiny_image()", "<mcp.Image image/png, 4,033 bytes>"},
	{"gzip_file_as_resource(name='a', data='data:text/plain,abc', outputType='resource')", "application/gzip"},
	{"toggle_simulated_logging()", "Started simulated, random-leveled logging"},
	{"toggle_subscriber_updates()", "Started simulated resource updated notifications"},
	{"trigger_long_running_operation(duration=0.1, steps=2)", "'Long running operation completed. Duration: 0.1 seconds"},
	{"get_roots_list()", "The client supports roots but no roots are currently configured."},
	{"trigger_elicitation_request()", "✅ User provided the requested information!"},
	{"trigger_url_elicitation(url='https://a.example/', message='m')", "✅ User completed the URL elicitation flow."},
	{"trigger_sampling_request(prompt='hi', maxTokens=10)", "so be it"},
	{"resources.list()", "'architecture.md'"},
	{"resources.templates()", "'demo://resource/dynamic/text/{resourceId}'"},
	{"resources.read('demo://resource/dynamic/text/1')", "Resource 1: This is a plaintext resource"},
	{"prompts.list()", "'completable-prompt'"},
	{"prompts.get('simple-prompt')", "'This is a simple prompt without arguments.'"},
	{"prompts.complete('completable-prompt', 'department', 'E')", "['Engineering']"},
}

// subscribing is told of a resource's changes, which the server makes up once toggle_subscriber_updates was called.
const subscribing = `
async with mcp_all.resources.subscribe('demo://resource/dynamic/text/1') as updates:
    async for update in updates:
        print(update.uri, update.dropped)
        break
`

// TestServerEverything has code use all that a server has that nobody here wrote, over each transport.
func TestServerEverything(t *testing.T) {
	const server = "mcp-server-everything"
	if _, err := exec.LookPath(server); err != nil {
		require.Lacking(t, "npm", "%s is not in PATH", server)
	}
	for kind, path := range map[string]string{"stdio": "", "streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(kind, func(t *testing.T) {
			entry := config.Server{Name: "all", Command: server, Args: []string{kind}}
			if entry.Env = map[string]string{"PATH": os.Getenv("PATH")}; path != "" {
				entry = config.Server{Name: "all", URL: "http://" + freeAddr(t) + path}
			}
			var asked []string
			told := make(chan string, 100)
			options := answering(&asked)
			options.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				told <- req.Params.Message
			}
			k := newKit(t, nil, entry)
			if path != "" {
				k.startNode(strings.TrimSuffix(strings.TrimPrefix(entry.URL, "http://"), path), server, kind)
			}
			client := k.serveClient(options, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
			code := "print([t.name.replace('-', '_') for t in await mcp_all.list_tools()])\n"
			for _, row := range everything {
				code += "print(repr(await mcp_all." + row.code + ").replace('\\n', ' '))\n"
			}
			code += subscribing
			params := &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": code}}
			params.SetProgressToken("token")
			result, err := client.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(result.Content[0].(*mcp.TextContent).Text, "\n")
			if len(lines) < len(everything)+1 {
				t.Fatalf("%s", strings.Join(lines, "\n"))
			}
			want(t, lines[len(everything)+1], "demo://resource/dynamic/text/1 0")
			tools := lines[0]
			for i, row := range everything {
				if !strings.Contains(lines[i+1], row.want) {
					t.Errorf("%s: %s, want %s", row.code, lines[i+1], row.want)
				}
				name, _, _ := strings.Cut(row.code, "(")
				tools = strings.Replace(tools, "'"+name+"'", "", 1)
			}
			want(t, strings.Trim(tools, "[, ]"), "'simulate_research_query'")                         // which wants a task
			for message := ""; !strings.HasPrefix(message, "all.trigger-long-running-operation: "); { // beside prints
				select {
				case message = <-told:
				default:
					t.Fatal("the client was not told how far a call is")
				}
			}
			if len(asked) != 3 {
				t.Errorf("asked %q", asked)
			}
			k.eventually("what the server logs is in the log", func() bool {
				return strings.Contains(k.log.String(), `msg="the server's log" server=all`)
			})
		})
	}
}

// freeAddr is an address at which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startNode starts a server that listens at an address, until the test ends.
func (k *kit) startNode(addr string, command ...string) {
	k.t.Helper()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	k.eventually("a server at "+addr, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}
