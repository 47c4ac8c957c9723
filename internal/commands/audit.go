package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"codemode/internal/audit"

	"github.com/urfave/cli/v3"
)

func auditCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "show what code has called, and what came of it",
		Description: "One line for each call of a tool, the oldest first. A call that was sent and has\n" +
			"no answer in the log is unanswered. Patterns may have * and ?.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "`ID` only this run, as a receipt names it", Local: true},
			&cli.StringFlag{Name: "server", Usage: "`PATTERN` only servers with such a name", Local: true},
			&cli.StringFlag{Name: "tool", Usage: "`PATTERN` only tools with such a name", Local: true},
			&cli.StringFlag{Name: "since", Usage: "`DURATION` how far to look back, such as 90m, 7d or 2w", Local: true},
			&cli.BoolFlag{Name: "failed", Usage: "only those that did not end well", Local: true},
			&cli.IntFlag{Name: "limit", Usage: "`N` calls to show at most, the last; 0 is all", Value: 100, Local: true},
			&cli.BoolFlag{Name: "json", Usage: "print the log's own lines, of runs, too", Local: true},
		}, append(settingFlags("tenant"), configFlag())...),
		Metadata: examples("codemode audit --failed --since 24h", "codemode audit --server github --json | jq .ms"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			return runAudit(env, ui, cmd)
		},
	}
}

// noted is a record, and its line in the log.
type noted struct {
	audit.Record
	line string
}

func runAudit(env Env, ui *ui, cmd *cli.Command) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	var begin time.Time
	if typed := cmd.String("since"); cmd.IsSet("since") {
		d, ok := lookBack(typed)
		if !ok {
			return &usageError{msg: fmt.Sprintf("--since is %q; it must be a time such as 90m, 24h, 7d or 2w", typed)}
		}
		begin = time.Now().Add(-d)
	}
	if n := cmd.Int("limit"); n < 0 {
		return &usageError{msg: fmt.Sprintf("--limit is %d; it must be 0, which is all, or more", n)}
	}
	dir := join(t.paths.TenantState(t.config.Tenant), "audit")
	if dir == "" {
		return errors.New("there is no folder for the audit log: neither HOME nor XDG_STATE_HOME names one")
	}
	for _, flag := range []string{"server", "tool"} {
		if _, err := path.Match(cmd.String(flag), ""); err != nil {
			return &usageError{msg: fmt.Sprintf("--%s %q is no pattern", flag, cmd.String(flag))}
		}
	}
	var list []noted
	skipped, err := audit.Read(dir, func(r audit.Record, line []byte) {
		if !r.Time.Before(begin) && wantsRecord(cmd, r) {
			list = append(list, noted{r, string(line)})
		}
	})
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	if skipped > 0 {
		ui.warn(fmt.Sprintf("%d lines of the audit log cannot be read", skipped))
	}
	if !cmd.Bool("json") {
		list = slices.DeleteFunc(list, func(r noted) bool { return r.Event != audit.Called && r.Event != audit.Sending })
	}
	list = answered(list)
	if cmd.Bool("failed") {
		list = slices.DeleteFunc(list, func(r noted) bool { return r.Outcome == "ok" || r.Outcome == "success" || r.Event == audit.RunBegins })
	}
	if n := cmd.Int("limit"); n > 0 && len(list) > n {
		list = list[len(list)-n:]
	}
	if cmd.Bool("json") {
		for _, r := range list {
			if _, err := io.WriteString(env.Stdout, r.line+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([][]cell, 0, len(list))
	for _, r := range list {
		rows = append(rows, auditRow(r.Record))
	}
	return newSheet(env).table([]string{"TIME", "RUN", "SERVER", "TOOL", "OUTCOME", "MS", "RULE"}, rows)
}

// answered leaves out that a call was sent where the log says what came of it.
func answered(list []noted) []noted {
	type call struct {
		run string
		n   int
	}
	ended := map[call]bool{}
	for _, r := range list {
		if r.Event == audit.Called {
			ended[call{r.Run, r.Call}] = true
		}
	}
	return slices.DeleteFunc(list, func(r noted) bool { return r.Event == audit.Sending && ended[call{r.Run, r.Call}] })
}

func wantsRecord(cmd *cli.Command, r audit.Record) bool {
	return (cmd.String("run") == "" || r.Run == cmd.String("run")) &&
		like(cmd.String("server"), r.Server) && like(cmd.String("tool"), r.Tool)
}

// lookBack reads a time as Go does, or in days or weeks.
func lookBack(typed string) (time.Duration, bool) {
	for unit, hours := range map[string]float64{"d": 24, "w": 7 * 24} {
		if number, ok := strings.CutSuffix(typed, unit); ok {
			n, err := strconv.ParseFloat(number, 64)
			return time.Duration(n * hours * float64(time.Hour)), err == nil && n >= 0 && n*hours < time.Duration(math.MaxInt64).Hours()
		}
	}
	d, err := time.ParseDuration(typed)
	return d, err == nil && d >= 0
}

// like is path.Match for names in which a slash is a character like any other. No pattern is all.
func like(pattern, name string) bool {
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok || pattern == ""
}

func auditRow(r audit.Record) []cell {
	outcome, colour := r.Outcome, green
	switch {
	case r.Event == audit.Sending:
		outcome, colour = "unanswered", yellow
	case outcome == "denied" || outcome == "unanswered":
		colour = yellow
	case outcome != "ok":
		colour = red
	}
	took := ""
	if r.MS > 0 {
		took = fmt.Sprintf("%.1f", r.MS)
	}
	row := cells(r.Time.Local().Format("2006-01-02 15:04:05"), r.Run, r.Server, r.Tool, outcome, took, strings.TrimSpace(r.Rule+" "+r.Note))
	row[4].colour = colour
	return row
}
