package scripts_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hocket-run/hocket/internal/cli"
)

var update = flag.Bool("update", false, "write what scripts print into their golden files")

// children is the key of the processes that a script started.
type children struct{}

type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// process guards what belongs to the process and not to a script: the working directory and the
// environment. A command line has them for itself.
var process sync.Mutex

// run runs a command line in this process, with the directory and the environment of the script,
// and returns its exit status.
func run(ts *testscript.TestScript, args []string) int {
	process.Lock()
	defer process.Unlock()
	ts.Check(os.Chdir(ts.MkAbs(".")))
	for _, name := range []string{"HOME", "PATH"} {
		ts.Check(os.Setenv(name, ts.Getenv(name)))
	}
	return cli.Main(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: ts.Stdout(),
		Err: ts.Stderr(), Env: ts.Getenv}, wiring)
}

// cmdHocket runs a command line in this process: hocket ARG... A script uses `exec hocket` if the
// process or its standard input matters.
func cmdHocket(ts *testscript.TestScript, neg bool, args []string) {
	if status := run(ts, args); (status != 0) != neg {
		ts.Fatalf("exit status %d", status)
	}
}

// cmdExits runs a command line in this process, or another program, and compares the exit status:
// exits STATUS hocket ARG..., exits STATUS exec PROGRAM ARG...
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS hocket ARG..., or exits STATUS exec PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := 0
	switch args[1] {
	case "hocket":
		status = run(ts, args[2:])
	case "exec":
		var exit *exec.ExitError
		if err := ts.Exec(args[2], args[3:]...); errors.As(err, &exit) {
			status = exit.ExitCode()
		} else if err != nil {
			ts.Fatalf("%v", err)
		}
	default:
		ts.Fatalf("exits runs hocket, or exec and a program; not %s", args[1])
	}
	if status != want {
		ts.Fatalf("exit status %d, want %d", status, want)
	}
}

// cmdStart runs a program in the background, with its output in NAME.out and NAME.err: start NAME
// PROGRAM ARG...
func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARG...")
	}
	stdout, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	stderr, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	c := &child{cmd: exec.Command(args[1], args[2:]...), exited: make(chan struct{})}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = ts.MkAbs("."), stdout, stderr
	for _, name := range []string{"HOME", "PATH", "MODEL_URL", "HOCKET_HOME", "HOCKET_DB", "TMPDIR", "HOCKET_TOKEN",
		"HOCKET_SERVER", "OPENAI_BASE_URL", "OPENAI_API_KEY"} {
		c.cmd.Env = append(c.cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(c.cmd.Start())
	ts.Value(children{}).(map[string]*child)[args[0]] = c
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait()
		_ = stdout.Close()
		_ = stderr.Close()
	}()
	ts.Defer(func() {
		_ = c.cmd.Process.Kill() // our own child process, which may have ended
		<-c.exited
	})
}

func find(ts *testscript.TestScript, name string) *child {
	c := ts.Value(children{}).(map[string]*child)[name]
	if c == nil {
		ts.Fatalf("no process %s was started", name)
	}
	return c
}

// cmdSignal sends INT, TERM or KILL to a process started with start: signal NAME SIGNAL
func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}[args[1]]
	ts.Check(find(ts, args[0]).cmd.Process.Signal(sig))
}

// cmdFinish waits for a process started with start and compares its exit status, -1 if it was
// killed: finish NAME STATUS
func cmdFinish(ts *testscript.TestScript, _ bool, args []string) {
	c := find(ts, args[0])
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	select {
	case <-c.exited:
	case <-time.After(waitTimeout):
		ts.Fatalf("%s does not end", args[0])
	}
	if got := c.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%s: exit status %d, want %d\n%s", args[0], got, want, ts.ReadFile(args[0]+".err"))
	}
}

// cmdAwait waits until a file contains a text: await FILE TEXT
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(waitTimeout)
	look := time.NewTicker(5 * time.Millisecond) // writes of another process can only be polled
	defer look.Stop()
	for ; time.Now().Before(deadline); <-look.C {
		if data, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && bytes.Contains(data, []byte(args[1])) {
			return
		}
	}
	ts.Fatalf("%s does not get %q:\n%s", args[0], args[1], ts.ReadFile(args[0]))
}

// at returns the value at a path: fields and indexes separated by dots, `-1` for the last item of a
// list, `len` for its length.
func at(ts *testscript.TestScript, v any, path string) any {
	for key := range strings.SplitSeq(strings.Trim(path, "."), ".") {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[key]
			if !ok {
				ts.Fatalf("no %s in %s", key, path)
			}
			v = next
		case []any:
			n, err := strconv.Atoi(key)
			switch {
			case key == "len":
				v = float64(len(x))
				continue
			case err == nil && n < 0:
				n += len(x)
			}
			if err != nil || n < 0 || n >= len(x) {
				ts.Fatalf("no %s in %s: %d entries", key, path, len(x))
			}
			v = x[n]
		default:
			ts.Fatalf("%s: nothing below %v", path, v)
		}
	}
	return v
}

func decode(ts *testscript.TestScript, file string) any {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &v); err != nil {
		ts.Fatalf("%s is not one JSON value: %v", file, err)
	}
	return v
}

// cmdValue compares a value inside JSON, or stores it in a variable: value FILE PATH JSON, value
// FILE PATH -> NAME
func cmdValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: value FILE PATH JSON")
	}
	got := at(ts, decode(ts, args[0]), args[1])
	if len(args) == 4 && args[2] == "->" {
		ts.Setenv(args[3], fmt.Sprint(got))
		return
	}
	var want any
	if err := json.Unmarshal([]byte(args[2]), &want); err != nil {
		want = args[2]
	}
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if bytes.Equal(g, w) == neg {
		ts.Fatalf("%s is %s, want %s", args[1], g, w)
	}
}

// cmdShape prints the paths of a JSON value with their types, so that the next command can compare
// them: shape FILE
func cmdShape(ts *testscript.TestScript, _ bool, args []string) {
	seen := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		var typ string
		switch x := v.(type) {
		case nil:
			typ = "null"
		case map[string]any:
			typ = "object"
			for k, v := range x {
				walk(path+"."+k, v)
			}
		case []any:
			typ = "list"
			for _, v := range x {
				walk(path+"[]", v)
			}
		case float64:
			typ = "number"
		default:
			typ = fmt.Sprintf("%T", x)
		}
		if !slices.Contains(strings.Split(seen[path], "|"), typ) {
			types := append(strings.Split(seen[path], "|"), typ)
			slices.Sort(types)
			seen[path] = strings.Trim(strings.Join(types, "|"), "|")
		}
	}
	walk("", decode(ts, args[0]))
	lines := make([]string, 0, len(seen))
	for path, typ := range seen {
		lines = append(lines, cmp.Or(path, ".")+" "+typ)
	}
	slices.Sort(lines)
	fmt.Fprintln(ts.Stdout(), strings.Join(lines, "\n"))
}

// cmdEvents checks that a file contains events, one valid JSON line each, numbered without gaps
// from FIRST (default 1) to LAST, if specified: events FILE [FIRST [LAST]]
func cmdEvents(ts *testscript.TestScript, _ bool, args []string) {
	next := 1
	if len(args) > 1 {
		next, _ = strconv.Atoi(args[1])
	}
	text := ts.ReadFile(args[0])
	for line := range strings.Lines(text) {
		var e struct {
			Run, Type string
			Seq       int
			Time      time.Time
			Data      json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != next || e.Run == "" || e.Type == "" ||
			e.Time.IsZero() || e.Data == nil {
			ts.Fatalf("event %d: %v: %s", next, err, line)
		}
		next++
	}
	if text == "" || len(args) > 2 && strconv.Itoa(next-1) != args[2] {
		ts.Fatalf("the last event is %d", next-1)
	}
}

// cmdDamage changes one byte in the middle of each occurrence of TEXT in a file, since database
// pages may contain leftover copies: damage FILE TEXT
func cmdDamage(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	n := bytes.Count(data, []byte(args[1]))
	if n == 0 {
		ts.Fatalf("no %q in %s", args[1], args[0])
	}
	for range n {
		data[bytes.Index(data, []byte(args[1]))+len(args[1])/2] ^= 1
	}
	ts.Check(os.WriteFile(path, data, 0o600))
}

// cmdPoke writes bytes into a file: poke FILE OFFSET HEX
func cmdPoke(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	data, err := hex.DecodeString(args[2])
	ts.Check(err)
	_, err = f.WriteAt(data, offset)
	ts.Check(errors.Join(err, f.Close()))
}

// cmdEmpty checks that a file, stdout or stderr is empty: empty FILE...
func cmdEmpty(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		if text := ts.ReadFile(name); (text == "") == neg {
			ts.Fatalf("%s: %q", name, text)
		}
	}
}

// cmdFill replaces @NAME@ in files with the value of the variable: fill NAME FILE...
func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args[1:] {
		text := strings.ReplaceAll(ts.ReadFile(name), "@"+args[0]+"@", ts.Getenv(args[0]))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// cmdUntil runs a program until its output matches, since the actions of other processes can only
// be polled: until COMMAND REGEXP
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until COMMAND REGEXP")
	}
	words, want := strings.Fields(args[0]), regexp.MustCompile(args[1])
	deadline := time.Now().Add(waitTimeout)
	for time.Now().Before(deadline) {
		if err := ts.Exec(words[0], words[1:]...); err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		time.Sleep(50 * time.Millisecond) // a program takes CPU time from the process it watches
	}
	ts.Fatalf("%s never prints %s", args[0], args[1])
}

// gates hold the calls of models named held-NAME until the script executes `release NAME`. Each
// model then replies with the part of its name after the last -. Models named busy-NAME do the
// same, but first reply with "again", so that in a loop a follower of the run receives that reply,
// however late it starts.
type gates struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

func (g *gates) of(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

func (g *gates) openAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.open {
		select {
		case <-c:
		default:
			close(c)
		}
	}
}

// cmdRelease lets held models reply from now on: release NAME...
func (g *gates) cmdRelease(_ *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		close(g.of(name))
	}
}
