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
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

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
	ended := make(chan error, 2)
	var wait sync.WaitGroup
	t.Cleanup(wait.Wait)
	for _, name := range []string{"one", "two"} {
		cmd := installer(t, root, name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // after a failure it runs still
		wait.Go(func() { ended <- cmd.Wait() })
	}
	c := counter{path: path}
	for left := 2; left > 0; {
		select {
		case err := <-ended:
			if left--; err != nil {
				t.Error(err)
			}
		case <-time.After(3 * time.Millisecond):
			c.count(t)
		}
	}
	var last struct {
		Servers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal(c.read(t).data, &last); err != nil {
		t.Fatal(err)
	}
	if last.Servers["one"] == nil || last.Servers["two"] == nil {
		t.Errorf("%+v is what two programs have left", last)
	}
}

// counter is a client that counts in its file, and replaces that only while it is what it has read, as codemode does.
type counter struct {
	path   string
	last   int  // that it knows to be in the file
	unsure bool // the next may be there, too: another program may have read it before it was taken back, and kept it
}

// read reads the file, which must hold the client's number. What another program puts there and takes back at once,
// since the client wrote in between, the client may see; it looks again.
func (c *counter) read(t *testing.T) file {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; _ = pause(t.Context(), time.Millisecond) {
		f, err := open(c.path)
		if err != nil {
			t.Fatal(err)
		}
		switch n := int(gjson.GetBytes(f.data, "count").Int()); {
		case n == c.last, c.unsure && n == c.last+1:
			c.last, c.unsure = n, false
			return f
		case time.Now().After(end):
			t.Fatalf("the client wrote %d (perhaps one more: %v) and finds %s", c.last, c.unsure, f.data)
		}
	}
}

// count writes the next number.
func (c *counter) count(t *testing.T) {
	t.Helper()
	f := c.read(t)
	is, next := fmt.Sprintf(`"count": %d,`, c.last), fmt.Sprintf(`"count": %d,`, c.last+1)
	write(t, filepath.Join(filepath.Dir(c.path), "client.tmp"), strings.Replace(string(f.data), is, next, 1))
	dir, err := os.OpenRoot(filepath.Dir(c.path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	switch err := (&Installer{}).exchange(dir, "client.tmp", filepath.Base(c.path), f.data); {
	case err == nil:
		c.last++
	case errors.Is(err, errChanged):
		c.unsure = true
	default:
		t.Fatal(err)
	}
}
