package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/doctor"

	"github.com/urfave/cli/v3"
)

// A report is a file to attach to a bug report, without private data.
type report struct {
	env  Env
	file string // empty is none, - is stdout
}

const otherReport = "name another file with --report"

// newReport refuses a place that cannot be written to before anything is examined for it.
func newReport(env Env, cmd *cli.Command) (report, error) {
	r := report{env, cmd.String("report")}
	if r.file == "" || r.file == "-" {
		return r, nil
	}
	if !filepath.IsAbs(r.file) {
		r.file = filepath.Join(env.Dir, r.file)
	}
	if _, err := os.Lstat(r.file); err == nil {
		return r, fmt.Errorf("writing the report %q: %w", r.file, &isThereError{otherReport})
	}
	if dir := filepath.Dir(r.file); !isFolder(dir) {
		return r, fmt.Errorf("writing the report %q: there is no folder %q; nothing was examined", r.file, dir)
	}
	return r, nil
}

func (r report) write(ui *ui, p *patient, found []doctor.Finding) error {
	switch r.file {
	case "":
		return nil
	case "-":
		_, err := fmt.Fprint(r.env.Stdout, p.report(found))
		return err
	}
	if err := writeNew(r.file, p.report(found), otherReport); err != nil {
		return fmt.Errorf("writing the report %q: %w", r.file, err)
	}
	ui.note("report", quote(r.file)+" holds no secret that codemode knows; read it before you attach it")
	return nil
}

// report is the whole text, redacted last so that nothing gets by.
func (p *patient) report(found []doctor.Finding) string {
	return reported(readVersion(), p.redactor(), p.findings(found))
}

// reported is a text without what others are not to see, below the line that says which codemode that is. A revision
// looks like a key, and is none.
func reported(v version, r *doctor.Redactor, text string) string {
	which := strings.TrimSpace(v.Version + " " + v.Revision)
	return fmt.Sprintf("codemode %s, %s, %s\n%s", which, v.Go, v.Platform, r.Text(text))
}

func (p *patient) findings(found []doctor.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nchecks\n\n", systemName())
	for _, f := range found {
		fmt.Fprintf(&b, "%-8s %s\n", f.Verdict, oneLine(strings.TrimSpace(f.Check+" "+f.Subject)+": "+f.Summary))
		for _, d := range f.Details {
			fmt.Fprintf(&b, "         %s\n", oneLine(d))
		}
		for _, t := range f.Remedy {
			fmt.Fprintf(&b, "         try: %s\n", oneLine(t))
		}
	}
	b.WriteString("\nsettings\n\n")
	for _, s := range p.explained.Values {
		fmt.Fprintf(&b, "%-22s %v (%s)\n", s.Name, s.Value, from(s.Origin))
	}
	b.WriteString("\nservers\n\n")
	for _, e := range p.entries() {
		fmt.Fprintf(
			&b, "%-12s %s, %s, %s, %s\n", e.Status, oneLine(e.Server.Name), transport(e.Server), e.Place(),
			programName(e.Server),
		)
	}
	return b.String()
}

// from is a layer and what of it.
func from(o config.Origin) string {
	switch {
	case o.File != "":
		return fmt.Sprintf("%s, %s:%d", o.Layer, o.File, o.Line)
	case o.Name != "":
		return fmt.Sprintf("%s, %s", o.Layer, o.Name)
	}
	return string(o.Layer)
}

// programName is the name of the program that a server is started with, and nothing of its arguments.
func programName(s config.Server) string {
	if s.Command == "" {
		return "by URL"
	}
	return filepath.Base(clientcfg.Masked(s).Command)
}

// redactor knows every secret that codemode could come across.
func (p *patient) redactor() *doctor.Redactor {
	r := doctor.NewRedactor(p.paths.Home)
	r.AddVariables(p.env.Environ)
	for _, e := range p.found.Entries {
		r.AddServer(e.Server)
		_, _ = p.expand(e.Server, r.AddVariable) // what cannot be expanded is started with nothing
	}
	return r
}

// systemName is the system, as it calls itself.
func systemName() string {
	data, _ := os.ReadFile("/etc/os-release") // freedesktop.org's, which other systems do not have
	name := runtime.GOOS
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			name = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(name + " " + strings.TrimSpace(string(kernel)))
}
