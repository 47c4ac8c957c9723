package artifact

import (
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"codemode/internal/lazyregexp"
)

// deviceText is a device of Windows, whatever follows its name. A file that is saved elsewhere may get there, too.
var deviceText = lazyregexp.New(
	`(?i)^(con|prn|aux|nul|conin\$|conout\$|com[0-9\x{b9}\x{b2}\x{b3}]|lpt[0-9\x{b9}\x{b2}\x{b3}])[ ]*([.].*)?$`,
)

// shortName is one that Windows may have given to a file with a longer name: GIT~1 is .git. The file system decides.
var shortName = lazyregexp.New(`^([^.]{1,6})~([0-9]{1,6}(?:\.[^.]{0,3})?)$`)

// SafeName is a program's name for a file as it is saved: nothing that a terminal obeys, that shells and programs read
// by themselves, or that Windows takes for something else. A folder with a file HEAD may be a repository to git, whose
// config then names programs that a mere git status starts (gitrepository-layout(5)).
func SafeName(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		part = strings.Map(func(r rune) rune {
			if r == unicode.ReplacementChar || !unicode.IsPrint(r) || unseen(r) || strings.ContainsRune(`<>:"|?*\`, r) {
				return '_'
			}
			return r
		}, part)
		if part == "" || part[0] == '.' || part[0] == '-' || part[0] == '~' {
			part = "_" + part[min(1, len(part)):]
		}
		if deviceText().MatchString(part) || !filepath.IsLocal(part) || strings.EqualFold(part, "HEAD") {
			part = "_" + part
		}
		part = shortName().ReplaceAllString(part, "${1}_${2}")
		if end := part[len(part)-1]; end == '.' || end == ' ' { // which Windows leaves out
			part = part[:len(part)-1] + "_"
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// unseen are characters that are drawn as nothing though they count as printable.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == 0x2800
}

// types are those of files that code makes, whose content does not tell, or which systems disagree about.
var types = map[string]string{
	".csv": "text/csv", ".tsv": "text/tab-separated-values", ".json": "application/json",
	".jsonl": "application/jsonl", ".md": "text/markdown", ".svg": "image/svg+xml", ".html": "text/html",
	".parquet": "application/vnd.apache.parquet", ".zip": "application/zip", ".py": "text/x-python",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}

// typeOf guesses the MIME type of a file from its name, else from its first bytes.
func typeOf(name string, head []byte) string {
	if known := types[strings.ToLower(path.Ext(name))]; known != "" {
		return known
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return kind
}
