package install

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/require"
)

// TestMain makes the test binary a program that installs, for those tests that need one.
func TestMain(m *testing.M) {
	root, name := os.Getenv("INSTALL_ROOT"), os.Getenv("INSTALL_NAME")
	if root == "" {
		os.Exit(m.Run())
	}
	i := newInstaller(root)
	req := Request{Scope: clientcfg.User, Name: name}
	for _, c := range clientcfg.Clients() {
		if c.ID == "cursor" {
			req.Client = c
		}
	}
	for n, begun := 0, time.Now(); n < 20 || name == DefaultName; n++ {
		if n == 1 {
			fmt.Println(time.Since(begun)) // how long one turn takes here: ready
		}
		for _, r := range slices.Concat(i.Install(context.Background(), req), i.Uninstall(context.Background(), req)) {
			if !r.Done() && !errors.Is(r.Err, errBusy) {
				fmt.Println(r.Err)
				os.Exit(1)
			}
		}
	}
	for _, r := range i.Install(context.Background(), req) {
		for !r.Done() {
			r = i.Install(context.Background(), req)[0]
		}
	}
}

func installer(t *testing.T, root, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "INSTALL_ROOT="+root, "INSTALL_NAME="+name)
	return cmd
}

// TestKilled kills a program that installs and uninstalls all the time, at hundreds of moments. The file is the old one
// or the new one, always; and what is left beside it goes with the next.
func TestKilled(t *testing.T) {
	kills := 50
	if require.Named("random") {
		kills = 200
	}
	root := t.TempDir()
	pad := strings.Repeat("x", 64<<10) // a file of some pages
	old := fmt.Sprintf(`{"mcpServers": {"a": {"command": "a"}}, "pad": %q}`, pad)
	i, req, path := cursorAt(t, root, old)
	i.Install(t.Context(), req)
	whole := read(t, path)
	seen := map[string]int{}
	for n := range kills {
		cmd := installer(t, root, DefaultName)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		turn, err := time.ParseDuration(strings.TrimSpace(line))
		if err != nil {
			t.Errorf("it said %q instead of how long a turn takes", line)
		}
		_ = pause(t.Context(), rand.N(2*turn+1))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		switch text := read(t, path); text {
		case old, whole:
			seen[text]++
		default:
			t.Fatalf("killed %d times, and the file is %d bytes of neither", n+1, len(text))
		}
	}
	if seen[old] == 0 || seen[whole] == 0 {
		t.Errorf("%d times the old one and %d times the new one: the moments were not random", seen[old], seen[whole])
	}
	i.Install(t.Context(), req)
	r := only(t, i.Uninstall(t.Context(), req), path)
	if r.Err != nil || read(t, path) != old {
		t.Errorf("after all that: %v, %d bytes", r.Err, len(read(t, path)))
	}
}

// TestWritersAtOnce has two programs install, while a client counts in the same file and must find its last number
// there each time: nobody's change is lost.
func TestWritersAtOnce(t *testing.T) {
	root := t.TempDir()
	_, _, path := cursorAt(t, root, `{"count": 0, "mcpServers": {}}`)
	write(t, path+".other", "")
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for range 2 {
		if err := swap(dir, "mcp.json.other", "mcp.json"); err != nil {
			require.Lacking(t, "exchange", "this system does not exchange files: %v", err)
		}
	}
	a, b := installer(t, root, "one"), installer(t, root, "two")
	for _, cmd := range []*exec.Cmd{a, b} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 2)
	go func() { ended <- a.Wait() }()
	go func() { ended <- b.Wait() }()
	count := 0
	for left := 2; left > 0; {
		select {
		case err := <-ended:
			if left--; err != nil {
				t.Error(err)
			}
		case <-time.After(3 * time.Millisecond):
			count = countOn(t, path, count)
		}
	}
	var last struct {
		Count   int
		Servers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(read(t, path)), &last); err != nil {
		t.Fatal(err)
	}
	if last.Count != count || last.Servers["one"] == nil || last.Servers["two"] == nil {
		t.Errorf("%+v, and the client counted to %d", last, count)
	}
}

// countOn is what a client does that replaces its file only while that is what it has read, as codemode does.
func countOn(t *testing.T, path string, count int) int {
	t.Helper()
	f, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	is := fmt.Sprintf(`"count": %d,`, count)
	if !strings.Contains(string(f.data), is) {
		t.Fatalf("the client wrote %s and finds %s", is, f.data)
	}
	text := strings.Replace(string(f.data), is, fmt.Sprintf(`"count": %d,`, count+1), 1)
	write(t, filepath.Join(filepath.Dir(path), "client.tmp"), text)
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	switch err := exchange(dir, "client.tmp", filepath.Base(path), f.data); {
	case err == nil:
		return count + 1
	case errors.Is(err, errChanged):
		return count
	default:
		t.Fatal(err)
		return 0
	}
}
