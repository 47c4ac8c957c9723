package clientcfg

import (
	"slices"
	"strings"

	"codemode/internal/config"
)

const mask = "***"

// Masked is a server as people may see it. Of environment and headers, references such as ${TOKEN} remain,
// and what is too short to be a secret; of arguments, folders and URL, what does not look like one.
func Masked(s config.Server) config.Server { return (&masker{dialect: s.Dialect}).server(s) }

// Secrets are the texts that Masked leaves out.
func Secrets(s config.Server) []string {
	m := &masker{dialect: s.Dialect}
	m.server(s)
	return m.hidden
}

// masker masks the texts of one entry. In doubt it masks: a readable argument less is cheaper than a secret told.
type masker struct {
	dialect config.Dialect
	hidden  []string
	kept    []string // what characters from aside on stand for
}

// hide stands where a secret was. Of what has more than one word, such as "Bearer …", each part that could be told
// alone is a secret by itself.
func (m *masker) hide(secret string) string {
	m.hidden = append(m.hidden, strings.FieldsFunc(secret, isAside)...)
	first, rest, ok := strings.Cut(strings.TrimSpace(secret), " ")
	switch {
	case !ok:
	case isScheme(first):
		m.hide(rest)
	default:
		m.hide(first)
		m.text(rest)
	}
	return mask
}

func isScheme(word string) bool {
	return slices.Contains([]string{"bearer", "basic", "token", "digest"}, strings.ToLower(word))
}

func (m *masker) server(s config.Server) config.Server {
	s.Command = m.text(s.Command)
	s.Args = m.args(s.Args)
	s.Env, s.Headers = m.table(s.Env), m.table(s.Headers)
	s.Cwd, s.EnvFile = m.text(s.Cwd), m.text(s.EnvFile)
	if s.Sandbox != nil {
		walls := *s.Sandbox
		walls.Read, walls.Write = m.args(walls.Read), m.args(walls.Write)
		s.Sandbox = &walls
	}
	if s.URL != "" && checkURL(s.Name, s.URL) != nil {
		s.URL = m.hide(s.URL) // it is anything but a URL
	}
	s.URL = m.text(s.URL)
	return s
}

func (m *masker) table(table map[string]string) map[string]string {
	if table == nil {
		return nil
	}
	out := make(map[string]string, len(table))
	for name, value := range table {
		out[name] = m.value(value)
	}
	return out
}

func (m *masker) args(args []string) []string {
	if args == nil {
		return nil
	}
	out := make([]string, len(args))
	flag := "" // that the argument may be the value of
	for i, arg := range args {
		out[i] = m.arg(flag, arg)
		flag = ""
		if strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "=:") {
			flag = arg
		}
	}
	return out
}

// What flags look like. One letter may be a password, a key, a token, a user with a password or a header, with its value
// behind a blank or right behind it; spared is what can only be a port, a path or a package, and of flags that mostly mean
// something else, what could be a name.
var (
	anyFlag     = pattern(`^--?[A-Za-z][a-z-]*(?:[=:]|$)`)
	keyFlag     = pattern(`^-[kKpPaAT]$`)
	maybeFlag   = pattern(`^-[tsSwWuU]$`)
	gluedFlag   = pattern(`^-[kKpPaATtsSwWuU](?:.*[^a-z-].*)$|^-H\S+:`)
	passwordP   = pattern(`^-p[a-z]{6,}$`)
	plainValue  = pattern(`^(?:[\d:.,]+|[./~][\w./~-]*|@[\w.-]+/[\w./@-]+)$`)
	nameValue   = pattern(`^[a-z][a-z-]*[0-9]?(?:[/:_.@][a-z-]+[0-9]?)*$`)
	capitals    = pattern(`^[A-Z_][A-Z0-9_]*$`)
	wordsWithP  = []string{"-parallel", "-password", "-plugin", "-plugins", "-platform", "-prefix", "-profile", "-project", "-protocol", "-provider", "-package"}
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
func (m *masker) arg(flag, arg string) string {
	name, value, assigned := cutAssignment(arg)
	switch {
	case isValue(flag, arg):
		return m.value(arg)
	case assigned && (secretName().MatchString(name) || capitals().MatchString(name) || slices.Contains(environment, flag)):
		return arg[:len(arg)-len(value)] + m.value(value)
	case assigned && strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "-H"):
		return arg[:len(arg)-len(value)] + m.text(value)
	case glued(arg):
		return arg[:2] + m.value(arg[2:])
	}
	return m.text(arg)
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

// maxPlain is how many characters a value may have and be shown: true, 8080, info.
const maxPlain = 5

// value masks all of a value but its references.
func (m *masker) value(value string) string {
	var refs strings.Builder
	rest := replaceRefs(m.dialect, value, func(ref Ref) string {
		refs.WriteString(m.ref(ref))
		return "\n" // what is before and behind it are secrets by themselves
	})
	rest = strings.TrimSpace(rest)
	switch {
	case refs.Len() == 0 && len([]rune(rest)) <= maxPlain:
		return value
	case refs.Len() > 0 && (rest == "" || strings.EqualFold(rest, "bearer")):
		return strings.TrimSpace(rest + " " + refs.String())
	}
	return m.hide(rest) + refs.String()
}

// ref is a reference without the default that may stand in it, or the command.
func (m *masker) ref(ref Ref) string {
	switch {
	case strings.HasPrefix(ref.Asks, "$("):
		return "$(" + m.hide(strings.Trim(ref.Asks, "$()")) + ")"
	case len([]rune(ref.Default)) > maxPlain:
		return strings.TrimSuffix(ref.Text, ref.Default+"}") + m.hide(ref.Default) + "}"
	}
	return ref.Text
}

// MaskText is a text in which what looks like a secret is masked.
func MaskText(s string) string { return (&masker{dialect: config.DialectNone}).text(s) }

// NamesSecret says whether a variable or a flag is named as those are that hold secrets.
func NamesSecret(name string) bool { return secretName().MatchString(name) }
