package sandbox

// CacheForTests is a cache directory with the embedded Python in it, for tests outside of the package.
func CacheForTests() (string, error) {
	_, err := unpackOnce()
	return testCache, err
}
