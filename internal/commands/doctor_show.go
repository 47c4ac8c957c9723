package commands

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"codemode/internal/doctor"

	"github.com/urfave/cli/v3"
)

// findings shows what a doctor finds as it is found: on a terminal for people, elsewhere as lines with tabs.
type findings struct {
	sheet
	list    []doctor.Finding
	escapes []doctor.Escape
	json    bool
	quiet   bool // a report goes to stdout instead
	err     error
}

func newFindings(env Env, cmd *cli.Command) *findings {
	return &findings{
		sheet: newSheet(env), list: []doctor.Finding{}, json: cmd.Bool("json"), quiet: cmd.String("report") == "-",
	}
}

// marks stand for verdicts on a terminal.
var marks = map[doctor.Verdict]cell{
	doctor.OK:      {"✓", green},
	doctor.Warning: {"!", yellow},
	doctor.Failed:  {"✗", red},
	doctor.Skipped: {"–", dim},
}

// labelWidth is that of what was examined, as "runtime podman"; a longer one shifts its line.
const labelWidth = 18

func (s *findings) add(f doctor.Finding) {
	s.list = append(s.list, f)
	switch {
	case s.json, s.quiet:
	case s.width == 0:
		s.plain(f)
	default:
		s.pretty(f)
	}
}

// plain is a line for each thing that is said, which programs cut at the tabs.
func (s *findings) plain(f doctor.Finding) {
	line := func(kind, text string) {
		fields := []string{kind, f.Check, f.Subject, text}
		for i, field := range fields {
			fields[i] = strings.ReplaceAll(oneLine(field), "\t", " ")
		}
		s.print(strings.Join(fields, "\t") + "\n")
	}
	line(string(f.Verdict), f.Summary)
	for _, d := range f.Details {
		line("detail", d)
	}
	for _, r := range f.Remedy {
		line("try", r)
	}
}

func (s *findings) pretty(f doctor.Finding) {
	label := oneLine(strings.TrimSpace(f.Check + " " + f.Subject))
	pad := strings.Repeat(" ", max(labelWidth-utf8.RuneCountInString(label), 0))
	mark := marks[f.Verdict]
	s.print(s.paint(mark.text, mark.colour) + " " + s.paint(label, bold) + pad + " ")
	s.wrapped(f.Summary, "")
	for _, d := range f.Details {
		s.print(strings.Repeat(" ", labelWidth+3))
		s.wrapped(d, dim)
	}
	for _, r := range f.Remedy {
		s.print(strings.Repeat(" ", labelWidth+3))
		s.wrapped("try: "+r, cyan)
	}
}

// wrapped prints a text beside the labels, in as many lines as it takes.
func (s *findings) wrapped(text, colour string) { s.print(s.wrap(labelWidth+3, text, colour) + "\n") }

func (s *findings) print(text string) {
	if _, err := fmt.Fprint(s.out, text); err != nil && s.err == nil {
		s.err = err
	}
}

// doctorJSON is what `codemode doctor --json` prints.
type doctorJSON struct {
	OK       bool             `json:"ok"`
	Codemode version          `json:"codemode"`
	System   string           `json:"system,omitempty"`
	Summary  doctor.Summary   `json:"summary"`
	Checks   []doctor.Finding `json:"checks"`
	Escapes  []doctor.Escape  `json:"escapes,omitempty"` // with --escape, every attempt
}

// finish says what it all comes to.
func (s *findings) finish() error {
	s.attempts()
	sum := doctor.Count(s.list)
	text := fmt.Sprintf(
		"%d ok, %s, %d failed, %d skipped", sum.OK, plural(sum.Warnings, "warning", "warnings"), sum.Failed,
		sum.Skipped,
	)
	verdict := doctor.OK
	if sum.Failed > 0 {
		verdict = doctor.Failed
	}
	switch {
	case s.json:
		return s.sheet.json(doctorJSON{verdict == doctor.OK, readVersion(), systemName(), sum, s.list, s.escapes})
	case s.quiet:
	case s.width == 0:
		s.print(fmt.Sprintf("%s\tsummary\t\t%s\n", verdict, text))
	default:
		s.print("\n" + s.paint(text, marks[verdict].colour) + "\n")
	}
	return s.err
}
