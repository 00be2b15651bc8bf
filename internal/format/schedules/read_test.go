package schedules_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/format/schedules"
	"github.com/hocket-run/hocket/internal/format/source"
)

// TestRead_ForeignKeys checks that a key that other programs use is reported once, with its
// replacement as the hint.
func TestRead_ForeignKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ item, want string }{
		{`{id: a, cron: "30 6 * * *"}`,
			`the key "cron" is not known here (unknown-key); hint: write schedule: "30 6 * * *"`},
		{`{id: a, cron: daily}`, `the key "cron" is not known here (unknown-key); hint: write schedule: "0 9 * * 1-5"`},
		{`{id: a, cron: [1]}`, `hint: write schedule: "0 9 * * 1-5"`},
		{`{id: a, every: 12h}`, `the key "every" is not known here (unknown-key); hint: write schedule: "@every 12h"`},
		{`{id: a, every: 90}`, `hint: write schedule: "90"`},
		{`{id: a, every: soon}`, `hint: write schedule: "@every 12h"`},
		{`{id: a, interval: 1h30m}`, `hint: write schedule: "@every 1h30m"`},
		{`{id: a, at: "07:15"}`, `hint: write schedule: "daily@07:15"`},
		{`{id: a, mode: continuous, every: 12h}`, `hint: write schedule: "5"`},
		{`{name: a, id: b, schedule: "60"}`, `the key "name" is not known here`},
		{`{id: a, schedule: "60", cron: "0 9 * * *"}`, `the key "cron" is not known here`},
		{`{name: a, schedule: "60"}`, "1:3: error: \"id\" is missing (missing-key)\nf.yaml:1:4: error: the key " +
			"\"name\" is not known here (unknown-key); hint: did you mean id?"},
		{`{id: a, input: {}}`, "the mode interval needs a schedule"},
	} {
		root, diags := source.Parse("f.yaml", []byte("- "+c.item))
		keys := schedules.Keys{Zone: "time_zone", Mode: "mode"}
		keys.Read(root, "", schedules.Inputs{}, &diags)
		if got := diags.Error(); !strings.Contains(got, c.want) || !strings.Contains(c.want, "\n") &&
			strings.Count(got, "error:") != 1+strings.Count(c.item, "input: {}") {
			t.Errorf("%s:\n got %s\nwant %s", c.item, got, c.want)
		}
	}
}
