package mount

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// secrets are what holds keys and passwords in many folders: names, or a folder's and a name in it. A name that ends in
// / is a folder's. Upper and lower case are one.
var secrets = []string{
	".env", ".env.local", ".env.development", ".env.test", ".env.production", ".envrc", ".netrc", "_netrc", ".npmrc",
	".yarnrc.yml", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", ".vault-token", ".dockercfg",
	".dockerconfigjson", "id_rsa", "id_ed25519", "id_ecdsa", "id_ecdsa_sk", "id_ed25519_sk", "id_dsa", "key.pem",
	"server.pem", "private.pem", "privkey.pem", "private.key", "server.key", "client.key", "tls.key", "ca.key",
	"master.key", "credentials/production.key", "terraform.tfstate", "terraform.tfvars", "auth.json",
	"credentials.json", "credentials.toml", "credentials.yaml", "credentials.yml", "service-account.json",
	"secret.json", "secret.yaml", "secret.yml", "secret.toml", "secrets.json", "secrets.yaml", "secrets.yml",
	"secrets.toml", "client_secret.json", "kubeconfig", "rclone.conf", ".s3cfg", ".boto", ".my.cnf", ".terraformrc",
	".docker/config.json", ".kube/config", "gh/hosts.yml", ".gem/credentials", ".dev.vars", "token.json", "cookies.txt",
	"cookies.sqlite", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history",
	"appsettings.production.json", "serviceaccountkey.json", "local.settings.json", "keystore.json",
	".aws/", ".azure/", ".ssh/", ".gnupg/", ".password-store/",
}

// secretEndings are of files that hold keys.
var secretEndings = []string{".p12", ".pfx", ".p8", ".ppk", ".jks", ".keystore", ".kdbx", ".ovpn"}

// secretWords are in the names of JSON that a service hands out to be kept, but for those of what describes it.
var secretWords, describingWords = []string{
	"credentials", "service-account", "service_account", "firebase-adminsdk", "client_secret",
}, []string{"example", "sample", "schema", "template"}

// backups are what programs and people add to a name when they keep an older one.
var backups = []string{".old", ".bak", ".backup", ".orig", ".save", "~", ".1"}

func withoutBackup(name string) string {
	for _, ending := range backups {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// shownEnvs are what stands in repositories in the place of an .env.
var shownEnvs = []string{".env.example", ".env.sample", ".env.template", ".env.dist"}

var knownSecrets = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range secrets {
		set[name] = true
	}
	return set
}()

// isSecret tells whether a file or folder in a folder of that name looks like a secret.
func isSecret(folder, name string, dir bool) bool {
	name = withoutBackup(strings.ToLower(name))
	if dir {
		return knownSecrets[name+"/"]
	}
	folder = withoutBackup(strings.ToLower(folder))
	ending := path.Ext(name)
	return knownSecrets[name] || knownSecrets[folder+"/"+name] ||
		slices.Contains(secretEndings, ending) || ending == ".env" ||
		ending == ".json" && hasAny(name, secretWords) && !hasAny(name, describingWords) ||
		ending == ".json" && strings.HasPrefix(name, "appsettings.") && name != "appsettings.json" &&
			!hasAny(name, describingWords) ||
		strings.HasPrefix(name, ".") && strings.HasSuffix(name, "_history") ||
		strings.HasPrefix(name, ".dev.vars.") && !hasAny(name, describingWords) ||
		strings.HasPrefix(name, "id_") && isKey(name, ending) ||
		strings.HasPrefix(name, ".env ") || // .env (copy)
		strings.HasPrefix(name, ".env.") && !slices.Contains(shownEnvs, name)
}

// isKey tells whether a name that begins with id_ is that of a key of ssh's, whose other half is id_NAME.pub.
func isKey(name, ending string) bool {
	first, _, dotted := strings.Cut(name, ".")
	return !dotted || knownSecrets[first] && ending != ".pub"
}

func hasAny(name string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// secretFolder is the first folder in a path whose name says that it holds secrets, whatever theirs are; "" is none.
// In .kube are files of clusters by any name, but in a repository's also what is no secret: it is not covered whole.
func secretFolder(path string) string {
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if known := withoutBackup(strings.ToLower(name)); knownSecrets[known+"/"] || known == ".kube" {
			return name
		}
	}
	return ""
}

// secretFiles are the names of such files in a folder of that name, as far as they are known whole.
func secretFiles(folder string) (list []string) {
	for _, name := range secrets {
		in, file, nested := strings.Cut(name, "/")
		switch {
		case !nested:
			list = append(list, name)
		case file != "" && in == strings.ToLower(folder):
			list = append(list, file)
		}
	}
	return list
}
