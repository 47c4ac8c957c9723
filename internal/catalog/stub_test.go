package catalog

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"codemode/internal/require"
)

func TestStub(t *testing.T) {
	s := NewServer("my \n\"server", "my_server", "", []json.RawMessage{
		json.RawMessage(
			`{"name":"create-issue","description":"Open an issue.\n\n   Say \"\"\" and \\ as you like.","inputSchema":{"properties":{
			"title":{"type":"string","description":"headline"},"where":{"type":"object","properties":{"from":{"type":"string"},"x-y":{"type":"integer"}},"required":["from"]}},
			"required":["title"],"additionalProperties":{"type":"string"}},
			"outputSchema":{"$ref":"#/$defs/Issue","$defs":{"Issue":{"type":"object","properties":{"id":{"type":"integer"},
				"parents":{"type":"array","items":{"$ref":"#/$defs/Issue"}},"state":{"enum":["open","closed"]}},"required":["id"]}}}}`,
		),
		json.RawMessage(
			`{"name":"any","inputSchema":{"properties":{"a":{"$ref":"#/$defs/any"}},"$defs":{"any":{"properties":{}}}}}`,
		),
		json.RawMessage(
			`{"name":"count","outputSchema":{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}}`,
		),
		json.RawMessage(`{"name":"list_users"}`),
	})
	users, _ := Seen(nil, []byte(`[{"name":"Ann","age":7},{"name":"Bo"}]`))
	got := Stub(s.WithObserved(map[string]*Shape{"list_users": users, "count": users}))
	want := `# Tools of "my \n\"server", as codemode documents them.
from typing import Any, Literal, NotRequired, TypedDict

CreateIssueWhere = TypedDict("CreateIssueWhere", {
    "from": str,
    "x-y": NotRequired[int],
})

class CreateIssueIssue(TypedDict):
    id: int
    parents: NotRequired[list[CreateIssueIssue]]
    state: NotRequired[Literal["open", "closed"]]

class AnyAny(TypedDict): ...

class ListUsersResult(TypedDict):
    age: NotRequired[int]
    name: str


async def create_issue(title: str, where: CreateIssueWhere | None = None, **kwargs: Any) -> CreateIssueIssue:
    """Open an issue.
    Say \"\"\" and \\ as you like.

    Args:
        title: headline"""
    ...


async def any(a: AnyAny | None = None) -> Any:
    ...


async def count(**kwargs: Any) -> int:
    ...


async def list_users(**kwargs: Any) -> list[ListUsersResult]:
    """Returns: list[dict] (observed, not promised) each with age?: int, name: str"""
    ...
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	parsePython(t, map[string]string{"stub": got})
}

// TestPythonReadsStubs has Python compile the stubs of real servers.
func TestPythonReadsStubs(t *testing.T) {
	stubs := map[string]string{}
	for _, s := range readCorpus(t).Servers() {
		stubs[s.Name] = Stub(s)
	}
	parsePython(t, stubs)
}

// parsePython has Python parse source texts.
func parsePython(t *testing.T, sources map[string]string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Lacking(t, "python", "no python3")
	}
	input, err := json.Marshal(sources)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", `
import ast, json, sys
for name, source in json.load(sys.stdin).items():
    try:
        ast.parse(source)
    except SyntaxError as e:
        print(f"{name}: {e}: {e.text}")
print("read")`)
	cmd.Stdin = strings.NewReader(string(input))
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "read" {
		t.Errorf("Python says %s (%v)", got, err)
	}
}
