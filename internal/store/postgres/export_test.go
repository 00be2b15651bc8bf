package postgres

import (
	"context"
	"net"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// OpenOver opens a store whose dialed connections are wrapped with wrap.
func OpenOver(ctx context.Context, cfg Config, wrap func(net.Conn) net.Conn) (*Store, error) {
	db, err := connect(ctx, cfg, wrap)
	if err != nil {
		return nil, err
	}
	return db.open(ctx, db.cfg.Schema, cfg.Kind)
}

// Number returns the number of the handle among the owners; 0 until it owns something.
func (s *Store) Number() int64 { return s.owner.number.Load() }

// SetBatchBytes makes Each read batches that end with the record that passes n bytes.
func (s *Store) SetBatchBytes(n int64) { s.batchBytes = n }

// SetStepTime limits how long the server waits for a process inside a transaction that holds locks.
func (s *Store) SetStepTime(d time.Duration) { s.stepTime = d }

// SetTurnTime limits the transactions of parts.
func (s *Store) SetTurnTime(d time.Duration) { s.turnTime = d }

// Classes of errors.
const (
	ClassNone     = classNone
	ClassConflict = classConflict
	ClassLost     = classLost
	ClassServer   = classServer
	ClassDamage   = classDamage
	ClassRejected = classRejected
)

// Classify classifies an error.
var Classify = classify

// Queued returns how many appends wait for a batch.
func (s *Store) Queued() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// SetSettleTime sets how long owners count as alive after the process re-created its session.
func (s *Store) SetSettleTime(d time.Duration) { s.db.session.settleTime = d }

// Connections returns the number of connections in the pool.
func (s *Store) Connections() int { return int(s.db.pool.Stat().TotalConns()) }

// GiveUpPlace releases the queue position taken by the statement with the token, whose answer was
// lost.
func (s *Store) GiveUpPlace(token string) { s.giveUpPlace(s.owner.number.Load(), token) }

// SetReplyTime limits how long a server may stay silent while a statement waits for it.
func (s *Store) SetReplyTime(d time.Duration) {
	n := s.db.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reply = d
}

// ExplainList returns the lines of the query plan of a list, after executing it.
func (s *Store) ExplainList(ctx context.Context, q journal.Query) (plan []string, err error) {
	text, args, err := s.listStatement(q)
	if err != nil {
		return nil, err
	}
	var line string
	err = s.query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "+text, args, []any{&line}, func() { plan = nil },
		func() error {
			plan = append(plan, line)
			return nil
		})
	return plan, err
}
