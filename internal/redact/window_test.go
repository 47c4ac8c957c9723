package redact

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestWindows holds that windows find all that is found in a whole text: secrets in every form, at and over the edges of
// windows, in whatever is around them. They may find more: a word that is no text as base64 may have a part that is.
func TestWindows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	wide := strings.Repeat("é€é", 30)
	fillers := slices.Sorted(maps.Values(hostile))
	fillers = append(
		fillers, ordinary, " ", "\n", "é€", "k3", "sixs", `\\`, `\\n`, base64.RawStdEncoding.EncodeToString([]byte(wide)),
	)
	for _, secrets := range [][]string{
		{"wJalrXUtnFEMI/K7MDENG+b", "pass word!=&ünd", "sixsix", "k3y", "a1\nsecond line"}, {"sixsix", "k3y"}, {"k3y"},
	} {
		r := redactor(secrets...)
		var all []string
		for _, s := range secrets {
			all = append(all, slices.Sorted(maps.Values(forms(s)))...)
			all = append(all, base64.StdEncoding.EncodeToString([]byte(wide+" "+s+" "+wide)))
		}
		for range 500 {
			o, whole := r.over(), r.over()
			o.size = 50 + random.IntN(200)
			var b strings.Builder
			for b.Len() < 5*o.size {
				filler := fillers[random.IntN(len(fillers))]
				edge := o.size*(b.Len()/o.size+1+random.IntN(3)) + random.IntN(80) - 60
				b.WriteString(strings.Repeat(filler, max(0, edge-b.Len())/len(filler)))
				b.WriteString(all[random.IntN(len(all))])
			}
			text := b.String()
			whole.size = len(text)
			got := slices.Collect(o.coveredIn(text))
			for want := range whole.coveredIn(text) {
				if want.to-want.from > 2*r.longest { // taken apart by soft line breaks
					continue
				}
				if !slices.ContainsFunc(got, func(c span) bool { return c.from <= want.from && c.to >= want.to }) {
					t.Fatalf("in windows of %d bytes, of %q %q is not covered, but %v", o.size, text, text[want.from:want.to], got)
				}
			}
			if more := strings.Count(o.text(text), Mask) - strings.Count(whole.text(text), Mask); more > 3 {
				t.Errorf("in windows of %d bytes, of %q %d more are covered", o.size, text, more)
			}
		}
	}
}

// TestMemory holds how much memory redacting takes, whatever is in the text: of JSON that is one string, and of many.
func TestMemory(t *testing.T) {
	const size = 1 << 20
	r := manySecrets("k3y")
	r.matcher()
	for name, piece := range hostile {
		text := strings.Repeat(piece, size/len(piece))
		one, _ := json.Marshal("k3y " + text)
		many, _ := json.Marshal(strings.SplitAfterN(text, piece, min(len(text)/len(piece), size/100)))
		for what, data := range map[string][]byte{"one": one, "many": many} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r.JSON(data)
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s, %s: %.1f times", name, what, float64(took)/float64(len(data)))
			if took > 6*uint64(len(data)) {
				t.Errorf("%s: redacting %d bytes takes %d", name+", "+what, len(data), took)
			}
		}
	}
}
