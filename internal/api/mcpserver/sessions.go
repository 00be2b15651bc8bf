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

// Bounds of sessions over HTTP (SEC17), unless Config says otherwise.
const (
	maxSessions    = 200            // of one principal
	maxAllSessions = 2000           // of all
	sessionIdle    = 12 * time.Hour // a session without requests ends
)

// headerSession is the header with a session's id.
const headerSession = "Mcp-Session-Id"

// sessions knows the sessions over HTTP, when each was used last, and how many requests of each are under way. Clients leave without a word, so where a bound is reached
// the session that was idle for longest ends. One with a request under way, which an open event stream is, stays. Safe for concurrent use.
type sessions struct {
	mu   sync.Mutex
	all  map[string]*session
	used uint64 // counts the ends of requests: the clock of this list
	// opening counts the requests of each holder that may open a session.
	opening map[accountKey]int
	// leaving are the sessions that are being ended. They take no request any more.
	leaving map[string]struct{}
}

type session struct {
	id      string
	holder  accountKey
	account *account
	busy    int
	used    uint64
}

// fullError says that there are too many sessions, all of them with requests under way.
type fullError struct {
	name string
	most int
}

func (e *fullError) Error() string {
	return fmt.Sprintf("%d MCP sessions are open, which is the limit (%s), and each has a request in progress; end some with DELETE", e.most, e.name)
}

func (e *fullError) problem() transport.Problem {
	return transport.Problem{Status: http.StatusTooManyRequests, Code: errcode.Limit, Title: "Limit reached", Detail: e.Error(), RetryAfter: time.Minute}
}

// open makes room for a session that a request of a holder may open. The caller calls done with the id of the session, or "" where none was opened. Errors: *fullError.
func (s *sessions) open(d *account, mine, every int) (done func(id string), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	holder := d.key
	s.forget(d)
	for s.count(holder) >= mine {
		if !s.evict(func(x *session) bool { return x.holder == holder }) {
			return nil, &fullError{"max_mcp_sessions", mine}
		}
	}
	for s.total() >= every {
		largest := s.largest()
		if !s.evict(func(x *session) bool { return x.holder == largest }) && !s.evict(func(*session) bool { return true }) {
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
		if x := s.know(d, id); x != nil {
			s.used++
			x.used = s.used
		}
	}, nil
}

// begin notes that a request of a session is under way, until end is called. gone: the session is being ended, and is to its client as one that does not exist.
func (s *sessions) begin(d *account, id string) (end func(), gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, leaves := s.leaving[id]; leaves {
		return nil, true
	}
	x := s.know(d, id)
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

// know gives the session of an id that an account has; nil: it has none. s.mu is held.
func (s *sessions) know(d *account, id string) *session {
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

// left drops the sessions of an account that have ended.
func (s *sessions) left(d *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(d)
}

// forget drops the sessions of an account that have ended. s.mu is held.
func (s *sessions) forget(d *account) {
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

// count gives the sessions of a holder, and those that it may be about to have. s.mu is held.
func (s *sessions) count(holder accountKey) int {
	n := s.opening[holder]
	for _, x := range s.all {
		if x.holder == holder {
			n++
		}
	}
	return n
}

// total gives all sessions, and those that there may soon be. s.mu is held.
func (s *sessions) total() int {
	n := len(s.all)
	for _, opening := range s.opening {
		n += opening
	}
	return n
}

// largest gives the holder with the most sessions that could be ended. s.mu is held.
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

// less orders holders, so that which of two is chosen does not depend on chance.
func (k accountKey) less(o accountKey) bool {
	return cmp.Or(cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Token, o.Token), cmp.Compare(k.Name, o.Name)) < 0
}

// evict ends the session that was idle for longest of those that are asked for. False: there is none. s.mu is held.
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
			_ = one.Close() // the client may have left
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.leaving, oldest.id)
	})
	return true
}

// session gives the open session of an id; nil: there is none.
func (d *account) session(id string) *sdk.ServerSession {
	for one := range d.mcp.Sessions() {
		if one.ID() == id {
			return one
		}
	}
	return nil
}
