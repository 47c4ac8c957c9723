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

// Names are the Python names of servers that code may use, sorted, as many as there is room for, and how many there
// are.
type Names struct {
	First []string
	All   int
}

const namesBegin = "MCP servers in run_python, as mcp_NAME:"

// NamesOf are those of servers, by their own names.
func NamesOf(aliases map[string]string) Names {
	all := slices.Sorted(maps.Values(aliases))
	room := maxInstructed - len(namesBegin)
	n := 0
	for n < len(all) && room >= len(all[n]) {
		room -= len(all[n]) + len(" ,")
		n++
	}
	return Names{all[:n], len(all)}
}

// serverNames are those of the servers that code may use.
func (s *Server) serverNames() string {
	if !s.opts.Config.Instructions.Servers {
		return ""
	}
	names := s.known
	if names == nil {
		now := NamesOf(s.bridge().Servers().Configured().Alias)
		names = &now
	}
	text := ""
	for _, name := range names.First {
		text += " " + name + ","
	}
	text = strings.TrimSuffix(text, ",")
	if more := names.All - len(names.First); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if text == "" {
		return ""
	}
	return namesBegin + text
}
