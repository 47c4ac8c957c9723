package bridge

import "testing"

// TestForCode holds that a text of codemode's own names no home, and stays as it is in all else.
func TestForCode(t *testing.T) {
	b := &Bridge{opts: Options{Homes: []string{"/home/ann", "", "/"}}}
	for text, want := range map[string]string{
		"/home/ann":                                    "~",
		`in "/home/ann/MCPs/a.json", and there`:        `in "~/MCPs/a.json", and there`,
		"/home/ann: /home/ann/x, (/home/ann)":          "~: ~/x, (~)",
		"/home/anna /home/ann-2 /home/ann_ /home/annä": "/home/anna /home/ann-2 /home/ann_ /home/annä",
		"/home/annie /home/ann.":                       "/home/annie ~.",
		"/etc/passwd":                                  "/etc/passwd",
	} {
		if got := b.forCode(text); got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}
