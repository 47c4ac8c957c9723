package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"codemode/internal/catalog/store"
	"codemode/internal/fileerr"
	"codemode/internal/sandbox/python"
)

const fixes = "codemode doctor --fix"

// Python proves that the interpreter of guests is whole, and runs it.
func Python(source python.Source) Check {
	return Check{
		Name: "python", Proves: "that Python is as it was unpacked",
		Examine: func(ctx context.Context, found func(Finding)) { found(interpreter(ctx, source)) },
	}
}

func interpreter(ctx context.Context, source python.Source) Finding {
	if source.Interpreter == "" && python.Carries() == "" {
		return Finding{Verdict: Skipped, Summary: "codemode carries none for this system: containers have theirs"}
	}
	py, err := source.Prepare(ctx)
	if err == nil {
		err = py.Verify()
	}
	f := Finding{Verdict: Failed}
	if err != nil {
		f.Summary = err.Error()
		if source.Interpreter == "" {
			f.Remedy = []string{fixes}
		}
		return f
	}
	if err := py.Try(ctx); err != nil {
		f.Summary = err.Error()
		return f
	}
	f.Verdict, f.Summary = OK, fmt.Sprintf("the embedded Python %s is as it was unpacked, and runs", py.Version)
	if !py.Embedded {
		f.Summary = fmt.Sprintf("%q is Python %s, and runs", source.Interpreter, py.Version)
	}
	return f
}

// Folders proves that codemode can write where it keeps things.
func Folders(state, cache string) []Check {
	one := func(name, dir, variable string, bad Verdict) Check {
		return Check{
			Name: name, Proves: "that codemode can write its " + name,
			Examine: func(_ context.Context, found func(Finding)) {
				f := Finding{Verdict: OK, Summary: fmt.Sprintf("%q can be written", dir)}
				if err := writable(dir); err != nil {
					f.Verdict, f.Summary = bad, fmt.Sprintf("%q cannot be written: %v", dir, err)
					f.Remedy = []string{
						fmt.Sprintf("give this user a folder it can write to, or set %s to one", variable),
					}
				}
				if dir == "" {
					f.Verdict, f.Summary = bad, "there is no folder for it: neither HOME nor "+variable+" names one"
				}
				found(f)
			},
		}
	}
	return []Check{
		one("state", state, "XDG_STATE_HOME", Failed),
		one("cache", cache, "XDG_CACHE_HOME", Warning), // one that is filled needs no more
		{
			Name:   "disk",
			Proves: "that there is space left",
			Examine: func(_ context.Context, found func(Finding)) {
				found(disk(freeSpace, state, cache, os.TempDir()))
			},
		},
	}
}

// AuditLog proves that what code does can be recorded, in a folder of the tenant's; try looks at what is there.
// required says that nothing is called where it cannot be.
func AuditLog(dir string, required bool, try func(dir string) error) Check {
	return Check{
		Name: "audit", Proves: "that the audit log can be written",
		Examine: func(_ context.Context, found func(Finding)) {
			err := writable(dir)
			if err == nil {
				err = try(dir)
			}
			switch {
			case err == nil:
				found(Finding{Verdict: OK, Summary: "the audit log can be written"})
			case required:
				found(Finding{
					Verdict: Failed,
					Summary: fmt.Sprintf(
						"the audit log in %q cannot be written, and no tool is called: %v", dir, fileerr.Cause(err),
					),
					Remedy: []string{"let this user write what is there, or do without: audit.required = false"},
				})
			default:
				found(Finding{
					Verdict: Warning,
					Summary: fmt.Sprintf(
						"the audit log in %q cannot be written, and results say so: %v", dir, fileerr.Cause(err),
					),
					Remedy: []string{"let this user write what is there, or do without: audit.keep = 0"},
				})
			}
		},
	}
}

// writable makes a file in a folder, or where the folder would be made. Nothing stays.
func writable(dir string) error {
	for {
		f, err := os.CreateTemp(dir, ".codemode-doctor-*")
		if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return fileerr.Cause(err)
		}
		_, err = f.WriteString("written")
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
}

// Python takes 60 MB; the least is what a day's tool lists, logs and outputs may take.
const (
	fewBytes    = 500 << 20
	tooFewBytes = 50 << 20
)

// disk looks at the fullest of several disks.
func disk(free func(dir string) (uint64, error), dirs ...string) Finding {
	least, where := uint64(0), ""
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		existing := dir
		for existing != filepath.Dir(existing) {
			if _, err := os.Stat(existing); err == nil {
				break
			}
			existing = filepath.Dir(existing)
		}
		if n, err := free(existing); err == nil && (where == "" || n < least) {
			least, where = n, dir
		}
	}
	f := Finding{Verdict: OK, Summary: fmt.Sprintf("%d MB are free for %q", least>>20, where)}
	switch {
	case where == "":
		return Finding{Verdict: Skipped, Summary: "how much space is left cannot be told"}
	case least < tooFewBytes:
		f.Verdict = Failed
	case least < fewBytes:
		f.Verdict = Warning
	}
	if f.Verdict != OK {
		f.Remedy = []string{"free some space there; what codemode has cached can be removed: it is made again"}
	}
	return f
}

// A Kept is where a tenant's things are kept.
type Kept struct {
	State string   // the tenant's: approvals, outputs
	Tools string   // the tenant's tool lists
	Own   []string // files of codemode's own that hold what servers are given, such as secrets

	ReadSecrets func() error // the tenant's
}

// Files looks at what codemode keeps: whether it is this user's alone, and whole.
func Files(k Kept) Check {
	return Check{
		Name: "files", Proves: "that what codemode keeps is whole, and yours alone",
		Examine: func(_ context.Context, found func(Finding)) {
			open, damaged := k.open(), store.New(k.Tools, nil).Damaged()
			if len(open) > 0 {
				found(Finding{
					Verdict: Warning, Summary: "others can read or change what is yours alone",
					Details: open, Remedy: []string{fixes},
				})
			}
			if len(damaged) > 0 {
				found(Finding{
					Verdict: Warning,
					Summary: fmt.Sprintf(
						"%d of the kept tool lists cannot be read; the servers are asked again", len(damaged),
					),
					Details: damaged,
					Remedy:  []string{fixes},
				})
			}
			secrets := k.ReadSecrets()
			if secrets != nil && len(open) == 0 { // else it may be no more than that
				found(Finding{
					Verdict: Warning, Summary: secrets.Error() + "; servers that refer to one cannot start",
					Remedy: []string{"mend that file, or move it away and keep them again: codemode secrets set NAME"},
				})
			}
			if len(open)+len(damaged) == 0 && secrets == nil {
				found(Finding{Verdict: OK, Summary: "approvals and tool lists are whole, and yours alone"})
			}
		},
	}
}

// open are the files that others may read or write and should not.
func (k Kept) open() (list []string) {
	if othersMay == 0 {
		return nil
	}
	look := func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.Type() == fs.ModeSymlink {
			return nil // unreadable is told elsewhere, and a link has no mode
		}
		if info, err := e.Info(); err == nil && info.Mode().Perm()&othersMay != 0 && info.Mode().IsRegular() {
			list = append(list, name)
		}
		return nil
	}
	for _, dir := range slices.Concat([]string{k.State, k.Tools}, k.Own) {
		if dir != "" {
			_ = filepath.WalkDir(dir, look)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Repairs are the remedies that are safe: nothing is lost, approved, fetched or installed by them. They are checks that
// tell what they have done, and nothing where there was nothing to do.
func Repairs(k Kept, source python.Source) []Check {
	repair := func(proves string, do func(ctx context.Context, done func(string)) error) Check {
		return Check{Name: "repair", Proves: proves, Examine: func(ctx context.Context, found func(Finding)) {
			err := do(ctx, func(what string) { found(Finding{Verdict: OK, Summary: what}) })
			if err != nil {
				found(Finding{Verdict: Failed, Summary: err.Error()})
			}
		}}
	}
	return []Check{
		repair("Python", func(ctx context.Context, done func(string)) error {
			if source.Interpreter != "" || python.Carries() == "" {
				return nil
			}
			damage, err := source.Repair(ctx)
			if err == nil && damage != nil {
				done("Python is unpacked again: " + damage.Error())
			}
			return err
		}),
		repair("tool lists", func(_ context.Context, done func(string)) error {
			lists := store.New(k.Tools, nil)
			for _, name := range lists.Damaged() {
				if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				done(fmt.Sprintf("removed the tool list %q, which could not be read", name))
			}
			return lists.Prune(time.Now())
		}),
		repair("modes", func(_ context.Context, done func(string)) error {
			for _, name := range k.open() {
				if err := os.Chmod(name, 0o600); err != nil {
					return err
				}
				done(fmt.Sprintf("%q is yours alone", name))
			}
			return nil
		}),
	}
}
