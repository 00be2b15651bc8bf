package temporaldriver_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	common "go.temporal.io/api/common/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	sdk "go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
)

// replay replays a history with a variant of the workflow, which interceptors may change further.
// It tolerates slow machines, since the SDK considers a workflow blocked if a task takes a second.
func replay(t *testing.T, h *history.History, form any, change ...interceptor.WorkerInterceptor) error {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: change,
		DisableDeadlockDetection: true})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflowWithOptions(form, sdk.RegisterOptions{Name: temporaldriver.WorkflowName})
	own, _ := proto.Clone(h).(*history.History) // the SDK modifies what it replays
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(logger()), own)
}

// TestReplay checks that the workflow makes the same decisions as when the histories were recorded.
// If it fails, a workflow that is open while Hocket is upgraded would fail too: the protocol
// version must be raised, and the behavior of older workflows must be preserved.
func TestReplay(t *testing.T) {
	t.Parallel()
	all := readHistories(t)
	for name := range recorded() {
		if all[name+"-1.json"] == nil && all[name+"-1.json.gz"] == nil {
			t.Errorf("no history of %s is recorded", name)
		}
	}
	for name, h := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := replay(t, h, temporaldriver.RunWorkflow); err != nil {
				t.Error(err)
			}
			onlyNames(t, h)
		})
	}
}

// TestReplay_DetectsChanges checks that a workflow that does something else, or in another order,
// does not pass for the recorded one: the SDK reports TMPRL1100.
func TestReplay_DetectsChanges(t *testing.T) {
	t.Parallel()
	all := readHistories(t)
	for name, tt := range map[string]struct {
		history string
		form    any
		change  changed
	}{
		"a timer before all else": {"plain-1.json", func(ctx sdk.Context, in temporaldriver.Input) error {
			_ = sdk.NewTimer(ctx, time.Second)
			return temporaldriver.RunWorkflow(ctx, in)
		}, changed{}},
		"a look more at the end": {"plain-1.json", func(ctx sdk.Context, in temporaldriver.Input) error {
			if err := temporaldriver.RunWorkflow(ctx, in); err != nil {
				return err
			}
			return sdk.ExecuteActivity(ordinary(ctx), "look", in.Run, "").Get(ctx, nil)
		}, changed{}},
		"no work": {"plain-1.json", func(sdk.Context, temporaldriver.Input) error { return nil },
			changed{}},
		"looks by ordinary activities":   {"plain-1.json", temporaldriver.RunWorkflow, changed{noLocal: true}},
		"calls under another name":       {"tools-1.json", temporaldriver.RunWorkflow, changed{rename: "make"}},
		"no timers":                      {"retries-1.json", temporaldriver.RunWorkflow, changed{noTimer: true}},
		"a call begun before the timers": {"retries-1.json", temporaldriver.RunWorkflow, changed{early: true}},
		"an end before its time": {"continued-1.json.gz", func(sdk.Context, temporaldriver.Input) error {
			return nil
		}, changed{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := all[tt.history]
			if h == nil {
				t.Fatal("there is no " + tt.history)
			}
			if err := replay(t, h, tt.form, &tt.change); err == nil || !strings.Contains(err.Error(), "TMPRL1100") {
				t.Errorf("the replay gives %v", err)
			}
		})
	}
}

// ordinary sets the options that activities require.
func ordinary(ctx sdk.Context) sdk.Context {
	return sdk.WithActivityOptions(ctx, sdk.ActivityOptions{StartToCloseTimeout: time.Minute})
}

// changed is a workflow that was changed on purpose.
type changed struct {
	interceptor.WorkerInterceptorBase
	noLocal, noTimer, early bool
	rename                  string
}

func (c *changed) InterceptWorkflow(_ sdk.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &changedInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, c}
}

type changedInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	c *changed
}

func (i *changedInbound) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&changedOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: out}, i.c})
}

type changedOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	c *changed
}

func (o *changedOutbound) ExecuteLocalActivity(ctx sdk.Context, name string, args ...any) sdk.Future {
	if o.c.noLocal {
		return sdk.ExecuteActivity(ordinary(ctx), name, args...)
	}
	return o.Next.ExecuteLocalActivity(ctx, name, args...)
}

func (o *changedOutbound) ExecuteActivity(ctx sdk.Context, name string, args ...any) sdk.Future {
	if o.c.rename != "" {
		name = o.c.rename
	}
	return o.Next.ExecuteActivity(ctx, name, args...)
}

func (o *changedOutbound) NewTimer(ctx sdk.Context, d time.Duration) sdk.Future {
	switch {
	case o.c.noTimer:
		done, set := sdk.NewFuture(ctx)
		set.Set(nil, nil)
		return done
	case o.c.early:
		sdk.ExecuteActivity(ordinary(ctx), "call", "r", "c1")
	}
	return o.Next.NewTimer(ctx, d)
}

// readHistories returns the recorded histories by file name.
func readHistories(t *testing.T) map[string]*history.History {
	t.Helper()
	files, err := os.ReadDir(histories)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*history.History{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(histories, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name(), ".gz") {
			r, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		h, err := client.HistoryFromJSON(bytes.NewReader(data), client.HistoryJSONOptions{})
		if err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		all[f.Name()] = h
	}
	return all
}

// onlyNames checks that a history contains only IDs, kinds and times: no content of the run, and no
// value in a form that neither package temporal nor the SDK defines.
func onlyNames(t *testing.T, h *history.History) {
	t.Helper()
	inputs := 0
	err := protorange.Range(h.ProtoReflect(), func(p protopath.Values) error {
		switch v := p.Index(-1).Value.Interface().(type) {
		case string:
			if strings.Contains(v, canary) {
				t.Errorf("%v has what the run says: %s", p.Path, v)
			}
		case []byte:
			if strings.Contains(string(v), canary) {
				t.Errorf("%v has what the run says: %s", p.Path, v)
			}
		case protoreflect.Message:
			payload, ok := v.Interface().(*common.Payload)
			if !ok || len(payload.GetData()) == 0 {
				return nil
			}
			if isForm(payload.GetData(), &temporaldriver.Input{}) {
				inputs++
			} else if !isForm(payload.GetData(), &temporaldriver.Report{}) && !isForm(payload.GetData(), new(string)) &&
				!isForm(payload.GetData(), &localActivity{}) {
				t.Errorf("%v has a value of another form: %s", p.Path, payload.GetData())
			}
		}
		return nil
	})
	if err != nil || inputs == 0 {
		t.Errorf("%d values are inputs of the workflow, %v", inputs, err)
	}
}

// localActivity is what the SDK records about a local activity.
type localActivity struct {
	ActivityID   string
	ActivityType string
	ReplayTime   time.Time
	Attempt      int32
	Backoff      time.Duration
}

// isForm reports whether JSON matches the form of v exactly.
func isForm(data []byte, v any) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v) == nil
}
