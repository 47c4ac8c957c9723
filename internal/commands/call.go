package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/hint"
	"codemode/internal/plainfile"

	"github.com/urfave/cli/v3"
)

func callCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "call",
		Usage:     "call one tool, and print what it returns",
		ArgsUsage: "SERVER.TOOL [ARGUMENT...]",
		Description: "An argument is KEY=TEXT, KEY:=JSON or KEY=@FILE; @FILE alone, or - for stdin,\n" +
			"is all of them as a JSON object; the last of one KEY counts. A text is printed\n" +
			"as it is, all else as JSON; on a terminal, what that would act on as escapes.\n" +
			"Policy and audit log are those of code. It ends with 1 when the tool fails, 124\n" +
			"at the deadline, 125 where there is nothing to call: an unknown server or tool.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print a text as JSON, too", Local: true},
		}, append(settingFlags("timeout", "servers-file", "tenant", "runtime"), configFlag())...),
		Metadata: examples(
			`codemode call memory.search_nodes query=codemode`,
			`codemode call github.create_issue repo=o/r title=Bug labels:='["bug"]'`,
			`echo '{"path": "/tmp/x"}' | codemode call fs.read_file -`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if !cmd.Args().Present() {
				return &usageError{
					"call takes SERVER.TOOL and its arguments",
					[]string{"there are: codemode search WHAT", "see: codemode call --help"},
				}
			}
			p, err := callProgram(env, cmd)
			if err != nil {
				return err
			}
			defer p.close()
			return runExec(ctx, env, ui, cmd, p)
		},
	}
}

// argument is one of the command line: its value is text, which becomes what the tool's schema wants, or JSON.
type argument struct {
	Key  string          `json:"key"`
	Text string          `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

// callCode makes the call, as code would. What stands in it is JSON within a literal that JSON and Python share.
const callCode = `import json, re, sys
given = json.loads(%s)
def end(error):
    text = re.sub(r"\x60await mcp_(\w+\.\w+)\(…\)\x60", r'"\1"', str(error))  # as call takes it
    lines = ["".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in text.split("\n")]
    print("codemode: error:", "\n  ".join(lines), file=sys.stderr)  # which are a server's: none looks like codemode's
def show(text, escape):
    if given["terminal"]:  # which would do what a server says
        text = "".join(c if c.isprintable() or c in "\n\t\u200c\u200d" else escape(c)[1:-1] for c in text)
    print(text)
try:
    doc = await runtime.query_tool_docs(given["server"], given["tool"], "full")
except runtime.MCPError as error:
    end(error)
    sys.exit(125)
try:
    properties = doc.inputSchema.get("properties") or {}
    arguments = {}
    for argument in given["arguments"]:
        key, value = argument["key"], argument.get("json")
        if "json" not in argument:
            value = argument.get("text", "")
            kind = (properties.get(key) or {}).get("type")
            if kind in ("integer", "number", "boolean", "array", "object"):
                try:
                    value = json.loads(value)
                except ValueError:
                    pass
        arguments[key] = value
    result = await runtime.call_tool(given["server"], doc.tool, arguments)
except (runtime.MCPError, TypeError, ValueError) as error:
    end(error)
    sys.exit(1)
if isinstance(result, str) and not given["json"]:
    show(result, ascii)
else:
    show(json.dumps(result, indent=2, ensure_ascii=False, default=repr), json.dumps)
`

// callProgram is the program that makes the call.
func callProgram(env Env, cmd *cli.Command) (*program, error) {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return nil, err
	}
	server, tool, err := t.splitTool(cmd.Args().Slice())
	if err != nil {
		return nil, err
	}
	arguments := []argument{}
	for _, word := range cmd.Args().Tail() {
		some, err := readArguments(env, word)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, some...)
	}
	text, err := json.Marshal(map[string]any{
		"server": server, "tool": tool, "arguments": arguments, "json": cmd.Bool("json"),
		"terminal": isTerminal(env.Stdout),
	})
	if err != nil {
		return nil, err
	}
	literal, err := json.Marshal(string(text))
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("opening an empty stdin: %w", err)
	}
	return &program{
		code:     fmt.Sprintf(callCode, literal),
		filename: "<call>",
		argv:     []string{"call"},
		stdin:    null,
		owned:    true,
		servers:  []string{server},
	}, nil
}

// knownServer takes the name of a server that is here off the front of SERVER.TOOL: both may have dots.
func (t *tenancy) knownServer(word string) (server, tool string, ok bool) {
	for at := len(word) - 1; at > 0; at-- {
		if word[at] == '.' && t.isServer(word[:at]) {
			return word[:at], word[at+1:], true
		}
	}
	return "", "", false
}

// isServer says whether a server has that name, or that alias.
func (t *tenancy) isServer(name string) bool {
	return slices.ContainsFunc(
		t.found.Entries,
		func(e clientcfg.Entry) bool { return e.Server.Name == name || t.aliases[e.Server.Name] == name },
	)
}

// splitTool takes a server's and a tool's name apart.
func (t *tenancy) splitTool(words []string) (server, tool string, err error) {
	word := words[0]
	if server, tool, ok := t.knownServer(word); ok {
		return server, tool, nil
	}
	server, tool, ok := strings.Cut(word, ".")
	if !ok || server == "" || tool == "" {
		hints := []string{"see: codemode call --help"}
		if len(words) > 1 && !ok && !strings.ContainsAny(words[1], "=@") && words[1] != "-" {
			hints = append(hint.Meant(word+"."+words[1]), hints...)
		}
		return "", "", &usageError{"a call is of SERVER.TOOL, not " + quote(word), hints}
	}
	return server, tool, nil
}

// readArguments reads what one word of the command line gives.
func readArguments(env Env, word string) ([]argument, error) {
	if name, isFile := strings.CutPrefix(word, "@"); isFile || word == "-" {
		data, err := readInput(env, name)
		if err != nil {
			return nil, err
		}
		return objectArguments(word, data)
	}
	key, value, ok := strings.Cut(word, "=")
	key, isJSON := strings.CutSuffix(key, ":")
	if !ok || key == "" {
		return nil, &usageError{
			"an argument is KEY=TEXT, KEY:=JSON, @FILE or -, not " + quote(word), []string{"see: codemode call --help"},
		}
	}
	if name, isFile := strings.CutPrefix(value, "@"); isFile {
		data, err := readInput(env, name)
		if err != nil {
			return nil, err
		}
		value = string(data)
	}
	switch {
	case !isJSON:
		return []argument{{Key: key, Text: value}}, nil
	case !json.Valid([]byte(value)):
		return nil, &usageError{"argument " + quote(key) + " is not JSON; for text, write " + key + "=…", nil}
	}
	return []argument{{Key: key, JSON: json.RawMessage(value)}}, nil
}

// maxArguments is more than a call can have; a device has no end.
const maxArguments = 64 << 20

// readInput reads a file, or stdin where it has no name. Stdin may be a pipe, a file is none: nobody may write to it.
func readInput(env Env, name string) (data []byte, err error) {
	from, hints := quote(name), []string{"what a program writes goes in by stdin: KEY=@-, or - for all arguments"}
	if name == "-" || name == "" {
		from, hints = "stdin", nil
		data, err = plainfile.Bounded(env.Stdin, 0, maxArguments)
	} else {
		data, err = plainfile.Read(absolute(env, name), maxArguments)
	}
	if err == nil {
		return data, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		hints = nil
	}
	return nil, &usageError{fmt.Sprintf("reading arguments from %s: %v; nothing was called", from, err), hints}
}

func objectArguments(word string, data []byte) (list []argument, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return nil, &usageError{
			"what " + quote(word) + " gives is no JSON object of arguments; nothing was called", nil,
		}
	}
	for key, value := range members {
		list = append(list, argument{Key: key, JSON: value})
	}
	return list, nil
}
