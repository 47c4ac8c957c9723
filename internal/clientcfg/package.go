package clientcfg

import (
	"path"
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
)

// families are the launchers that fetch what they start, by what that is.
var families = map[string]string{
	"npx": "npm", "npm exec": "npm", "npm x": "npm", "bunx": "npm", "bun x": "npm", "pnpm dlx": "npm", "pnpx": "npm",
	"yarn dlx": "npm",
	"uvx":      "pypi", "uv tool run": "pypi", "pipx run": "pypi",
	"docker run": image, "docker container run": image, "podman run": image, "podman container run": image,
	"nerdctl run": image, "nerdctl container run": image,
}

// image is the family of engines of containers.
const image = "image"

// naming are launchers' options that name a package.
var naming = []string{"--package", "--from", "--spec"}

// fetched is what a launcher fetches and starts.
type fetched struct {
	family, spec string
	named        bool     // by an option, beside the program in it that is started
	options      []string // the launcher's own, but for those that name the package or consent to fetching it
	args         []string
}

// packageOf finds the package that a launcher is to fetch.
func packageOf(words []string) (f fetched, ok bool) {
	name, words, ok := launcher(words)
	if f.family = families[name]; !ok || f.family == "" || f.family == image {
		return fetched{}, false
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		w, n := words[0], 1
		option, value, assigned := strings.Cut(w, "=")
		names := slices.Contains(naming, option) || option == "-p" && f.family == "npm"
		switch {
		case w == "--", w == "-y", w == "--yes":
		case names && assigned:
			f.spec, f.named = value, true
		case names && len(words) > 1:
			f.spec, f.named, n = words[1], true, 2
		default:
			if slices.Contains(launchers[name], w) {
				n = min(2, len(words))
			}
			f.options = append(f.options, words[:n]...)
		}
		words = words[n:]
		if w == "--" {
			break
		}
	}
	if !f.named && len(words) > 0 {
		f.spec, words = words[0], words[1:]
	}
	f.args = words
	return f, f.spec != ""
}

// pypiName is the name in a requirement of a package, PEP 508.
var pypiName = lazyregexp.New(`^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?) *(?:$|[\[(<>=!~;@])`)

// pypiDivider is what PEP 503 has for one in names.
var pypiDivider = lazyregexp.New(`[-_.]+`)

// name is the package's without a version, as its registry knows it; a URL or a path stays as it is.
func (f fetched) name() string {
	if f.family == image {
		return imageName(f.spec)
	}
	if f.family == "pypi" {
		if m := pypiName().FindStringSubmatch(f.spec); m != nil {
			return pypiDivider().ReplaceAllString(strings.ToLower(m[1]), "-")
		}
		return f.spec
	}
	name := strings.TrimPrefix(f.spec, "npm:")
	if _, real, aliased := strings.Cut(name, "@npm:"); aliased {
		name = real
	}
	if i := strings.LastIndexByte(name, '@'); i > 0 && !strings.Contains(name, "://") {
		name = name[:i]
	}
	return name
}

// startsItself says whether the program that is named beside the package is the one that is started without a name.
func (f fetched) startsItself() bool {
	if !f.named || len(f.args) == 0 {
		return false
	}
	program := fetched{family: f.family, spec: f.args[0]}
	return program.name() == f.name() || program.spec == path.Base(f.name())
}

// withoutOwnName has the arguments that are passed on to what is fetched.
func (f fetched) withoutOwnName() fetched {
	if f.startsItself() {
		f.args = f.args[1:]
	}
	if f.family == "npm" && len(f.args) > 0 && f.args[0] == "--" { // npm's own, which it does not pass on
		f.args = f.args[1:]
	}
	return f
}

// imageOf is the image that an engine is to run, without the tag, the digest and the registry that go without saying,
// and the arguments of what is in it.
func imageOf(words []string) (name string, args []string) {
	launcher, words, ok := launcher(words)
	words = skipFlags(words, imageFlags)
	if !ok || families[launcher] != image || len(words) == 0 {
		return "", nil
	}
	return imageName(words[0]), words[1:]
}

func imageName(ref string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, "docker://"), "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	for _, usual := range []string{"registry-1.docker.io/", "index.docker.io/", "docker.io/", "library/"} {
		name = strings.TrimPrefix(name, usual)
	}
	return name
}
