package commands

import (
	"context"
	"fmt"
	"time"

	"codemode/internal/hint"
	"codemode/internal/packages"

	"github.com/urfave/cli/v3"
)

// difference is what a change does to one package.
type difference struct {
	what   string
	pkg    packages.Package
	before string
}

func differences(old, lock *packages.Lock) (list []difference) {
	for _, p := range lock.Packages {
		before, had := old.Find(p.Name)
		switch {
		case !had:
			list = append(list, difference{"add", p, ""})
		case before.Version != p.Version || before.Wheel().Hashes["sha256"] != p.Wheel().Hashes["sha256"]:
			list = append(list, difference{"change", p, before.Version})
		}
	}
	for _, p := range old.Packages {
		if _, stays := lock.Find(p.Name); !stays {
			list = append(list, difference{"remove", p, ""})
		}
	}
	return list
}

// showChange says what would become of a lock, on stderr: it is a question, and not what was asked for.
func (t *tenancy) showChange(ui *ui, old, lock *packages.Lock) error {
	list := differences(old, lock)
	if len(list) == 0 {
		ui.note("note", "the versions stay as they are")
		return nil
	}
	for _, d := range list {
		if d.pkg.Yanked() && d.what != "remove" {
			ui.warn(fmt.Sprintf("%s %s was withdrawn by its authors (yanked)", d.pkg.Name, d.pkg.Version))
		}
	}
	rows, total := changeRows(list)
	out := newSheet(Env{Stdout: t.env.Stderr, Lookup: t.env.Lookup})
	if err := out.table([]string{"", "PACKAGE", "VERSION", "SIZE", "UPLOADED", "LICENCE"}, rows); err != nil {
		return err
	}
	if total > 0 {
		ui.note("packages", "to fetch: "+sizeText(total))
	}
	for _, note := range lock.Notes {
		ui.note("packages", note)
	}
	return nil
}

// installQuestion is about what changes, not about what is there already.
func installQuestion(list []difference) string {
	n := 0
	for _, d := range list {
		if d.what != "remove" {
			n++
		}
	}
	if n == 0 {
		return "remove " + countPackages(len(list)) + "?"
	}
	return "fetch and install " + countPackages(n) + "?"
}

// changeRows are differences as they are shown, and how many bytes are to be fetched for them.
func changeRows(list []difference) (rows [][]cell, total int64) {
	for _, d := range list {
		p, version := d.pkg, d.pkg.Version
		if d.before != "" {
			version = d.before + " -> " + version
		}
		if d.what != "remove" {
			total += p.Wheel().Size
		}
		rows = append(
			rows, cells(d.what, p.Name, version, sizeText(p.Wheel().Size), dateText(p), orDash(p.Licence())),
		)
	}
	return rows, total
}

func sizeText(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n < 100_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return megabytes(n)
}

func dateText(p packages.Package) string {
	if at := p.Wheel().Upload; !at.IsZero() {
		return at.UTC().Format(time.DateOnly)
	}
	return "-"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// packageRow is a package in JSON.
type packageRow struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Asked    bool      `json:"asked"` // by name, rather than needed by another
	Size     int64     `json:"size,omitempty"`
	Uploaded time.Time `json:"uploaded,omitzero"`
	Licence  string    `json:"licence,omitempty"`
	SHA256   string    `json:"sha256"`
}

func listPackagesCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the packages that code can import",
		Flags:    append([]cli.Flag{jsonFlag()}, tenantFlags()...),
		Metadata: examples("codemode packages list", "codemode packages list --json"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			t, s, err := openPackageStore(env, ui, cmd)
			if err != nil {
				return err
			}
			lock, ofProject, _, err := t.lock(s)
			if err != nil {
				return err
			}
			if ofProject && !cmd.Bool("json") {
				ui.note("packages", "this project's lock says what code here imports (.codemode/pylock.toml)")
			}
			rows, table := []packageRow{}, [][]cell{}
			for _, p := range lock.Packages {
				w, why := p.Wheel(), "needed"
				if lock.Wants(p.Name) {
					why = "asked for"
				}
				rows = append(rows, packageRow{
					p.Name, p.Version, lock.Wants(p.Name), w.Size, w.Upload, p.Licence(), w.Hashes["sha256"],
				})
				table = append(table, cells(p.Name, p.Version, why, sizeText(w.Size), dateText(p), orDash(p.Licence())))
			}
			out := newSheet(env)
			if cmd.Bool("json") {
				return out.json(rows)
			}
			if len(rows) == 0 {
				ui.note("note", "no package was added")
				ui.hints([]string{"to add some: codemode packages add NAME"})
				return nil
			}
			if _, lost := t.layer(ctx, s, lock); lost != nil {
				ui.warn(lost.Error(), hint.Of(lost)...)
			}
			return out.table([]string{"PACKAGE", "VERSION", "", "SIZE", "UPLOADED", "LICENCE"}, table)
		},
	}
}
