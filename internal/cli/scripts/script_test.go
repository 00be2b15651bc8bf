package scripts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// wiring is the wiring of all command lines in scripts; CompleteWithin is long, for slow machines.
var wiring = cli.Wiring{Version: "v0-test", Adapters: providers.Adapters(nil), Postgres: pghome.New(nil),
	CompleteWithin: time.Minute}

// repository is the root of the module. The working directory belongs to a script.
var repository string

// programs are the programs that scripts run as separate processes: this test binary under other
// names. (testscript.Main would reserve the name hocket.)
var programs = map[string]func(){
	"hocket":    func() { os.Exit(cli.Process(wiring)) },
	"mcptool":   mcpTool,
	"gossip":    leakyTool,
	"goprogram": goProgram,
}

func TestMain(m *testing.M) {
	if program := programs[filepath.Base(os.Args[0])]; program != nil {
		program()
		return
	}
	os.Exit(test(m))
}

// test adds the programs to the path and runs the tests.
func test(m *testing.M) int {
	here, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	repository = filepath.Join(here, "..", "..", "..")
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	bin, err := os.MkdirTemp("", "hocket-scripts")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	for name := range programs {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			panic(err)
		}
	}
	if err := os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	return m.Run()
}

// TestScripts checks the command line against the outer contract, with one script for each part of
// it.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := scripts(t, false)
	p.Dir = filepath.Dir(script("run"))
	testscript.Run(t, p)
}

// TestScriptsOnServer runs the scripts for stored definitions a second time, against a server: the
// same lines print the same output and exit with the same statuses.
func TestScriptsOnServer(t *testing.T) {
	t.Parallel()
	p := scripts(t, true)
	p.Files = []string{script("definitions")}
	testscript.Run(t, p)
}

// script returns the path of a script.
func script(name string) string {
	return filepath.Join(repository, "internal", "cli", "scripts", "testdata", "script", name+".txtar")
}

// scripts returns the parameters for running scripts. Their condition `there` is isThere.
func scripts(t *testing.T, isThere bool) testscript.Params {
	t.Helper()
	held := &gates{open: map[string]chan struct{}{}}
	model := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
		if name, ok := strings.CutPrefix(r.Model, "held-"); ok {
			<-held.of(name)
			return modeltest.Answer{Text: name[strings.LastIndex(name, "-")+1:]}
		}
		if name, ok := strings.CutPrefix(r.Model, "busy-"); ok {
			select {
			case <-held.of(name):
				return modeltest.Answer{Text: name[strings.LastIndex(name, "-")+1:]}
			case <-time.After(100 * time.Millisecond): // so that a loop does not fill the journal
				return modeltest.Answer{Text: "again"}
			}
		}
		return modeltest.Answer{Text: fmt.Sprintf("%s says: %s", r.Model, r.LastUser())}
	})
	t.Cleanup(held.openAll) // before the server waits for its calls
	tools := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return mcpServer() },
		nil))
	t.Cleanup(tools.Close)
	gossips := modeltest.Start(t, newLeakyModel())
	told := httptest.NewServer(leakyHandler())
	t.Cleanup(told.Close)
	web := webServer(t)
	return testscript.Params{
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Values[children{}] = map[string]*child{}
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv("HOME", home)
			env.Setenv("MODEL_URL", model.BaseURL())
			env.Setenv("MCP_URL", tools.URL)
			env.Setenv("GOSSIP_MODEL_URL", gossips.BaseURL())
			env.Setenv("GOSSIP_MODEL_HOST", strings.TrimPrefix(gossips.URL(), "http://"))
			env.Setenv("GOSSIP_MCP_URL", told.URL)
			env.Setenv("WEB_URL", web.URL)
			env.Setenv("WEB_HOST", web.Listener.Addr().String())
			return os.Mkdir(home, 0o700)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root": // permissions do not restrict root
				return os.Geteuid() == 0, nil
			case "there":
				return isThere, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"hocket": cmdHocket, "exits": cmdExits, "start": cmdStart, "signal": cmdSignal, "finish": cmdFinish,
			"await": cmdAwait, "until": cmdUntil,
			"value": cmdValue, "shape": cmdShape, "events": cmdEvents, "damage": cmdDamage, "poke": cmdPoke,
			"empty": cmdEmpty,
			"fill":  cmdFill, "sql": cmdSQL, "page": cmdPage, "crlf": cmdCRLF, "bytes": cmdBytes, "leaks": cmdLeaks,
			"ask": cmdAsk, "at": cmdAt,
			"release": held.cmdRelease, "typed": cmdTyped, "carried": cmdCarried,
		},
	}
}

// mcpTool is an MCP server on standard input and output.
func mcpTool() {
	fmt.Fprintln(os.Stderr, "mcptool is ready")
	s := mcpServer()
	if os.Getenv("MCPTOOL_META") != "" {
		echoMeta(s, "near_meta", nil)
	}
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// mcpServer returns a server with the tools `shout`, and `buy`, which records in began.txt that it
// was called and never returns.
func mcpServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	text := func(req *sdk.CallToolRequest) (string, error) {
		var args struct{ Text string }
		err := json.Unmarshal(req.Params.Arguments, &args)
		return args.Text, err
	}
	s.AddTool(&sdk.Tool{Name: "shout", InputSchema: schema},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			said, err := text(req)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.ToUpper(said)}}}, err
		})
	s.AddTool(&sdk.Tool{Name: "buy", InputSchema: schema},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			said, err := text(req)
			if err != nil {
				return nil, err
			}
			f, err := os.OpenFile("began.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			fmt.Fprintln(f, said)
			if err := f.Close(); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
	return s
}

// waitTimeout is the timeout of the waits in a script.
const waitTimeout = 5 * time.Minute
