package deploytest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestImage builds the image if a builder is available, and runs it with a read-only root.
func TestImage(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "docker", "info").CombinedOutput(); err != nil {
		t.Skipf("no image can be built here: %v: %s; TestComposeSurvives runs the commands of the image as processes",
			err, strings.TrimSpace(string(out)))
	}
	docker := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	docker("build", "--tag", "hocket-deploytest", "../..")
	if out := docker("run", "--rm", "--read-only", "--cap-drop=ALL", "hocket-deploytest",
		"version"); !strings.HasPrefix(out, "hocket ") {
		t.Errorf("version prints %q", out)
	}
}

// TestDockerfile checks that the image runs the program directly, as an unprivileged user, and is
// built with the flags of the Makefile.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	stages := strings.Split("\n"+string(data), "\nFROM ")
	last := stages[len(stages)-1]
	for _, want := range []string{"static-debian", "\nUSER 65532:65532\n", `ENTRYPOINT ["/usr/bin/hocket"]`} {
		if !strings.Contains(last, want) {
			t.Errorf("the image has no %s: %s", strings.TrimSpace(want), last)
		}
	}
	for name, line := range map[string]string{"flags": "export GOFLAGS += ", "linker flags": "LDFLAGS  := "} {
		_, tail, _ := strings.Cut(string(makefile), line)
		value, _, _ := strings.Cut(tail, "\n")
		if value == "" || !strings.Contains(string(data), value) {
			t.Errorf("the %s of the Makefile are %q, those of the Dockerfile others", name, value)
		}
	}
}
