package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"codemode/internal/guest"
)

// maxModule bounds a source of several functions, in bytes.
const maxModule = 1 << 20

// checkTimeout is how long a guest may take to start and to read a source, where the caller would wait longer. Python
// reads the largest there may be in less than a second; a container on a busy machine takes its time.
const checkTimeout = time.Minute

// shortSource is how long a source is that Python reads quickly whatever it says, in bytes: what code costs that means
// to cost much, such as many names beside many functions, grows with its square.
const shortSource = 4 << 10

// maxCheck is what reading a source may take of a processor, where that is seen: the longest that does not mean to take
// any takes a third of a second.
const maxCheck = 2 * time.Second

// usualCheck is what starting a guest and reading a short source takes of a processor at most.
const usualCheck = 100 * time.Millisecond

var errCheckLate = errors.New("reading it took Python too long")

// check says what functions a source holds. It asks a guest of its own, which is never sent a run: what the guest says
// that wants a function kept proves nothing, for the code that runs there may have changed anything in it. Sessions
// take turns; took is told what a source costs of the processors beyond what most do.
func (b *Bridge) check(
	ctx context.Context, session, source string, took func(time.Duration),
) (checked guest.Checked, err error) {
	if b.saved.box == nil {
		return checked, errNoToolbox
	}
	source, err = plainText(source)
	if err != nil {
		return checked, err
	}
	queue := b.saved.short
	if len(source) > shortSource {
		queue = b.saved.long
	}
	leave, err := queue.Enter(ctx, session, 1)
	if err != nil {
		return checked, err
	}
	defer leave()
	l, err := startLive(ctx, b, "check", Request{})
	if err != nil {
		return checked, err
	}
	defer l.close()
	defer func() {
		if used, seen := l.box.CPU(); seen {
			took(max(0, used-usualCheck))
		}
	}()
	answer := l.request(guest.MethodCheck, guest.Check{Source: source})
	ctx, cancel := context.WithTimeoutCause(ctx, checkTimeout, errCheckLate)
	defer cancel()
	m, err := l.checked(ctx, answer)
	if err != nil {
		return checked, err
	}
	if m.Error != nil {
		return checked, fmt.Errorf("the guest refused to read it: %s", m.Error.Message)
	}
	if err := json.Unmarshal(m.Result, &checked); err != nil {
		return checked, fmt.Errorf("reading what the guest said of it: %w", err)
	}
	if checked.Problem != "" {
		return checked, errors.New(checked.Problem)
	}
	return checked, nil
}

// checked waits for what a guest says of a source.
func (l *live) checked(ctx context.Context, answer <-chan guest.Message) (m guest.Message, err error) {
	look := time.NewTicker(maxCheck / 10)
	defer look.Stop()
	for {
		select {
		case m = <-answer:
			return m, nil
		case <-l.gone:
			select {
			case m = <-answer: // with its last breath
				return m, nil
			default:
				return m, errors.New("reading it ended Python")
			}
		case <-ctx.Done():
			return m, context.Cause(ctx)
		case <-look.C:
			if used, seen := l.box.CPU(); seen && used > maxCheck {
				return m, errCheckLate
			}
		}
	}
}

// plainText refuses a source that is not what it looks like to those who read it, or could not be kept as it is. Its
// lines end as Unix has it.
func plainText(source string) (string, error) {
	if len(source) > maxModule {
		return "", fmt.Errorf("the source has %d bytes; at most %d are read", len(source), maxModule)
	}
	source = strings.TrimPrefix(source, "\ufeff")
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	line := 1
	for i, r := range source {
		switch {
		case r == '\n':
			line++
		case r == '\t':
		case r == utf8.RuneError:
			return "", fmt.Errorf("line %d: byte %d is no character that can be kept", line, i)
		case unicode.IsControl(r):
			return "", fmt.Errorf("line %d: there is the control character %U; write it as an escape", line, r)
		case unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return "", fmt.Errorf(
				"line %d: there is the character %U, which makes code read otherwise than it runs; write it as an escape",
				line, r,
			)
		}
	}
	return source, nil
}
