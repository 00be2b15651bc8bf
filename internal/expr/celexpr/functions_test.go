package celexpr

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/expr"

	"pgregory.net/rapid"
)

// TestFunctions checks the functions of lists, strings and numbers.
func TestFunctions(t *testing.T) {
	t.Parallel()
	env := expr.EnvMap{
		"x": {
			Output: json.RawMessage(
				`{"n":[3,1.5,2],"t":["b","a","ä","B"],"o":[{"total":12.5},{"total":7.25}],"none":[],"mixed":[1,"a"],` +
					`"big":[9223372036854775807,1],"f":2.345,"empty":""}`),
		},
	}
	for src, want := range map[string]string{
		`$steps.x.output.n.sum() == 6.5`:                                   "true",
		`$steps.x.output.none.sum() == 0`:                                  "true",
		`$steps.x.output.o.map(o, o.total).sum() == 19.75`:                 "true",
		`$steps.x.output.n.min() == 1.5 && $steps.x.output.n.max() == 3`:   "true",
		`$steps.x.output.t.max() == "ä"`:                                   "true",
		`$steps.x.output.n.sort() == [1.5, 2, 3]`:                          "true",
		`$steps.x.output.t.sort().join(",") == "B,a,b,ä"`:                  "true",
		`$steps.x.output.none.join(",") == ""`:                             "true",
		`"a,b,,c".split(",") == ["a", "b", "", "c"]`:                       "true",
		`"".split(",") == [""]`:                                            "true",
		`round(2.5) == 3 && round(-2.5) == -3 && round(7) == 7`:            "true",
		`round($steps.x.output.f, 2) == 2.35 && round(1e300, 15) == 1e300`: "true",
		`$steps.x.output.mixed.sum() > 0`:                                  "sum(): item 1 is a string, not a number",
		`$steps.x.output.mixed.sort() == []`:                               "cannot order a string with a number",
		`$steps.x.output.n.join("") == ""`:                                 "join(): item 0 is a number, not a string",
		`$steps.x.output.none.max() == 1`:                                  "max(): the list is empty",
		`$steps.x.output.big.sum() > 0`:                                    "sum(): integer overflow",
		`"a".split($steps.x.output.empty) == []`:                           "split() needs a text that is not empty",
		`round($steps.x.output.t[0]) == 1`:                                 "round() needs a number, not a string",
		`round($steps.x.output.f, 16) == 1`:                                "round() keeps 0 to 15 digits, not 16",
		`round($steps.x.output.f, -2) == 1`:                                "round() keeps 0 to 15 digits, not -2",
		`$steps.x.output.f.sum() == 1`: "a function or an operator got a value " +
			"of the wrong type",
	} {
		c, ps := ParseCondition(src, expr.Options{})
		if refused(ps) {
			t.Errorf("%s: %v", src, ps)
			continue
		}
		v, err := c.Eval(env)
		got := fmt.Sprint(v)
		if err != nil {
			got = reasonOf(t, err)
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// TestRound checks that round takes halves of the decimal form away from zero.
func TestRound(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"1.005, 2": "1.01", "-1.005, 2": "-1.01", "2.675, 2": "2.68", "1.0049999, 2": "1", "8.345, 2": "8.35",
		"0.285, 2": "0.29", "1.45, 1": "1.5", "-0.004, 2": "0", "-0.4": "0", "0.5": "1", "2.5": "3", "-2.5": "-3",
		"0.1 + 0.2, 15": "0.3", "1e300, 15": "1e+300", "1e300": "1e+300", "5e-324, 15": "0",
		"9007199254740993, 2": "9007199254740993", "4503599627370495.5": "4503599627370496",
		"123456789.125, 2": "123456789.13", "1.1, 15": "1.1",
	} {
		i, ps := ParseInterpolation("{{ round("+src+") }}", expr.Options{})
		if refused(ps) {
			t.Errorf("round(%s): %v", src, ps)
			continue
		}
		if got, err := i.Eval(expr.EnvMap{}); err != nil || string(got) != want {
			t.Errorf("round(%s): %s, %v, want %s", src, got, err, want)
		}
	}
}

// TestRoundRandom compares round with whole numbers: all decimals of at most 15 digits have an
// exact decimal form.
func TestRoundRandom(t *testing.T) {
	t.Parallel()
	c, ps := ParseCondition(`round($steps.x.output.v, $steps.x.output.d) == $steps.x.output.want`, expr.Options{})
	if refused(ps) {
		t.Fatal(ps)
	}
	rapid.Check(t, func(t *rapid.T) {
		n, digits := rapid.Int64Range(-1e15+1, 1e15-1).Draw(t, "n"), rapid.Int64Range(0, 15).Draw(t, "digits of n")
		d := rapid.Int64Range(0, 15).Draw(t, "d")
		if rapid.Bool().Draw(t, "half") { // ends in 5 right behind the last digit kept
			n, digits = n/10*10+5, d+1
		}
		power := func(k int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(k), nil) }
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(2))
		want.Abs(want).Mul(want, power(d)).Add(want, power(digits))
		want.Div(want, new(big.Int).Mul(big.NewInt(2), power(digits)))
		if n < 0 {
			want.Neg(want)
		}
		v := fmt.Sprintf(`{"v":%de-%d,"d":%d,"want":%de-%d}`, n, digits, d, want, d)
		if ok, err := c.Eval(expr.EnvMap{"x": {Output: json.RawMessage(v)}}); err != nil || !ok {
			t.Fatalf("round is not as in %s: %v", v, err)
		}
	})
}

// TestFunctionTable checks that each form of the table compiles and has the documented type as far
// as CEL can tell, and that the documentation lists the same functions.
func TestFunctionTable(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## Functions\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, m := range regexp.MustCompile("[`.]([A-Za-z_]+)\\(").FindAllStringSubmatch(section, -1) {
		if !slices.Contains(documented, m[1]) {
			documented = append(documented, m[1])
		}
	}
	var names []string
	tests := map[string]string{"boolean": " == true", "string": " + 'a' == ''", "number": " + 1 > 0",
		"array": " + [1] == []"}
	for _, f := range Functions() {
		names = append(names, f.Name)
		call := f.Call("$steps.x.output")
		if _, ps := ParseInterpolation("{{ "+call+" }}", expr.Options{}); len(ps) > 0 {
			t.Errorf("%s: %v", call, ps)
		}
		for _, kind := range f.Gives {
			if _, ps := ParseCondition(call+tests[kind], expr.Options{}); refused(ps) {
				t.Errorf("%s%s: %v, though it gives %s", call, tests[kind], ps, kind)
			}
		}
	}
	slices.Sort(names)
	slices.Sort(documented)
	if !slices.Equal(names, documented) {
		t.Errorf("functions %v, documented %v", names, documented)
	}
}

// TestFunctionsOfRandomLists checks that the functions agree with Go's on random lists, whatever
// their order; in particular, a sum of whole numbers is exact.
func TestFunctionsOfRandomLists(t *testing.T) {
	t.Parallel()
	c, ps := ParseCondition(
		`$steps.x.output.n.sum() == $steps.x.output.sum && $steps.x.output.n.min() == $steps.x.output.min && `+
			`$steps.x.output.n.max() == $steps.x.output.max && $steps.x.output.n.sort() == $steps.x.output.sorted`,
		expr.Options{})
	if refused(ps) {
		t.Fatal(ps)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SliceOfN(rapid.Int64Range(-1e15, 1e15), 1, 50).Draw(t, "n")
		sorted := slices.Sorted(slices.Values(n))
		var total int64
		for _, x := range n {
			total += x
		}
		rand.New(rand.NewSource(int64(len(n)))).Shuffle(len(n), func(i, j int) { n[i], n[j] = n[j], n[i] })
		b, err := json.Marshal(map[string]any{"n": n, "sum": total, "min": slices.Min(n), "max": slices.Max(n),
			"sorted": sorted})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := c.Eval(expr.EnvMap{"x": {Output: b}}); !v || err != nil {
			t.Fatalf("%s: %v, %v", b, v, err)
		}
	})
}

// TestFunctionsCost checks that a large list is expensive, so that the limit of an evaluation holds
// for these functions too.
func TestFunctionsCost(t *testing.T) {
	t.Parallel()
	for _, src := range []string{`$steps.x.output.sort() == []`, `$steps.x.output.map(a, $steps.x.output.sum()) == []`,
		`$steps.x.output.map(a, $steps.x.output.join(",")) == []`} {
		c, ps := ParseCondition(src, expr.Options{})
		if refused(ps) {
			t.Fatal(ps)
		}
		item := `1,`
		if strings.Contains(src, "join") {
			item = `"a",`
		}
		_, err := c.Eval(expr.EnvMap{
			"x": {Output: json.RawMessage("[" + strings.TrimSuffix(strings.Repeat(item, 200_000), ",") + "]")},
		})
		if err == nil || !strings.Contains(err.Error(), "costs more than") {
			t.Errorf("%s: %v, want the limit of the cost", src, err)
		}
	}
}

// TestFunctions_ResultSize checks that the size of a function's result is limited in advance: an
// 800 kB string split and joined with itself would be 640 GB long.
func TestFunctions_ResultSize(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 800_000)
	env := expr.EnvMap{"x": {Output: json.RawMessage(`"` + large + `"`)},
		"list": {Output: json.RawMessage("[1" + strings.Repeat(",1", 99_999) + "]")}}
	for src, want := range map[string]string{
		`$steps.x.output.split("xx").join($steps.x.output) == ""`: "join() would make more than 10000000 bytes",
		`$steps.x.output.split("x") == []`:                        "split() would make more than 500000 parts",
		`$steps.list.output.sort() == []`:                         "it costs more than 1000000 units to evaluate",
		`size($steps.x.output.split("xxxxxxxx").join("")) == 0`:   "true",
	} {
		c, ps := ParseCondition(src, expr.Options{})
		if refused(ps) {
			t.Fatalf("%s: %v", src, ps)
		}
		v, err := c.Eval(env)
		got := fmt.Sprint(v)
		if err != nil {
			got = reasonOf(t, err)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
