package testscripts

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codemode/internal/require"
)

// TestLargeFiles holds that a gigabyte that is given to code, and one that it leaves as an artifact, do not pass
// through codemode's memory. What they cost in time is a row of the benchmarks.
func TestLargeFiles(t *testing.T) {
	require.OptIn(t, "soak")
	t.Parallel()
	cache := scriptCache(t)
	if native, _ := condition(t, cache)("native"); !native {
		t.Fatal("needs a sandbox")
	}
	home := t.TempDir()
	big := filepath.Join(home, "data", "big")
	write(t, big, "")
	if err := os.Truncate(big, 1<<30); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("codemode", "serve", "--mount", filepath.Dir(big))
	cmd.Env = append(
		os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+cache,
		"CODEMODE_SANDBOX_WORK_SIZE=1100m", "CODEMODE_SANDBOX_MEMORY=2g", "CODEMODE_DISK_MAX_SIZE=1200m",
		"CODEMODE_RUN_MAX_TIMEOUT=10m", "CODEMODE_RUN_TIMEOUT=10m",
	)
	cs := connect(t, cmd)
	for code, want := range map[string]string{
		"import hashlib\nwith open('data/big', 'rb') as f: print(hashlib.file_digest(f, 'sha256').hexdigest())":  zeros,
		"piece = bytes(1 << 20)\nwith open('out/big', 'wb') as f:\n    for _ in range(1024): _ = f.write(piece)": "kept \"big\"",
	} {
		if text, failed, err := runPython(t.Context(), cs, code); err != nil || failed || !strings.Contains(text, want) {
			t.Fatalf("%q, %v", text, err)
		}
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(peak)[0])
	if err != nil || kb > 64<<10 {
		t.Errorf("codemode had %d MB at most, which may be 64: %v", kb>>10, err)
	}
	list := exec.Command("codemode", "artifacts")
	list.Env = cmd.Env
	out, err := list.Output()
	id, _, _ := strings.Cut(string(out), "\t")
	if err != nil || id == "" {
		t.Fatalf("%q, %v", out, err)
	}
	save := exec.Command("codemode", "artifacts", "save", id, "-")
	save.Env = cmd.Env
	saved, err := save.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := save.Start(); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, saved)
	if err != nil || save.Wait() != nil || n != 1<<30 {
		t.Errorf("%d bytes were saved: %v", n, err)
	}
}

// zeros is the SHA-256 of a gigabyte of them.
const zeros = "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14"
