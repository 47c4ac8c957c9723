package testscripts

import (
	"fmt"
	"os"

	"codemode/internal/keyring/keyringtest"
)

func init() { programs["fakekeyring"] = fakeKeyring }

// fakeKeyring is a keyring: fakekeyring DIR HOW, with the ways of keyringtest.
func fakeKeyring(args []string) int {
	if err := keyringtest.Main(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fakekeyring:", err)
		return 1
	}
	return 0
}
