package container

import "codemode/internal/sandbox/stage2"

// landlockHere is the version of Landlock by which the init of a container of this machine keeps its guest from
// changing settings (keep_settings in init.py); 0 is none.
func landlockHere() int {
	if version := stage2.LandlockABI(); version >= 2 {
		return version
	}
	return 0
}
