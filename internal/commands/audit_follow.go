package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"codemode/internal/audit"
)

// auditWidths are those of the columns of rows that come one by one: of the last there is what is left.
var auditWidths = []int{19, 12, 16, 24, 10, 9, 0}

// followAudit prints what the log has, as without --follow, and then each record that is wanted as it is written. It
// ends with its reader, or when it is told to, which is how such a command ends well.
func followAudit(ctx context.Context, env Env, ui *ui, dir string, q auditQuery) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	defer ignoreBrokenPipe()()
	out := newSheet(env)
	widths := slices.Clone(auditWidths)
	fit(widths[:len(widths)-1], out.width-minLast)
	var list []noted
	first, told := true, 0
	err := audit.Follow(ctx, dir, q.into(&list), func(skipped int) error {
		tellSkipped(ui, skipped-told)
		told = skipped
		fresh := list
		list = nil
		switch {
		case first && out.width > 0 && !q.json:
			first = false
			return out.more(widths, append([][]cell{out.auditHead()}, out.auditRows(q.chosen(fresh))...))
		case first:
			first = false
			return q.print(out, q.chosen(fresh))
		case unread(env.Stdout):
			return errNoReader
		case q.json:
			return printLines(out.out, q.ended(fresh))
		}
		// What is only being sent has no outcome to show.
		fresh = slices.DeleteFunc(fresh, func(r noted) bool { return r.Event == audit.Sending })
		return out.more(widths, out.auditRows(q.ended(fresh)))
	})
	switch {
	case errors.Is(err, errNoReader), err != nil && errors.Is(unwritable("output", err), errNoReader):
		return nil
	case err != nil:
		return fmt.Errorf("following the audit log: %w", err)
	}
	return nil
}
