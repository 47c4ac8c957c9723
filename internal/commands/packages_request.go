package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"codemode/internal/bridge"
	"codemode/internal/hint"
	"codemode/internal/packages"
)

// packageAdder adds packages that code asks for, as codemode packages add would.
type packageAdder struct {
	tenancy *tenancy
	ui      *ui
}

// proposedLock is a lock that would take the place of another.
type proposedLock struct{ old, lock *packages.Lock }

// Look is bridge.PackageAdder's.
func (a *packageAdder) Look(ctx context.Context, names []string) (look bridge.PackageLook, err error) {
	t := a.tenancy
	if len(names) == 0 {
		return look, errors.New("name a package")
	}
	for _, name := range names {
		if err := packages.CheckAsked(name); err != nil {
			return look, fmt.Errorf("%.100q cannot be added: %w", name, err)
		}
	}
	if t.layered != nil {
		return look, errors.New("this program was given packages of its own; say there what it needs (--with, or its head)")
	}
	s, old, err := a.read()
	if err != nil {
		return look, err
	}
	if old.Satisfies(names) {
		if p, err := t.layer(ctx, s, old); err == nil {
			look.Layer, look.Has = filepath.Base(p.Host), versions(old.Packages)
		}
	}
	w, _ := t.wish(t.cmd, old, nil) // no pip is run
	if w.Index != packages.NoIndex {
		look.Index = w.Source()
	}
	look.For = fmt.Sprintf("tenant %q", t.config.Tenant)
	return look, nil
}

func (a *packageAdder) read() (*packages.Store, *packages.Lock, error) {
	s, err := a.tenancy.packageStore(a.ui)
	if err != nil {
		return nil, nil, err
	}
	s.Progress = nil // the terminal is the question's, and a client's log has no use for it
	old, ofProject, _, err := a.tenancy.lock(s)
	if err == nil && ofProject {
		err = errors.New("in this project its lock says what can be imported (.codemode/pylock.toml), and nothing is added")
	}
	return s, old, err
}

// Propose is bridge.PackageAdder's. What is there stays as it is: its user has chosen it, and it may be imported.
func (a *packageAdder) Propose(ctx context.Context, names []string) (p bridge.PackageProposal, err error) {
	s, old, err := a.read()
	if err != nil {
		return p, err
	}
	var asked []string
	for _, name := range names {
		if !old.Satisfies([]string{name}) {
			asked = append(asked, name)
		}
	}
	w, err := a.tenancy.wish(a.tenancy.cmd, old, asked)
	if err != nil {
		return p, err
	}
	lock, err := s.Resolve(ctx, w, old, nil)
	if err != nil {
		return p, err
	}
	changes := differences(old, lock)
	if len(changes) == 0 {
		p.Has, p.Lock = versions(old.Packages), proposedLock{old, old}
		return p, nil
	}
	for _, d := range changes {
		if d.what != "add" {
			return p, hint.New(
				fmt.Sprintf("%s is there, and would not stay as it is; nothing was added", d.pkg.Name),
				"the user can change it: codemode packages add "+hint.Words(names),
			)
		}
		p.Has = append(p.Has, d.pkg.Name+" "+d.pkg.Version)
	}
	p.Lock = proposedLock{old, lock}
	p.Rows = changeLines(changes)
	return p, nil
}

// Add is bridge.PackageAdder's.
func (a *packageAdder) Add(ctx context.Context, p bridge.PackageProposal) (string, error) {
	s, _, err := a.read()
	if err != nil {
		return "", err
	}
	of, ok := p.Lock.(proposedLock)
	if !ok {
		return "", errors.New("there is nothing that was proposed")
	}
	if err := s.Install(ctx, of.lock, of.old); err != nil {
		return "", err
	}
	layer, err := a.tenancy.layer(ctx, s, of.lock)
	return filepath.Base(layer.Host), err
}

func versions(list []packages.Package) (texts []string) {
	for _, p := range list {
		texts = append(texts, p.Name+" "+p.Version)
	}
	return texts
}

// changeLines are the lines of showChange, where there is no terminal to measure.
func changeLines(list []difference) []string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	rows, total := changeRows(list)
	for i, row := range rows {
		for _, c := range row {
			fmt.Fprintf(w, "%s\t", oneLine(c.text))
		}
		if list[i].pkg.Yanked() {
			fmt.Fprint(w, "withdrawn by its authors (yanked)")
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to memory
	var lines []string
	for line := range strings.Lines(text.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	if total > 0 {
		lines = append(lines, "to fetch: "+sizeText(total))
	}
	return lines
}
