package docs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
)

func hocketMain(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	home := t.TempDir()
	env := func(name string) string {
		if name == "HOME" || name == "HOCKET_HOME" {
			return home
		}
		return ""
	}
	status = cli.Main(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs,
		Env: env}, cli.Wiring{})
	return status, out.String(), errs.String()
}
