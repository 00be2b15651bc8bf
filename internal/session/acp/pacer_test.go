//go:build unix

package acp

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
)

// TestPacer checks that the agent's output passes unchanged, that no more updates pass than are
// consumed, and that updates that are never consumed do not block it forever.
func TestPacer(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	close(ready)
	update := `{"method":"session/update","params":{"x":1}}` + "\n"
	text := `{"id":1,"result":{}}` + "\n" + strings.Repeat(update, 3*maxUntaken) +
		`{"method":"session/update","params":"` + strings.Repeat("x", 200<<10) + `"}` + "\nlast"

	p := newPacer(strings.NewReader(text), ready)
	var got strings.Builder
	most := 0
	for in := bufio.NewReader(iotest.OneByteReader(p)); ; {
		line, err := in.ReadString('\n')
		got.WriteString(line)
		if strings.Contains(line, "session/update") && got.Len()%2 == 0 { // half of them are consumed immediately
			p.countConsumed()
		}
		if strings.Contains(line, endMethod) {
			p.markHandled()
		}
		most = max(most, p.untaken())
		if err != nil {
			break
		}
	}
	if diff := cmp.Diff(text+endNotification, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if most > maxUntaken || most < maxUntaken/2 {
		t.Errorf("%d updates were under way, %d may be", most, maxUntaken)
	}
	failing := newPacer(iotest.ErrReader(io.ErrUnexpectedEOF), ready)
	failing.markHandled()
	if _, err := io.ReadAll(failing); err != io.ErrUnexpectedEOF { //nolint:errorlint // it has to be this very one
		t.Errorf("got %v", err)
	}
}

// slowPeer is a peer that handles no update before release is closed.
type slowPeer struct {
	*peer
	release chan struct{}
}

func (p slowPeer) SessionUpdate(ctx context.Context, n sdk.SessionNotification) error {
	<-p.release
	return p.peer.SessionUpdate(ctx, n)
}

// TestPacer_End checks that the SDK reports the end of the connection only after the updates before
// it were handled, even if a line end is missing.
func TestPacer_End(t *testing.T) {
	t.Parallel()
	const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` +
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}`
	for name, output := range map[string]string{
		"lines":             update + "\n" + update + "\n",
		"no line end":       update + "\n" + update,
		"an unknown update": update + "\n" + `{"method":"session/update"}` + "\n" + update + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ready := make(chan struct{})
				turn := &turn{wake: make(chan struct{}, 1)}
				p := slowPeer{&peer{pace: newPacer(strings.NewReader(output), ready)}, make(chan struct{})}
				p.begin(turn)
				rpc := sdk.NewClientSideConnection(p, io.Discard, p.pace)
				rpc.SetLogger(slog.New(slog.DiscardHandler))
				close(ready)

				synctest.Wait()
				select {
				case <-rpc.Done():
					t.Error("the end was reported first")
				default:
				}
				close(p.release)
				<-rpc.Done()
				got, _ := turn.drainQueue()
				want := []graph.AgentMessage{says(graph.MessageText, "hi"), says(graph.MessageText, "hi")}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

// TestGrace checks that an agent that ignores everything has exited 5 s after its turn was
// cancelled, and 5 s after it was destroyed (P11).
func TestGrace(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	if stopTurn, ways := c.CloseGrace, 3*c.CloseGrace; stopTurn+ways > 5*time.Second {
		t.Errorf("it may take %s", stopTurn+ways)
	}
}
