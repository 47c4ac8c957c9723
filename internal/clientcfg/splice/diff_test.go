package splice_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codemode/internal/clientcfg/splice"
)

func TestDiff(t *testing.T) {
	const head = "--- f\n+++ f\n"
	for _, c := range []struct{ before, after, want string }{
		{"a\n", "a\n", ""},
		{"", "a\nb\n", head + "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\n", "", head + "@@ -1 +0,0 @@\n-a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", head + "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"a", "a\n", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"a\nb", "a\nc\nb", head + "@@ -1,2 +1,3 @@\n a\n+c\n b\n\\ No newline at end of file\n"},
		{"a\r\nb\r\n", "a\r\nbc\r\n", head + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+bc\r\n"},
		{"x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n", head + "@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-y\n+Y\n"},
	} {
		if got := splice.Diff([]byte(c.before), []byte(c.after), "f"); got != c.want {
			t.Errorf("of %q and %q:\n%s\nnot\n%s", c.before, c.after, got, c.want)
		}
	}
}

// TestDiffApplies lets patch make the second text of the first.
func TestDiffApplies(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch here")
	}
	file := filepath.Join(t.TempDir(), "f")
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		var texts [2][]string
		for range r.IntN(30) {
			line := fmt.Sprintf("%d\n", r.IntN(5))
			for i := range texts {
				if r.IntN(4) > 0 {
					texts[i] = append(texts[i], line)
				}
				if r.IntN(6) == 0 {
					texts[i] = append(texts[i], fmt.Sprintf("%d\n", r.IntN(5)))
				}
			}
		}
		before, after := []byte(strings.Join(texts[0], "")+"end"[:r.IntN(4)]), []byte(
			strings.Join(texts[1], "")+"end"[:r.IntN(4)],
		)
		if err := os.WriteFile(file, before, 0o600); err != nil {
			t.Fatal(err)
		}
		diff := splice.Diff(before, after, "f")
		if diff == "" {
			continue
		}
		cmd := exec.Command("patch", "--fuzz=0", "--silent", "--no-backup-if-mismatch", file)
		cmd.Stdin = strings.NewReader(diff)
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, after) {
			t.Fatalf("seed %d: patch makes %q of %q, not %q: %v %s\n%s", seed, got, before, after, err, out, diff)
		}
	}
}

// TestDiffOfLargeFile would need hours if every line were compared with every other.
func TestDiffOfLargeFile(t *testing.T) {
	line := strings.Repeat("x", 79) + "\n"
	before := strings.Repeat(line, 500_000)
	at := len(line) * 300_000
	after := before[:at] + "new\n" + before[at:]
	want := "--- f\n+++ f\n@@ -299998,6 +299998,7 @@\n " + strings.Join(
		[]string{line, line, line}, " ",
	) + "+new\n " + strings.Join([]string{line, line, line}, " ")
	if got := splice.Diff([]byte(before), []byte(after), "f"); got != want {
		t.Errorf("it is %.500q", got)
	}
	marked := mark + before[:at] + "new\n" + before[at:]
	if got := splice.Diff([]byte(marked), []byte(before), "f"); strings.Count(got, "\n") > 20 {
		t.Errorf("of two changes far from each other it is %.500q", got)
	}
}
