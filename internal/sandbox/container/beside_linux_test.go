package container

import (
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
)

// Variables of images in which loaders and engines look for code where a guest writes, if they begin there.
const (
	pathThere     = "/workspace/.venv/bin:/usr/local/bin:/usr/bin:/bin"
	librariesHere = "/usr/local/cuda/lib64:" // as of a Dockerfile's "/usr/local/cuda/lib64:$LD_LIBRARY_PATH"
)

// takesOver leaves a file, and programs and libraries for whoever reads it.
const takesOver = `
os.makedirs("/workspace/.venv/bin")
for name in "/workspace/.venv/bin/python3", "/workspace/libz.so.1", "/workspace/libc.so.6":
    with open(name, "w") as f: f.write("#!/bin/sh\necho >/workspace/taken\n")
    os.chmod(name, 0o755)
open("/workspace/out/file", "w").close()
tell(folder=os.getcwd())
os.read(source, 1)
tell(taken=os.path.exists("/workspace/taken"))
os.read(source, 1)
`

// keepsBeside has the files read that a guest has left, and sees that nothing of the guest's was run for that.
func keepsBeside(t *testing.T, r *Runtime, gaps ...string) {
	t.Helper()
	sb := start(t, r, takesOver, func(s *sandbox.Spec) { s.Out, s.Policy.AllowGaps = true, gaps })
	var got struct {
		Folder string
		Taken  bool
	}
	answer(t, sb, &got)
	files := 0
	err := sb.OutFiles(t.Context(), nil, func(f sandbox.OutFile) error {
		files++
		return nil
	})
	if _, werr := io.WriteString(sb.Channel(), "x"); werr != nil {
		t.Fatal(werr)
	}
	answer(t, sb, &got)
	if err != nil || files != 1 || got.Taken || got.Folder != sandbox.WorkDir {
		t.Errorf("%d files, %v; the guest is %+v", files, err, got)
	}
}

// TestBeside: what an engine starts beside a guest is of the image, whatever the image's variables say.
func TestBeside(t *testing.T) {
	eachEngine(t, func(t *testing.T, r *Runtime) {
		e, image := r.engine(), "localhost/codemode-test:beside-"+strings.ToLower(rand.Text())
		do := func(args ...string) string {
			t.Helper()
			out, err := e.ask(t.Context(), args...)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(out)
		}
		id := do("create", r.opts.Image, "true")
		defer do("rm", id)
		do("commit", "--change", "ENV PATH="+pathThere, "--change", "ENV LD_LIBRARY_PATH="+librariesHere, id, image)
		defer func() {
			if out, err := e.command("rmi", image).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}()
		r.opts.Image = image
		t.Run("keeps", func(t *testing.T) { keepsBeside(t, r) })
	})
}

// TestPodBeside: the same in a pod, where what is beside a guest has no filter; and where a variable names a folder of
// the guest's, the network is a gap.
func TestPodBeside(t *testing.T) {
	require.OptIn(t, Kubernetes)
	withAgentSandbox(t)
	r := newCluster(t, func(o *Options) { o.Kubernetes.WarmPool = "warm" })
	with := func(libraries string) object {
		spec := warmSpec(t, sandbox.DefaultPolicy())
		setEnv(spec["containers"].([]any)[0].(object), object{"name": "PATH", "value": pathThere})
		setEnv(spec["containers"].([]any)[0].(object), object{"name": "LD_LIBRARY_PATH", "value": libraries})
		return spec
	}
	newController(t, with(librariesHere), with("/usr/lib:workspace/../tmp"))
	keepsBeside(t, r, "pids", "isolation")
	policy := sandbox.DefaultPolicy()
	policy.AllowGaps = []string{"pids", "isolation"}
	sb, err := r.Start(t.Context(), sandbox.Spec{Files: files(), Boot: "boot.py", Policy: policy})
	var gap *sandbox.GapError
	if !errors.As(err, &gap) || gap.Gaps[0].Name != "network" {
		t.Errorf("with a variable that leads to the guest's files: %v", err)
	}
	if sb != nil {
		sb.Close()
	}
}
