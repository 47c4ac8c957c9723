package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const gigabyte = 1 << 30

// files measures what code is given and leaves: a gigabyte in and out, against cp, and ten thousand files.
func (b *bench) files(ctx context.Context) error {
	big := filepath.Join(b.dir, "big")
	if err := writeLarge(big); err != nil {
		return err
	}
	defer os.Remove(big)
	for _, measure := range []func(context.Context, string) error{b.fileIn, b.fileOut, b.manyFiles} {
		if err := measure(ctx, big); err != nil {
			return err
		}
	}
	return nil
}

func writeLarge(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	piece := []byte(strings.Repeat("0123456789abcde\n", 1<<16))
	for range gigabyte / len(piece) {
		if _, err := f.Write(piece); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

const largeRounds = 5

// fileIn reads all of a file that is given, beside cp of it.
func (b *bench) fileIn(_ context.Context, big string) error {
	const read = "buf = bytearray(1 << 20)\nwith open('big', 'rb', buffering=0) as f:\n    while f.readinto(buf): pass"
	var copied, begun, all []time.Duration
	for range largeRounds {
		for _, m := range []struct {
			cmd  *exec.Cmd
			took *[]time.Duration
		}{
			{exec.Command("cp", big, big+"-copy"), &copied},
			{b.command(nil, "exec", "--file", big, "-c", "open('big', 'rb').read(1)"), &begun},
			{b.command(nil, "exec", "--file", big, "-c", read), &all},
		} {
			d, err := timed(m.cmd)
			if err != nil {
				return err
			}
			*m.took = append(*m.took, d)
			_ = os.Remove(big + "-copy")
		}
	}
	c, first, whole := median(copied), median(begun), median(all)
	b.add("1 GiB in by `exec --file`: its first byte read, and all of it, whole process, against cp",
		fmt.Sprintf("%s and %s against %s: %.2f ×", ms(first), ms(whole), ms(c), float64(whole)/float64(c)),
		"2 ×", met(whole <= 2*c))
	return nil
}

// fileOut has a run leave a gigabyte that is in its sandbox, beside cp of as much from memory to the same disk.
func (b *bench) fileOut(ctx context.Context, big string) error {
	cs, cmd, err := b.connect(ctx, "CODEMODE_SANDBOX_WORK_SIZE=1100m", "CODEMODE_SANDBOX_MEMORY=2g",
		"CODEMODE_DISK_MAX_SIZE=1200m")
	if err != nil {
		return err
	}
	defer cs.Close()
	shm := filepath.Join("/dev/shm", filepath.Base(b.dir))
	defer os.Remove(shm)
	var left, copied []time.Duration
	for n := range largeRounds {
		make := fmt.Sprintf("piece = b'%d' * (1 << 20)\nwith open('big', 'wb') as f:\n"+
			"    for _ in range(1024): _ = f.write(piece)", n)
		if _, err := python(ctx, cs, make); err != nil {
			return err
		}
		began := time.Now()
		text, err := python(ctx, cs, "_ = artifact('big')")
		if err != nil || !strings.Contains(text, "kept") {
			return fmt.Errorf("an artifact of 1 GiB: %q, %w", text, err)
		}
		left = append(left, time.Since(began))
		if _, err := python(ctx, cs, "os = __import__('os'); os.remove('big'); os.remove('out/big')"); err != nil {
			return err
		}
		if _, err := timed(exec.Command("cp", big, shm)); err != nil {
			return err
		}
		d, err := timed(exec.Command("cp", shm, big+"-copy"))
		if err != nil {
			return err
		}
		copied = append(copied, d)
		_, _ = os.Remove(shm), os.Remove(big+"-copy")
	}
	l, c, peak := median(left), median(copied), status(cmd.Process.Pid, "VmHWM:")
	b.add("1 GiB out as an artifact, hashed, against cp from memory to the same disk",
		fmt.Sprintf("%s against %s: %.2f ×, host peak %d MB", ms(l), ms(c), float64(l)/float64(c), peak/1024),
		"2 ×, 64 MB", met(l <= 2*c && peak <= 64<<10))
	return nil
}

// manyFiles mounts a folder of ten thousand files, and one of one.
func (b *bench) manyFiles(context.Context, string) error {
	many, one := filepath.Join(b.dir, "many"), filepath.Join(b.dir, "one")
	for dir, n := range map[string]int{many: 10_000, one: 1} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		for i := range n {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
				return err
			}
		}
	}
	var took [2][]time.Duration
	for range b.n {
		for i, dir := range []string{many, one} {
			d, err := timed(b.command(nil, "exec", "--mount", dir, "-c", "1"))
			if err != nil {
				return err
			}
			took[i] = append(took[i], d)
		}
	}
	m, o := median(took[0]), median(took[1])
	b.add("`exec --mount` of a folder with 10,000 files, whole process, against one with one",
		fmt.Sprintf("%s against %s: %.2f ×", ms(m), ms(o), float64(m)/float64(o)), "1.1 ×",
		met(float64(m) <= 1.1*float64(o)))
	return nil
}
