package docs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/acp"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
)

// asking returns a graph that drafts, asks whether to publish, and publishes.
func asking(version string) *graph.Compiled[Article] {
	g, err := graph.New[Article]("ask").
		Do("draft", draft).
		Then(graph.Ask("agree", func(v graph.View[Article]) string { return "Publish " + v.State.Text + "?" }, nil)).
		If(func(v graph.View[Article]) bool { return v.Text("agree") == "yes" }, graph.Do("publish", publish)).
		Compile(graph.Config{Version: version})
	return must(g, err)
}

func Example_wait() {
	dir := must(os.MkdirTemp("", "docs"))
	defer os.RemoveAll(dir)
	db, ctx, g := filepath.Join(dir, "app.db"), context.Background(), asking("1")

	func() {
		eng := must(hocket.Open(ctx, hocket.Config{DB: db}))
		defer eng.Close()
		res, err := hocket.Run(ctx, eng, g, Article{Topic: "tides"}, hocket.RunOptions{ID: "news-1"})
		if err != nil {
			fmt.Println(err)
			return
		}
		if res.Status == hocket.StatusPaused {
			fmt.Println(res.Snapshot.Waiting[0].Prompt)
		}
	}()

	eng := must(hocket.Open(ctx, hocket.Config{DB: db}))
	defer eng.Close()
	res, err := hocket.Resume(ctx, eng, g, "news-1", hocket.Answer{Value: "yes"})
	fmt.Println(res.Status, res.State.Text, err)

	_, err = hocket.Resume(ctx, eng, asking("2"), "news-1", hocket.Answer{Value: "yes"})
	fmt.Println(errors.Is(err, hocket.ErrVersion))
	// Output:
	// Publish On tides?
	// completed ON TIDES <nil>
	// true
}

func Example_recover() {
	dir := must(os.MkdirTemp("", "docs"))
	defer os.RemoveAll(dir)
	ctx, g := context.Background(), asking("1")

	eng, err := hocket.Open(ctx, hocket.Config{DB: filepath.Join(dir, "app.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := hocket.Register(eng, g); err != nil { // for each graph of the program
		fmt.Println(err)
		return
	}
	if err := eng.Recover(ctx); err != nil { // continue the runs of a former process
		fmt.Println(err)
		return
	}
	fmt.Println(eng.Close())
	// Output: <nil>
}

func Example_agents() {
	echo := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		return hocket.ModelReply{Text: r.Agent + ": " + r.Messages[len(r.Messages)-1].Text}, nil
	})
	eng, err := hocket.Open(context.Background(), hocket.Config{},
		hocket.WithModel("own", echo), // references own/…; provider.All() brings openai/…, anthropic/… and others
		hocket.WithAgent(hocket.Agent{Name: "critic", SystemPrompt: "You find faults.", Model: "own/echo"}),
		hocket.WithAgent(hocket.Agent{Name: "editor", SystemPrompt: "You shorten.", Model: "own/echo"}))
	must(eng, err)
	defer eng.Close()
	g, err := graph.New[Article]("desk").
		Start(graph.Do("draft", draft)).
		Then(graph.SubagentConfig[Article]{
			ID: "criticize", Agent: "critic", TaskFunc: func(v graph.View[Article]) string { return v.State.Text },
			Output: func(a *Article, r graph.SubagentResult) error {
				a.Notes = append(a.Notes, r.Output)
				return nil
			},
		}).
		Then(graph.ParallelSubagentConfig[Article]{
			ID:     "both",
			Agents: []graph.ParallelAgent[Article]{{Agent: "critic", Task: "one"}, {Agent: "editor", Task: "two"}},
			Output: func(a *Article, results []graph.AgentResult) error {
				for _, r := range results { // in declared order; false in r.Success means that it failed
					a.Notes = append(a.Notes, r.Key+" "+r.Output)
				}
				return nil
			},
		}).
		Compile()
	res := must(hocket.Run(context.Background(), eng, must(g, err), Article{Topic: "tides"}))
	fmt.Println(strings.Join(res.State.Notes, "\n"))
	// Output:
	// critic: On tides
	// critic-0 critic: one
	// editor-1 editor: two
}

func Example_wholeAgent() {
	echo := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		return hocket.ModelReply{Text: fmt.Sprintf(`{"title": "%.1f", "words": %d}`, *r.Temperature, len(r.Tools))}, nil
	})
	type Summary struct {
		Title string `json:"title"`
		Words int    `json:"words"`
	}
	archivist := hocket.Agent{
		Name: "archivist", SystemPrompt: "Answer from the archive.", Model: "own/large",
		Params: hocket.ModelParams{Temperature: 0.2, MaxTokens: 500}, // graph.Zero where 0 is meant
		Toolsets: []hocket.Toolset{{"type": "mcp", "remote": map[string]any{"url": "http://127.0.0.1:1/mcp"},
			"tools": []string{"search"}}},
		Permissions:      hocket.Permissions{Ask: []string{"mcp/*"}},
		SubAgents:        []string{"reader"}, // agents of the program, else of the catalog
		StructuredOutput: &hocket.StructuredOutput{Name: "summary", Schema: graph.SchemaOf[Summary]()},
		MaxIterations:    20,
		Fallback:         hocket.Fallback{Models: []string{"own/small"}, Retries: 3, Cooldown: 5 * time.Minute},
		Compaction:       &hocket.Compaction{At: 0.8, Keep: 6},
	}
	archivist.Toolsets = []hocket.Toolset{{"type": "think"}} // no server is started here
	archivist.Permissions = hocket.Permissions{}
	eng, err := hocket.Open(context.Background(), hocket.Config{}, hocket.WithModel("own", echo),
		hocket.WithAgent(archivist), hocket.WithAgent(hocket.Agent{Name: "reader", Model: "own/small"}))
	must(eng, err)
	defer eng.Close()
	g, err := graph.New[Article]("desk").Start(graph.SubagentConfig[Article]{ID: "ask", Agent: "archivist",
		Task: "Sum it up."}).Compile()
	res := must(hocket.Run(context.Background(), eng, must(g, err), Article{}))
	fmt.Println(graph.OutputAs[string](res.Snapshot.Outputs, "ask"))
	// Output: {"title":"0.2","words":2} <nil>
}

// Verdict is the output of a critic.
type Verdict struct {
	Fine  bool     `json:"fine"`
	Notes []string `json:"notes"`
}

func Example_subagentAs() {
	model := hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply, error) {
		return hocket.ModelReply{Text: `{"fine": false, "notes": ["shorten it"]}`,
			Usage: &hocket.TokenUsage{InputTokens: 40, OutputTokens: 12}}, nil
	})
	eng, err := hocket.Open(context.Background(), hocket.Config{}, hocket.WithModel("own", model),
		hocket.WithAgent(hocket.Agent{Name: "critic", Model: "own/m"}))
	must(eng, err)
	defer eng.Close()
	judge := func(ctx context.Context, a *Article) error {
		v, err := hocket.SubagentAs[Verdict](ctx, "critic", "Judge this: "+a.Text)
		if err != nil {
			return err
		}
		a.Notes = v.Value.Notes
		fmt.Println(v.Value.Fine, v.Usage.InputTokens+v.Usage.OutputTokens)
		return nil
	}
	g, err := graph.New[Article]("desk").Do("draft", draft).Do("judge", judge).Compile()
	res := must(hocket.Run(context.Background(), eng, must(g, err), Article{Topic: "tides"}))
	fmt.Println(res.State.Notes)
	// Output:
	// false 52
	// [shorten it]
}

// signedIn returns the user who is signed in to the program's own server.
func signedIn(r *http.Request) string {
	name, _, _ := r.BasicAuth()
	return name
}

func Example_handler() {
	ctx, eng := context.Background(), engine()
	defer eng.Close()
	handler, err := hocket.Handler(eng, hocket.HandlerConfig{
		Authorize: func(r *http.Request, a hocket.Access) (string, error) {
			user := signedIn(r)
			if a.Action == "approve" && user != "editor" {
				return "", errors.New("only editors approve")
			}
			return user, nil // an empty name is refused
		},
	})
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", must(handler, err)))
	res := must(hocket.Run(ctx, eng, asking("1"), Article{Topic: "tides"}, hocket.RunOptions{ID: "news-1"}))
	fmt.Println(res.Status)
	for _, name := range []string{"", "ann"} {
		r := httptest.NewRequest(http.MethodPost, "/ops/runs/news-1/resume", strings.NewReader(`{"input": "no"}`))
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth(name, "")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	fmt.Println(must(eng.Wait(ctx, "news-1")).Status)
	// Output:
	// paused
	// 403
	// 200
	// completed
}

func Example_sessions() {
	echo := hocket.ModelFunc(func(_ context.Context, r hocket.ModelRequest) (hocket.ModelReply, error) {
		return hocket.ModelReply{Text: strings.ToUpper(r.Messages[len(r.Messages)-1].Text)}, nil
	})
	// New starts no process yet.
	claude, err := acp.New(acp.Config{Preset: "claude", Dir: "/src/app", Allow: []string{"read", "search"}})
	must(claude, err)
	eng, err := hocket.Open(context.Background(), hocket.Config{},
		hocket.WithModel("own", echo),
		hocket.WithLLMSessions("critic", hocket.LLMSessions{Model: "own/strict", SystemPrompt: "Be strict."}),
		hocket.WithSessions("claude", claude))
	must(eng, err)
	defer eng.Close()
	g, err := graph.New[Article]("talk").
		Start(graph.Do("draft", draft)).
		Then(graph.AgentConfig[Article]{
			ID: "ask", AgentType: "critic", // or hocket.AgentLLM, which every engine with models has, or "claude"
			MessageFunc: func(v graph.View[Article]) string { return "Mend " + v.State.Text },
			Output: func(a *Article, messages []graph.AgentMessage) error {
				a.Text = messages[len(messages)-1].Content
				return nil
			},
		}).
		Compile()
	fmt.Println(must(hocket.Run(context.Background(), eng, must(g, err), Article{Topic: "tides"})).State.Text)
	// Output: MEND ON TIDES
}

func Example_stream() {
	eng, ctx, g := engine(), context.Background(), asking("1")
	defer eng.Close()
	for step, err := range hocket.Stream(ctx, eng, g, Article{Topic: "tides"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(step.NodeID, step.Status, step.State.Words)
	}

	for ev, err := range compat.RouteStream(hocket.Stream(ctx, eng, g, Article{Topic: "tides"}), compat.ModeUpdates,
		compat.ModeDebug) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Mode, ev.NodeID, len(ev.Update))
	}
	// Output:
	// draft running 2
	// agree paused 2
	// updates draft 2
	// debug draft 0
	// debug agree 0
}

func Example_checkpoints() {
	eng, ctx, g := engine(), context.Background(), asking("1")
	defer eng.Close()
	states := compat.MemoryCheckpoints() // or FileCheckpoints, SQLiteCheckpoints, or your own
	res, err := hocket.Run(ctx, eng, g, Article{Topic: "tides"}, hocket.RunOptions{
		ID: "news-1", Checkpointer: states,
		OnProgress: hocket.OnProgress(func(p hocket.Progress[Article]) {
			fmt.Printf("%s %s %q\n", p.Type, p.NodeID, p.Label)
		}),
	})
	must(res, err)
	first, err := compat.LoadState[Article](ctx, states, "news-1", "step_1") // "": the last one
	fmt.Println(first.Text, err)

	snapshot, err := hocket.SnapshotOf(ctx, eng, g, "news-1") // also res.Snapshot; it survives JSON
	must(snapshot, err)
	other := engine()
	defer other.Close()
	res, err = hocket.Run(ctx, other, g, Article{},
		hocket.RunOptions{ResumeFrom: snapshot, Answer: &hocket.Answer{Value: "no"}})
	fmt.Println(res.Status, res.State.Text, err)
	// Output:
	// node_started draft ""
	// node_completed draft ""
	// checkpoint_saved draft "step_1"
	// node_started agree ""
	// checkpoint_saved agree "step_2"
	// On tides <nil>
	// completed On tides <nil>
}

func Example_attach() {
	eng, ctx, g := engine(), context.Background(), asking("1")
	defer eng.Close()
	order := hocket.RunOptions{ID: "order-17", Attach: true}
	first, err := hocket.Run(ctx, eng, g, Article{Topic: "tides"}, order)
	must(first, err)
	again, err := hocket.Run(ctx, eng, g, Article{Topic: "tides"}, order) // the same run; nothing runs again
	fmt.Println(first.Status, again.Status, again.Snapshot.ExecutionID, err)
	// Output:
	// paused paused order-17 <nil>
}

func Example_schedules() {
	eng, ctx, g := engine(), context.Background(), asking("1")
	defer eng.Close()
	err := hocket.Register(eng, g,
		hocket.Schedule[Article]{ID: "nightly", Schedule: "0 2 * * *", TimeZone: "Europe/Berlin",
			State: Article{Topic: "tides"}},
		hocket.Schedule[Article]{ID: "often", Schedule: "@every 90m", CatchUp: "none", State: Article{Topic: "wind"}})
	must(g, err)
	s, err := eng.ControlSchedule(ctx, "ask", "nightly", "pause") // or resume, skip, run
	must(g, err)
	fmt.Println(s.ID, s.PausedBy != "", s.Next.IsZero())
	list, err := eng.Schedules(ctx)
	for _, s := range list {
		fmt.Println(s.Graph, s.ID, s.Schedule, s.TimeZone, err)
	}
	// Output:
	// nightly true true
	// ask nightly 0 2 * * * Europe/Berlin <nil>
	// ask often @every 90m UTC <nil>
}

func Example_control() {
	eng, ctx, g := engine(), context.Background(), asking("1")
	defer eng.Close()
	var drafted uint64
	for step, err := range hocket.Stream(ctx, eng, g, Article{Topic: "tides"}, hocket.RunOptions{ID: "news-1"}) {
		if err == nil && step.NodeID == "draft" {
			drafted = step.Seq
		}
	}

	fork, err := eng.Fork(ctx, "news-1", drafted) // a new run with the same past
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := eng.Cancel(ctx, "news-1", "not today"); err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range eng.Watch(ctx, "news-1") { // what happened, then what happens, until the run ends or pauses
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(strings.TrimSpace(ev.Type + " " + ev.Node))
	}
	res, err := hocket.Resume(ctx, eng, g, fork, hocket.Answer{Value: "yes"})
	fmt.Println(res.Status, res.State.Text, err)
	// Output:
	// run.created
	// run.started
	// edge.taken
	// step.started draft
	// func.called draft
	// func.returned draft
	// step.completed draft
	// edge.taken draft
	// step.started agree
	// wait.opened agree
	// signal.raised agree
	// run.paused agree
	// wait.closed agree
	// step.cancelled agree
	// run.cancelled
	// completed ON TIDES <nil>
}
