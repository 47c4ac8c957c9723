package clientcfg

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"codemode/internal/config"
)

func TestMasked(t *testing.T) {
	const secret = "s3cr3t-0f-mine-123456"
	s := config.Server{
		Name: "a", Command: "npx", Source: "f.json",
		Args: []string{
			"-y", "@modelcontextprotocol/server-github@2025.4.8", "--token", secret, "--api-key=" + secret, "-H", "X: " + secret,
			"postgresql://me:" + secret + "@db/x", "https://x/mcp?key=" + secret + "&n=1&t=${TOKEN}", secret, "ghp_abcdefghijkl",
			"Server=x;Password=" + secret, "${TOKEN:-" + secret + "}", "/home/me/a folder/x.py", "https://${HOST}/a/" + secret + "/mcp",
		},
		Env: map[string]string{
			"A": secret, "B": "${TOKEN}", "C": "true", "D": "Bearer ${TOKEN}", "E": secret + "${TOKEN}", "F": "${T:-" + secret + "}",
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
