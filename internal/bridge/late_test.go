package bridge

import (
	"fmt"
	"sync/atomic"
	"testing"

	"codemode/internal/servers"
)

// Servers are looked for once, and not before code asks for one, in whatever way it does.
func TestServersAreFoundWhenCodeAsks(t *testing.T) {
	const anyway = "import importlib\nm = importlib.import_module('m' + 'cp')\n"
	for _, c := range []struct {
		code, want string
		looks      int32
	}{
		{"1 + 1", "result: 2", 0},
		{"runtime.discovered_servers()", "result: ('fake', 'zoo')", 1},
		{"await mcp_fake.echo(message='hi')", "result: 'hi'", 1},
		{anyway + "await m.runtime.call_tool('zoo', 'echo', {'message': 'hi'})", "result: 'hi'", 1},
		{"mcp_fakes", "NameError: name 'mcp_fakes' is not defined (did you mean `mcp_fake`?)", 1},
		{"fake", "NameError: name 'fake' is not defined (did you mean `mcp_fake`?)", 1},
	} {
		t.Run(c.code, func(t *testing.T) {
			var looks atomic.Int32
			k := newKit(t, func(o *Options) {
				find := o.Servers
				o.Servers = func() *servers.Set { looks.Add(1); return find() }
			}, fake("fake"), fake("zoo"))
			contains(t, k.text("x = 1"), "success")
			contains(t, k.text(c.code), c.want)
			want(t, fmt.Sprint(looks.Load()), fmt.Sprint(c.looks))
			want(t, k.text("runtime.discovered_servers()"), "result: ('fake', 'zoo')")
			want(t, fmt.Sprint(looks.Load()), "1")
		})
	}
}
