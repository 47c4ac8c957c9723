package visible

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestMembers holds that however long one value is, all others and their names show.
func TestMembers(t *testing.T) {
	x := strings.Repeat("x", 5000)
	list := "[" + strings.TrimSuffix(strings.Repeat("1234,", 600), ",") + "]"
	for sent, want := range map[string][]string{
		`{}`:                                     {`{}`},
		`{"a":1,"b":[true,null]}`:                {`{"a":1,"b":[true,null]}`},
		`{"a":` + list + `,"zforce":true}`:       {`{"a":[1234,1234,`, ` bytes not shown>],"zforce":true}`},
		`{"a":{"b":` + list + `},"zforce":true}`: {`{"a":{"b":[1234,1234,`, ` bytes not shown>]},"zforce":true}`},
		`{"a":{"b":"` + x + `","c":1},"z":"` + x + `","y":1}`:  {`{"a":{"b":"xxx`, `,"c":1},"z":"xxx`, ` bytes not shown>,"y":1}`},
		`{"a":"` + x + `","b":` + list + `,"path":"/etc"}`:     {`{"a":"xxx`, ` bytes not shown>,"b":[1234,`, ` bytes not shown>],"path":"/etc"}`},
		`{"` + x + `":1,"zforce":true}`:                        {`{"xxx`, `"<4975 bytes not shown>:1,"zforce":true}`},
		`{"a":"}` + x + `","b":{"q\"{":"` + x + `"},"z":[[]]}`: {`{"a":"}xxx`, `,"b":{"q\"{":"xxx`, `>},"z":[[]]}`},
	} {
		got, whole := Members(json.RawMessage(sent), 200)
		if whole != !strings.Contains(got, " not shown>") || len(got) > 200 {
			t.Errorf("%.30s… is shown in %d bytes, whole: %v", sent, len(got), whole)
		}
		for rest, i := got, 0; i < len(want); i++ {
			_, after, found := strings.Cut(rest, want[i])
			if rest = after; !found {
				t.Errorf("%.30s… is shown as\n%s\nwithout %s", sent, got, want[i])
				break
			}
		}
	}
}

// TestTooManyMembers is about names that do not fit: how many there are is said.
func TestTooManyMembers(t *testing.T) {
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, `"k%05d":%d,`, i, i)
	}
	got, whole := Members(json.RawMessage("{"+b.String()+`"zforce":true}`), 1000)
	shown := strings.Count(got, `"k`)
	if whole || shown < 30 || !strings.HasSuffix(got, fmt.Sprintf("<%d members not shown>}", 20001-shown)) {
		t.Errorf("whole: %v, %s", whole, got)
	}
}

// FuzzMembers holds that what is shown of any object keeps to its bound, is whole where it says so, and that each name
// is shown or counted.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\u202e"}],"c":-1.5e3}`, `{"":{},"\ud800":[[[]]]}`, `[1]`, `{"a":"b","c":{"d":"}"}}`} {
		f.Add([]byte(seed), uint8(0))
	}
	f.Fuzz(func(t *testing.T, sent []byte, more uint8) {
		limit := 64 + int(more)
		shown, whole := Members(sent, limit)
		if most := limit + len(`{}<1000000 members not shown>`) + len(`no JSON: ""`) + maxLeftOut; len(shown) > most {
			t.Fatalf("%d bytes where %d are the limit: %s", len(shown), limit, shown)
		}
		if !json.Valid(sent) || !utf8.Valid(sent) {
			return
		}
		if all := Value(sent, 20*len(sent)+100); whole != (len(all) <= limit) || whole && shown != all {
			t.Fatalf("%s is shown as %s, whole: %v", all, shown, whole)
		}
	})
}
