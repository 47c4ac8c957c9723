// Command codemode gives an AI agent, or a person, one way to run Python: in a sandbox, with the user's
// MCP servers as functions. See docs/cli.md.
package main

import (
	"context"
	"os"

	"codemode/internal/commands"
)

func main() {
	os.Exit(commands.Main(context.Background(), commands.ProcessEnv()))
}
