package postgres

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// array is an array in the server's binary format. pgx could encode a slice too, but would use
// reflection and reallocate memory for each batch, which would be a third of a batch's cost in the
// process.
type array struct {
	buf []byte
	n   int
}

// columnHead is the size of the header before the elements: dimensions, whether there are NULLs,
// element type, length, first index.
const columnHead = 20

func (c *array) reset() {
	if cap(c.buf) < columnHead {
		c.buf = make([]byte, columnHead, 1<<10)
	}
	c.buf, c.n = c.buf[:columnHead], 0
}

func (c *array) int8(v int64) {
	c.buf = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(c.buf, 8),
		uint64(v)) //nolint:gosec,nolintlint // its bits
	c.n++
}

func (c *array) int4(v int32) {
	c.buf = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(c.buf, 4),
		uint32(v)) //nolint:gosec,nolintlint // its bits
	c.n++
}

func (c *array) bytes(b []byte) {
	c.buf = append(binary.BigEndian.AppendUint32(c.buf, uint32(len(b))),
		b...) //nolint:gosec,nolintlint // a batch has some MB
	c.n++
}

func (c *array) text(s string) {
	c.buf = append(binary.BigEndian.AppendUint32(c.buf, uint32(len(s))), s...) //nolint:gosec,nolintlint // likewise
	c.n++
}

// encoded returns the encoded array with the given element type.
func (c *array) encoded(elements uint32) []byte {
	if c.n == 0 { // no dimensions
		binary.BigEndian.PutUint32(c.buf[0:], 0)
		binary.BigEndian.PutUint32(c.buf[4:], 0)
		binary.BigEndian.PutUint32(c.buf[8:], elements)
		return c.buf[:12]
	}
	for i, v := range [...]uint32{1, 0, elements, uint32(c.n), 1} { //nolint:gosec,nolintlint // a batch has thousands
		binary.BigEndian.PutUint32(c.buf[4*i:], v)
	}
	return c.buf
}

// The columns of sqlMove, in the order of its parameters without the owner.
const (
	colHead = iota
	colEpoch
	colFormer
	colLast
	colSeal
	colUpdated
	colOwner
	colRecordRun
	colRecordLast
	colRecordSeal
	colRecordData
	colStatusRun
	colStatus
	colWaiting
	colEnded
	colTokens
	colCalls
	colCost
	colCode
	colMessage
	colNoticeRun
	colNoticeSeq
	colNoticeType
	colNoticeAt
	colTextRun
	colText
	moveColumns
)

// elementTypes are the element types of the columns.
var elementTypes = [moveColumns]uint32{
	colHead: pgtype.Int8OID, colEpoch: pgtype.Int8OID, colFormer: pgtype.Int8OID, colLast: pgtype.Int8OID,
	colSeal: pgtype.ByteaOID, colUpdated: pgtype.Int8OID, colOwner: pgtype.Int8OID,
	colRecordRun: pgtype.Int8OID, colRecordLast: pgtype.Int8OID, colRecordSeal: pgtype.ByteaOID,
	colRecordData: pgtype.ByteaOID,
	colStatusRun:  pgtype.Int8OID, colStatus: pgtype.TextOID, colWaiting: pgtype.Int4OID, colEnded: pgtype.Int8OID,
	colTokens: pgtype.Int8OID, colCalls: pgtype.Int8OID, colCost: pgtype.Int8OID, colCode: pgtype.ByteaOID,
	colMessage:   pgtype.ByteaOID,
	colNoticeRun: pgtype.Int8OID, colNoticeSeq: pgtype.Int8OID, colNoticeType: pgtype.ByteaOID,
	colNoticeAt: pgtype.Int8OID,
	colTextRun:  pgtype.Int8OID, colText: pgtype.TextOID,
}

// move is a batch for sqlMove. It is reused.
type move struct {
	columns [moveColumns]array
	params  [][]byte
}

// maxKept is the maximum size of the data that a move keeps for its next batch.
const maxKept = 4 << 20

// binaryFormat is the format of all parameters and results.
var binaryFormat = []int16{pgx.BinaryFormatCode}

func (m *move) reset() {
	for i := range m.columns {
		m.columns[i].reset()
	}
}

// add adds an append that continues t, and returns the resulting state of t.
func (m *move) add(p *pending, t *target) *target {
	c := &m.columns
	n := t.after(p, p.seal(t.sum))
	if p.Release {
		n.owner = p.formerOwner()
	}
	c[colHead].int8(t.id)
	c[colEpoch].int8(t.epoch)
	c[colFormer].int8(key(t.last))
	c[colLast].int8(key(n.last))
	c[colSeal].bytes(p.lastSeal())
	c[colUpdated].int8(tables.Micros(p.At))
	c[colOwner].int8(n.owner)
	for i, r := range p.records {
		c[colRecordRun].int8(t.id)
		c[colRecordLast].int8(key(r.Last))
		c[colRecordSeal].bytes(p.seals[i])
		c[colRecordData].bytes(r.Data)
	}
	if p.changes(t, n) {
		o := p.outcome()
		c[colTokens].int8(o.Tokens)
		c[colCalls].int8(o.Calls)
		c[colCost].int8(int64(o.Cost))
		c[colCode].text(o.Code)
		c[colMessage].text(o.Message)
		c[colStatusRun].int8(t.id)
		c[colStatus].text(n.status)
		c[colWaiting].int4(int32(n.waiting)) //nolint:gosec,nolintlint // waits of a run
		c[colEnded].int8(n.ended)
	}
	if p.words != "" {
		c[colTextRun].int8(t.id)
		c[colText].text(p.words)
	}
	for _, note := range p.Notices {
		c[colNoticeRun].int8(t.id)
		c[colNoticeSeq].int8(key(note.Seq))
		c[colNoticeType].text(note.Type)
		c[colNoticeAt].int8(tables.Micros(p.At))
	}
	return n
}

// do runs the statement, and calls each for every run whose head was updated.
func (m *move) do(ctx context.Context, s *Store, owner int64, each func(id int64)) error {
	q, columns := sqlMoveNotices, int(moveColumns)
	if m.columns[colNoticeRun].n+m.columns[colTextRun].n == 0 {
		q, columns = sqlMoveOnly, colNoticeRun
	}
	m.params = m.params[:0]
	for i := range columns {
		if i == colOwner+1 {
			m.params = append(m.params,
				binary.BigEndian.AppendUint64(nil, uint64(owner))) //nolint:gosec,nolintlint // its bits
		}
		m.params = append(m.params, m.columns[i].encoded(elementTypes[i]))
	}
	conn, err := s.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	r, err := m.start(ctx, conn, s.text(q))
	if err != nil {
		return err
	}
	for r.NextRow() {
		if v := r.Values()[0]; len(v) == 8 {
			each(int64(binary.BigEndian.Uint64(v))) //nolint:gosec,nolintlint // its bits
		}
	}
	_, err = r.Close()
	return err
}

// start sends the statement; it is prepared, unless the pool goes through a pooler without support
// for prepared statements.
func (m *move) start(ctx context.Context, conn *pgxpool.Conn, text string) (*pgconn.ResultReader, error) {
	c := conn.Conn()
	if mode := c.Config().DefaultQueryExecMode; mode != pgx.QueryExecModeCacheStatement {
		return c.PgConn().ExecParams(ctx, text, m.params, nil, binaryFormat, binaryFormat), nil
	}
	statement, err := c.Prepare(ctx, text, text)
	if err != nil {
		return nil, err
	}
	return c.PgConn().ExecStatement(ctx, statement, m.params, binaryFormat, binaryFormat), nil
}
