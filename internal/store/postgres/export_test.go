package postgres

import (
	"context"
	"net"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// OpenOver opens a store whose connections are made by wrap of those that are dialled.
func OpenOver(ctx context.Context, cfg Config, wrap func(net.Conn) net.Conn) (*Store, error) {
	db, err := connect(ctx, cfg, wrap)
	if err != nil {
		return nil, err
	}
	return db.open(ctx, db.cfg.Schema, cfg.Kind)
}

// Number is the number of the handle among the owners; 0 until it owns something.
func (s *Store) Number() int64 { return s.owner.number.Load() }

// SetBatchBytes makes Each read batches of one record that ends beyond n bytes.
func (s *Store) SetBatchBytes(n int64) { s.batchBytes = n }

// SetStepTime bounds how long the server waits for a process inside a transaction that holds locks.
func (s *Store) SetStepTime(d time.Duration) { s.stepTime = d }

// SetTurnTime bounds the transactions of parts.
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

// Classify sorts an error.
var Classify = classify

// Queued is how many appends wait for a batch.
func (s *Store) Queued() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// SetSettleTime sets for how long owners count as living after the process made its session anew.
func (s *Store) SetSettleTime(d time.Duration) { s.db.session.settleTime = d }

// Connections is how many connections the pool has.
func (s *Store) Connections() int { return int(s.db.pool.Stat().TotalConns()) }

// GiveUpPlace gives up the place of a statement with a token whose answer was lost.
func (s *Store) GiveUpPlace(token string) { s.giveUpPlace(s.owner.number.Load(), token) }

// SetReplyTime bounds how long a server is waited for that sends nothing.
func (s *Store) SetReplyTime(d time.Duration) {
	n := s.db.network
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reply = d
}

// ExplainList gives the lines of the plan for a list, after it was carried out.
func (s *Store) ExplainList(ctx context.Context, q journal.Query) (plan []string, err error) {
	text, args, err := s.listStatement(q)
	if err != nil {
		return nil, err
	}
	var line string
	err = s.query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) "+text, args, []any{&line}, func() { plan = nil }, func() error {
		plan = append(plan, line)
		return nil
	})
	return plan, err
}
