package mcpserver

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
)

// Limits on sessions over HTTP (SEC17), unless overridden in Config.
const (
	maxSessions    = 200            // per principal
	maxAllSessions = 2000           // for all principals together
	sessionIdle    = 12 * time.Hour // ends a session without requests
)

// headerSession is the header with the session id.
const headerSession = "Mcp-Session-Id"

// sessions tracks the sessions over HTTP, when each was last used, and how many requests each has
// in progress. Clients disconnect without notice, so at a limit the session that has been idle
// longest is ended. A session with a request in progress, such as an open event stream, stays. It
// is safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	all  map[string]*session
	used uint64 // number of completed requests: the clock of this list
	// opening counts, per holder, the requests that may open a session.
	opening map[accountKey]int
	// leaving are the sessions that are being ended. They accept no more requests.
	leaving map[string]struct{}
}

type session struct {
	id      string
	holder  accountKey
	account *account
	busy    int
	used    uint64
}

// fullError is returned when there are too many sessions and all of them have requests in progress.
type fullError struct {
	name string
	most int
}

func (e *fullError) Error() string {
	return fmt.Sprintf("%d MCP sessions are open, which is the limit (%s), and each has a request in progress; end "+
		"some with DELETE", e.most, e.name)
}

func (e *fullError) problem() transport.Problem {
	return transport.Problem{Status: http.StatusTooManyRequests, Code: errcode.Limit, Title: "Limit reached",
		Detail: e.Error(), RetryAfter: time.Minute}
}

// open makes room for a session that a request of a holder may open. The caller must call done with
// the id of the session, or with "" if none was opened. The error is a *fullError.
func (s *sessions) open(d *account, mine, every int) (done func(id string), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	holder := d.key
	s.dropEndedLocked(d)
	for s.count(holder) >= mine {
		if !s.evict(func(x *session) bool { return x.holder == holder }) {
			return nil, &fullError{"max_mcp_sessions", mine}
		}
	}
	for s.total() >= every {
		largest := s.largest()
		if !s.evict(func(x *session) bool { return x.holder == largest }) &&
			!s.evict(func(*session) bool { return true }) {
			return nil, &fullError{"max_all_mcp_sessions", every}
		}
	}
	if s.opening == nil {
		s.opening = map[accountKey]int{}
	}
	s.opening[holder]++
	return func(id string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.opening[holder]--; s.opening[holder] == 0 {
			delete(s.opening, holder)
		}
		if x := s.find(d, id); x != nil {
			s.used++
			x.used = s.used
		}
	}, nil
}

// begin records that a request of a session is in progress, until end is called. If gone is true,
// the session is being ended, and the client must see it as nonexistent.
func (s *sessions) begin(d *account, id string) (end func(), gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, leaves := s.leaving[id]; leaves {
		return nil, true
	}
	x := s.find(d, id)
	if x == nil {
		return func() {}, false
	}
	x.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used++
		x.busy--
		x.used = s.used
	}, false
}

// find returns the account's session with the given id, or nil if it has none. The caller holds
// s.mu.
func (s *sessions) find(d *account, id string) *session {
	if x := s.all[id]; x != nil {
		if x.holder != d.key {
			return nil
		}
		return x
	}
	if id == "" || d.session(id) == nil {
		return nil
	}
	if s.all == nil {
		s.all = map[string]*session{}
	}
	x := &session{id: id, holder: d.key, account: d, used: s.used}
	s.all[id] = x
	return x
}

// dropEnded drops the ended sessions of an account.
func (s *sessions) dropEnded(d *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropEndedLocked(d)
}

// dropEndedLocked drops the ended sessions of an account. The caller holds s.mu.
func (s *sessions) dropEndedLocked(d *account) {
	open := map[string]bool{}
	for one := range d.mcp.Sessions() {
		open[one.ID()] = true
	}
	for id, x := range s.all {
		if x.holder == d.key && !open[id] {
			delete(s.all, id)
		}
	}
}

// count returns the number of sessions of a holder, including those being opened. The caller holds
// s.mu.
func (s *sessions) count(holder accountKey) int {
	n := s.opening[holder]
	for _, x := range s.all {
		if x.holder == holder {
			n++
		}
	}
	return n
}

// total returns the number of all sessions, including those being opened. The caller holds s.mu.
func (s *sessions) total() int {
	n := len(s.all)
	for _, opening := range s.opening {
		n += opening
	}
	return n
}

// largest returns the holder with the most sessions that could be ended. The caller holds s.mu.
func (s *sessions) largest() (most accountKey) {
	counts := map[accountKey]int{}
	for _, x := range s.all {
		if x.busy == 0 {
			counts[x.holder]++
		}
	}
	for holder, n := range counts {
		if c := cmp.Compare(n, counts[most]); c > 0 || c == 0 && holder.less(most) {
			most = holder
		}
	}
	return most
}

// less orders holders, so that ties are broken deterministically.
func (k accountKey) less(o accountKey) bool {
	return cmp.Or(cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Token, o.Token), cmp.Compare(k.Name, o.Name)) < 0
}

// evict ends the session that has been idle longest among those for which of returns true. It
// returns false if there is none. The caller holds s.mu.
func (s *sessions) evict(of func(*session) bool) bool {
	var oldest *session
	for _, x := range s.all {
		if x.busy == 0 && of(x) && (oldest == nil || x.used < oldest.used) {
			oldest = x
		}
	}
	if oldest == nil {
		return false
	}
	delete(s.all, oldest.id)
	if s.leaving == nil {
		s.leaving = map[string]struct{}{}
	}
	s.leaving[oldest.id] = struct{}{}
	server := oldest.account.server
	server.work.Go(func() {
		if one := oldest.account.session(oldest.id); one != nil {
			_ = one.Close() // the client may be gone
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, oldest.id)
	})
	return true
}

// session returns the open session with the given id, or nil if there is none.
func (d *account) session(id string) *sdk.ServerSession {
	for one := range d.mcp.Sessions() {
		if one.ID() == id {
			return one
		}
	}
	return nil
}
