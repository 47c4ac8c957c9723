package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// imported compares imports in the sandbox with the same outside: of the packages that were added, in the same folder,
// and of pandas, where python3 has it.
func (b *bench) imported(env []string) error {
	found, err := filepath.Glob(filepath.Join(b.dir, "cache", "codemode", "tenants", "*", "packages", "layers", "*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("layers: %q, %w", found, err)
	}
	const kits, pandas, python = "import kit0, kit1, kit2", "import pandas", "/usr/bin/python3"
	err = b.importing("180 modules of them imported in the sandbox, against outside of it, as Python times it", kits,
		b.command(env, "exec"), exec.Command(b.python, "-I", "-B"), found[0])
	if err != nil || exec.Command(python, "-c", pandas).Run() != nil {
		return err
	}
	return b.importing("`import pandas` with Debian's Python and packages, the same", pandas,
		b.command(nil, "exec", "--python", python), exec.Command(python, "-I", "-B"), "")
}

// importing takes turns with code inside, and outside with one more folder to import from.
func (b *bench) importing(what, code string, inside, outside *exec.Cmd, folder string) error {
	code = "import time; t = time.perf_counter(); " + code + "; print(time.perf_counter() - t)"
	runs := []struct {
		cmd  *exec.Cmd
		code string
		took []time.Duration
	}{{cmd: inside, code: code}, {cmd: outside, code: fmt.Sprintf("import sys; sys.path.append(%q); %s", folder, code)}}
	for range b.n {
		for i := range runs {
			m := &runs[i]
			cmd := exec.Command(m.cmd.Path, append(m.cmd.Args[1:len(m.cmd.Args):len(m.cmd.Args)], "-c", m.code)...)
			cmd.Env, cmd.Dir = m.cmd.Env, m.cmd.Dir
			out, err := cmd.Output()
			if err != nil {
				return err
			}
			took, err := time.ParseDuration(strings.TrimSpace(string(out)) + "s")
			if err != nil {
				return err
			}
			m.took = append(m.took, took)
		}
	}
	var ratios []float64 // of turns, which what else goes on disturbs alike
	for i, took := range runs[0].took {
		ratios = append(ratios, float64(took)/float64(runs[1].took[i]))
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	b.add(what, fmt.Sprintf("%s against %s: %.2f ×", ms(median(runs[0].took)), ms(median(runs[1].took)), ratio),
		"1.1 ×", met(ratio <= 1.1))
	return nil
}
