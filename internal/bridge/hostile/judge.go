package hostile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"
	"strings"
	"unicode"
	"unicode/utf8"

	"codemode/internal/bridge"
	"codemode/internal/sandbox/escape"
)

// maxResult is the size a result never exceeds, but for its images.
const maxResult = 300 << 10

// judge looks at a run as its caller sees it, and takes the last thing the code says of itself.
func (s *scene) judge(o bridge.Outcome) (escape.Verdict, string) {
	if err := clean(o); err != nil {
		return escape.Escaped, err.Error()
	}
	verdict, detail := said(o)
	switch {
	case verdict != "":
		return verdict, detail
	case o.Status == bridge.StatusTimeout && !strings.HasPrefix(s.attempt.Expect, byTheClock):
		return escape.Escaped, "nobody stopped it before its deadline: " + text(o, "compact")
	case o.Ended == bridge.EndStopped, o.Lost:
		return escape.Killed, o.Error
	case o.Status == bridge.StatusSuccess:
		return escape.Held, "nothing happened" // the first of several cells, or an attempt that is judged by its result
	}
	return escape.Broken, text(o, "compact")
}

// said is the last report in what a run printed.
func said(o bridge.Outcome) (escape.Verdict, string) {
	var report struct {
		Verdict escape.Verdict
		Detail  string
	}
	for _, printed := range [][]byte{o.Stdout.Head, o.Stdout.Tail} {
		for line := range bytes.Lines(printed) {
			if bytes.HasPrefix(line, []byte(`{"verdict"`)) {
				_ = json.Unmarshal(line, &report)
			}
		}
	}
	return report.Verdict, report.Detail
}

// clean holds what is true of every result, whatever the code did: a bounded size, nothing in its text that a
// terminal or a reader would be deceived by, and images that are images.
func clean(o bridge.Outcome) error {
	for _, mode := range []string{"compact", "toon", "json"} {
		shown, structured := o.Reply(mode)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, unseen) {
			return fmt.Errorf("the %s text has characters that are not seen: %.300q", mode, shown)
		}
		if size := len(shown) + len(encode(structured)); size > 2*maxResult {
			return fmt.Errorf("the %s result has %d bytes", mode, size)
		}
	}
	for _, image := range o.Images {
		if err := pictured(image); err != nil {
			return fmt.Errorf("an image of type %q that begins with %.20q: %w", image.MIME, image.Data, err)
		}
	}
	return nil
}

// unseen is what a terminal acts on, and what is read in another order than it stands. It asks nothing of the code
// that it judges.
func unseen(r rune) bool {
	const deceives = "\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
	return unicode.IsControl(r) && r != '\n' && r != '\t' || strings.ContainsRune(deceives, r) ||
		unicode.Is(unicode.Variation_Selector, r) && r > 0xffff
}

func text(o bridge.Outcome, mode string) string {
	shown, _ := o.Reply(mode)
	return shown
}

// pictured decodes an image with other code than has passed it on, and looks for what attempts hide in theirs.
func pictured(image bridge.Image) error {
	for _, hidden := range []string{"smuggled", "evil.example"} {
		if bytes.Contains(bytes.ToLower(image.Data), []byte(hidden)) {
			return fmt.Errorf("it holds %q", hidden)
		}
	}
	switch in := bytes.NewReader(image.Data); image.MIME {
	case "image/png":
		_, err := png.Decode(in)
		return err
	case "image/jpeg":
		_, err := jpeg.Decode(in)
		return err
	case "image/svg+xml":
		return nil // what it must not do is in its text
	}
	return errors.New("no image is passed on as that")
}
