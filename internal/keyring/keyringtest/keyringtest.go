//go:build linux

// Package keyringtest is a keyring for tests: a Secret Service on a D-Bus of its own, which can misbehave.
//
// It owns the bus, the program dbus-daemon, and ends it. It keeps items in memory alone, and never meets a keyring of
// the user's.
package keyringtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/godbus/dbus/v5"
)

const (
	name    = "org.freedesktop.secrets"
	root    = dbus.ObjectPath("/org/freedesktop/secrets")
	login   = root + "/collection/login"
	session = root + "/session/s"
	prompt  = root + "/prompt/p"
	none    = dbus.ObjectPath("/")
)

// A Keyring is one, with its bus.
type Keyring struct {
	Address string // for DBUS_SESSION_BUS_ADDRESS

	conn *dbus.Conn
	stop func()
	gone chan bool

	mu    sync.Mutex
	how   string
	items map[dbus.ObjectPath]item
	asked int
}

type item struct {
	attributes map[string]string
	value      []byte
}

// secret is one as the Secret Service sends it.
type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

// configuration is a bus for this user alone, which starts nothing.
const configuration = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=%s</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`

// Start starts a bus with its files in a folder, and a keyring on it that behaves as [Keyring.Behave] has it; with
// "absent" there is none. Close ends both.
func Start(dir, how string) (*Keyring, error) {
	file := filepath.Join(dir, "bus.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, configuration, dir), 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	bus := exec.CommandContext(ctx, "dbus-daemon", "--nofork", "--nopidfile", "--print-address", "--config-file="+file)
	bus.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := bus.StdoutPipe()
	if err == nil {
		err = bus.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	k := &Keyring{stop: cancel, gone: make(chan bool), how: how, items: map[dbus.ObjectPath]item{}}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { _ = bus.Wait(); close(k.gone) }()
	k.Address = strings.TrimSpace(line)
	if err == nil && how != "absent" {
		err = k.join()
	}
	if err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

func (k *Keyring) join() (err error) {
	if k.conn, err = dbus.Connect(k.Address); err != nil {
		return err
	}
	for _, e := range []struct {
		object any
		path   dbus.ObjectPath
		face   string
		below  bool
	}{
		{service{k}, root, "org.freedesktop.Secret.Service", false},
		{properties{k}, root, "org.freedesktop.DBus.Properties", false},
		{collection{k}, login, "org.freedesktop.Secret.Collection", false},
		{items{k}, login, "org.freedesktop.Secret.Item", true},
		{closer{}, session, "org.freedesktop.Secret.Session", false},
		{prompter{k}, prompt, "org.freedesktop.Secret.Prompt", false},
	} {
		if e.below {
			err = errors.Join(err, k.conn.ExportSubtree(e.object, e.path, e.face))
			continue
		}
		err = errors.Join(err, k.conn.Export(e.object, e.path, e.face))
	}
	reply, failed := k.conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if failed == nil && reply != dbus.RequestNameReplyPrimaryOwner {
		failed = errors.New("the bus has a keyring already")
	}
	return errors.Join(err, failed)
}

// Close ends the keyring and its bus.
func (k *Keyring) Close() {
	if k.conn != nil {
		_ = k.conn.Close()
	}
	k.stop()
	<-k.gone
}

// Behave changes what it does: "" is as it should be; "locked" asks for a password that nobody types, "dismissed" for
// one that its user will not type; "mute" never returns a value, "forgetful" keeps none, "odd" says what it is not
// asked, "gone" leaves the bus in the middle of a question.
func (k *Keyring) Behave(how string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.how = how
}

// Values are those of all its items.
func (k *Keyring) Values() (list []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range k.items {
		list = append(list, string(i.value))
	}
	return list
}

// Lose forgets all items.
func (k *Keyring) Lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.items)
}

// Asked is how many times a value was asked for.
func (k *Keyring) Asked() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked
}

func (k *Keyring) does(how string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.how == how
}

type service struct{ k *Keyring }

// OpenSession is a method of the Secret Service.
func (s service) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	return dbus.MakeVariant(""), session, nil
}

// Unlock is a method of the Secret Service.
func (s service) Unlock(what []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	switch {
	case s.k.does("gone"):
		_ = s.k.conn.Close()
	case s.k.does("locked"), s.k.does("dismissed"):
		return []dbus.ObjectPath{}, prompt, nil
	}
	return what, none, nil
}

type properties struct{ k *Keyring }

// Get is the method of D-Bus for the one property that there is, the collections.
func (p properties) Get(string, string) (dbus.Variant, *dbus.Error) {
	if p.k.does("odd") {
		return dbus.MakeVariant("no list"), nil
	}
	return dbus.MakeVariant([]dbus.ObjectPath{login}), nil
}

type collection struct{ k *Keyring }

// SearchItems is a method of a collection.
func (c collection) SearchItems(attributes map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	c.k.mu.Lock()
	defer c.k.mu.Unlock()
	found := []dbus.ObjectPath{}
	for path, i := range c.k.items {
		if maps.Equal(i.attributes, attributes) {
			found = append(found, path)
		}
	}
	return found, nil
}

// CreateItem is a method of a collection.
func (c collection) CreateItem(
	properties map[string]dbus.Variant, s secret, _ bool,
) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	attributes, _ := properties["org.freedesktop.Secret.Item.Attributes"].Value().(map[string]string)
	c.k.mu.Lock()
	defer c.k.mu.Unlock()
	path := dbus.ObjectPath(fmt.Sprintf("%s/%d", login, len(c.k.items)))
	if c.k.how != "forgetful" {
		c.k.items[path] = item{attributes, s.Value}
	}
	return path, none, nil
}

type items struct{ k *Keyring }

// GetSecret is a method of an item.
func (i items) GetSecret(m dbus.Message, _ dbus.ObjectPath) (secret, *dbus.Error) {
	if i.k.does("mute") {
		<-i.k.gone
	}
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	i.k.asked++
	path, _ := m.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	return secret{session, []byte{}, i.k.items[path].value, "text/plain"}, nil
}

// Delete is a method of an item.
func (i items) Delete(m dbus.Message) (dbus.ObjectPath, *dbus.Error) {
	i.k.mu.Lock()
	defer i.k.mu.Unlock()
	path, _ := m.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	delete(i.k.items, path)
	return none, nil
}

type closer struct{}

// Close is a method of a session.
func (closer) Close() *dbus.Error { return nil }

type prompter struct{ k *Keyring }

// Prompt is a method of a prompt; what came of it is a signal.
func (p prompter) Prompt(string) *dbus.Error {
	if p.k.does("dismissed") {
		_ = p.k.conn.Emit(
			prompt, "org.freedesktop.Secret.Prompt.Completed", true, dbus.MakeVariant([]dbus.ObjectPath{}),
		)
	}
	return nil
}

// Main is a keyring as a program: fakekeyring DIR HOW, which prints the address of its bus, and ends with its input.
func Main(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: fakekeyring DIR HOW")
	}
	k, err := Start(args[0], args[1])
	if err != nil {
		return err
	}
	defer k.Close()
	fmt.Fprintln(out, k.Address)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { _, _ = io.Copy(io.Discard, in); stop() }()
	<-ctx.Done()
	return nil
}
