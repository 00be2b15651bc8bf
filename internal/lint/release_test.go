package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestReleaseFlags checks that a release is built with the flags of `make build`, so that the
// measured and tested program is the published one.
func TestReleaseFlags(t *testing.T) {
	t.Parallel()
	var release struct {
		Builds []struct{ Flags, Ldflags, Env []string }
	}
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &release); err != nil || len(release.Builds) != 1 {
		t.Fatalf(".goreleaser.yaml has %d builds, want one: %v", len(release.Builds), err)
	}
	b := release.Builds[0]
	makefile := read(t, "Makefile")
	for line, want := range map[string][]string{
		`(?m)^export GOFLAGS \+= (.*)$`: b.Flags,
		`(?m)^LDFLAGS +:= (.*)$`:        b.Ldflags,
		`(?m)^GO +:= (\S+) go$`:         b.Env,
	} {
		m := regexp.MustCompile(line).FindStringSubmatch(makefile)
		if m == nil || m[1] != strings.Join(want, " ") {
			t.Errorf("the Makefile has %q for %s, and .goreleaser.yaml %q", m, line, want)
		}
	}
}

// TestReleaseLicenses checks that whatever a release distributes contains the license, and the notice
// with the licenses of the linked modules: archives, packages and the image.
func TestReleaseLicenses(t *testing.T) {
	t.Parallel()
	type file struct{ Src string }
	var release struct {
		Archives []struct{ Files []file }
		Nfpms    []struct{ Contents []file }
		Images   []struct {
			Files []string `yaml:"extra_files"`
		} `yaml:"dockers_v2"`
	}
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &release); err != nil ||
		len(release.Archives) != 1 || len(release.Nfpms) != 1 || len(release.Images) != 1 {
		t.Fatalf("archives, packages and images are %+v, want one of each: %v", release, err)
	}
	stages := strings.Split(read(t, "Dockerfile"), "\nFROM ")
	for _, name := range []string{"LICENSE", "NOTICE"} {
		if !slices.Contains(release.Archives[0].Files, file{name}) ||
			!slices.Contains(release.Nfpms[0].Contents, file{name}) || !slices.Contains(release.Images[0].Files, name) {
			t.Errorf(".goreleaser.yaml does not add %s to archives, packages and the image", name)
		}
		if !strings.Contains(stages[len(stages)-1], "/out/"+name+" ") {
			t.Errorf("the Dockerfile does not copy %s into the image", name)
		}
	}
}

// TestWorkflows checks what actionlint does not: workflows get only the permissions they request,
// third-party actions are pinned, and the repository's commands that they run exist.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d workflows: %v", len(files), err)
	}
	makefile := read(t, "Makefile")
	uses := regexp.MustCompile(`(?m)^\s*-? ?uses: (\S+)(.*)$`)
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@(v\d+|[0-9a-f]{40})$`)
	runsMake := regexp.MustCompile(`(?m)run: make ([a-z-]+)`)
	runsGo := regexp.MustCompile(`go run \./(internal/cmd/\w+)`)
	for _, file := range files {
		text := read(t, file)
		var top struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				TimeoutMinutes int `yaml:"timeout-minutes"`
				Uses           string
			}
		}
		if err := yaml.Unmarshal([]byte(text), &top); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if top.Permissions == nil {
			t.Errorf("%s does not declare its permissions, so those of the repository's settings apply", file)
		}
		for right, level := range top.Permissions {
			if level == "write" {
				t.Errorf("%s grants all of its jobs %s: write; grant it only to jobs that need it", file, right)
			}
		}
		for name, job := range top.Jobs {
			if job.Uses == "" && job.TimeoutMinutes == 0 {
				t.Errorf("%s: job %s has no timeout-minutes", file, name)
			}
		}
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			switch action, comment := m[1], m[2]; {
			case strings.HasPrefix(action, "./"):
			case !pinned.MatchString(action):
				t.Errorf("%s: %s is pinned to neither a commit nor a major version", file, action)
			case len(action)-strings.LastIndex(action, "@") > 40 && !strings.Contains(comment, "# v"):
				t.Errorf("%s: %s has no comment with the version of the commit", file, action)
			}
		}
		for _, m := range runsMake.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no target %s in the Makefile", file, m[1])
			}
		}
		for _, m := range runsGo.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s runs %s: %v", file, m[1], err)
			}
		}
	}
}
