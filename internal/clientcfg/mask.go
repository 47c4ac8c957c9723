package clientcfg

import (
	"slices"
	"strings"

	"codemode/internal/config"
)

const mask = "***"

// What gives a secret away: a name, or the prefixes of GitHub, OpenAI and Anthropic, Slack, GitLab, AWS and
// JSON Web Tokens, as their documentation had them in 2026-11.
var (
	secretName  = pattern(`(?i)token|secret|passw|passphrase|\bpat\b|\bpwd\b|key|auth|cred|cookie|session|bearer|header|^-H$`)
	secretValue = pattern(`\b(?:gh[pousr]_|github_pat_|sk-|xox[abprs]-|glpat-|AKIA|ASIA|eyJ)[A-Za-z0-9_.\-]{8,}`)
	assignment  = pattern(`(?i)((?:password|passwd|pwd|token|secret|api[_-]?key|access[_-]?key|auth)\s*=\s*)[^;&\s]+`)
	longWord    = pattern(`^[A-Za-z0-9_\-+=%~]{20,}$`)
)

// Masked is a server as people may see it. Of environment and headers, references such as ${TOKEN} remain,
// and what is too short to be a secret; of arguments and URL, what does not look like one.
func Masked(s config.Server) config.Server {
	s.Command = maskText(s.Dialect, s.Command)
	s.Args = slices.Clone(s.Args)
	secretNext := false
	for i, arg := range s.Args {
		isFlag := strings.HasPrefix(arg, "-")
		name, value, assigned := strings.Cut(arg, "=")
		assigned = assigned && !strings.Contains(name, "://")
		switch {
		case secretNext && !isFlag:
			s.Args[i] = maskValue(s.Dialect, arg)
		case assigned && secretName().MatchString(name):
			s.Args[i] = name + "=" + maskValue(s.Dialect, value)
		default:
			s.Args[i] = maskText(s.Dialect, arg)
		}
		secretNext = isFlag && !assigned && secretName().MatchString(arg)
	}
	s.Env = maskTable(s.Dialect, s.Env)
	s.Headers = maskTable(s.Dialect, s.Headers)
	if s.URL != "" && checkURL(s.Name, s.URL) != nil {
		s.URL = mask // it is anything but a URL
	}
	s.URL = maskText(s.Dialect, s.URL)
	return s
}

func maskTable(d config.Dialect, table map[string]string) map[string]string {
	if table == nil {
		return nil
	}
	out := make(map[string]string, len(table))
	for name, value := range table {
		out[name] = maskValue(d, value)
	}
	return out
}

// maxPlain is how many characters a value may have and be shown: true, 8080, info.
const maxPlain = 5

// maskValue masks all of a value but its references.
func maskValue(d config.Dialect, value string) string {
	var refs strings.Builder
	rest := replaceRefs(d, value, func(ref Ref) string {
		refs.WriteString(maskRef(ref))
		return ""
	})
	rest = strings.TrimSpace(rest)
	switch {
	case refs.Len() == 0 && len([]rune(rest)) <= maxPlain:
		return value
	case refs.Len() > 0 && (rest == "" || strings.EqualFold(rest, "bearer")):
		return strings.TrimSpace(rest + " " + refs.String())
	}
	return mask + refs.String()
}

// maskRef is a reference without the default that may stand in it, or the command.
func maskRef(ref Ref) string {
	switch {
	case strings.HasPrefix(ref.Asks, "$("):
		return "$(" + mask + ")"
	case len([]rune(ref.Default)) > maxPlain:
		return strings.TrimSuffix(ref.Text, ref.Default+"}") + mask + "}"
	}
	return ref.Text
}

// maskText masks what looks like a secret in a text that need not be one.
func maskText(d config.Dialect, s string) string {
	// References stand aside, as words that nothing below takes for a secret.
	var refs []string
	s = replaceRefs(d, s, func(ref Ref) string {
		refs = append(refs, maskRef(ref))
		return "\x00"
	})
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		s = scheme + "://" + maskAddress(rest)
	} else if looksRandom(s) {
		s = mask
	}
	s = secretValue().ReplaceAllString(s, mask)
	s = assignment().ReplaceAllString(s, "${1}"+mask)
	for _, ref := range refs {
		s = strings.Replace(s, "\x00", ref, 1)
	}
	return s
}

// maskAddress masks, of a URL behind its scheme, the user, the values of the query, the fragment, and segments
// that look random: some services put the key in the path.
func maskAddress(s string) string {
	s, fragment, hasFragment := strings.Cut(s, "#")
	s, query, hasQuery := strings.Cut(s, "?")
	segments := strings.Split(s, "/")
	if i := strings.LastIndexByte(segments[0], '@'); i >= 0 {
		segments[0] = mask + segments[0][i:]
	}
	for i, segment := range segments[1:] {
		if looksRandom(segment) {
			segments[i+1] = mask
		}
	}
	s = strings.Join(segments, "/")
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			if name, value, ok := strings.Cut(pair, "="); ok && value != "\x00" && len(value) > maxPlain {
				pairs[i] = name + "=" + mask
			} else if !ok {
				pairs[i] = mask
			}
		}
		s += "?" + strings.Join(pairs, "&")
	}
	if hasFragment && fragment != "" {
		s += "#" + mask
	}
	return s
}

// looksRandom says whether a word is long and has too many digits for a name.
func looksRandom(s string) bool {
	digits := strings.Count(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, s), "0")
	return digits >= 3 && longWord().MatchString(s)
}
