//go:build unix

package acp

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
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
		most = max(most, p.untaken())
		if err != nil {
			break
		}
	}
	if diff := cmp.Diff(text, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if most > maxUntaken || most < maxUntaken/2 {
		t.Errorf("%d updates were under way, %d may be", most, maxUntaken)
	}
	if _, err := io.ReadAll(newPacer(iotest.ErrReader(io.ErrUnexpectedEOF),
		ready)); err != io.ErrUnexpectedEOF { //nolint:errorlint // it has to be this very one
		t.Errorf("got %v", err)
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
