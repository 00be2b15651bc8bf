package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// batchTimeout limits a statement, or the statements of a transaction. A server that hangs is
// treated as a lost one.
const batchTimeout = 30 * time.Second

// stepTimeout limits how long the server waits for the next statement of a transaction that holds
// locks: others need the same runs, and the process may be stopped, or its machine gone.
const stepTimeout = 20 * time.Second

// stepLimit returns stepTimeout in the form that the server reads, in milliseconds.
func (s *Store) stepLimit() string { return strconv.FormatInt(s.stepTime.Milliseconds(), 10) }

// Statements of appends.
const (
	heads = `unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[], $7::bigint[]) ` +
		`AS v(id, epoch, former, last, seal, updated, owner)`

	// A negative number of tokens means that the outcome stays as it is.
	outcome = `, tokens = CASE WHEN c.tokens < 0 THEN u.tokens ELSE c.tokens END, calls = CASE WHEN c.tokens < 0 ` +
		`THEN u.calls ELSE c.calls END,
  cost = CASE WHEN c.tokens < 0 THEN u.cost ELSE c.cost END, code = CASE WHEN c.tokens < 0 THEN u.code ELSE c.code ` +
		`END, message = CASE WHEN c.tokens < 0 THEN u.message ELSE c.message END`

	// Stores, in one statement, a whole batch of appends to runs that the writer knows: the heads
	// that are as expected are updated, and everything else is stored for those runs only. Statuses
	// are looked up among the updated heads with IS TRUE, which uses a hash. A join, whose plan is
	// made for a few rows, would compare each status with all updated heads, and would read the
	// runs of all of them even if no status changes.
	sqlMove = sqlText(`WITH moved AS (
  UPDATE @heads h SET last = v.last, seal = v.seal, updated = v.updated, owner = v.owner FROM ` + heads + `
  WHERE h.id = v.id AND h.epoch = v.epoch AND h.last = v.former AND h.owner = $8 RETURNING h.id),
added AS (
  INSERT INTO @records (run, last, seal, data) SELECT r.run, r.last, r.seal, r.data
  FROM unnest($9::bigint[], $10::bigint[], $11::bytea[], $12::bytea[]) AS r(run, last, seal, data) JOIN moved m ON ` +
		`m.id = r.run),
changed AS (
  UPDATE @runs u SET status = c.status, waiting = c.waiting, ended = c.ended` + outcome + `
  FROM unnest($13::bigint[], $14::text[], $15::int[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], ` +
		`$20::bytea[], $21::bytea[]) AS c(id, status, waiting, ended, tokens, calls, cost, code, message)
  WHERE u.id = c.id AND (c.id IN (SELECT m.id FROM moved m)) IS TRUE)`)
	sqlMoveOnly = sqlMove + ` SELECT id FROM moved`
	// Every transaction locks the row of the counter after the rows of heads.
	sqlMoveNotices = sqlMove + `,
told AS (
  SELECT n.run, n.seq, n.type, n.at, row_number() OVER (ORDER BY n.ord) AS nr
  FROM unnest($22::bigint[], $23::bigint[], $24::bytea[], $25::bigint[]) WITH ORDINALITY AS n(run, seq, type, at, ` +
		`ord) JOIN moved m ON m.id = n.run),
counted AS (UPDATE @notice_counter SET last = last + (SELECT count(*) FROM told) WHERE EXISTS (SELECT FROM told) ` +
		`RETURNING last),
noticed AS (INSERT INTO @notices (id, run, seq, type, at) SELECT c.last - (SELECT count(*) FROM told) + t.nr, t.run, ` +
		`t.seq, t.type, t.at FROM told t, counted c),
worded AS (INSERT INTO @texts (run, text) SELECT t.run, t.text FROM unnest($26::bigint[], $27::text[]) AS t(run, ` +
		`text) JOIN moved m ON m.id = t.run ON CONFLICT (run) DO UPDATE SET text = excluded.text)
SELECT id FROM moved`

	sqlBegin = sqlText(`BEGIN`)
	// The rest of the transaction must arrive in time: see stepTimeout.
	sqlInTime   = sqlText(`SELECT set_config('idle_in_transaction_session_timeout', $1, true)`)
	sqlCommit   = sqlText(`COMMIT`)
	sqlRollback = sqlText(`ROLLBACK`)

	// Heads are locked in the order of their numbers. The rows of runs are locked too, so that both
	// are consistent.
	sqlTargets = sqlText(
		`SELECT r.run, h.id, h.epoch, h.owner, h.last, h.seal, r.status, r.waiting, r.ended, r.session, r.kind
FROM @runs r JOIN @heads h ON h.id = r.id WHERE r.run = ANY ($1::bytea[]) ORDER BY h.id FOR NO KEY UPDATE OF h, r`)
	sqlStored = sqlText(`SELECT u.run, c.seal FROM unnest($1::bytea[], $2::bigint[]) AS v(run, last) JOIN @runs u ON ` +
		`u.run = v.run JOIN @records c ON c.run = u.id AND c.last = v.last`)
	sqlHashes = sqlText(`SELECT hash FROM @blobs WHERE hash = ANY ($1::bytea[])`)

	sqlNewRuns = sqlText(
		`INSERT INTO @runs (run, created, status, waiting, ended, workflow, name, format, parent, kind, definition, ` +
			`meta, session, place,
  branch, cause, labels, preview, tokens, calls, cost, code, message)
SELECT unnest($1::bytea[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::int[]), unnest($5::bigint[]), ` +
			`unnest($6::bytea[]), unnest($7::bytea[]), unnest($8::bytea[]),
  unnest($9::bytea[]), unnest($10::bytea[]), unnest($11::bytea[]), unnest($12::bytea[]), unnest($13::bytea[]), ` +
			`unnest($14::bytea[]),
  unnest($15::bytea[]), unnest($16::bytea[]), unnest($17::bytea[]), unnest($18::bytea[]), unnest($19::bigint[]), ` +
			`unnest($20::bigint[]), unnest($21::bigint[]), unnest($22::bytea[]), unnest($23::bytea[])
ON CONFLICT DO NOTHING RETURNING id, run`)
	sqlThere    = sqlText(`SELECT run FROM @runs WHERE run = ANY ($1::bytea[])`)
	sqlOpenRuns = sqlText(`SELECT session, run FROM @runs WHERE session = ANY ($1::bytea[]) AND session <> '' AND ` +
		`status IN ('pending', 'running', 'paused')`)

	sqlNewHeads = sqlText(`INSERT INTO @heads (id, epoch, owner, last, seal, updated) SELECT v.id, v.epoch, v.owner, ` +
		`v.last, v.seal, v.updated FROM ` + heads)
	sqlMoveHead = sqlText(`UPDATE @heads h SET last = v.last, seal = v.seal, updated = v.updated, owner = ` +
		`v.owner FROM ` + heads + ` WHERE h.id = v.id`)
	sqlRecords = sqlText(`INSERT INTO @records (run, last, seal, data) SELECT unnest($1::bigint[]), ` +
		`unnest($2::bigint[]), unnest($3::bytea[]), unnest($4::bytea[])`)
	sqlStatus = sqlText(`UPDATE @runs u SET status = c.status, waiting = c.waiting, ended = c.ended` + outcome + `
FROM unnest($1::bigint[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], ` +
		`$8::bytea[], $9::bytea[]) AS c(id, status, waiting, ended, tokens, calls, cost, code, message) WHERE ` +
		`u.id = c.id`)
	sqlLabels = sqlText(`INSERT INTO @labels (key, value, created, run) SELECT unnest($1::text[]), ` +
		`unnest($2::text[]), unnest($3::bigint[]), unnest($4::bigint[])`)
	sqlTexts = sqlText(`INSERT INTO @texts (run, text) SELECT unnest($1::bigint[]), unnest($2::text[]) ON ` +
		`CONFLICT (run) DO UPDATE SET text = excluded.text`)
	sqlNewBlobs = sqlText(`INSERT INTO @blobs (hash, data) SELECT v.hash, v.data FROM unnest($1::bytea[], ` +
		`$2::bytea[]) AS v(hash, data) ORDER BY v.hash ON CONFLICT (hash) DO NOTHING`)
	// A blob that a prune deleted meanwhile is NULL, or is rejected by the foreign key: the batch
	// is then repeated.
	sqlHolds = sqlText(`INSERT INTO @holds (run, blob) SELECT v.run, (SELECT b.id FROM @blobs b WHERE b.hash = ` +
		`v.hash) FROM unnest($1::bigint[], $2::bytea[]) AS v(run, hash) ON CONFLICT DO NOTHING`)
	sqlNoticed = sqlText(
		`WITH counted AS (UPDATE @notice_counter SET last = last + cardinality($1::bigint[]) RETURNING last)
INSERT INTO @notices (id, run, seq, type, at) SELECT c.last - cardinality($1::bigint[]) + n.ord, n.run, n.seq, ` +
			`n.type, n.at
FROM counted c, unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY AS n(run, seq, type, ` +
			`at, ord)`)
)

// rows holds what a batch stores, by column.
type rows struct {
	heads    [6][]int64 // of heads, without the seal
	seals    [][]byte
	runs     []int64 // of records
	lasts    []int64
	sums     [][]byte
	data     [][]byte
	changed  [6][]int64 // of changed statuses: run, waiting, ended, tokens, calls, cost
	statuses []string
	failures [2][][]byte // likewise: code, message
	textRuns []int64     // runs of texts
	texts    []string
	labels   [2][]string // key, value
	labelled [2][]int64  // created, run
	notices  [3][]int64  // run, seq, at
	types    [][]byte
}

// add adds an append that continues t, and returns the resulting state of t.
func (r *rows) add(p *pending, t *target) *target {
	sum := p.seal(t.sum)
	n := t.after(p, sum)
	switch {
	case p.Release:
		n.owner = p.formerOwner()
	case p.Common:
		n.owner = commonOwner
	}
	for i, v := range [...]int64{t.id, t.epoch, key(t.last), key(n.last), tables.Micros(p.At), n.owner} {
		r.heads[i] = append(r.heads[i], v)
	}
	r.seals = append(r.seals, p.lastSeal())
	for i, rec := range p.records {
		r.runs, r.lasts = append(r.runs, t.id), append(r.lasts, key(rec.Last))
		r.sums, r.data = append(r.sums, p.seals[i]), append(r.data, rec.Data)
	}
	if p.changes(t, n) {
		o := p.outcome()
		for i, v := range [...]int64{t.id, int64(n.waiting), n.ended, o.Tokens, o.Calls, int64(o.Cost)} {
			r.changed[i] = append(r.changed[i], v)
		}
		r.statuses = append(r.statuses, n.status)
		r.failures[0], r.failures[1] = append(r.failures[0], bytesOf(o.Code)), append(r.failures[1], bytesOf(o.Message))
	}
	if p.words != "" {
		r.textRuns, r.texts = append(r.textRuns, t.id), append(r.texts, p.words)
	}
	if p.Create != nil {
		for key, value := range p.Create.Labels {
			r.labels[0], r.labels[1] = append(r.labels[0], key), append(r.labels[1], value)
			r.labelled[0], r.labelled[1] = append(r.labelled[0], tables.Micros(p.Create.Created)),
				append(r.labelled[1], t.id)
		}
	}
	for _, note := range p.Notices {
		for i, v := range [...]int64{t.id, key(note.Seq), tables.Micros(p.At)} {
			r.notices[i] = append(r.notices[i], v)
		}
		r.types = append(r.types, bytesOf(note.Type))
	}
	return n
}

// headColumns returns the arguments for rows of heads. The other columns methods do the same for
// their kind of row.
func (r *rows) headColumns() []any {
	return []any{r.heads[0], r.heads[1], r.heads[2], r.heads[3], r.seals, r.heads[4], r.heads[5]}
}
func (r *rows) recordColumns() []any { return []any{r.runs, r.lasts, r.sums, r.data} }
func (r *rows) statusColumns() []any {
	return []any{r.changed[0], r.statuses, r.changed[1], r.changed[2], r.changed[3], r.changed[4], r.changed[5],
		r.failures[0], r.failures[1]}
}
func (r *rows) textColumns() []any { return []any{r.textRuns, r.texts} }
func (r *rows) labelColumns() []any {
	return []any{r.labels[0], r.labels[1], r.labelled[0], r.labelled[1]}
}
func (r *rows) noticeColumns() []any {
	return []any{r.notices[0], r.notices[1], r.types, r.notices[2]}
}

// appendKnown stores a batch of appends to runs that the writer knows, answers those that were
// stored, and returns the others: either the writer's knowledge of the run is outdated, or it is
// unknown whether they were stored.
func (w *writer) appendKnown(batch []*pending) []*pending {
	m, _ := w.moves.Get().(*move)
	if m == nil {
		m = &move{}
	}
	m.reset()
	after := make(map[int64]*target, len(batch))
	for _, p := range batch {
		t := m.add(p, p.known)
		after[t.id] = t
	}
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	moved := make(map[int64]bool, len(batch))
	err := m.do(ctx, w.s, batch[0].owner, func(id int64) { moved[id] = true })
	if cap(m.columns[colRecordData].buf) <= maxKept {
		w.moves.Put(m)
	}
	var left, stored []*pending
	w.mu.Lock()
	for _, p := range batch {
		t := after[p.known.id]
		switch {
		case err != nil:
			p.isUncertain = isLost(err)
			delete(w.memory, p.Run)
		case !moved[t.id]:
			delete(w.memory, p.Run)
		case p.Release:
			delete(w.memory, p.Run)
			stored = append(stored, p)
			continue
		default:
			w.memory[p.Run] = t
			stored = append(stored, p)
			continue
		}
		left = append(left, p)
	}
	w.mu.Unlock()
	w.s.changes.appended(stored)
	for _, p := range stored {
		p.done <- nil
	}
	return left
}
