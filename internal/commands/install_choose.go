package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
)

// chooseClients asks about each client.
func (s *installation) chooseClients(ctx context.Context, names []string) error {
	if s.cmd.Bool("yes") || s.request.DryRun || len(names) == 1 {
		return s.confirm(ctx, "put codemode into "+strings.Join(names, ", ")+"?")
	}
	all := false
	s.clients = slices.DeleteFunc(s.clients, func(c clientcfg.Client) bool {
		yes := all
		if !all {
			yes, all = s.ui.askEach(whileGoing(ctx, s.env.Stdin), "put codemode into "+c.ID+"?")
		}
		return !yes
	})
	if len(s.clients) == 0 {
		s.ui.note("note", "nothing was written")
		return exit(exitRefused)
	}
	return nil
}

// tellNoClient says why there is no client to put codemode into.
func (s *installation) tellNoClient() {
	for _, c := range installable() {
		for _, st := range s.in.Status(s.of(c), false) {
			if st.State != install.NotDetected {
				s.ui.note("note", "every client that is here has codemode")
				return
			}
		}
	}
	s.ui.note("note", "no client that codemode knows is here")
	s.ui.hints([]string{"for any other: codemode install --print", "codemode help install"})
}

// replacer asks about each entry that starts the Python original. With nobody to ask, none is replaced.
func (s *installation) replacer(ctx context.Context) func(clientcfg.Entry) bool {
	switch {
	case s.cmd.Bool("yes"), s.request.DryRun:
		return func(clientcfg.Entry) bool { return true }
	case !s.interactive() || s.request.Force:
		return nil
	}
	return func(e clientcfg.Entry) bool {
		s.ui.done() // the question is the last line
		where := ""
		if e.Scope == clientcfg.Local {
			where = ", which is for " + quote(e.Server.Project) + " alone"
		}
		return s.ui.ask(
			whileGoing(ctx, s.env.Stdin),
			fmt.Sprintf("put codemode in the place of %s of %s%s? It starts the Python original",
				quote(e.Written), e.Client, where),
		)
	}
}

// chooser asks about each server that could be moved, and about those of one folder alone by themselves. Who has said
// yes before is not asked.
func (s *installation) chooser(ctx context.Context) func(clientcfg.Entry) bool {
	if s.cmd.Bool("yes") || s.request.DryRun || !s.interactive() {
		return nil
	}
	said, all := map[string]bool{}, map[string]bool{}
	return func(e clientcfg.Entry) bool {
		key := strings.Join([]string{e.Client, e.Server.Source, e.Server.Project, e.Written}, "\x00")
		yes, known := said[key]
		scope := e.Client + " " + string(e.Scope)
		if known || all[scope] {
			return yes || all[scope]
		}
		if ctx.Err() != nil {
			return false
		}
		question := fmt.Sprintf("move %s of %s?", quote(e.Written), e.Client)
		switch e.Scope {
		case clientcfg.Project:
			question = fmt.Sprintf("move %s of the project's file %s, for everybody who works there?",
				quote(e.Written), quote(e.Server.Source))
		case clientcfg.Local:
			question = fmt.Sprintf("move %s of %s, which is for %s alone, so that every folder has it?",
				quote(e.Written), e.Client, quote(e.Server.Project))
		}
		if n := len(clientcfg.Tokens(e.Server)); n > 0 {
			tokens := plural(n, "token", "tokens")
			question = strings.TrimSuffix(question, "?") + fmt.Sprintf(", and %s to codemode's secrets?", tokens)
		}
		if e.Server.Disabled {
			question = strings.TrimSuffix(question, "?") + " (it is switched off, and stays so)?"
		}
		said[key], all[scope] = s.ui.askEach(whileGoing(ctx, s.env.Stdin), question)
		return said[key]
	}
}
