package mount

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codemode/internal/require"
	"codemode/internal/sandbox"
)

// tree makes files by their paths, with their texts; one that ends in / is a folder.
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o600))
	}
}

func paths(covers []sandbox.Cover) (list []string) {
	for _, c := range covers {
		name := c.Path
		if c.Dir {
			name += "/"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// TestCovered: files that look like secrets are covered, however deep, and given where they are named. Of links with
// such names, what they lead to is, within the folder.
func TestCovered(t *testing.T) {
	dir := realTemp(t)
	tree(t, dir, map[string]string{
		".env": "", "id_rsa": "", "a.csv": "", "plain.txt": "", "sub/.env": "", "sub/.netrc/": "", ".git/.env": "",
	})
	must(t, os.Symlink(".env", filepath.Join(dir, ".env.local")))
	must(t, os.Symlink("../plain.txt", filepath.Join(dir, "sub", ".npmrc")))
	must(t, os.Symlink("../plain.txt", filepath.Join(dir, "sub", ".pgpass")))
	must(t, os.Symlink("sub/.env", filepath.Join(dir, ".envrc")))
	must(t, os.Symlink(os.Args[0], filepath.Join(dir, "key.pem")))
	list, err := Rules{}.Choose([]Request{
		{Path: dir, Name: "dir"},
		{Path: filepath.Join(dir, "sub"), Name: "sub", Write: true},
		{Path: filepath.Join(dir, ".env"), Name: ".env", File: true},
	})
	must(t, err)
	for i, want := range []string{".env id_rsa plain.txt sub/.env", ".env", ""} {
		if got := strings.Join(paths(list[i].Covered), " "); got != want || list[i].Partly != "" {
			t.Errorf("%s: covered are %q, want %q; partly: %q", list[i].Name, got, want, list[i].Partly)
		}
	}
}

// TestSecretNames: what holds keys is known by its name or its ending in upper and lower case, and what merely looks
// like it is shown.
func TestSecretNames(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"Server.P12", "Server.P12"},
		{"sub/My.JKS", "sub/My.JKS"},
		{"leaf/a.pfx", "leaf/a.pfx"},
		{".ENV", ".ENV"},
		{"a.keystore", "a.keystore"},
		{".AWS/credentials", ".AWS/"},
		{"x/.kube/config", "x/.kube/config"},
		{".docker/config.json", ".docker/config.json"},
		{".netrc", ".netrc"},
		{".npmrc", ".npmrc"},
		{".pypirc", ".pypirc"},
		{"id_work", "id_work"},
		{".env.staging", ".env.staging"},
		{"home/.ssh/x", "home/.ssh/"},
		{".bash_history", ".bash_history"},
		{".irb_history", ".irb_history"},
		{".dev.vars", ".dev.vars"},
		{".dev.vars.staging", ".dev.vars.staging"},
		{"token.json", "token.json"},
		{"cookies.txt", "cookies.txt"},
		{"x/cookies.sqlite", "x/cookies.sqlite"},
		{"appsettings.Production.json", "appsettings.Production.json"},
		{"appsettings.json", ""},
		{"appsettings.Example.json", ""},
		{".dev.vars.example", ""},
		{"order_history", ""},
		{"id_work.pub", ""},
		{"id_map.csv", ""},
		{".env.example", ""},
		{"config.json", ""},
		{"kube/config", ""},
		{"p12", ""},
		{"aws/credentials", ""},
		{"prod.env", "prod.env"},
		{".config/gh/hosts.yml", ".config/gh/hosts.yml"},
		{".streamlit/secrets.toml", ".streamlit/secrets.toml"},
		{"work.ovpn", "work.ovpn"},
		{".env (copy)", ".env (copy)"},
		{"serviceAccountKey.json", "serviceAccountKey.json"},
		{"local.settings.json", "local.settings.json"},
		{"Key.ppk", "Key.ppk"},
		{"AuthKey_1.p8", "AuthKey_1.p8"},
		{"config/master.key", "config/master.key"},
		{"config/credentials/production.key", "config/credentials/production.key"},
		{"live/privkey.pem", "live/privkey.pem"},
		{".dockercfg", ".dockercfg"},
		{".dockerconfigjson", ".dockerconfigjson"},
		{"auth.json", "auth.json"},
		{".yarnrc.yml", ".yarnrc.yml"},
		{"secret.yaml", "secret.yaml"},
		{"k8s/secret.json", "k8s/secret.json"},
		{"Google-Credentials.json", "Google-Credentials.json"},
		{"credentials-prod.json", "credentials-prod.json"},
		{"app-firebase-adminsdk-x1.json", "app-firebase-adminsdk-x1.json"},
		{"service-account-prod.json", "service-account-prod.json"},
		{"client_secret_12.apps.json", "client_secret_12.apps.json"},
		{"id_rsa.old", "id_rsa.old"},
		{".aws.bak/notes", ".aws.bak/"},
		{".SSH~/known", ".SSH~/"},
		{"sshd.bak/notes", ""},
		{".docker.old/config.json", ".docker.old/config.json"},
		{"id_work.bak", "id_work.bak"},
		{"id_ed25519.pem", "id_ed25519.pem"},
		{".netrc~", ".netrc~"},
		{"credentials.json.bak", "credentials.json.bak"},
		{"id_rsa.pub", ""},
		{"id_rsa.pub.old", ""},
		{"cert.pem", ""},
		{"slides.key", ""},
		{"key.json", ""},
		{"auth.js", ""},
		{"credentials.py", ""},
		{"credentials.schema.json", ""},
		{"service-account.yaml", ""},
		{"secret.py", ""},
		{"a.csv.bak", ""},
		{".kube/deploy.yaml", ""},
	} {
		dir := realTemp(t)
		tree(t, dir, map[string]string{c.path: "", "other/sub/": ""})
		covers, partly, err := look(dir, false, most)
		if got := strings.Join(paths(covers), " "); got != c.want || partly != "" || err != nil {
			t.Errorf("%s: covered are %q, want %q; partly: %q, %v", c.path, got, c.want, partly, err)
		}
	}
	dir := filepath.Join(realTemp(t), ".docker")
	tree(t, dir, map[string]string{"config.json": ""})
	if covers, _, _ := look(dir, false, most); len(covers) != 1 {
		t.Errorf("the folder that was given gives a name no meaning: %v", covers)
	}
}

// TestIgnored: what a .gitignore of a repository names is covered, in a repository that is given and in those below.
func TestIgnored(t *testing.T) {
	dir := realTemp(t)
	tree(t, dir, map[string]string{
		".gitignore":          "*.log\n",
		"seen.log":            "", // this is no repository
		"a/.git/info/exclude": "/private\n",
		"a/.gitignore":        "*.log\n/build/\n!kept.log\n.env*\n",
		"a/private":           "", "a/sub/private": "", "a/x.log": "", "a/kept.log": "", "a/.env": "", "a/sub/build/x": "",
		"a/build/deep/x": "", "a/sub/.gitignore": "!x.log\n*.csv\n", "a/sub/x.log": "", "a/sub/y.log": "",
		"a/sub/z.csv": "", "a/z.csv": "",
		"a/inner/.git": "gitdir: ../other", "a/other/HEAD": "", "a/inner/x.log": "", // a repository of its own
		"a/any/.git/HEAD": "", "a/any/.git/config": "[core]\n\tignorecase = true\n", "a/any/sub/x.log": "",
		"a/any/.gitignore": "*.LOG\n",                                                                        // as somebody writes it whose file system does not tell cases apart
		"a/empty/.git/":    "", "a/empty/x.log": "", "a/lost/.git": "gitdir: /elsewhere", "a/lost/x.log": "", // none
	})
	for from, want := range map[string]string{
		".":     "a/.env a/any/sub/x.log a/build/ a/empty/x.log a/lost/x.log a/private a/sub/y.log a/sub/z.csv a/x.log",
		"a":     ".env any/sub/x.log build/ empty/x.log lost/x.log private sub/y.log sub/z.csv x.log",
		"a/sub": "", // it was named by itself
	} {
		covers, partly, err := look(filepath.Join(dir, from), false, most)
		if got := strings.Join(paths(covers), " "); got != want || partly != "" || err != nil {
			t.Errorf("%s: covered are %q, want %q; partly: %q, %v", from, got, want, partly, err)
		}
	}
}

// TestIgnoredByLink: git follows links to a repository's own patterns, and to no .gitignore.
func TestIgnoredByLink(t *testing.T) {
	for _, to := range []string{"../../../dot/exclude", "kept", "absolute"} {
		dir := realTemp(t)
		tree(t, dir, map[string]string{
			"dot/exclude": "/private\n", "a/.git/HEAD": "", "a/.git/info/kept": "/private\n", "a/private": "", "a/public": "",
		})
		if to == "absolute" {
			to = filepath.Join(dir, "dot", "exclude")
		}
		link := filepath.Join(dir, "a", ".git", "info", "exclude")
		must(t, os.Symlink(to, link))
		must(t, os.Symlink("public", filepath.Join(dir, "a", ".gitignore")))
		covers, partly, err := look(filepath.Join(dir, "a"), false, most)
		if got := strings.Join(paths(covers), " "); got != "private" || partly != "" || err != nil {
			t.Errorf("%s: covered are %q; partly: %q, %v", to, got, partly, err)
		}
	}
}

// TestPicked: in a folder that its user has not named by itself, .gitignore files count without a repository too, as do
// those above it up to the repository's top, and one that they name is refused.
func TestPicked(t *testing.T) {
	dir := realTemp(t)
	tree(t, dir, map[string]string{
		".gitignore":     "/beyond.txt\n*.csv\n", // above each repository's top
		"top/.gitignore": "*.log\n/mid/sub/a.txt\n/b.txt\n/gone/*\n", "top/.git/info/exclude": "private\n",
		"top/.git/HEAD": "", "top/.git/worktrees/wt/HEAD": "", "top/inner/.git/HEAD": "", "top/mid/.git/": "",
		"top/mid/.gitignore": "!kept.log\n/sub/c.txt\n", "top/mid/sub/.gitignore": "!c.txt\n/own/\n",
		"top/mid/sub/x.log": "", "top/mid/sub/kept.log": "", "top/mid/sub/a.txt": "", "top/mid/sub/b.txt": "",
		"top/mid/sub/c.txt": "", "top/mid/sub/private": "", "top/mid/sub/.env": "", "top/mid/sub/own/x": "",
		"top/mid/sub/beyond.txt": "", "top/mid/sub/x.csv": "", "top/mid/sub/deep/own/": "", "top/mid/sub/deep/x.log": "",
		"top/gone/sub/x": "", "top/private/x": "", "top/mid/private/deep/x": "",
		"plain/.gitignore": "*.log\n", "plain/x.log": "", "plain/sub/.gitignore": "y\n", "plain/sub/y": "",
		"plain/sub/x.log": "", "plain/y": "", "plain/x.csv": "",
		"tree/.git": "gitdir: ../top/.git\n", "tree/.gitignore": "*.log\n", "tree/sub/x.log": "", "tree/sub/private": "",
		"wt/.git": "gitdir: ../top/.git/worktrees/wt\n", "top/.git/worktrees/wt/gitdir": filepath.Join(dir, "wt/.git") + "\n",
		"wt/sub/private": "", "wt/sub/own": "", "wt/.gitignore": "own\n",
		"posing/.git": "gitdir: ../top/.git/worktrees/wt\n", "posing/sub/private": "",
		"top/inner/x.log": "", "top/inner/.gitignore": "x\n", "top/inner/sub/x": "",
	})
	const ignored = "the repository that it is in ignores it, by a .gitignore or its .git/info/exclude"
	for from, want := range map[string]string{
		"top/mid/sub":          ".env a.txt deep/x.log own/ private x.log",
		"plain":                "sub/x.log sub/y x.log",
		"tree/sub":             "x.log", // its gitdir is not followed
		"wt/sub":               "own private",
		"posing/sub":           "", // the worktree is another folder
		"top/inner/sub":        "x",
		"top/gone/sub":         ignored,
		"top/private":          ignored,
		"top/mid/private/deep": ignored,
	} {
		got, partly := "", ""
		list, err := Rules{}.Choose([]Request{{Path: filepath.Join(dir, from), Name: "x", Asked: true, Picked: true}})
		var refused *RefusedError
		if errors.As(err, &refused) {
			got = refused.Err.Error()
		} else {
			must(t, err)
			got, partly = strings.Join(paths(list[0].Covered), " "), list[0].Partly
		}
		if got != want || partly != "" {
			t.Errorf("%s: covered are %q, want %q; partly: %q", from, got, want, partly)
		}
		_, err = Rules{}.Choose([]Request{{Path: filepath.Join(dir, from), Name: "x"}})
		must(t, err) // by itself
	}
}

// TestPickedSecrets: a folder of secrets, or one in it, is shown to whoever names it by itself, and is no project's or
// client's.
func TestPickedSecrets(t *testing.T) {
	dir := realTemp(t)
	for _, name := range []string{".aws", ".SSH/deep", ".gnupg", "home/.kube/cache", ".azure", ".password-store/a"} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(at, 0o755))
		_, err := Rules{}.Choose([]Request{{Path: at, Name: "x", Picked: true}})
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Err.Error(), "hold secrets") {
			t.Errorf("%s is shown to who has not named it: %v", name, err)
		}
		_, err = Rules{}.Choose([]Request{{Path: at, Name: "x"}})
		must(t, err)
	}
	at := filepath.Join(dir, "aws")
	must(t, os.Mkdir(at, 0o755))
	_, err := Rules{}.Choose([]Request{{Path: at, Name: "x", Asked: true, Picked: true}})
	must(t, err)
}

// TestLeaf: a folder that holds none costs the same whatever is in it, where the file system tells.
func TestLeaf(t *testing.T) {
	dir := realTemp(t)
	tree(t, dir, map[string]string{"1": "", "2": "", "3": "", "4": "", ".env": "", "id_rsa": ""})
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	leaf := isLeaf(f)
	for _, picked := range []bool{false, true} {
		covers, partly, err := look(dir, picked, bounds{entries: 2, folders: 1, covered: 9})
		if err != nil || (partly == "") != leaf || leaf && strings.Join(paths(covers), " ") != ".env id_rsa" {
			t.Errorf("picked %v: covered are %q, partly: %q, a leaf: %v, %v", picked, paths(covers), partly, leaf, err)
		}
	}
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	if isLeaf(f) {
		t.Error("a folder with a folder is none")
	}
}

// TestLookBounds: what is too large is said to be, and what looks like a secret is covered before all else.
func TestLookBounds(t *testing.T) {
	few := bounds{entries: 100, folders: 20, covered: 10}
	for name, make := range map[string]func(dir string){
		"100 files and folders or more are": func(dir string) {
			for i := range few.entries + 1 {
				must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
			}
		},
		"more than 20 folders are": func(dir string) {
			for i := range few.folders + 1 {
				must(t, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o755))
			}
		},
		"more than 10 in it look like secrets": func(dir string) {
			tree(t, dir, map[string]string{".gitignore": "*.log\n", ".git/": ""})
			for i := range few.covered {
				must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".log")), nil, 0o600))
			}
		},
		`".gitignore" cannot be read: it is larger than 64 KiB`: func(dir string) {
			tree(t, dir, map[string]string{".gitignore": strings.Repeat("a\n", maxIgnore), ".git/": ""})
		},
	} {
		dir := realTemp(t)
		make(dir)
		tree(t, dir, map[string]string{"sub/.env": ""})
		covers, partly, _ := look(dir, false, few)
		if !strings.HasPrefix(partly, name) || len(covers) > few.covered {
			t.Errorf("%s: not all was looked at: %q; %d are covered", name, partly, len(covers))
		}
		if name == "more than 10 in it look like secrets" && covers[0].Path != "sub/.env" {
			t.Errorf("%s: first is %q", name, covers[0].Path)
		}
	}
	dir := realTemp(t)
	tree(t, dir, map[string]string{".env": ""})
	if _, err := (Rules{Bare: true}).Choose([]Request{{Path: dir, Name: "x", Asked: true}}); err == nil {
		t.Error("a secret that cannot be covered is given to somebody else who asks")
	}
	tree(t, dir, map[string]string{".gitignore": strings.Repeat("a\n", maxIgnore), ".git/": ""})
	list, err := Rules{}.Choose([]Request{{Path: dir, Name: "x"}})
	if err != nil || list[0].Partly == "" || len(list[0].Covered) != 1 {
		t.Errorf("named by the user: %+v, %v", list, err)
	}
	if _, err := (Rules{}).Choose([]Request{{Path: dir, Name: "x", Asked: true}}); err == nil {
		t.Error("given to somebody else who asks, though not all was looked through")
	}
}

// TestAsGit: git says of random patterns and paths what is said here.
func TestAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		require.Lacking(t, "git", "git: %v", err)
	}
	dir := realTemp(t)
	must(t, exec.Command(git, "init", "-q", dir).Run())
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(alphabet []string, most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		return b.String()
	}
	rounds := 60
	if require.Named("random") {
		rounds = 5000
	}
	for round := range rounds {
		var names bytes.Buffer
		var list []string
		for range 40 {
			name := strings.Trim(pick([]string{"a", "b", "ab", "/", "/", "-", "]", " ", "\xff", "!", "#", "A"}, 6), "/")
			if name = filepath.ToSlash(filepath.Clean(name)); name != "." && !slices.Contains(list, name) {
				list = append(list, name)
				names.WriteString(name + "\x00")
			}
		}
		pattern := pick([]string{
			"a", "b", "ab", "/", "/", "*", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[^-]", "[a-z]", "[]-]", "[[:alpha:]]",
			"[[:x:]]", "[", "]", "\\", "\\*", "!", "#", " ", "\\ ", "\xff", "[\\]]", "[b-a]", "[/]", "[[:a]", "-", "A",
			"[A]", "[!A]", "[A-C]", "[[:upper:]]",
		}, 5)
		must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(pattern+"\n"), 0o600))
		config := filepath.Join(dir, ".git", "config")
		anyCase := strconv.FormatBool(round%2 == 1)
		must(t, exec.Command(git, "config", "--file", config, "core.ignoreCase", anyCase).Run())
		written, err := os.ReadFile(config)
		must(t, err)
		cmd := exec.Command(git, "-C", dir, "check-ignore", "--no-index", "-z", "--stdin")
		cmd.Stdin = &names
		out, _ := cmd.Output() // it fails where none is ignored
		rules := parsePatterns([]byte(pattern+"\n"), ignoreCase(written))
		for _, name := range list {
			want := bytes.Contains(append([]byte{0}, out...), []byte("\x00"+name+"\x00"))
			if got := ignores(rules, name); got != want {
				t.Errorf("round %d: %q ignores %q: %v, git says %v", round, pattern, name, got, want)
			}
		}
	}
}

// ignores tells whether a path, or a folder that it is in, is left out.
func ignores(list []pattern, name string) bool {
	l := looker{}
	for i := range name {
		if name[i] == '/' && l.ignored(&rules{base: ".", patterns: list}, name[:i], true) {
			return true
		}
	}
	return l.ignored(&rules{base: ".", patterns: list}, name, false)
}

// TestManyIgnoreFiles: files of patterns are read until there are too many of them, however many files there are.
func TestManyIgnoreFiles(t *testing.T) {
	dir := realTemp(t)
	must(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	const lines = 1_500
	for n := range 20 {
		folder := filepath.Join(dir, fmt.Sprint(n))
		must(t, os.Mkdir(folder, 0o755))
		must(t, os.WriteFile(filepath.Join(folder, ".gitignore"), []byte(strings.Repeat("[a-z]*x\n", lines)), 0o600))
	}
	l := looker{dir: dir, most: most, folders: []folder{{path: "."}}}
	for i := 0; i < len(l.folders); i++ {
		l.folder(l.folders[i])
	}
	if l.patterns != 2*lines || l.partly == "" {
		t.Errorf("%d patterns were read, and it is told %q", l.patterns, l.partly)
	}
}

// TestIgnoreCase: a repository's config is read as git reads it.
func TestIgnoreCase(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		require.Lacking(t, "git", "git: %v", err)
	}
	config := filepath.Join(t.TempDir(), "config")
	for _, text := range []string{
		"[core]\n\tignorecase = true\n", "[core]\nignoreCase=false\n", "[Core] IgnoreCase = yes ; as on a Mac\r\n",
		"[core]\n\tignorecase\n", "[core]\n\tignorecase =\n", "[core]\n\tignorecase = \"on\" # x\n",
		"[core]\n\tignorecase = 2\n", "[core]\n\tignorecase = 0\n",
		"[core]\n\tignorecase = true\n[user]\n\tname = a\n[core]\n\tignorecase = off\n",
		"[core]\n\t# ignorecase = true\n\tignorecase = no\n",
	} {
		must(t, os.WriteFile(config, []byte(text), 0o600))
		out, err := exec.Command(git, "config", "--file", config, "--type", "bool", "core.ignorecase").Output()
		must(t, err)
		if got := fmt.Sprint(ignoreCase([]byte(text))); got != strings.TrimSpace(string(out)) {
			t.Errorf("%q is %s, git says %s", text, got, out)
		}
	}
}

// TestSlowPatterns: what it takes to compare names with patterns is bounded, however many stars they have.
func TestSlowPatterns(t *testing.T) {
	l := looker{}
	r := &rules{base: ".", patterns: parsePatterns([]byte(strings.Repeat(strings.Repeat("a*", 13)+"b\n", 1000)), false)}
	name := strings.Repeat("a", 245)
	asked := 0
	for ; l.partly == "" && asked < 1000; asked++ {
		if l.ignored(r, name, false) {
			t.Fatal("it is ignored")
		}
	}
	if asked < 5 || asked > 50 {
		t.Errorf("%d names of %d patterns were compared", asked, len(r.patterns))
	}
}
