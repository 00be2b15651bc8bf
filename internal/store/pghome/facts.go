package pghome

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/store"
)

// commits is the number of commits to measure.
const commits = 5

// sqlCommit writes to the write-ahead log and nowhere else, so that its commit waits for the disk
// like the commit of a record.
const sqlCommit = `SELECT pg_logical_emit_message(true, 'hocket doctor', '')`

// Facts implements store.Kind.
func (k *Kind) Facts(ctx context.Context, at store.Locator) ([]store.Fact, error) {
	t, err := targetOf(at.URL())
	if err != nil {
		return nil, err
	}
	s, err := t.probe(ctx, at.Servers(), k.now)
	if err != nil && s.version == "" {
		return nil, err
	}
	facts := t.facts(s)
	if err != nil {
		return facts, err
	}
	took, err := t.commitTime(ctx)
	if err != nil {
		return facts, err
	}
	return slices.Insert(facts, 1,
		store.Fact{Name: "commit", Value: fmt.Sprintf("%.2f ms (median of %d)", took.Seconds()*1000, commits)}), nil
}

// facts returns the facts that the server reported when it was probed.
func (t target) facts(s server) []store.Fact {
	out := []store.Fact{
		{Name: "version", Value: "PostgreSQL " + s.version},
		{Name: "synchronous_commit", Value: s.sync, Warning: unsafeWarning(s.sync)},
		{Name: "fsync", Value: s.fsync, Warning: unsafeWarning(s.fsync)},
		{Name: "replicas", Value: strconv.Itoa(s.replicas) + " connected, " + strconv.Itoa(s.syncReplicas) +
			" synchronous"},
		{Name: "pooler", Value: "none"},
		{Name: "clock", Value: s.offset.Round(time.Millisecond).String() + " ahead of this machine"},
		{Name: "connections", Value: strconv.Itoa(s.maxConns) + " at most"},
	}
	if s.standbys != "" && s.syncReplicas == 0 && s.replicas == 0 {
		out[3].Warning = "synchronous_standby_names is set and no replica is connected: commits wait for one"
	}
	if s.pooled {
		host, port := t.url.LeaseHost()
		out[4].Value = "yes; sessions connect to " + host
		if port != "" {
			out[4].Value += ":" + port
		}
		if host == "" {
			out[4] = store.Fact{Name: "pooler", Value: "yes", Warning: "lease_host is missing in the URL"}
		}
	}
	if s.offset < 0 {
		out[5].Value = (-s.offset).Round(time.Millisecond).String() + " behind this machine"
	}
	if s.offset.Abs() >= maxClockOffset {
		out[5].Warning = "the clocks differ by " + maxClockOffset.String() + " or more"
	}
	return out
}

func unsafeWarning(setting string) string {
	if setting == "off" {
		return "stored results can be lost in a crash of the server"
	}
	return ""
}

// commitTime returns the median time of a commit on one connection.
func (t target) commitTime(ctx context.Context) (time.Duration, error) {
	var times []time.Duration
	err := t.withConn(ctx, func(c *pgx.Conn) error {
		for range commits + 1 {
			began := time.Now()
			if _, err := c.Exec(ctx, sqlCommit); err != nil {
				return t.explain(ctx, err)
			}
			times = append(times, time.Since(began))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	times = times[1:] // the first commit prepares the statement
	slices.Sort(times)
	return times[len(times)/2], nil
}
