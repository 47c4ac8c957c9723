package redact

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestParts holds that what a server may tell of a value alone is as secret as the value.
func TestParts(t *testing.T) {
	s := &Secrets{}
	for name, value := range map[string]string{
		"DATABASE_URL": "postgres://bob:pw112233@db.host/app?sslmode=require&sslpassword=other88",
		"MYSQL":        "mysql://root:my%2FsqlPw12@h/d", "REDIS": "redis://:redis@h",
		"GIT":        "https://x-access-token:ghs9@host/o",
		"SENTRY_DSN": "https://sentryKey8765@o1.ingest.io/1", "BASIC_AUTH": "bob:basicWord", "TOKEN": "'quotTok5566'",
		"API_KEYS": "listKeyA1122,listKeyB; listKeyC", "GCP": `{"private_key":"gcpKey2468","x":1,"name":"plainly"}`,
		"OPTS": "--password=optPw1357 --user=someone", "SCOPES_AUTH": "openid,profile",
		"PATH":      "/usr/bin:/usr/local/bin",
		"SQLSERVER": "jdbc:sqlserver://h:1433;user=sa;password=mssqlWord;encrypt=true",
		"DB2":       "jdbc:db2://h:50000/d:user=u;password=db2Word;", "ORACLE": "jdbc:oracle:thin:u/oraWord@//h:1521/s",
		"BUS":  "Endpoint=sb://n.example/;SharedAccessKeyName=Root;SharedAccessKey=busWord=",
		"RSA":  `-----BEGIN PRIVATE KEY-----\nMIIEkeyLine/of+it\nsecondLine9/ab\n-----END PRIVATE KEY-----\n`,
		"FORM": "user=1&secret=formWord&b=2", "MIRRORS": "https://u:firstWord@a.host,https://u:nextWord@b.host",
		"Authorization": "ApiKey correct-horse-battery", "X-Keys": "alpha-word1 beta-words",
		"API_KEYS_ROW": "gamma-key-77 delta-key-11 epsilon-key-22 zeta-key-33",
		"PAGE_URL":     "https://h/x#access_token=fragmentWord", "NETRC": "machine h login u password netrcWord",
		"INI": "aws_secret_access_key = iniWord", "ODBC": "DSN=d;PWD={odbc;Word}", "LOOSE": "{'token': 'looseWord'}",
		"PAIR_KEY": base64.StdEncoding.EncodeToString([]byte("u:pairWord")),
		"CREDS":    base64.StdEncoding.EncodeToString([]byte(`{"client_secret":"deepWord"}`)),
		"XML":      "<a><password>xmlWord</password></a>", "GREETING_HEADER": "please come in by that green door",
		"USERS_KEY": "alice:firstKey1,bob:nextKey2;carol:role:thirdKey3|dave->fourthKey4",
		"SOME_KEYS": "fifthKey5:eve,x/sixthKey6",
		"MORE_KEYS": "al: seventhKey7, bo: eighthKey8\ncy:ninth-key eve99:tenth-key", "AUTH_SCOPES": "repo:status,user:email",
		"SQLALCHEMY":   "mssql+pyodbc:///?odbc_connect=DRIVER%3D%7BX%7D%3BUID%3Dbob%3BPWD%3DpercentWord%3B",
		"REMOTE":       "https://ownerWord:x-oauth-basic@host/o",
		"NEXT":         "https://h/?next=https%3A%2F%2Fa%2F%3Ftoken%3DinnerWord",
		"PERCENT_AUTH": "Bearer%20bearerWord99",
		"Cookie":       "sid=cookieword; theme=dark; li_at=AQED", "SLACK_COOKIE": "d=xoxd-slack",
	} {
		s.AddNamed(name, value)
	}
	r := s.Redactor()
	for _, secret := range []string{
		"pw112233", "other88", "my%2FsqlPw12", "my/sqlPw12", "redis", "ghs9",
		"sentryKey8765", "basicWord", "quotTok5566",
		"listKeyA1122", "listKeyB", "listKeyC", "gcpKey2468", "optPw1357", "cookieword", "xoxd-slack",
		"mssqlWord", "db2Word", "oraWord", "busWord=", "MIIEkeyLine/of+it", "secondLine9/ab",
		"correct-horse-battery", "alpha-word1", "beta-words", "gamma-key-77", "zeta-key-33", "fragmentWord",
		"netrcWord",
		"iniWord", "odbc;Word", "looseWord", "pairWord", "deepWord", "xmlWord",
		"formWord", "firstWord", "nextWord",
		"firstKey1", "nextKey2", "thirdKey3", "fourthKey4", "fifthKey5", "sixthKey6", "seventhKey7", "eighthKey8",
		"ninth-key", "tenth-key", "percentWord", "ownerWord", "innerWord", "bearerWord99",
	} {
		if got := r.Text("is " + secret + "."); got != "is ***." {
			t.Errorf("%q became %q", secret, got)
		}
	}
	for _, text := range []string{
		"postgres", "require", "bob", "db.host", "plainly", "someone", "profile", "/usr/local/bin", "app",
		"machine", "please", "green", "carol", "status", "email",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestPartsOfArgs holds the same of arguments.
func TestPartsOfArgs(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("u:basicWord"))
	for args, secret := range map[string]string{
		"-e DATABASE_URL=postgres://u:dockerWord@h/d": "dockerWord", "--dsn=mysql://u:mysqlWord@h/d": "mysqlWord",
		"--connection-string=postgresql://u:pgWord@h": "pgWord", "--credentials=u:credWord": "credWord",
		"--auth=u:authWord": "authWord", "--auth u:nextWord": "nextWord", "--cookie=sid=cookieWord;b=c": "cookieWord",
		"--secrets=firstKey1,secondKey2": "secondKey2", "--keys thirdKey3,fourthKey4": "fourthKey4",
		"--header=Authorization:Basic|" + basic: "basicWord", "-H X-Key:headerWord": "headerWord",
	} {
		f := &Finder{}
		list := strings.Fields(args)
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "|", " ")
		}
		shown := strings.Join(f.Args(list), " ")
		s := &Secrets{}
		s.Add(f.Found...)
		if got := s.Redactor().Text("is " + secret + "."); got != "is ***." || strings.Contains(shown, secret) {
			t.Errorf("%s: %q, and shown as %q", args, got, shown)
		}
	}
}

// TestPrivateKeys holds that a key is hidden as a whole: lines of it may look like paths.
func TestPrivateKeys(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIE/a/b/c/d\nab/cd/ef/gh\nshort\n-----END RSA PRIVATE KEY-----"
	for _, text := range []string{"v=" + key + " end", key + "\n", fmt.Sprintf(`{"v":%q}`, key), key[:60]} {
		got := (&Finder{}).Text(text)
		for _, line := range []string{"MIIE", "ab/cd", "short"} {
			if strings.Contains(got, line) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}

// TestNamedInText: what a text has behind a name of a secret is hidden, and what tells whose it is stays.
func TestNamedInText(t *testing.T) {
	for text, want := range map[string]string{
		"Authorization: ApiKey plainpw-1234567":              "Authorization: ***",
		"curl -H 'Authorization: Bot plainpw-1234567' h":     "curl -H 'Authorization: ***' h",
		`{"a":"Authorization: Key plainpw-1234567","b":"c"}`: `{"a":"Authorization: ***","b":"c"}`,
		"token => plainpw-1234567":                           "token => ***",
		"Cookie: a=b; sid=plainpw-1234567":                   "Cookie: ***",
		"<password>plainpw-1234567</password>":               "<password>***</password>",
		"machine h login u password plainpw-1234567":         "machine h login u password ***",
		"the author: ApiKey is a word":                       "the author: ApiKey is a word",
	} {
		if got := (&Finder{}).Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestPairs: what names a value need not be the member that it is.
func TestPairs(t *testing.T) {
	const secret = "hunter22hunter22"
	for in, want := range map[string]string{
		`{"env":[{"name":"API_KEY","value":"` + secret + `"}]}`:     `{"env":[{"name":"API_KEY","value":"***"}]}`,
		`[{"Name":"Authorization","Value":"` + secret + `","x":1}]`: `[{"Name":"Authorization","Value":"***","x":1}]`,
		`{"args":["--password","` + secret + `","--port","8080"]}`:  `{"args":["--password","***","--port","8080"]}`,
		`["--api-key","` + secret + `","other"]`:                    `["--api-key","***","other"]`,
		`["--api-key=` + secret + `","other"]`:                      `["--api-key=***","other"]`,
		`{"name":"note","value":"good morning"}`:                    `{"name":"note","value":"good morning"}`,
		`{"name":"API_KEY","other":"x","title":"good morning"}`:     `{"name":"API_KEY","other":"x","title":"good morning"}`,
		`{"a":{"name":"password"},"value":"good day"}`:              `{"a":{"name":"password"},"value":"good day"}`,
	} {
		if got := (&Finder{}).Text(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
