package install

import (
	"encoding/json"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
)

const (
	hidden  = "•••"
	maxLine = 160 // of a line in a diff: some clients keep all they know on one
)

// diff shows what changes, without secrets.
func diff(before, after []byte, path string, format splice.Format) string {
	text := splice.Diff(before, after, path)
	if text == "" {
		return ""
	}
	var secrets []string
	for _, data := range [][]byte{before, after} {
		doc, err := splice.Parse(data, format)
		if err != nil {
			continue
		}
		if root, ok := doc.Get(nil); ok {
			secrets = append(secrets, clientcfg.FileSecrets(root, text)...)
		}
	}
	// The longest first, for one may be in another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range slices.Compact(secrets) {
		text = strings.ReplaceAll(text, s, hidden)
		if quoted, err := json.Marshal(s); err == nil {
			text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), hidden)
		}
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if runes := []rune(strings.TrimSuffix(line, "\n")); len(runes) > maxLine {
			line = string(runes[:maxLine-1]) + "…\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
