package install

import (
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/lazyregexp"
	"codemode/internal/redact"
)

// isComment is where a comment may be, that of several lines included.
var isComment = lazyregexp.New(`//|#|\*|^.\s*[^"\s{}\[\]]`)

const maxLine = 160 // of a line in a diff: some clients keep all they know on one

// diff shows what changes, without secrets.
func diff(before, after []byte, path string, format splice.Format) string {
	text := splice.Diff(before, after, path)
	if text == "" {
		return ""
	}
	var secrets redact.Secrets
	for _, data := range [][]byte{before, after} {
		doc, err := splice.Parse(data, format)
		if err != nil {
			continue
		}
		if root, ok := doc.Get(nil); ok {
			secrets.Add(clientcfg.FileSecrets(root, text)...)
		}
	}
	var out strings.Builder
	for line := range strings.Lines(secrets.Redactor().Text(text)) {
		if isComment().MatchString(line) { // which no member has told of
			line = (&redact.Finder{}).Text(line)
		}
		if runes := []rune(strings.TrimSuffix(line, "\n")); len(runes) > maxLine {
			line = string(runes[:maxLine-1]) + "…\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
