package clientcfg

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"codemode/internal/config"
	"codemode/internal/hint"
)

func TestMasked(t *testing.T) {
	const secret = "s3cr3t-0f-mine-123456"
	s := config.Server{
		Name: "a", Command: "npx", Source: "f.json",
		Args: []string{
			"-y", "@modelcontextprotocol/server-github@2025.4.8", "--token", secret, "--api-key=" + secret, "-H",
			"X: " + secret, "postgresql://me:" + secret + "@db/x", "https://x/mcp?key=" + secret + "&n=1&t=${TOKEN}",
			secret, "ghp_abcdefghijkl", "Server=x;Password=" + secret, "${TOKEN:-" + secret + "}",
			"/home/me/a folder/x.py", "https://${HOST}/a/" + secret + "/mcp",
		},
		Env: map[string]string{
			"A": secret, "B": "${TOKEN}", "C": "true", "D": "Bearer ${TOKEN}", "E": secret + "${TOKEN}",
			"F": "${T:-" + secret + "}",
		},
		Headers: map[string]string{"Authorization": "Bearer " + secret},
		URL:     "https://me:" + secret + "@x/" + secret + "/mcp?k=" + secret + "#" + secret,
	}
	before := fmt.Sprintf("%+v", s)
	got := Masked(s)
	if after := fmt.Sprintf("%+v", s); after != before {
		t.Error("the server itself was changed")
	}
	want := config.Server{
		Name: "a", Command: "npx", Source: "f.json",
		Args: []string{
			"-y", "@modelcontextprotocol/server-github@2025.4.8", "--token", "***", "--api-key=***", "-H", "***",
			"postgresql://***@db/x", "https://x/mcp?key=***&n=1&t=${TOKEN}", "***", "***",
			"Server=x;Password=***", "${TOKEN:-***}", "/home/me/a folder/x.py", "https://${HOST}/a/***/mcp",
		},
		Env: map[string]string{
			"A": "***", "B": "${TOKEN}", "C": "true", "D": "Bearer ${TOKEN}", "E": "***${TOKEN}", "F": "${T:-***}",
		},
		Headers: map[string]string{"Authorization": "***"},
		URL:     "https://***@x/***/mcp?k=***#***",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if strings.Contains(fmt.Sprintf("%+v", got), secret) {
		t.Error("the secret is there")
	}
}

// TestMaskedShort holds that what is secret by its name is masked however short it is, and nothing else for that.
func TestMaskedShort(t *testing.T) {
	s := config.Server{
		Name:    "a",
		Command: "x",
		Args: []string{
			"--token",
			"ab",
			"--api-key=k3",
			"-H",
			"X-Key: h1",
			`{"password":"p1","user":"me","max_tokens":4096}`,
			"-c",
			"PASSWORD=q7 npx x",
			"https://x/?key=u1&n=5",
			"--port",
			"80",
			"redis://me:r2@db",
			"${TOKEN:-d4}",
		},
		Env: map[string]string{
			"API_KEY": "z", "DB_PASS": "1234", "USE_TOKEN": "true", "DEBUG": "1", "GIT_AUTHOR": "Bob",
			"SECRET": "${S:-d3}",
		},
		Headers: map[string]string{"Authorization": "Bearer b9", "X-Level": "high"},
		URL:     "https://me:w3@x/mcp?token=v5",
	}
	want := config.Server{
		Name:    "a",
		Command: "x",
		Args: []string{
			"--token",
			"***",
			"--api-key=***",
			"-H",
			"***",
			`{"password":"***","user":"me","max_tokens":4096}`,
			"-c",
			"PASSWORD=***",
			"https://x/?key=***&n=5",
			"--port",
			"80",
			"redis://***@db",
			"${TOKEN:-d4}",
		},
		Env: map[string]string{
			"API_KEY": "***", "DB_PASS": "***", "USE_TOKEN": "true", "DEBUG": "1", "GIT_AUTHOR": "Bob",
			"SECRET": "${S:-***}",
		},
		Headers: map[string]string{"Authorization": "***", "X-Level": "high"},
		URL:     "https://***@x/mcp?token=***",
	}
	if got := Masked(s); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	found := Secrets(s)
	for _, secret := range []string{"ab", "k3", "h1", "p1", "q7", "u1", "r2", "z", "1234", "d3", "b9", "w3", "v5"} {
		if !slices.Contains(found, secret) {
			t.Errorf("%q is not among %q", secret, found)
		}
	}
	for _, plain := range []string{"me", "true", "80", "high", "4096", "x", "Bob"} {
		if slices.Contains(found, plain) {
			t.Errorf("%q is among %q", plain, found)
		}
	}
}

// TestMaskedArguments has each way in which people write a secret into a command, and what must stay readable.
func TestMaskedArguments(t *testing.T) {
	const secret = "s3cr3tOfMine99"
	for _, c := range []struct{ args, want string }{
		{
			`--config|{"url":"https://x/mcp","apiKey":"SECRET","n":[1,true,null]}`,
			`--config|{"url":"https://x/mcp","apiKey":"***","n":[1,true,null]}`,
		},
		{
			`--config={"auth":{"user":"me","list":["SECRET"]},"port":8080}`,
			`--config={"auth":{"user":"me","list":["***"]},"port":8080}`,
		},
		{
			`{"a":"postgres://me:SECRET@db/x","b":"{\"token\":\"SECRET\"}"}`,
			`{"a":"postgres://***@db/x","b":"{\"token\":\"***\"}"}`,
		},
		{`{"token":"${TOKEN}","pin":12345678,"key":12345678}`, `{"token":"${TOKEN}","pin":12345678,"key":"***"}`},
		{`{apiKey:SECRET, other: 1}`, `{apiKey:*** other: 1}`},
		{`{'apiKey': 'SECRET', broken`, `{'apiKey': '***', broken`},
		{`-pSECRET|-uroot`, `-p***|-uroot`},
		{`-phunterhunter|-project|-p8080:8080`, `-p***|-project|-p8080:8080`},
		{`-k|SECRET`, `-k|***`},
		{`-k|correcthorse`, `-k|***`},
		{`-t|SECRET|-t|mcp/github|-t|stdio`, `-t|***|-t|mcp/github|-t|stdio`},
		{`-u|me:SECRET`, `-u|***`},
		{`-p|8080:80|-p|@scope/package|-p|/dev/ttyS0`, `-p|8080:80|-p|@scope/package|-p|/dev/ttyS0`},
		{`--access-token:SECRET|/token:SECRET`, `--access-token:***|/token:SECRET`},
		{`--dsn|me:SECRET@tcp(db:3306)/x`, `--dsn|***`},
		{`--token|-SECRET|--token|--verbose`, `--token|***|--token|--verbose`},
		{`me:SECRET@tcp(db:3306)/x`, `me:***@tcp(db:3306)/x`},
		{
			`--store|Server=db;User Id=me;Password=SECRET;Encrypt=true`,
			`--store|Server=db;User Id=me;Password=***;Encrypt=true`,
		},
		{`host=db user=me password='SECRET x' port=5432`, `host=db user=me password='***' port=5432`},
		{`jdbc:sqlserver://db:1433;user=me;password=SECRET`, `jdbc:sqlserver://db:1433;user=me;password=***`},
		{`jdbc:mysql://db/x?user=me&password=SECRET`, `jdbc:mysql://db/x?user=me&password=***`},
		{`Endpoint=sb://x.net/;SharedAccessKeyName=root;SharedAccessKey=SECRET=`, `Endpoint=sb://x.net/***`},
		{`see https://a.b/?x=${X} and redis://:SECRET@db:6379/0`, `see https://a.b/?x=${X} and redis://***@db:6379/0`},
		{`postgres://me:a/SECRET@db/x`, `postgres://***@db/x`},
		{`https://x.y/mcp?a=1&api=SECRET#SECRET`, `https://x.y/mcp?a=1&api=***#***`},
		{`-e|PLAIN=SECRET|-e|GITHUB_TOKEN|--env|x=SECRET`, `-e|PLAIN=***|-e|GITHUB_TOKEN|--env|x=***`},
		{`GITHUB_PAT=SECRET|npx|foo`, `GITHUB_PAT=***|npx|foo`},
		{`-c|TOKEN=SECRET npx foo --api-key SECRET`, `-c|TOKEN=***`},
		{`-c|curl -H "Authorization: Bearer SECRET" x`, `-c|curl -H "Authorization: ***" x`},
		{`-HX-Key: SECRET|-HX: SECRET|--header|X: SECRET`, `-HX-Key:***|-H***|--header|***`},
		{`SECRET`, `***`},
		{`wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`, `***`},
		// Nothing of this is a secret.
		{`-y|@modelcontextprotocol/server-github@2025.4.8|--transport|stdio|-transport|http|-stdio`, ``},
		{`run|-i|--rm|-v|/home/me/Docs:/docs:ro|ghcr.io/x/auth-mcp:latest-alpine|--port=8080|--log-level|debug`, ``},
		{`--from|git+https://github.com/x/y@v1.2.3|serve|--root|C:\Users\me\Project 2024\a.py`, ``},
		{`mcp-remote|https://mcp.example.com:8443/v1/sse|--allow-http|--timeout|30000|/opt/x/dist/index.js`, ``},
		{`-m|mcp_server.main|--directory|/home/me/src/mcp-server-2|node:20|a=b|--include=*.py|[a-z]|{x}`, ``},
	} {
		want := c.want
		if want == "" {
			want = c.args
		}
		words := strings.Split(strings.ReplaceAll(c.args, "SECRET", secret), "|")
		got := Masked(config.Server{Name: "a", Command: "x", Args: words}).Args
		if text := strings.Join(got, "|"); text != strings.ReplaceAll(want, "SECRET", secret) {
			t.Errorf("%s\ngot  %s\nwant %s", c.args, text, want)
		}
	}
}

// TestSecrets holds that what is masked for people is known to those who mask what servers say, and in every form.
func TestSecrets(t *testing.T) {
	s := config.Server{
		Command: "TOKEN=of-command npx x",
		Args: []string{
			"-c",
			"KEY=of-shell npx --token of-inner",
			"--config",
			`{"apiKey":"of json"}`,
			"redis://me:p%40ssword@db/0",
			"--auth",
			"Bearer of-flag",
		},
		Env:     map[string]string{"A": "of-${X}-environment"},
		Headers: map[string]string{"H": "of-header"},
		Cwd:     "/srv/token=of-folder",
		URL:     "https://x/?k=of-query",
	}
	got := Secrets(s)
	for _, want := range []string{
		"of-shell", "of-inner", "of-command", "of json", "p%40ssword", "p@ssword", "of-flag", "-environment",
		"of-header", "of-folder", "of-query",
	} {
		if !strings.Contains("\n"+strings.Join(got, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%q is not among %q", want, got)
		}
	}
}

// TestHideSecrets holds that what a server's documents repeat of its entry is not in the error of a sign-in.
func TestHideSecrets(t *testing.T) {
	s := config.Server{URL: "https://h/mcp", Headers: map[string]string{"X-Key": "header-word"}}
	err := HideSecrets(errors.New("no /as/header-word for client-word"), s, config.OAuth{Secret: "client-word"})
	if got := err.Error(); got != "no /as/*** for ***" {
		t.Errorf("it says %q", got)
	}
	if err := hint.New("plain", "do this"); HideSecrets(err, s, config.OAuth{}) != err {
		t.Error("an error without one is another")
	}
}
