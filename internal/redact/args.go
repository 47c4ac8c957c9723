package redact

import (
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
)

// Table is values by the names of variables or headers, without the secrets among them. References remain.
func (f *Finder) Table(table map[string]string) map[string]string {
	if table == nil {
		return nil
	}
	out := make(map[string]string, len(table))
	for name, value := range table {
		out[name] = f.value(value, Named(name))
	}
	return out
}

// Args are a command's arguments without the secrets among them.
func (f *Finder) Args(args []string) []string {
	if args == nil {
		return nil
	}
	out := make([]string, len(args))
	flag := "" // that the argument may be the value of
	for i, arg := range args {
		out[i] = f.arg(flag, arg)
		flag = ""
		if strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "=:") {
			flag = arg
		}
	}
	return out
}

// What flags look like. One letter may be a password, a key, a token, a user with a password or a header, with its
// value behind a blank or right behind it; spared is what can only be a port, a path or a package, and of flags that
// mostly mean something else, what could be a name.
var (
	anyFlag    = lazyregexp.New(`^--?[A-Za-z][a-z-]*(?:[=:]|$)`)
	keyFlag    = lazyregexp.New(`^-[kKpPaAT]$`)
	maybeFlag  = lazyregexp.New(`^-[tsSwWuU]$`)
	gluedFlag  = lazyregexp.New(`^-[kKpPaATtsSwWuU](?:.*[^a-z-].*)$|^-H\S+:`)
	passwordP  = lazyregexp.New(`^-p[a-z]{6,}$`)
	plainValue = lazyregexp.New(`^(?:[\d:.,]+|[./~][\w./~-]*|@[\w.-]+/[\w./@-]+)$`)
	nameValue  = lazyregexp.New(`^[a-z][a-z-]*[0-9]?(?:[/:_.@][a-z-]+[0-9]?)*$`)
	capitals   = lazyregexp.New(`^[A-Z_][A-Z0-9_]*$`)
	wordsWithP = strings.Fields("-parallel -password -plugin -plugins -platform -prefix -profile -project -protocol " +
		"-provider -package")
	environment = []string{"-e", "--env"}
)

// isValue says whether an argument may be a secret because of the flag before it.
func isValue(flag, arg string) bool {
	switch {
	case flag == "" || anyFlag().MatchString(arg):
		return false
	case secretName().MatchString(flag):
		return true
	case plainValue().MatchString(arg):
		return false
	}
	return keyFlag().MatchString(flag) || maybeFlag().MatchString(flag) && !nameValue().MatchString(arg)
}

// glued says whether an argument is a flag of one letter with its value.
func glued(arg string) bool {
	if len(arg) < 2 || plainValue().MatchString(arg[2:]) {
		return false
	}
	return gluedFlag().MatchString(arg) || passwordP().MatchString(arg) && !slices.Contains(wordsWithP, arg)
}

// arg masks one argument, which may be the value of the flag before it.
func (f *Finder) arg(flag, arg string) string {
	name, value, assigned := cutAssignment(arg)
	switch {
	case isValue(flag, arg):
		f.header(arg)
		return f.value(arg, Named(flag))
	case assigned && (secretName().MatchString(name) || capitals().MatchString(name) ||
		slices.Contains(environment, flag)):
		if first, _, ok := strings.Cut(value, " "); ok && isSecret(first, Named(name)) {
			f.hide(first, true) // a shell's: TOKEN=abc npx …
		}
		return arg[:len(arg)-len(value)] + f.value(value, Named(name))
	case assigned && strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "-H"):
		return arg[:len(arg)-len(value)] + f.Text(value)
	case glued(arg):
		f.header(arg[2:])
		return arg[:2] + f.value(arg[2:], false)
	}
	return f.Text(arg)
}

// header notes the value of what may be a header: "X-Key: abc".
func (f *Finder) header(arg string) {
	name, value, ok := strings.Cut(arg, ":")
	if value = strings.TrimSpace(value); ok && Named(name) && isSecret(value, true) {
		f.hide(value, true)
	}
}

// cutAssignment takes NAME=VALUE and --flag:VALUE apart.
func cutAssignment(arg string) (name, value string, ok bool) {
	separators := "="
	if strings.HasPrefix(arg, "-") {
		separators = "=:"
	}
	i := strings.IndexAny(arg, separators)
	if i < 0 || strings.ContainsAny(arg[:i], " {\"'") || strings.Contains(arg[:i], "://") {
		return "", "", false
	}
	return arg[:i], arg[i+1:], true
}

// value masks all of a value but its references.
func (f *Finder) value(value string, named bool) string {
	var refs strings.Builder
	rest := f.references(value, func(r Reference) string {
		refs.WriteString(f.reference(r, named))
		return "\n" // what is before and behind it are secrets by themselves
	})
	rest = strings.TrimSpace(rest)
	switch {
	case refs.Len() == 0 && (!isSecret(rest, named) || strings.TrimFunc(rest, isAside) == ""):
		return value
	case refs.Len() > 0 && (rest == "" || strings.EqualFold(rest, "bearer")):
		return strings.TrimSpace(rest + " " + refs.String())
	}
	f.parts(rest, named)
	return f.hide(rest, named) + refs.String()
}
