package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"codemode/internal/doctor"
	"codemode/internal/hint"
	"codemode/internal/sandbox/escape"

	"github.com/urfave/cli/v3"
)

// chosenAttempts are those that --attempt asks for, by their names or their groups'; nil is all of them.
func chosenAttempts(cmd *cli.Command) (func(escape.Attempt) bool, error) {
	asked := cmd.StringSlice("attempt")
	if len(asked) == 0 {
		return nil, nil
	}
	if !cmd.Bool("escape") {
		return nil, &usageError{
			"--attempt chooses attempts of --escape",
			[]string{"codemode doctor --escape --attempt " + hint.Word(asked[0])},
		}
	}
	known := slices.Clone(escape.Groups)
	for _, in := range []string{escape.InGuest, escape.InSession} {
		attempts, err := escape.Attempts(in)
		if err != nil {
			return nil, err
		}
		for _, a := range attempts {
			known = append(known, a.Name)
		}
	}
	for _, name := range asked {
		if !slices.Contains(known, name) {
			hints := hint.Nearest(name, known)
			if hints == nil {
				hints = hint.NearestOrAll(name, escape.Groups)
			}
			return nil, &usageError{"--attempt " + quote(name) + ": there is no such attempt, and no such group", hints}
		}
	}
	return func(a escape.Attempt) bool { return slices.Contains(asked, a.Name) || slices.Contains(asked, a.Group) }, nil
}

// escape has the attempts made that are asked for, when everything else has been examined: they take every processor.
func (p *patient) escape(
	ctx context.Context, only func(escape.Attempt) bool, show *findings, tell func(doctor.Finding),
) {
	if p.paths.Cache == "" {
		return // told already
	}
	check := doctor.Escapes(p.runtimes, doctor.Escaping{
		Only: only,
		Making: func(runtime, group string, done, of int) {
			p.ui.working(fmt.Sprintf("%s: %d of %d attempts to escape, %s", runtime, done, of, group))
		},
		Made: func(e doctor.Escape) { show.escapes = append(show.escapes, e) },
	})
	doctor.Run(ctx, []doctor.Check{check}, func(doctor.Check) {}, tell)
}

// cut tells what was seen of the attempts before they were interrupted; of runtimes where all were made, that is told.
func (s *findings) cut() {
	if len(s.escapes) == 0 {
		return
	}
	s.attempts()
	last := s.escapes[len(s.escapes)-1].Runtime
	made := slices.DeleteFunc(slices.Clone(s.escapes), func(e doctor.Escape) bool { return e.Runtime != last })
	s.add(
		doctor.Judge(
			doctor.Finding{Check: "escape", Subject: last}, made, errors.New("interrupted; the others were not made"),
		),
	)
}

// attempts shows how many attempts ended how, by group and runtime.
func (s *findings) attempts() {
	if len(s.escapes) == 0 || s.json || s.quiet {
		return
	}
	head := []string{"group", "runtime"}
	for _, end := range doctor.Ends {
		head = append(head, string(end))
	}
	var rows [][]cell
	for _, group := range escape.Groups {
		for _, runtime := range s.attempted() {
			made := slices.DeleteFunc(
				slices.Clone(s.escapes), func(e doctor.Escape) bool { return e.Group != group || e.Runtime != runtime },
			)
			if len(made) > 0 {
				rows = append(rows, s.attemptRow(group, runtime, doctor.Ended(made)))
			}
		}
	}
	if s.width > 0 {
		s.print("\n")
	}
	if err := s.table(head, rows); err != nil && s.err == nil {
		s.err = err
	}
}

// attempted are the runtimes on which attempts were made.
func (s *findings) attempted() (names []string) {
	for _, e := range s.escapes {
		if !slices.Contains(names, e.Runtime) {
			names = append(names, e.Runtime)
		}
	}
	return names
}

// attemptRow is a line of the table; for programs it begins as every other line does.
func (s *findings) attemptRow(group, runtime string, count map[doctor.End]int) []cell {
	if s.width == 0 {
		return cells("count", "escape", runtime, group+": "+doctor.Tally(count))
	}
	row := cells(group, runtime)
	for _, end := range doctor.Ends {
		c := cell{text: strconv.Itoa(count[end])}
		switch {
		case count[end] == 0:
			c.colour = dim
		case end == doctor.GotOut:
			c.colour = red
		case end == doctor.NotBegun:
			c.colour = yellow
		}
		row = append(row, c)
	}
	return row
}
