package commands

import (
	"fmt"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
)

// status tells how things stand, with those of the clients that are here.
func (s *installation) status() error {
	clients, named := s.clients, true
	if len(clients) == 0 {
		clients, named = installable(), false
	}
	if exe, err := s.in.Executable(); err == nil {
		s.in.Exe = exe
	}
	var list []install.Standing
	for _, c := range clients {
		list = append(list, s.in.Status(s.of(c), named)...)
	}
	out := newSheet(s.env)
	if s.cmd.Bool("json") {
		rows := make([]standingRow, 0, len(list))
		for _, st := range list {
			rows = append(rows, standingRow{st.Client, st.Title, st.Scope, st.Path, st.State, st.Remark, st.Command})
		}
		return out.json(rows)
	}
	var rows [][]cell
	absent := 0
	for _, st := range list {
		if st.State == install.NotDetected && !named {
			absent++
			continue
		}
		rows = append(
			rows,
			[]cell{{st.Client, ""}, {string(st.State), stateColour(st.State)}, {s.tilde(st.Path), ""}, {st.Remark, ""}},
		)
	}
	if err := out.table([]string{"CLIENT", "STATE", "FILE", ""}, rows); err != nil {
		return err
	}
	if absent > 0 {
		s.ui.note(
			"note",
			fmt.Sprintf(
				"%s not here; docs/clients.md has them all",
				plural(absent, "more known client is", "more known clients are"),
			),
		)
	}
	return nil
}

// standingRow is the state of one file in JSON.
type standingRow struct {
	Client  string          `json:"client"`
	Title   string          `json:"title"`
	Scope   clientcfg.Scope `json:"scope"`
	File    string          `json:"file,omitempty"`
	State   install.State   `json:"state"`
	Remark  string          `json:"remark,omitempty"`
	Command []string        `json:"command,omitempty"`
}

func stateColour(s install.State) string {
	switch s {
	case install.IsInstalled:
		return green
	case install.NotDetected, install.NotThere:
		return ""
	case install.Unreadable, install.StalePath:
		return red
	}
	return yellow
}

// tilde shortens a path for people.
func (s *installation) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, s.in.Env.Home); ok && s.in.Env.Home != "" && newSheet(s.env).width > 0 {
		return "~" + rest
	}
	return path
}
