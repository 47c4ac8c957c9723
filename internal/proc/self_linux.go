package proc

// executable is this program, also when its file has been replaced or removed since.
func executable() (string, error) { return "/proc/self/exe", nil }
