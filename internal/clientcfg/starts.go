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
	return slices.EqualFunc(env.started(a), env.started(b), startedWord.same) ||
		env.fetches(a, b) || env.fetches(b, a)
}

// fetches tells whether b names what a launcher fetches for a, with the same arguments behind it: there are more
// launchers, and options of theirs that have a value, than anybody knows. It may take a word for a package that is
// none.
func (e Env) fetches(a, b config.Server) bool {
	words, folder := e.wordsOf(a)
	of, ok := fetchedBy(words)
	if !ok {
		return false
	}
	args := e.spelled(of.args, folder)
	words, folder = e.wordsOf(b)
	if other, ok := fetchedBy(words); ok && other.family != of.family {
		return false
	}
	if len(words) > 0 && slices.Contains(shells, base(words[0])) {
		words = append(words, strings.Fields(scriptOf(words[1:]))...)
	}
	for i, word := range words {
		behind := words[i+1:]
		if len(behind) > 0 && behind[0] == "--" {
			behind = behind[1:]
		}
		named := fetched{family: of.family, spec: word}
		if i > 0 && named.name() == of.name() && slices.EqualFunc(e.spelled(behind, folder), args, startedWord.same) {
			return true
		}
	}
	return false
}

// fetchedBy is what a command fetches and starts, whatever the launcher.
func fetchedBy(words []string) (fetched, bool) {
	if name, args := imageOf(words); name != "" {
		return fetched{family: image, spec: name, args: args}, true
	}
	if p, ok := packageOf(words); ok {
		return p.withoutOwnName(), true
	}
	for i, word := range words {
		if strings.HasPrefix(word, "npm:") { // Deno's, and that of others that fetch from several registries
			return fetched{family: "npm", spec: word, args: words[i+1:]}, true
		}
	}
	return fetched{}, false
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
		return plainWords(resolved{Server: s}.httpParts(reached(s.URL), nil))
	}
	words, folder := e.wordsOf(s)
	if name, args := imageOf(words); name != "" {
		return append(plainWords([]string{image, name}), e.spelled(args, folder)...)
	}
	p, ok := packageOf(words)
	switch target, _, remote := remote(p.args); {
	case !ok:
		return append([]startedWord{e.program(words[0], folder)}, e.spelled(words[1:], folder)...)
	case p.name() == "mcp-remote" && remote:
		return plainWords(resolved{Server: s}.httpParts(reached(target), nil))
	}
	return append(plainWords([]string{p.family, p.name()}), e.spelled(p.withoutOwnName().args, folder)...)
}

// wordsOf are the words of an entry's command, without what only stands before it, and the folder where it starts.
func (e Env) wordsOf(s config.Server) (words []string, folder string) {
	words = []string{withVariables(s.Dialect, s.Command)}
	for _, arg := range s.Args {
		words = append(words, withVariables(s.Dialect, arg))
	}
	words, _ = unwrap(words)
	folder = e.Home // where servers start whose entries name no folder
	if s.Cwd != "" {
		folder = e.Expand(withVariables(s.Dialect, s.Cwd))
	}
	return words, folder
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
		return resolved{}.normal(d, r.Text)
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
