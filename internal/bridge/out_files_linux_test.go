package bridge

import (
	"os"
	"testing"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/sandboxtest"
)

// TestArtifactsReduced: in reduced mode the guest's folders are elsewhere.
func TestArtifactsReduced(t *testing.T) {
	sandboxtest.EachUser(t, func(t *testing.T) {
		if os.Geteuid() == 0 {
			return // its guest is another user, who cannot enter the test's folders
		}
		keeping := withArtifacts(t)
		k := newKit(t, func(o *Options) {
			keeping(o)
			o.Config.Sandbox.Isolation = string(sandbox.IsolationReduced)
		})
		out := k.run(Request{Code: "open('out/a.csv', 'w').write('a,b\\n')\nartifact(b'report', name='sub/b.txt')"})
		if out.Status != StatusSuccess || len(out.Artifacts) != 2 {
			t.Errorf("%s: kept %+v", out.compact(), out.Artifacts)
		}
		code := "sorted(artifacts.open(a['id']).read() for a in artifacts.list())"
		want(t, k.text(code), `result: ['a,b\n', 'report']`)
	})
}
