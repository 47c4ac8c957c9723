package mcpserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"codemode/internal/sandbox"
	"codemode/internal/visible"
)

// wrapsErrors are the clients, by the beginning of clientInfo.name, that hand their model a result with isError inside
// a text of their own, with the whole call and the whole result as JSON: gemini-cli 0.4x, seen in November 2026
// (packages/core/src/tools/mcp-tool.ts). Their model reads the same text better without the mark.
var wrapsErrors = []string{"gemini-cli-mcp-client"}

// form is how a client gets results.
func (s *Server) form(client string) Form {
	c := s.opts.Config.Output
	f := Form{Mode: c.Mode, Structured: c.Structured}
	for _, name := range wrapsErrors {
		f.NeverError = f.NeverError || strings.HasPrefix(client, name)
	}
	return f
}

// maxInstructed is how much of the servers' names a client's model is told, in bytes; about 60 tokens.
const maxInstructed = 165

// instructions name the servers that code may use, sorted, and the folders that it sees: the same bytes as long as the
// configuration is the same, so that prompt caches hold. Empty where there are none.
func (s *Server) instructions() string {
	return strings.TrimPrefix(s.serverNames()+s.folderNames(), "\n")
}

// folderNames are the folders that the user's settings show to code.
func (s *Server) folderNames() string {
	text := "\nFolders of the user's in run_python:"
	folders := s.opts.Config.Files.Folders()
	if own := s.opts.Config.Files.Own; own != nil {
		folders = append(folders, *own)
	}
	if len(folders) == 0 {
		return ""
	}
	for i, m := range folders {
		name := " " + visible.Name(sandbox.WorkDir+"/"+m.Name) + ","
		if !m.Write {
			name = strings.TrimSuffix(name, ",") + " (read-only),"
		}
		if len(text)+len(name) > maxInstructed {
			return fmt.Sprintf("%s and %d more", strings.TrimSuffix(text, ","), len(folders)-i)
		}
		text += name
	}
	return strings.TrimSuffix(text, ",")
}

// serverNames are those of the servers that code may use.
func (s *Server) serverNames() string {
	now := s.bridge.Servers().Configured()
	if !s.opts.Config.Instructions.Servers || len(now.All) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Values(now.Alias))
	text := "MCP servers in run_python, as mcp_NAME:"
	for i, name := range names {
		if len(text)+len(name) > maxInstructed {
			return fmt.Sprintf("%s and %d more", strings.TrimSuffix(text, ","), len(names)-i)
		}
		text += " " + name + ","
	}
	return strings.TrimSuffix(text, ",")
}
