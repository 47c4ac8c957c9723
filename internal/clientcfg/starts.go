package clientcfg

import (
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codemode/internal/config"
)

// StartsSame tells whether two entries start the same, whatever they give it and wherever they start it: one address,
// one package or image whatever its version, or one program, with the same arguments, however these are spelled.
func StartsSame(a, b config.Server, env Env) bool {
	return slices.EqualFunc(env.started(a), env.started(b), startedWord.same)
}

// A startedWord is a word of what an entry starts, and the file that it names, where there is one.
type startedWord struct {
	text string
	file os.FileInfo
}

// same compares files where both words name one: links, the folder they are looked for in and the case of letters may
// differ. A file that only one of them names may have been put there to tell them apart, so it does not.
func (w startedWord) same(v startedWord) bool {
	if w.file != nil && v.file != nil {
		return os.SameFile(w.file, v.file)
	}
	return w.text == v.text
}

// started is the identity of an entry: what it starts, with its arguments, each spelled in one way.
func (e Env) started(s config.Server) []startedWord {
	if s.URL != "" {
		return plainWords(httpParts(s, reached(s.URL), nil))
	}
	words := []string{withVariables(s.Dialect, s.Command)}
	for _, arg := range s.Args {
		words = append(words, withVariables(s.Dialect, arg))
	}
	words, _ = unwrap(words)
	folder := e.Home // where servers start whose entries name no folder
	if s.Cwd != "" {
		folder = e.Expand(withVariables(s.Dialect, s.Cwd))
	}
	if name, args := imageOf(words); name != "" {
		return append(plainWords([]string{image, name}), e.spelled(args, folder)...)
	}
	p, ok := packageOf(words)
	switch target, _, remote := remote(p.args); {
	case !ok:
		return append([]startedWord{e.program(words[0], folder)}, e.spelled(words[1:], folder)...)
	case p.name() == "mcp-remote" && remote:
		return plainWords(httpParts(s, reached(target), nil))
	}
	if p.startsItself() {
		p.args = p.args[1:]
	}
	if p.family == "npm" && len(p.args) > 0 && p.args[0] == "--" { // npm's own, which it does not pass on
		p.args = p.args[1:]
	}
	return append(plainWords([]string{p.family, p.name()}), e.spelled(p.args, folder)...)
}

func plainWords(texts []string) (words []startedWord) {
	for _, text := range texts {
		words = append(words, startedWord{text: text})
	}
	return words
}

// withVariables writes references to variables in one way, whatever the program that an entry is of.
func withVariables(d config.Dialect, text string) string {
	return replaceRefs(d, text, func(r Ref) string {
		if r.Variable != "" && !r.HasDefault {
			return "${" + r.Variable + "}"
		}
		return normal(d, r.Text)
	})
}

// reached is a URL with one name for this machine, and without a user's.
func reached(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.User = nil
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Unmap().IsLoopback() {
		u.Host = strings.TrimSuffix("localhost:"+u.Port(), ":")
	}
	return u.String()
}

// program is a command, with its file where it can be found.
func (e Env) program(command, folder string) startedWord {
	if strings.ContainsAny(command, `/\`) {
		return e.spell(command, folder)
	}
	for _, name := range newSelfFinder(e, Self{}).candidates(command) {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return startedWord{command, info}
		}
	}
	return startedWord{text: command}
}

// spelled are arguments, seen from the folder where they are used. An option's value is a word of its own.
func (e Env) spelled(args []string, folder string) (list []startedWord) {
	for _, arg := range args {
		if option, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			list, arg = append(list, startedWord{text: option}), value
		}
		list = append(list, e.spell(arg, folder))
	}
	return list
}

// spell is a word as it is, or, where it may be a path, that without detours: dots, the user's home.
func (e Env) spell(word, folder string) startedWord {
	if word == "" || strings.Contains(word, "://") {
		return startedWord{text: word}
	}
	path := e.Expand(word)
	if path == "" && folder != "" {
		path = filepath.Join(folder, word)
	}
	file, err := os.Stat(path)
	if err != nil {
		file = nil
	}
	switch full := e.Expand(word); {
	case full != "":
		word = full
	case strings.ContainsAny(word, `/\`):
		word = filepath.Clean(word)
	}
	return startedWord{word, file}
}
