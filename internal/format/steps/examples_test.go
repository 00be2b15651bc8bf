package steps_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// TestDockerAgentExamples loads the example files of docker-agent, which are not part of this
// repository: HOCKET_DOCKER_AGENT_EXAMPLES names the folder. Each must load without an error and
// survive Write and Read; features that Hocket does not support yet are warnings.
func TestDockerAgentExamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("HOCKET_DOCKER_AGENT_EXAMPLES")
	if dir == "" {
		t.Skip("HOCKET_DOCKER_AGENT_EXAMPLES is not set")
	}
	opts := steps.Options{
		Toolsets:  []string{"mcp", "think", "todo", "shell", "fetch", "filesystem", "memory", "script", "api"},
		Providers: []string{"openai", "anthropic", "google", "ollama", "mistral", "xai", "nebius"},
	}
	files, warnings := 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case ".yaml", ".yml":
		case ".hcl":
			t.Logf("%s: HCL is not read", path)
			return err
		default:
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		root, diags := source.Parse(name, data)
		if root == nil || !steps.Detect(root) {
			t.Errorf("%s is not detected as a steps document\n%s", name, lines(diags))
			return nil
		}
		w, more := steps.Read(root, opts)
		diags = append(append(diags, more...), workflow.Validate(w)...)
		for _, d := range diags {
			switch d.Severity {
			case diag.Error:
				t.Error(d)
			case diag.Warning:
				warnings++
				t.Log(d)
			}
		}
		if !diags.HasErrors() {
			checkRoundTrip(t, w)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatal("no files", err)
	}
	t.Logf("%s: %d files, %d warnings", strings.TrimSuffix(filepath.Base(dir), "/"), files, warnings)
}
