package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// BenchmarkIdle measures how many statements per second an idle server sends, and how many
// connections it keeps.
func BenchmarkIdle(b *testing.B) {
	s := pgtest.Start(b, pgtest.Config{Settings: map[string]string{"log_statement": "all"}})
	db := s.URL(b)
	models := modeltest.Start(b, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{} })
	serve(b, db, models.BaseURL())
	time.Sleep(15 * time.Second) // skips startup statements
	c := pgtest.Connect(b, s.Superuser(pgtest.Name))
	var statements, connections []float64
	for b.Loop() {
		const turn = 10 * time.Second
		before := len(s.Said(b))
		time.Sleep(turn)
		said := s.Said(b)[before:]
		n := strings.Count(said, "LOG:  statement: ") + strings.Count(said, "LOG:  execute ")
		statements = append(statements, float64(n)/turn.Seconds())
		var open int
		if err := c.QueryRow(b.Context(), `SELECT count(*) FROM pg_stat_activity WHERE usename = $1`, pgtest.User).Scan(
			&open); err != nil {
			b.Fatal(err)
		}
		connections = append(connections, float64(open))
	}
	atMost(b, "statements/s", median(statements), 5)
	atMost(b, "connections", median(connections), 4)
}
