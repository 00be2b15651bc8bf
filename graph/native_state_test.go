package graph

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/program"
)

// TestNativeState_MatchesJSONState checks that a state passed between functions as a Go value is
// equivalent to one passed as fields: each function sees the same, changes the same, and the same
// edits are stored. This includes forks, where several functions work on one state, and anything
// that functions do with their arguments (D27).
func TestNativeState_MatchesJSONState(t *testing.T) {
	t.Parallel()
	t.Run("flat", sameAlongTheWay[flatShape])
	t.Run("lists", sameAlongTheWay[listShape])
	t.Run("embedded", sameAlongTheWay[embeddedShape])
	t.Run("own forms", sameAlongTheWay[mixedShape])
	t.Run("times", sameAlongTheWay[timesShape])
	t.Run("loose", sameAlongTheWay[looseShape])
	t.Run("tree", sameAlongTheWay[treeShape])
	t.Run("left out", sameAlongTheWay[emptyShape])
	t.Run("plain", sameAlongTheWay[pointedShape])
}

type (
	// mixedShape has fields with forms and fields without.
	mixedShape struct {
		Own   shaded    `json:"own"`
		Loud  shouted   `json:"loud"`
		Any   any       `json:"any,omitempty"`
		Lines []string  `json:"lines"`
		Text  string    `json:"text,omitempty"`
		Bytes []byte    `json:"bytes"`
		Three [3]string `json:"three"`
	}
	// emptyShape has values that change when encoded and decoded.
	emptyShape struct {
		One   turnShape            `json:"one,omitzero"`
		Ones  []inner              `json:"ones"`
		Ptr   **string             `json:"ptr,omitempty"`
		List  *[]string            `json:"list,omitempty"`
		Lists []*[]string          `json:"lists"`
		Map   *map[string]string   `json:"map,omitzero"`
		Text  *string              `json:"text"`
		Deep  map[string]turnShape `json:"deep,omitempty"`
	}
	inner struct {
		Turn turnShape `json:"turn,omitzero"`
		F    float64   `json:"f,omitempty"`
		Text string    `json:"text"`
	}
)

// held is a state and the number of the step that produced it.
type held[S any] struct {
	state typed.State
	step  int
}

func sameAlongTheWay[S any](t *testing.T) {
	t.Parallel()
	c := newCodec[S]()
	rapid.Check(t, func(t *rapid.T) {
		var first S
		fill(t, reflect.ValueOf(&first).Elem(), 3)
		fields, err := encode(first)
		if err != nil {
			fields, _ = encode(*new(S))
		}
		if rapid.Bool().Draw(t, "disturbed") {
			disturb(t, fields)
		}
		states := []held[S]{{typed.StateOf(fields, 0), 0}}
		for step := 1; step <= rapid.IntRange(1, 8).Draw(t, "steps"); step++ {
			from := states[len(states)-1]
			if rapid.IntRange(0, 2).Draw(t, "fork") == 0 {
				from = rapid.SampledFrom(states).Draw(t, "from")
			}
			if rapid.IntRange(0, 5).Draw(t, "fold") == 0 {
				from.state = from.state.WithNative(nil)
			}
			next, ok := stepBoth(t, c, from.state, step)
			if !ok {
				continue
			}
			states = append(states, held[S]{next, step})
			for _, h := range states { // nothing that a function did since then has changed them
				want, _ := decode[S](h.state.Map())
				if got, err := c.decode(&h.state); err == nil && !reflect.DeepEqual(got, want) {
					t.Fatalf("the state after step %d is %s, its native form gives another one\n%s", h.step,
						show(h.state.Map()), cmp.Diff(fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want)))
				}
			}
		}
	})
}

// stepBoth lets a function work on a state in both ways and compares all results. It returns false
// if the function failed.
func stepBoth[S any](t *rapid.T, c *codec[S], state typed.State, step int) (typed.State, bool) {
	fields := state.Map()
	change := drawChange[S](t)
	want, wantErr := changedPlain(fields, change)

	s, b := new(S), seen[S]{}
	var out program.Result
	err := c.read(&state, s, &b)
	if err == nil {
		plain, plainErr := decode[S](fields)
		if plainErr != nil || !reflect.DeepEqual(*s, plain) {
			t.Fatalf("a function sees %#v\nwant %#v, %v", *s, plain, plainErr)
		}
		if err = change(s); err == nil {
			out, err = c.changes(&b, s)
		}
	}
	if text(err) != text(wantErr) || show(out.Whole(&state)) != show(want) {
		t.Fatalf("changes of %s\ngot  %s, %v\nwant %s, %v", show(fields), show(out.Whole(&state)), err, show(want),
			wantErr)
	}
	if err != nil {
		return state, false
	}
	var grown []typed.Growth
	for _, g := range out.Grown {
		one := state.Grown(g.Field, g.Text)
		if err := one.Check(); err != nil {
			t.Fatal(err)
		}
		grown = append(grown, one)
	}
	whole, edits := state.Shorten(out.Update, grown...)
	wantWhole, wantEdits := state.Shorten(want)
	if show(whole) != show(wantWhole) || !reflect.DeepEqual(edits, wantEdits) {
		t.Fatalf("stored of %s\ngot  %s, %+v\nwant %s, %+v", show(fields), show(whole), edits, show(wantWhole),
			wantEdits)
	}
	changes := state.ChangesOf(whole, edits, step)
	spoil(reflect.ValueOf(s).Elem()) // the function kept its pointer
	return state.With(changes).WithNative(out.Native), true
}

// drawChange draws what a function does: nothing, other values in some fields, or additions at the
// end of lists and strings.
func drawChange[S any](t *rapid.T) func(*S) error {
	var other S
	v := reflect.ValueOf(&other).Elem()
	fill(t, v, 3)
	var what []int
	others := rapid.IntRange(0, 1).Draw(t, "others") // half only append or change the last element
	for range v.NumField() {
		what = append(what, rapid.IntRange(0, 4+others).Draw(t, "what"))
	}
	long := strings.Repeat("more ", 40)
	more := rapid.SampledFrom([]string{long, long, "x", "\"", "é", "\xff", "\u2028"}).Draw(t, "more")
	return func(s *S) error {
		for i, what := range what {
			switch at := reflect.ValueOf(s).Elem().Field(i); {
			case !at.CanSet() || what == 0:
			case what == 5:
				at.Set(v.Field(i))
			case what == 1 && at.Kind() == reflect.Slice && at.Len() > 0:
				at.Index(at.Len() - 1).SetZero()
			case at.Kind() == reflect.String:
				at.SetString(at.String() + more)
			case at.Kind() == reflect.Slice && at.Type().Elem().Kind() == reflect.String:
				at.Set(reflect.Append(at, reflect.ValueOf(more).Convert(at.Type().Elem())))
			case at.Kind() == reflect.Slice && v.Field(i).Len() > 0:
				at.Set(reflect.AppendSlice(at, v.Field(i)))
			}
		}
		return nil
	}
}

// spoil changes everything reachable from a value.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Slice:
		for _, list := range []reflect.Value{v, v.Slice(0, v.Cap()).Slice(v.Len(), v.Cap())} {
			for i := range list.Len() {
				spoil(list.Index(i))
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(k))
			spoil(elem)
			v.SetMapIndex(k, elem)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			spoil(f)
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("spoiled")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.CanSet() {
			v.SetInt(99)
		}
	}
}

// TestNativeState_SharedListPrefix checks that functions of a fork can extend the same list
// concurrently, and that each gets its own.
func TestNativeState_SharedListPrefix(t *testing.T) {
	t.Parallel()
	c := newCodec[listShape]()
	add := func(state typed.State, role string, step int) typed.State {
		s, b := new(listShape), seen[listShape]{}
		if err := c.read(&state, s, &b); err != nil {
			t.Error(err)
		}
		s.Turns = append(s.Turns, turnShape{Role: role})
		out, err := c.changes(&b, s)
		if err != nil || len(out.Grown) != 1 || out.Native == nil {
			t.Errorf("%+v, %v", out, err)
			return state
		}
		changes := state.ChangesOf(out.Whole(&state), nil, step)
		return state.With(changes).WithNative(out.Native)
	}
	first := typed.StateOf(program.Fields{"turns": program.Value(`[{"role":"` + strings.Repeat("x", 100) + `"}]`)}, 0)
	const before, branches, steps = 5, 8, 20
	for step := range before {
		first = add(first, "before", 1+step)
	}
	var states [branches][]typed.State
	var wg sync.WaitGroup
	for i := range branches {
		wg.Go(func() {
			state := first
			for n := range steps {
				state = add(state, fmt.Sprint(i, " ", n), 10+n)
				states[i] = append(states[i], state)
			}
		})
	}
	wg.Wait()
	for i, list := range states {
		for n := range list {
			got, err := c.decode(&list[n])
			want, wantErr := decode[listShape](list[n].Map())
			last := 1 + before + n
			if d := cmp.Diff(got, want); d != "" || err != nil || wantErr != nil || len(got.Turns) != last+1 ||
				got.Turns[last].Role != fmt.Sprint(i, " ", n) {
				t.Fatalf("branch %d, step %d: %v, %v, got - want +\n%s", i, n, err, wantErr, d)
			}
		}
	}
}

// TestNativeState_ElementEncodingChanges checks that elements appended to a list are detected only
// if the JSON before them equals the current encoding of the earlier elements: here an empty list
// becomes nil after the first step, so that its element is omitted.
func TestNativeState_ElementEncodingChanges(t *testing.T) {
	t.Parallel()
	c := newCodec[emptyShape]()
	state := typed.StateOf(nil, 0)
	for step := 1; step <= 3; step++ {
		s, b := new(emptyShape), seen[emptyShape]{}
		if err := c.read(&state, s, &b); err != nil {
			t.Fatal(err)
		}
		s.Ones = append(s.Ones, inner{Turn: turnShape{Tools: []string{}}, Text: strings.Repeat("x", 100)})
		out, err := c.changes(&b, s)
		if err != nil || len(out.Grown) != 0 || out.Native == nil {
			t.Fatalf("step %d: %+v, %v", step, out, err)
		}
		changes := state.ChangesOf(out.Whole(&state), nil, step)
		state = state.With(changes).WithNative(out.Native)
	}
	if got, want := string(state.Get("ones")), `[{"text":"`; strings.Count(got, "turn") != 1 ||
		!strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}
