package cli

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/hocket-run/hocket/internal/store/pgurl"
)

// hideSecrets returns a copy of the arguments of this process, and overwrites database URLs, which
// may contain a password, in the memory that the system shows to other users (ps,
// /proc/PID/cmdline). args must be os.Args: its strings are that memory on the systems where
// something is overwritten.
func hideSecrets(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = strings.Clone(arg)
		_, value, isFlag := strings.Cut(arg, "=")
		if !isFlag || !strings.HasPrefix(arg, "-") {
			value = arg
		}
		if !pgurl.Is(value) || runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
			continue
		}
		at := len(arg) - len(value) + strings.Index(value, "://") + len("://")
		shown := unsafe.Slice(unsafe.StringData(arg),
			len(arg)) //nolint:gosec // there is no other way to the arguments as the system shows them
		for j := at; j < len(arg); j++ {
			shown[j] = '*'
		}
	}
	return out
}
