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
	"codemode/internal/visible"

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
			&cli.StringFlag{
				Name:  "since",
				Usage: "`DURATION` how far to look back, such as 90m, 7d or 2w",
				Local: true,
			},
			&cli.BoolFlag{Name: "failed", Usage: "only those that did not end well", Local: true},
			&cli.IntFlag{
				Name:  "limit",
				Usage: "`N` calls to show at most, the last; 0 is all",
				Value: 100,
				Local: true,
			},
			&cli.BoolFlag{
				Name: "follow", Aliases: []string{"f"}, Usage: "go on with what is written from now on, until Ctrl-C",
				Local: true,
			},
			&cli.BoolFlag{Name: "json", Usage: "print the log's own lines, of runs, too", Local: true},
		}, append(settingFlags("tenant"), configFlag())...),
		Metadata: examples(
			"codemode audit --failed --since 24h", "codemode audit --server github --json | jq .ms",
			"codemode audit -f --limit 10",
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			return runAudit(ctx, env, ui, cmd)
		},
	}
}

// noted is a record, and its line in the log.
type noted struct {
	audit.Record
	line string
}

func runAudit(ctx context.Context, env Env, ui *ui, cmd *cli.Command) error {
	t, err := openTenancy(env, cmd)
	if err != nil {
		return err
	}
	q, err := readAuditQuery(cmd)
	if err != nil {
		return err
	}
	dir := t.auditDir()
	if dir == "" {
		return errors.New("there is no folder for the audit log: neither HOME nor XDG_STATE_HOME names one")
	}
	if cmd.Bool("follow") {
		return followAudit(ctx, env, ui, dir, q)
	}
	var list []noted
	skipped, err := audit.Read(dir, q.into(&list))
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	tellSkipped(ui, skipped)
	if list = q.chosen(list); len(list) == 0 {
		ui.note("note", q.none())
		return nil
	}
	return q.print(newSheet(env), list)
}

// tellSkipped tells of lines that are none.
func tellSkipped(ui *ui, skipped int) {
	if skipped > 0 {
		ui.warn(plural(skipped, "line", "lines") + " of the audit log cannot be read")
	}
}

// auditQuery is which records are wanted, and how.
type auditQuery struct {
	cmd   *cli.Command
	begin time.Time
	json  bool
	limit int
}

func readAuditQuery(cmd *cli.Command) (auditQuery, error) {
	q := auditQuery{cmd: cmd, json: cmd.Bool("json"), limit: cmd.Int("limit")}
	if typed := cmd.String("since"); cmd.IsSet("since") {
		d, ok := lookBack(typed)
		if !ok {
			return q, &usageError{
				msg: fmt.Sprintf("--since is %q; it must be a time such as 90m, 24h, 7d or 2w", typed),
			}
		}
		q.begin = time.Now().Add(-d)
	}
	if q.limit < 0 {
		return q, &usageError{msg: fmt.Sprintf("--limit is %d; it must be 0, which is all, or more", q.limit)}
	}
	for _, flag := range []string{"server", "tool"} {
		if _, err := path.Match(cmd.String(flag), ""); err != nil {
			return q, &usageError{msg: fmt.Sprintf("--%s %q is no pattern", flag, cmd.String(flag))}
		}
	}
	return q, nil
}

// into collects the records that are wanted, as far as each can be judged alone.
func (q auditQuery) into(list *[]noted) func(audit.Record, []byte) {
	return func(r audit.Record, line []byte) {
		if !r.Time.Before(q.begin) && wantsRecord(q.cmd, r) &&
			(q.json || r.Event != audit.RunBegins && r.Event != audit.RunEnded) {
			*list = append(*list, noted{r, string(line)})
		}
	}
}

// chosen are those of a list that are wanted, the last of them.
func (q auditQuery) chosen(list []noted) []noted {
	list = q.ended(answered(list))
	if q.limit > 0 && len(list) > q.limit {
		list = list[len(list)-q.limit:]
	}
	return list
}

// none says that nothing is wanted of what there is: a run may be there that has called nothing.
func (q auditQuery) none() string {
	if run := q.cmd.String("run"); run != "" {
		return "the audit log has no such call of run " + quote(run)
	}
	return "the audit log has no such call"
}

// ended leaves out, where only failures are wanted, what ended well.
func (q auditQuery) ended(list []noted) []noted {
	if !q.cmd.Bool("failed") {
		return list
	}
	return slices.DeleteFunc(
		list, func(r noted) bool { return r.Outcome == "ok" || r.Outcome == "success" || r.Event == audit.RunBegins },
	)
}

var auditHead = []string{"TIME", "RUN", "SERVER", "TOOL", "OUTCOME", "MS", "RULE"}

func (p sheet) auditHead() []cell {
	head := cells(auditHead...)
	for i := range head {
		head[i].colour = bold
	}
	return head
}

func (q auditQuery) print(s sheet, list []noted) error {
	if q.json {
		return printLines(s.out, list)
	}
	return s.table(auditHead, s.auditRows(list))
}

// printLines prints the log's own lines, with terminal controls made visible.
func printLines(out io.Writer, list []noted) error {
	for _, r := range list {
		if _, err := io.WriteString(out, visible.JSON(r.line)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (p sheet) auditRows(list []noted) [][]cell {
	rows := make([][]cell, 0, len(list))
	for _, r := range list {
		rows = append(rows, p.auditRow(r.Record))
	}
	return rows
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
			return time.Duration(
					n * hours * float64(time.Hour),
				), err == nil && n >= 0 &&
					n*hours < time.Duration(math.MaxInt64).Hours()
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

// roomForYear is how wide a terminal must be for the year of a call to be shown.
const roomForYear = 110

func (p sheet) auditRow(r audit.Record) []cell {
	at := r.Time.Local().Format("2006-01-02 15:04:05")
	if p.width > 0 && p.width < roomForYear {
		at = at[len("2006-"):]
	}
	outcome, colour := r.Outcome, green
	switch {
	case r.Event == audit.Sending:
		outcome, colour = "unanswered", yellow
	case outcome == "denied" || outcome == "unanswered":
		colour = yellow
	case outcome == "unsent":
		colour = dim
	case outcome != "ok":
		colour = red
	}
	took := ""
	if r.MS > 0 {
		took = fmt.Sprintf("%.1f", r.MS)
	}
	server, tool := r.Server, r.Tool
	if server != "" && r.Event != audit.Asked { // what is asked has words of codemode's
		server, tool = visible.Name(server), visible.Name(tool)
	}
	row := cells(at, r.Run, server, tool, outcome, took, strings.TrimSpace(r.Rule+" "+r.Note))
	row[4].colour = colour
	return row
}
