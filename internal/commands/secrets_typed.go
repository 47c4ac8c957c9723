package commands

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"unicode/utf8"

	"codemode/internal/secrets"

	"golang.org/x/term"
)

// typedSecret asks at a terminal for a secret, which is not shown.
func typedSecret(ctx context.Context, env Env, name string) (string, error) {
	ctx, stop := interruptible(ctx) // which would leave the terminal as it is
	defer stop()
	fd := int(env.Stdin.Fd())
	state, err := term.MakeRaw(fd) // in which a line has any length, and nothing is echoed
	if err != nil {
		return "", fmt.Errorf("reading %s unseen: %w", quote(name), err)
	}
	defer func() { _ = term.Restore(fd, state) }()
	fmt.Fprintf(env.Stderr, "value of %s, which is not shown: ", quote(name))
	defer fmt.Fprint(env.Stderr, "\r\n")
	from := unseen{
		in:   bufio.NewReader(untilDone{ctx, env.Stdin}),
		more: func() bool { return readable(fd, quietTime) },
	}
	value, err := from.read()
	switch {
	case ctx.Err() != nil:
		return "", interrupted(ctx)
	case errors.Is(err, errCtrlC):
		return "", exit(exitSignal + int(syscall.SIGINT))
	case errors.Is(err, io.EOF):
		return "", &exitError{exitRefused, errors.New("nothing was typed, so nothing was kept")}
	}
	return string(bytes.TrimSpace(value)), err
}

// unseen reads what is typed or pasted without being shown.
type unseen struct {
	in   *bufio.Reader
	more func() bool // whether more comes at once, as it does of what is pasted
	text []byte
}

var errCtrlC = errors.New("interrupted")

// read reads until Enter, or until all of what is pasted has come: several lines, which only a private key may have.
func (u *unseen) read() ([]byte, error) {
	for {
		c, err := u.in.ReadByte()
		switch {
		case err != nil:
			return nil, err
		case c == 'C'-'@':
			return nil, errCtrlC
		case c == 'D'-'@' && len(u.text) == 0:
			return nil, io.EOF
		case c == 'D'-'@', (c == '\r' || c == '\n') && u.whole() && !u.follows():
			return u.text, nil
		case c == '\x7f' || c == '\b':
			_, size := utf8.DecodeLastRune(u.text)
			u.text = u.text[:len(u.text)-size]
		case c == 'U'-'@':
			u.text = u.text[:0]
		case c == '\x1b':
			u.skipSequence()
		case len(u.text) > secrets.MaxValue+2: // too much, and told so
		case c == '\r':
			u.text = append(u.text, '\n')
		default:
			u.text = append(u.text, c)
		}
	}
}

func (u *unseen) follows() bool { return u.in.Buffered() > 0 || u.more() }

// whole says whether what has come can be all: a key in PEM goes on to its last line.
func (u *unseen) whole() bool {
	return !bytes.HasPrefix(u.text, []byte("-----BEGIN ")) || bytes.Contains(u.text, []byte("\n-----END "))
}

// skipSequence leaves out a key that types no text, and what terminals put around what is pasted.
func (u *unseen) skipSequence() {
	if !u.follows() {
		return // Escape itself
	}
	if c, err := u.in.ReadByte(); err != nil || c != '[' && c != 'O' {
		return
	}
	for {
		if c, err := u.in.ReadByte(); err != nil || c >= '@' && c <= '~' {
			return
		}
	}
}
