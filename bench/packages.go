package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/packages/packagestest"
)

// manyModules is how many modules each of the packages that are added has.
const manyModules = 60

const function = "def f(a, b=1):\n    return [a + i for i in range(b)]\n"

// packages measures what adding packages costs, and what a sandbox costs that has them.
func (b *bench) packages(context.Context) error {
	x := packagestest.NewIndex()
	defer x.Close()
	var names []string
	for n := range 5 {
		name := fmt.Sprintf("kit%d", n)
		w := packagestest.Wheel{Name: name, Version: "1.0", Files: map[string]string{name + "/__init__.py": ""}}
		for m := range manyModules {
			w.Files[fmt.Sprintf("%s/m%d.py", name, m)] = strings.Repeat(function, 200) // 400 lines, as one of pandas
			w.Files[name+"/__init__.py"] += fmt.Sprintf("from . import m%d\n", m)
		}
		x.Add(w)
		names = append(names, name)
	}
	env := func(state string) []string {
		return []string{"CODEMODE_PACKAGES_INDEX=" + x.URL(), "XDG_STATE_HOME=" + filepath.Join(b.dir, state)}
	}
	var added []time.Duration
	for n := range 3 {
		state := fmt.Sprintf("packages%d", n)
		d, err := timed(b.command(env(state), append([]string{"packages", "add", "--yes"}, names...)...))
		if err != nil {
			return err
		}
		added = append(added, d)
		if n < 2 { // what is there is not made again
			if err := os.RemoveAll(filepath.Join(b.dir, "cache", "codemode", "tenants")); err != nil {
				return err
			}
		}
	}
	first, again := added[0], added[1]
	b.add("`packages add` of 5 wheels with 300 modules from an index on loopback: with pip's unpacking, and without",
		fmt.Sprintf("%s and %s", ms(first), ms(again)), "5 s", met(first <= 5*time.Second))
	with, without, err := b.side(env("packages2"), env("none"), "print(1)", "print(1)")
	if err != nil {
		return err
	}
	b.add("`codemode exec -c 'print(1)'` with these packages, against without any",
		fmt.Sprintf("%s against %s: %+.2f ms", ms(with), ms(without), float64((with-without).Microseconds())/1000),
		"+2 ms", met(with-without <= 2*time.Millisecond))
	return b.imported(env("packages2"))
}

// side takes turns with two environments.
func (b *bench) side(one, other []string, first, second string) (time.Duration, time.Duration, error) {
	var with, without []time.Duration
	for range b.n {
		d, err := timed(b.command(one, "exec", "-c", first))
		if err != nil {
			return 0, 0, err
		}
		with = append(with, d)
		if d, err = timed(b.command(other, "exec", "-c", second)); err != nil {
			return 0, 0, err
		}
		without = append(without, d)
	}
	return median(with), median(without), nil
}

// imported compares an import in the sandbox with the same of the same folder outside, each timed by Python itself.
func (b *bench) imported(env []string) error {
	found, err := filepath.Glob(filepath.Join(b.dir, "cache", "codemode", "tenants", "*", "packages", "layers", "*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("layers: %q, %w", found, err)
	}
	const code = "import time; t = time.perf_counter(); import kit0, kit1, kit2; print(time.perf_counter() - t)"
	outside := fmt.Sprintf("import sys; sys.path.append(%q); %s", found[0], code)
	var ours, bare []time.Duration
	for range b.n {
		for _, m := range []struct {
			cmd  *exec.Cmd
			took *[]time.Duration
		}{{b.command(env, "exec", "-c", code), &ours}, {exec.Command(b.python, "-I", "-B", "-c", outside), &bare}} {
			out, err := m.cmd.Output()
			if err != nil {
				return err
			}
			took, err := time.ParseDuration(strings.TrimSpace(string(out)) + "s")
			if err != nil {
				return err
			}
			*m.took = append(*m.took, took)
		}
	}
	o, p := median(ours), median(bare)
	b.add("180 modules of them imported in the sandbox, against outside of it, as Python times it",
		fmt.Sprintf("%s against %s: %.2f ×", ms(o), ms(p), float64(o)/float64(p)), "1.1 ×", met(10*o <= 11*p))
	return nil
}
