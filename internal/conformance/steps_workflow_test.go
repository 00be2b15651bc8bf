package conformance_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// storeDocument stores a document in the catalog.
func (w *world) storeDocument(id, doc string) {
	w.t.Helper()
	_, problems, err := w.Apply(w.t.Context(),
		service.ApplyRequest{ID: id, Documents: []service.Document{{File: id + ".yaml", Data: []byte(doc)}}})
	if err != nil || problems.HasErrors() {
		w.t.Fatal(err, problems)
	}
}

// childRuns returns the child runs of a run.
func (r *run) childRuns() []*run {
	r.w.t.Helper()
	heads, _, err := r.w.List(r.w.t.Context(), journal.Query{Parent: r.id})
	if err != nil {
		r.w.t.Fatal(err)
	}
	var out []*run
	for _, h := range heads {
		out = append(out, &run{r.w, h.Run})
	}
	return out
}

// folder writes files into a directory and returns its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func inFolder(dir string) service.LoadOptions { return service.LoadOptions{Folder: dir} }

// parent is a document that calls the stored workflow `below`.
var parent = steps("a", `
- {id: n, type: set, values: {city: Ulm}}
- {id: call, type: workflow, workflow: below, input: "{{ $steps.n.output }}"}
- {type: set, values: {got: "{{ $steps.call.output.in }}"}}
`)

var stepsWorkflows = []rule{
	{name: "X-60 a workflow step runs a stored workflow as a child run", test: func(t *testing.T) {
		w := newWorld(t)
		w.storeDocument("below", steps("a", `- {type: set, values: {in: "{{ $input.json().city }}"}}`+"\n"))
		r := w.runs(parent, "go")
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"got":"Ulm"}`)
		kids := r.childRuns()
		same(t, "child runs", len(kids), 1)
		o := kids[0].show()
		same(t, "parent of the child run", *o.ParentRun, r.id)
		same(t, "input of the child run", string(o.Input), `"{\"city\":\"Ulm\"}"`)

		w.storeDocument("texts", steps("a", "- {id: x, type: agent, name: a, prompt: \"{{PREVIOUS_OUTPUT}}\"}\n"))
		same(t, "the previous output is the input",
			string(
				w.completes(steps("a", "- {id: s, type: set, values: {k: 1}}\n- {type: workflow, workflow: texts}\n"),
					"go").Output), `"a said"`)
		same(t, "what the child run was given", w.prompt("a"), `{"k":1}`)
		w.storeDocument("typed", "inputs: {city: , days: {type: integer}}\n"+steps("a", "- {type: set, values: {}}\n"))
		failed := w.runs(steps("a", `- {id: c, type: workflow, workflow: typed, input: {days: soon, town: Ulm}}`+"\n"),
			"go").is(event.StatusFailed)
		same(t, "a wrong input", failed.Error.Message, `workflow typed: the input does not match the inputs of the `+
			`workflow: the workflow has no input "town"; the input "city" is missing; the input "days" must be a `+
			`whole `+
			`number, not a string`)
		for _, ref := range []string{"/below", "below@0", "below@x", "below/x", "./", "..", `".\\x"`} {
			if got := refused(t, steps("a", "- {type: workflow, workflow: "+ref+"}\n")); !strings.Contains(
				strings.Join(got, " "), "names no workflow") {
				t.Errorf("%s: %v", ref, got)
			}
		}
	}},
	{name: "X-61 a workflow that is missing is an error before the run begins, and its version is pinned",
		test: func(t *testing.T) {
			w := newWorld(t)
			wf, _ := load(t, parent)
			_, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "go"})
			var invalid *service.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "Workflow not found: below") {
				t.Errorf("start: %v", err)
			}
			w.noRuns()
			w.storeDocument("below", steps("a", "- {type: set, values: {in: first}}\n"))
			pinned := strings.ReplaceAll(parent, "workflow: below", "workflow: below@2")
			wf, _ = load(t, pinned)
			if _, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "go"}); err == nil ||
				!strings.Contains(err.Error(), "2 of workflow below") {
				t.Errorf("start: %v", err)
			}
			// The run started with the first version and calls that version after the second was
			// published.
			gate := strings.Replace(parent, "- {id: n,", "- {id: g, type: ask, prompt: Now?}\n- {id: n,", 1)
			r := w.runs(gate, "go")
			w.storeDocument("below", steps("a", "- {type: set, values: {in: second}}\n"))
			r.answers("yes")
			same(t, "output", string(r.is(event.StatusCompleted).Output), `{"got":"first"}`)
			same(t, "version of the child run", *r.childRuns()[0].show().Workflow.Version, 1)
			same(t, "another version", string(w.completes(pinned, "go").Output), `{"got":"second"}`)
			same(t, "the published one", string(w.completes(parent, "go").Output), `{"got":"second"}`)
		}},
	{name: "X-62 files are relative to the document, part of the definition, and run each other in no cycle",
		test: func(t *testing.T) {
			w := newWorld(t)
			dir := folder(t, map[string]string{
				"sub/one.yaml":  steps("a", "- {type: workflow, workflow: ../two.yaml, input: \"{{ $input }}!\"}\n"),
				"two.yaml":      steps("a", "- {type: set, values: {in: \"{{ $input }}\"}}\n"),
				"self.yaml":     steps("a", "- {type: workflow, workflow: ./sub/back.yaml}\n"),
				"sub/back.yaml": steps("a", "- {type: workflow, workflow: ./../self.yaml}\n"),
				"bad.yaml":      steps("a", "- {type: agent, name: zz}\n"),
				"files.yaml":    "agents: {a: {add_prompt_files: [AGENTS.md]}}\nworkflow: [{type: agent, name: a}]\n",
			})
			doc := steps("a", "- {type: workflow, workflow: ./sub/one.yaml, input: hello}\n")
			wf, _ := load(t, doc, inFolder(dir))
			same(t, "ids", wf.Nodes[0].ID, "one")
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			r := w.beginWorkflow(wf, "go")
			same(t, "output", string(r.is(event.StatusCompleted).Output), `{"in":"hello!"}`)
			same(t, "runs below the child run", len(r.childRuns()[0].childRuns()), 1)

			dir = folder(t,
				map[string]string{"two.yaml": steps("a", "- {type: set, values: {in: \"{{ $input }}\"}}\n")})
			wf, _ = load(t,
				steps("a",
					"- {id: all, type: map, over: [x, y], steps: [{id: i, type: workflow, workflow: ./two.yaml, "+
						"input: \"{{ $item }}\"}]}\n- {id: z, type: workflow, workflow: ./two.yaml, input: z}\n- "+
						"{type: set, values: {all: \"{{ $steps.all.output }}\", z: \"{{ $steps.z.output.in }}\"}}\n"),
				inFolder(dir))
			same(t, "in a map too", string(w.beginWorkflow(wf, "go").is(event.StatusCompleted).Output),
				`{"all":[{"in":"x"},{"in":"y"}],"z":"z"}`)

			dir = folder(t, map[string]string{
				"self.yaml":     steps("a", "- {type: workflow, workflow: ./sub/back.yaml}\n"),
				"sub/back.yaml": steps("a", "- {type: workflow, workflow: ./../self.yaml}\n"),
				"bad.yaml":      steps("a", "- {type: agent, name: zz}\n"),
				"files.yaml":    "agents: {a: {add_prompt_files: [AGENTS.md]}}\nworkflow: [{type: agent, name: a}]\n",
			})
			for name, want := range map[string]string{
				"self.yaml": "files run each other in a cycle: self.yaml -> back.yaml -> self.yaml",
				"gone.yaml": "no such file", "bad.yaml": "it has errors", "files.yaml": "have no prompt files",
				"sub": "it is a folder",
			} {
				got := refused(t, steps("a", "- {type: workflow, workflow: ./"+name+"}\n"), inFolder(dir))
				if !strings.Contains(strings.Join(got, "\n"), want) {
					t.Errorf("%s: %v, want %q", name, got, want)
				}
			}
			if got := refused(t, doc); !strings.Contains(got[0], "the document is not in a folder") {
				t.Errorf("a document without a folder: %v", got)
			}
			files := map[string]string{"9.yaml": steps("a", "- {type: set, values: {n: 1}}\n")}
			for n := range 9 {
				files[string(rune('0'+n))+".yaml"] = steps("a", "- {type: workflow, workflow: ./"+string(rune('1'+n))+
					".yaml}\n")
			}
			deep := folder(t, files)
			load(t, files["1.yaml"], inFolder(deep))
			if got := refused(t, files["0.yaml"], inFolder(deep)); !strings.Contains(strings.Join(got, "\n"),
				"max_nesting") {
				t.Errorf("files that are nested too deep: %v", got)
			}
			many := ""
			for n := range 101 {
				many += "- {id: s" + string(rune('a'+n/26)) + string(rune('a'+n%26)) + ", type: workflow, workflow: " +
					"./" + strings.Repeat("/", n) + "9.yaml}\n"
			}
			if got := refused(t, steps("a", many), inFolder(deep)); !strings.Contains(strings.Join(got, "\n"),
				"max_called_files") {
				t.Errorf("too many files: %v", got)
			}
		}},
	{name: "X-63 the step ends as the child run does, and both have one answer", test: func(t *testing.T) {
		w := newWorld(t)
		w.storeDocument("below", steps("a", "- {type: end, status: failed, message: \"no {{ $input }}\"}\n"))
		r := w.runs(
			steps("a",
				"- {id: c, type: workflow, workflow: below, input: luck, retry: {max_attempts: 1, backoff: "+
					"{initial_delay_seconds: 0}}, on_error: continue}\n- {type: set, values: {why: \"{{ "+
					"$steps.c.error.message }}\"}}\n"), "go")
		if out := string(r.is(event.StatusCompleted).Output); !strings.Contains(out, "no luck (ended)") {
			t.Errorf("output %s", out)
		}
		same(t, "attempts, each a run", len(r.childRuns()), 2)

		w.storeDocument("asks", steps("a", "- {id: q, type: ask, prompt: \"Which {{ $input }}?\"}\n"))
		r = w.runs(steps("a", "- {type: workflow, workflow: asks, input: city}\n"), "go")
		o := r.is(event.StatusPaused)
		same(t, "what the parent run asks", o.Waiting[0].Prompt, "Which city?")
		r.answers("Ulm")
		same(t, "output", string(r.is(event.StatusCompleted).Output), `"Ulm"`)
		same(t, "the child run", string(r.childRuns()[0].is(event.StatusCompleted).Output), `"Ulm"`)

		r = w.runs(steps("a", "- {type: workflow, workflow: asks, input: city}\n"), "go")
		if err := w.Cancel(t.Context(), r.id, "enough"); err != nil {
			t.Fatal(err)
		}
		r.is(event.StatusCancelled)
		r.childRuns()[0].is(event.StatusCancelled)

		w.storeDocument("self", steps("a", "- {type: workflow, workflow: self}\n"))
		r = w.runs(steps("a", "- {type: workflow, workflow: self}\n"), "go")
		if o := r.is(event.StatusFailed); !strings.Contains(o.Error.Message, "max_nesting") {
			t.Errorf("a workflow that runs itself: %s", asJSON(o.Error))
		}
		w.storeDocument("work", steps("a", "- {type: agent, name: a}\n- {type: agent, name: a, id: b}\n"))
		o = w.runs("agents: {a: {}}\nworkflow: {budget: {calls: 2}, steps: [{type: workflow, workflow: work}]}\n",
			"go").is(event.StatusFailed)
		same(t, "the budget of the parent run", o.Error.Code, event.CodeBudget)
	}},
	{name: "X-64 what a file wants of the machine is asked for with the document", test: func(t *testing.T) {
		w := newWorld(t)
		dir := folder(t,
			map[string]string{"tool.yaml": "toolsets: [{type: script, shell: {hi: {cmd: 'echo hi', description: " +
				"Greets.}}}]\nworkflow: [{type: tool, tool: hi}]\n"})
		wf, _ := load(t,
			steps("a", "- {type: workflow, workflow: ./tool.yaml}\n- {type: set, values: {said: \"{{ "+
				"$steps.tool.output.stdout }}\"}}\n"), inFolder(dir))
		_, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "go"})
		var asks *service.CommandsError
		if !errors.As(err, &asks) || !strings.Contains(err.Error(), "echo hi") {
			t.Fatalf("start: %v", err)
		}
		r := w.beginWorkflow(wf, "go", func(q *service.StartRequest) { q.Trust = true })
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"said":"hi\n"}`)
	}},
	{name: "X-65 a step without an id has that of the workflow, or the name of its file", test: func(t *testing.T) {
		dir := folder(t, map[string]string{"city report.yaml": steps("a", "- {type: set, values: {n: 1}}\n")})
		wf, _ := load(t,
			steps("a", "- {type: workflow, workflow: below@3}\n- {type: workflow, workflow: \"./city "+
				"report.yaml\"}\n- {type: workflow, workflow: below}\n"), inFolder(dir))
		var ids []string
		names := map[string]bool{}
		for _, n := range wf.Nodes {
			ids = append(ids, n.ID)
			names[n.Tool.Tool] = true
			same(t, "kind", n.Kind, workflow.KindTool)
		}
		same(t, "ids", strings.Join(ids, " "), "below city report below_2")
		same(t, "tools", len(names), 3)
	}},
}

func TestStepsWorkflows(t *testing.T) { check(t, stepsWorkflows) }

func TestStepsWorkflowsCovered(t *testing.T) {
	covered(t, stepsWorkflows, "X-60", "X-61", "X-62", "X-63", "X-64", "X-65")
}
