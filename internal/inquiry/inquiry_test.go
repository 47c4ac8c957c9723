package inquiry

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// TestNumbers: no number reaches a server as another than was answered, or shown.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		`{"n":9007199254740991}`: true, `{"n":-1.5}`: true, `{"n":"9007199254740993"}`: true,
		`{"n":9007199254740993}`: false, `{"a":1,"n":-12345678901234567890}`: false,
	} {
		r := &mcp.ElicitResult{Action: "accept"}
		if err := json.Unmarshal([]byte(text), &r.Content); err != nil {
			t.Fatal(err)
		}
		if got := IsAnswer(&mcp.ElicitParams{}, r); got != want {
			t.Errorf("%s is an answer: %t", text, got)
		}
	}
	field := Field{schema: gjson.Parse(`{"type":"integer","default":9007199254740993}`)}
	if value, given, err := field.Read(""); !given || err != nil || value != json.Number("9007199254740993") {
		t.Errorf("what is left as it is shown becomes %v, %v", value, err)
	}
}
