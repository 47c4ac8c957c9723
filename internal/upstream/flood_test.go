package upstream

import (
	"errors"
	"strings"
	"testing"
)

// TestFloodWithoutALine has a server write without end in a call: it is stopped long before its deadline, and the next
// call starts it again.
func TestFloodWithoutALine(t *testing.T) {
	f := newPool(t, func(o *Options) { o.MaxMessage = 1 << 20 }, fake("stub"))
	before := f.text("stub", "pid", "")
	_, err := f.Call(f.ctx(), "stub", "flood", nil)
	var call *CallError
	if !errors.As(err, &call) || !call.Crashed ||
		!strings.Contains(err.Error(), "more than 16777216 bytes without a line end") {
		t.Errorf("the error is %v", err)
	}
	if after := f.text("stub", "pid", ""); after == before {
		t.Error("it is the process it was")
	}
}

// TestSelfIsToldByMoreThanItsName has servers that are no codemode, and one that may be.
func TestSelfIsToldByMoreThanItsName(t *testing.T) {
	f := newPool(t, nil, fake("named", "-name", "codemode"), fake("alike", "-as-codemode"))
	for _, name := range []string{"named", "alike"} {
		if _, err := f.Tools(f.ctx(), name); err != nil {
			t.Error(err)
		}
	}
	f = newPool(t, func(o *Options) { o.AllowSelf = true }, fake("both", "-name", "codemode", "-as-codemode"))
	if _, err := f.Tools(f.ctx(), "both"); err != nil {
		t.Error(err)
	}
}
