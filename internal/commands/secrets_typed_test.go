package commands

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestTypedSecrets holds that what is kept is what was typed or pasted, all of it.
func TestTypedSecrets(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nMIIE\n\n-----END PRIVATE KEY-----"
	long := strings.Repeat("x", 6000)
	for typed, want := range map[string]string{
		"hush\r": "hush", "hush\n": "hush", long + "\r": long, "hush\x04": "hush",
		strings.ReplaceAll(key, "\n", "\r") + "\r": key + "\n", key + "\n": key + "\n",
		"\x1b[200~" + key + "\n\x1b[201~\r": key + "\n\n",
		"one\rtwo\r":                        "one\ntwo\n", // which is refused, as by stdin
		"p\xe9ss\r":                         "p\xe9ss", "a\x00b\r": "a\x00b",
		"hux\x7fsh\r": "hush", "hü\x7f\bhush\r": "hush", "no\x15hush\r": "hush", "hu\x1b[D\x1bOPsh\r": "hush",
	} {
		in := bufio.NewReader(strings.NewReader(typed))
		u := unseen{in: in, more: func() bool { _, err := in.Peek(1); return err == nil }}
		got, err := u.read()
		if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
			t.Errorf("%.40q was read as %.40q, %v", typed, got, err)
		}
	}
	slow := unseen{ // of which each line comes by itself
		in:   bufio.NewReader(iotest.OneByteReader(strings.NewReader(key + "\n"))),
		more: func() bool { return false },
	}
	if got, err := slow.read(); err != nil || string(got) != key {
		t.Errorf("%q, %v", got, err)
	}
	for typed, want := range map[string]error{"\x03": errCtrlC, "hu\xe4\x03": errCtrlC, "\x04": io.EOF, "hu": io.EOF} {
		u := unseen{in: bufio.NewReader(strings.NewReader(typed)), more: func() bool { return false }}
		if got, err := u.read(); !errors.Is(err, want) || got != nil {
			t.Errorf("%q: %q, %v", typed, got, err)
		}
	}
}
