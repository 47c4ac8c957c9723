package bridge

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/require"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/sandbox/sandboxtest"
)

// pandasImage is made by .ci/engines/setup.
const pandasImage = "localhost/codemode-test:pandas"

// onEachEngine runs a test with a bridge whose sandboxes are containers, with one in the pool.
func onEachEngine(t *testing.T, test func(t *testing.T, k *kit)) {
	onEachEngineWith(t, nil, test, fake("data"))
}

// onEachEngineWith is onEachEngine with options and servers of the test's own.
func onEachEngineWith(t *testing.T, change func(*Options), test func(t *testing.T, k *kit), servers ...config.Server) {
	if runtime.GOOS != "linux" {
		t.Skip("engines are tested where they are installed")
	}
	sandboxtest.EachContainer(t, func(t *testing.T, engine, feature string) {
		rt := container.New(containerOptions(engine, t.TempDir()))
		present, err := rt.Image().Present(t.Context())
		if err != nil || !present {
			require.Lacking(t, feature, "%v", errors.Join(err, errors.New("image "+pandasImage+": see .ci/engines")))
		}
		test(t, newKitOn(t, sandbox.NewPool(rt, 1, 0, nil), change, servers...))
	})
}

func containerOptions(engine, cache string) container.Options {
	o := container.Options{Engine: engine, Image: pandasImage, CacheDir: cache, Lookup: os.LookupEnv}
	if engine == container.Kubernetes {
		o.Image = sandboxtest.PodImage()
	}
	return o
}

// TestContainers is a run that takes rows from a tool, groups them with pandas and shows a plot.
func TestContainers(t *testing.T) {
	onEachEngine(t, func(t *testing.T, k *kit) {
		if k.opts.Runtime.Name() == container.Kubernetes {
			t.Skip("the image of its node has no pandas")
		}
		o := k.run(Request{Session: "a", Code: `
import pandas, asyncio
import matplotlib.pyplot as plt
rows = await asyncio.gather(*[mcp_data.echo(t) for t in ("ab", "cd", "ab")])
frame = pandas.DataFrame({"text": [str(r) for r in rows], "n": [1, 2, 3]})
totals = frame.groupby("text")["n"].sum()
totals.plot(kind="bar")
plt.show()
print(totals.to_dict())
x = 41
`})
		if o.Status != StatusSuccess || !strings.Contains(string(o.Stdout.Head), "4") || len(o.Images) != 1 {
			t.Fatalf("%+v", o)
		}
		if o := k.run(Request{Session: "a", Code: "x + 1"}); o.Status != StatusSuccess || o.Repr != "42" {
			t.Errorf("the next run in the session: %+v", o)
		}
		if o := k.run(Request{Session: "b", Code: "x"}); o.Status != StatusError {
			t.Errorf("another session: %+v", o)
		}
	})
}

// TestContainersInput is a script that reads the caller's input, which it has to ask for.
func TestContainersInput(t *testing.T) {
	onEachEngine(t, func(t *testing.T, k *kit) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		sent := strings.Repeat("line\n", 50000)
		done := make(chan error, 1)
		go func() {
			_, err := io.WriteString(w, sent)
			w.Close()
			done <- err
		}()
		o := k.run(
			Request{
				Session: "a", Stdin: r, Script: true,
				Code: "import sys, subprocess\nprint(sys.stdin.readline())\nprint(len(sys.stdin.read()))",
			},
		)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if o.Status != StatusSuccess || string(o.Stdout.Head) != "line\n\n249995\n" {
			t.Errorf("%+v", o)
		}
	})
}
