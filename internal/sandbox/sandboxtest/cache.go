package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"codemode/internal/sandbox/python"
)

// cacheVariable names the cache of the process that started this one as another user.
const cacheVariable = "CODEMODE_TEST_CACHE"

// CacheHome is an XDG_CACHE_HOME that the tests of this user share and that outlives them: unpacking Python takes
// seconds. What is in it is named after its content. Root's lies where the users that its tests become can read it.
func CacheHome() string {
	if dir := os.Getenv(cacheVariable); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	switch {
	case os.Geteuid() == 0:
		cache = "/var/cache"
	case err != nil:
		cache = os.TempDir()
	}
	return filepath.Join(cache, "codemode-test")
}

var unpacked = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(CacheHome(), "codemode")
	_, err := python.Source{CacheDir: dir}.Prepare(context.Background())
	return dir, err
})

// PythonCache is the cache directory in [CacheHome], with the embedded Python in it where there is one.
func PythonCache(t testing.TB) string {
	t.Helper()
	dir, err := unpacked()
	if err != nil {
		t.Log(err) // a runtime that needs it says what that means
	}
	return dir
}
