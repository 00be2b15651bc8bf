package postgres

// All SQL of the journal except the migrations.

// Owners. An owner is alive while a session holds its lock, which any session can see; commonOwner
// is always alive. While a session holds the lock settling, all owners are alive: sessions were
// lost, and some may still reconnect.
const (
	locked = `l AS MATERIALIZED (SELECT k.objid::bigint AS id FROM pg_locks k WHERE k.locktype = 'advisory' AND ` +
		`k.classid = #::oid AND k.objsubid = 2 AND k.granted
  AND k.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))`
	alive = `SELECT -1::bigint UNION ALL SELECT l.id FROM l UNION ALL SELECT w.id FROM @owners w WHERE EXISTS ` +
		`(SELECT FROM l WHERE l.id = 2147483647)`
	living = `(WITH ` + locked + ` ` + alive + `)`

	sqlNextOwner = sqlText(`SELECT nextval(pg_get_serial_sequence('@owners', 'id'))`)
	// The row exists if the answer to an earlier attempt, or the session, was lost.
	sqlNewOwner = sqlText(
		`INSERT INTO @owners (id, owner, kind, pid, host, seen, place) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, ` +
			`$4, $5, 0, $6)
ON CONFLICT (owner) DO UPDATE SET pid = excluded.pid`)
	sqlAlive     = sqlText(`SELECT true FROM @owners o WHERE o.owner = $1 AND o.id IN ` + living)
	sqlLiving    = sqlText(living)
	sqlSign      = sqlText(`UPDATE @owners SET seen = $1 WHERE id = $2`)
	ownerColumns = `o.owner, o.kind, o.pid, o.host, o.seen, o.place`
	sqlOwners    = sqlText(`SELECT ` + ownerColumns + ` FROM @owners o WHERE o.id > 0 AND o.id IN ` + living + `
  AND (o.id IN (SELECT h.owner FROM @runs r JOIN @heads h ON h.id = r.id WHERE r.status IN ('pending', 'running')) ` +
		`OR o.id IN (SELECT owner FROM @schedule_leader))`)

	sqlProcesses = sqlText(`SELECT ` + ownerColumns + ` FROM @owners o WHERE o.id > 0 AND o.id IN ` + living)

	// If several processes claim a run at once, the first changes the row, and the others see its
	// owner when they get the row lock. A process whose own session is lost claims nothing, because
	// all others may have lost theirs at the same moment.
	sqlClaim = sqlText(`WITH ` + locked + `,
c AS (SELECT h.id, h.owner AS former FROM @heads h JOIN @runs r ON r.id = h.id
  WHERE r.run = $2 AND r.kind <> 'temporal' AND h.owner NOT IN (` + alive +
		`) AND $1::bigint IN (SELECT l.id FROM l) FOR UPDATE OF h)` + claimed)
	// The runs of each dead owner, and released runs, are read from an index that otherwise
	// contains only runs that are being executed. The handle's own runs are not claimed: while its
	// session is lost, it would claim them from itself again and again.
	sqlClaimSome = sqlText(`WITH ` + locked + `,
d AS (SELECT o.id FROM @owners o WHERE o.id <> $1 AND o.id NOT IN (` + alive +
		`) UNION ALL SELECT -2 UNION ALL SELECT -3),
c AS (SELECT h.id, h.owner AS former FROM d JOIN @heads h ON h.owner = d.id AND h.owner <> 0 JOIN @runs r ON r.id = h.id
  WHERE (r.status IN ('pending', 'running') OR h.owner = -3) AND r.kind = $2 AND r.place IN ('', $3) AND r.run <> ` +
		`ALL ($4::bytea[]) AND $1::bigint IN (SELECT l.id FROM l) LIMIT $5 FOR UPDATE OF h SKIP LOCKED)` + claimed)
	claimed = `,
u AS (UPDATE @heads h SET owner = $1, epoch = h.epoch + 1 FROM c WHERE h.id = c.id RETURNING h.id, h.epoch, h.last, ` +
		`h.updated, h.owner, c.former)
SELECT ` + headColumns + `, h.former = -3 FROM u h JOIN @runs r ON r.id = h.id LEFT JOIN @owners o ON o.id = h.owner`
	// A released run that can continue gets a special owner value, by which it is found.
	releasedOwner = `CASE WHEN r.status IN ('pending', 'running') THEN -2 ELSE 0 END`
	sqlEvict      = sqlText(`UPDATE @heads h SET owner = ` + releasedOwner +
		`, epoch = h.epoch + 1 FROM @runs r, @owners o ` +
		`WHERE r.run = $1 AND h.id = r.id AND o.owner = $2 AND h.owner = o.id`)
	sqlDisown = sqlText(`UPDATE @heads h SET owner = ` + releasedOwner +
		` FROM @runs r WHERE r.run = $1 AND h.id = r.id AND h.epoch = $2 AND h.owner = $3`)

	// Both rows of the run are locked in the same order as in appends.
	sqlStoreID = sqlText(`SELECT identity::text FROM @hocket_store ORDER BY number LIMIT 1`)
	sqlSetKind = sqlText(`WITH held AS (
  SELECT r.id, r.status FROM @runs r JOIN @heads h ON h.id = r.id WHERE r.run = $1 AND r.kind <> $2 AND (h.owner = ` +
		`-1 OR h.owner NOT IN ` + living + `) FOR NO KEY UPDATE OF h, r),
moved AS (
  UPDATE @heads h SET epoch = h.epoch + 1, owner = CASE WHEN $2 = 'temporal'::bytea AND o.status IN ('pending', ` +
		`'running') THEN -1
    WHEN o.status IN ('pending', 'running') THEN -2 ELSE 0 END FROM held o WHERE h.id = o.id)
UPDATE @runs r SET kind = $2 FROM held o WHERE r.id = o.id`)
	sqlReturn = sqlText(`UPDATE @heads h SET owner = -3 FROM @runs r WHERE r.run = $1 AND h.id = r.id AND h.epoch = ` +
		`$2 AND h.owner = $3`)
	sqlPlace = sqlText(`UPDATE @runs SET place = $2 WHERE run = $1`)

	sqlForget = sqlText(`DELETE FROM @owners o WHERE o.id NOT IN ` + living +
		` AND NOT EXISTS (SELECT FROM @heads h WHERE h.owner = o.id AND h.owner <> 0)
  AND o.id NOT IN (SELECT owner FROM @schedule_leader) AND NOT EXISTS (SELECT FROM @lines n WHERE n.owner = o.id) ` +
		`AND NOT EXISTS (SELECT FROM @slots n WHERE n.owner = o.id)`)
)

// Reading a run.
const (
	// The records with events after $2 and the one before them, without its data; at most 200, or
	// up to the record that passes $3 bytes.
	sqlRead = sqlText(
		`SELECT u.id, h.last, h.seal, r.last, r.seal, r.data FROM @runs u JOIN @heads h ON h.id = u.id LEFT JOIN ` +
			`LATERAL (
  SELECT b.last, b.seal, b.data FROM (
    SELECT c.last, c.seal, CASE WHEN c.last > $2 THEN c.data ELSE '' END AS data,
      sum(CASE WHEN c.last > $2 THEN octet_length(c.data) ELSE 0 END) OVER (ORDER BY c.last) - octet_length(c.data) ` +
			`AS before
    FROM @records c WHERE c.run = u.id AND c.last >= coalesce((SELECT p.last FROM @records p WHERE p.run = u.id AND ` +
			`p.last <= $2 ORDER BY p.last DESC LIMIT 1), 0)
    ORDER BY c.last LIMIT 200
  ) b WHERE b.before < $3
) r ON true WHERE u.run = $1 ORDER BY r.last`)
	// The records that follow. A run only grows at its end, and nothing beyond the head that the
	// first statement saw is read.
	sqlReadOn = sqlText(`SELECT b.last, b.seal, b.data FROM (
  SELECT c.last, c.seal, c.data, sum(octet_length(c.data)) OVER (ORDER BY c.last) - octet_length(c.data) AS before
  FROM @records c WHERE c.run = $1 AND c.last > $2 AND c.last <= $4 ORDER BY c.last LIMIT 200
) b WHERE b.before < $3 ORDER BY b.last`)
	sqlIsThere = sqlText(`SELECT true FROM @heads WHERE id = $1`)

	sqlBlob     = sqlText(`SELECT data FROM @blobs WHERE hash = $1`)
	sqlBlobPart = sqlText(`SELECT octet_length(data), substring(data FROM $2 FOR $3) FROM @blobs WHERE hash = $1`)
	sqlBlobSize = sqlText(`SELECT octet_length(data), ''::bytea FROM @blobs WHERE hash = $1`)
)

// Heads. Lists are read newest first, in streams that an index returns in order.
const (
	headColumns = `r.id, r.run, r.created, r.status, r.waiting, r.ended, r.workflow, r.name, r.format, r.parent, ` +
		`r.kind, r.definition, r.meta,
  h.epoch, h.last, h.updated, coalesce(o.owner, ''), coalesce(o.kind, ''), coalesce(o.pid, 0), r.session, ` +
		`coalesce(o.host, ''), coalesce(o.seen, 0), r.place, coalesce(o.place, ''),
  CASE WHEN r.status IN ('pending', 'running') THEN h.owner NOT IN ` + living + ` ELSE false END,
  r.branch, r.cause, r.labels, r.preview, r.tokens, r.calls, r.cost, r.code, r.message`
	headJoins = ` JOIN @heads h ON h.id = r.id LEFT JOIN @owners o ON o.id = h.owner `

	// $1 is the earliest creation time, $2 and $3 are the exclusive upper bound as time and number,
	// $4 the kind, $5 whether only interrupted runs are requested, $6 the limit.
	inPage = ` r.created >= $1 AND (r.created, r.id) < ($2, $3) AND ($4 = ''::bytea OR r.kind = $4) AND (NOT $5 OR ` +
		`h.owner NOT IN ` + living + `)`
	inOrder = ` ORDER BY r.created DESC, r.id DESC LIMIT $6`
	// Additional conditions for queries that name a parent, a session or a prefix: $7 to $10. Such
	// runs are few, and the conditions are checked for each.
	extraConditions = ` AND r.status = ANY ($7::text[]) AND ($8 = ''::bytea OR r.workflow = $8) AND ($9 = ` +
		`''::bytea OR ` +
		`r.parent = $9) AND ($10 = ''::bytea OR r.session = $10)`

	sqlHead    = sqlText(`SELECT ` + headColumns + ` FROM @runs r` + headJoins + `WHERE r.run = $1`)
	sqlListAll = sqlText(`SELECT ` + headColumns + ` FROM @runs r` + headJoins + `WHERE` + inPage + inOrder)
	// The two ends of a statement with a stream for each requested status ($7): see listSome.
	someStart = `WITH ` + locked + `, living (id) AS MATERIALIZED (` + alive + `)
SELECT ` + headColumns + ` FROM (SELECT r.id FROM (
`
	someEnd   = `) r` + inOrder + `) x JOIN @runs r ON r.id = x.id` + headJoins + inOrder
	stream    = `(SELECT r.id, r.created FROM @runs r WHERE r.status = `
	streamed  = ` AND `
	streamEnd = ` = ANY ($7::text[]) AND r.created >= $1 AND (r.created, r.id) < ($2, $3) AND ($4 = ''::bytea OR ` +
		`r.kind = $4) AND ($8 = ''::bytea OR r.workflow = $8)
  AND (NOT $5 OR EXISTS (SELECT FROM @heads h WHERE h.id = r.id AND h.owner NOT IN (SELECT l.id FROM living l)))` +
		inOrder + `)`

	sqlListParent = sqlText(`SELECT ` + headColumns + ` FROM @runs r` + headJoins +
		`WHERE r.parent = $9 AND r.parent <> '' AND` + inPage + extraConditions + inOrder)
	sqlListSession = sqlText(`SELECT ` + headColumns + ` FROM @runs r` + headJoins +
		`WHERE r.session = $10 AND r.session <> '' AND` + inPage + extraConditions + inOrder)
	sqlListPrefix = sqlText(`SELECT ` + headColumns + ` FROM @runs r` + headJoins +
		`WHERE r.run >= $11 AND ($12::bytea IS NULL OR r.run < $12) AND` + inPage + extraConditions + inOrder)

	sqlCount = sqlText(`SELECT count(*) FROM @runs WHERE status = ANY ($1::text[])`)
)

// Notices.
const (
	sqlNotices = sqlText(`SELECT n.id, r.run, n.seq, n.type, n.at FROM @notices n JOIN @runs r ON r.id = n.run ` +
		`WHERE n.id > $1 ORDER BY n.id LIMIT $2`)
	sqlLastNotice = sqlText(`SELECT coalesce(max(id), 0) FROM @notices`)
)

// Inbox.
const (
	sqlPost = sqlText(`WITH r AS (SELECT id FROM @runs WHERE run = $1 FOR KEY SHARE)
INSERT INTO @inbox (run, kind, data, posted, taken, done) SELECT r.id, $2, $3, $4, 0, false FROM r RETURNING id`)
	sqlTake = sqlText(
		`UPDATE @inbox i SET taken = $1 FROM @heads h, @runs r WHERE NOT i.done AND i.taken <> $1 AND h.id = i.run ` +
			`AND h.owner = $1 AND r.id = i.run
RETURNING i.id, r.run, i.kind, i.data, i.posted`)
	sqlUnclaimed = sqlText(
		`SELECT i.id, r.run, i.kind, CASE WHEN $1 = ''::bytea THEN '' ELSE i.data END, i.posted FROM @inbox i JOIN ` +
			`@heads h ON h.id = i.run JOIN @runs r ON r.id = i.run
WHERE NOT i.done AND ($1 = ''::bytea OR r.run = $1) AND (h.owner = -1 OR h.owner NOT IN ` + living + `) ORDER BY i.id`)
	sqlSettle = sqlText(`UPDATE @inbox SET done = true, result = $1 WHERE id = $2 AND NOT done`)
	sqlResult = sqlText(`SELECT done, result FROM @inbox WHERE id = $1`)
)

// Queues. Entries into one queue are serialized, so that positions are committed in the order of
// their numbers.
const (
	sqlEnter = sqlText(
		`WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('hocket line of @' || encode($2, ` +
			`'hex'), $1)) AS done),
gone AS (DELETE FROM @lines l WHERE l.kind = $1 AND l.name = $2 AND l.owner NOT IN ` + living + `)
INSERT INTO @lines (kind, name, owner, token) SELECT $1, $2, $3, $4 FROM turn RETURNING id`)
	sqlStanding = sqlText(
		`SELECT count(*) FILTER (WHERE $3 = 0 OR l.id < $3), count(*), coalesce(bool_or(l.id = $3), false)
FROM @lines l WHERE l.kind = $1 AND l.name = $2 AND l.owner IN ` + living)
	sqlLeave = sqlText(`DELETE FROM @lines WHERE id = $1 AND kind = $2 AND name = $3`)
	sqlLost  = sqlText(`DELETE FROM @lines WHERE owner = $1 AND token = $2`)
)

// Slots. All changes in one queue are made under its lock. A name may be too long for an index, so
// its hash is indexed.
const (
	slotHeld = `(s.owner <> 0 AND s.owner IN ` + living +
		` OR EXISTS (SELECT FROM @runs r WHERE r.run = s.run AND r.status IN ('pending', 'running', 'paused')))`
	slotWaiting = `(s.owner <> 0 AND s.owner IN ` + living +
		` OR EXISTS (SELECT FROM @runs r JOIN @heads h ON h.id = r.id
  WHERE r.run = s.run AND r.status = 'pending' AND (h.owner < 0 OR h.owner IN ` + living + `)))`
	slotsOf     = `sha256(s.name) = sha256($1) AND `
	sqlSlot     = sqlText(`SELECT id, name, max, admitted FROM @slots WHERE run = $1`)
	sqlSlotTurn = sqlText(
		`SELECT true FROM pg_advisory_xact_lock(hashtextextended('hocket slots of @' || encode($1, 'hex'), 0))`)
	sqlNewSlot   = sqlText(`INSERT INTO @slots (name, run, max, owner) VALUES ($1, $2, $3, $4)`)
	sqlDropSlot  = sqlText(`DELETE FROM @slots WHERE run = $1`)
	sqlSlotKept  = sqlText(`SELECT true FROM @slots s WHERE s.run = $1 AND ` + slotHeld)
	sqlConfirm   = sqlText(`UPDATE @slots SET owner = 0 WHERE run = $1`)
	sqlAdmit     = sqlText(`UPDATE @slots SET admitted = true WHERE id = $1`)
	sqlSlotsHeld = sqlText(`SELECT s.run FROM @slots s WHERE ` + slotsOf + `s.admitted AND s.id <> $2 AND ` + slotHeld +
		` ORDER BY s.id`)
	sqlBehind = sqlText(`SELECT s.run FROM @slots s WHERE ` + slotsOf + `NOT s.admitted AND s.id < $2 AND ` +
		slotWaiting + ` ORDER BY s.id DESC LIMIT 1`)
	sqlBefore = sqlText(`SELECT count(*) FROM @slots s WHERE ` + slotsOf + `NOT s.admitted AND s.id < $2 AND ` +
		slotWaiting)
	// Slots of runs that ended before the run that now gets a slot.
	sqlDropSlots = sqlText(`DELETE FROM @slots s WHERE ` + slotsOf + `s.id < $2 AND NOT ` + slotHeld)
)

// Schedules.
const (
	sqlSchedules = sqlText(
		`SELECT program, workflow, branch, schedule, version, mode, spec, time_zone, registered, planned, ` +
			`catch_up_after, catch_up_to, run, asked, refused, refusal
FROM @schedules ORDER BY program, workflow, branch, schedule`)
	sqlRegister = sqlText(`INSERT INTO @schedules
  (program, workflow, branch, schedule, version, mode, spec, time_zone, registered, planned, catch_up_after, ` +
		`catch_up_to, run, asked, refused, refusal)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (program, workflow, branch, schedule) DO UPDATE SET version = excluded.version, mode = excluded.mode, ` +
		`spec = excluded.spec, time_zone = excluded.time_zone,
  registered = excluded.registered, planned = excluded.planned, catch_up_after = excluded.catch_up_after, ` +
		`catch_up_to = excluded.catch_up_to,
  run = excluded.run, asked = excluded.asked, refused = excluded.refused, refusal = excluded.refusal`)
	sqlUnregister = sqlText(
		`DELETE FROM @schedules WHERE program = $1 AND workflow = $2 AND branch = $3 AND schedule = $4`)
	sqlControls = sqlText(
		`SELECT program, workflow, branch, schedule, revision, paused, paused_by, resumed, resumed_by, skip_after, ` +
			`skip_until, skipped_by, asked, asked_by
FROM @schedule_controls ORDER BY program, workflow, branch, schedule`)
	sqlControl = sqlText(
		`SELECT program, workflow, branch, schedule, revision, paused, paused_by, resumed, resumed_by, skip_after, ` +
			`skip_until, skipped_by, asked, asked_by
FROM @schedule_controls WHERE program = $1 AND workflow = $2 AND branch = $3 AND schedule = $4`)
	// If two updates replace the same revision, the second changes no row.
	sqlSetControl = sqlText(`INSERT INTO @schedule_controls AS c
  (program, workflow, branch, schedule, revision, paused, paused_by, resumed, resumed_by, skip_after, skip_until, ` +
		`skipped_by, asked, asked_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (program, workflow, branch, schedule) DO UPDATE SET revision = excluded.revision, paused = ` +
		`excluded.paused, paused_by = excluded.paused_by, resumed = excluded.resumed, resumed_by = ` +
		`excluded.resumed_by, skip_after = excluded.skip_after, skip_until = excluded.skip_until, skipped_by = ` +
		`excluded.skipped_by, asked = excluded.asked, asked_by = excluded.asked_by
WHERE c.revision = excluded.revision - 1`)
	sqlLeader = sqlText(`SELECT ` + ownerColumns + `, o.id IN ` + living +
		` FROM @schedule_leader l JOIN @owners o ON o.id = l.owner WHERE l.program = $1`)
	sqlLead = sqlText(`INSERT INTO @schedule_leader AS l (program, owner) VALUES ($3, $1)
ON CONFLICT (program) DO UPDATE SET owner = excluded.owner WHERE l.owner NOT IN ` + living +
		` OR l.owner = (SELECT o.id FROM @owners o WHERE o.owner = $2)`)
)

// Pruning.
const (
	// Ended runs are ordered by end time, continuing after (ended, id); paused runs by creation
	// time, because there is no index on the times of heads.
	sqlEnded = sqlText(`SELECT r.ended, r.id, h.epoch, h.last, h.owner IN ` + living +
		` FROM @runs r JOIN @heads h ON h.id = r.id
WHERE r.status = $1 AND r.ended <> 0 AND (r.ended, r.id) > ($2, $3) AND r.ended < $4 ORDER BY r.ended, r.id LIMIT 200`)
	sqlPaused = sqlText(`SELECT r.created, r.id, h.epoch, h.last, h.owner IN ` + living +
		` FROM @runs r JOIN @heads h ON h.id = r.id
WHERE r.status = $1 AND (r.created, r.id) > ($2, $3) AND h.updated < $4 ORDER BY r.created, r.id LIMIT 200`)

	// Two concurrent prunes would each leave a blob to the other, so they run one after the other.
	sqlPruneLock = sqlText(`SELECT pg_advisory_xact_lock(hashtextextended('hocket prune of @', 0))`)
	sqlVictims   = sqlText(
		`SELECT h.id FROM @heads h JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(id, epoch, last)
  ON h.id = v.id AND h.epoch = v.epoch AND h.last = v.last ORDER BY h.id FOR UPDATE OF h`)
	sqlDropHolds  = sqlText(`DELETE FROM @holds WHERE run = ANY ($1::bigint[]) RETURNING blob`)
	sqlDropInbox  = sqlText(`DELETE FROM @inbox WHERE run = ANY ($1::bigint[])`)
	sqlDropNotes  = sqlText(`DELETE FROM @notices WHERE run = ANY ($1::bigint[])`)
	sqlDropLabels = sqlText(`DELETE FROM @labels WHERE run = ANY ($1::bigint[])`)
	sqlDropTexts  = sqlText(`DELETE FROM @texts WHERE run = ANY ($1::bigint[])`)
	sqlDropPlaces = sqlText(`DELETE FROM @slots s USING @runs r WHERE r.id = ANY ($1::bigint[]) AND s.run = r.run ` +
		`AND s.owner = 0`)
	sqlDropHeads = sqlText(`DELETE FROM @heads WHERE id = ANY ($1::bigint[])`)
	sqlDropRuns  = sqlText(`DELETE FROM @runs WHERE id = ANY ($1::bigint[])`)
	sqlToTrash   = sqlText(`INSERT INTO @trash (run) SELECT unnest($1::bigint[])`)
	sqlDropBlobs = sqlText(`DELETE FROM @blobs b WHERE b.id = ANY ($1::bigint[]) AND NOT EXISTS (SELECT FROM @holds ` +
		`h WHERE h.blob = b.id)`)

	// Deletes records of some runs in the trash, then the runs that have none left.
	sqlTakeOut = sqlText(`WITH t AS (SELECT run FROM @trash ORDER BY run LIMIT 100),
d AS (SELECT r.run, r.last FROM t CROSS JOIN LATERAL (SELECT c.run, c.last FROM @records c WHERE c.run = t.run ORDER ` +
		`BY c.last LIMIT $1) r LIMIT $1)
DELETE FROM @records r USING d WHERE r.run = d.run AND r.last = d.last`)
	sqlTrashLeft = sqlText(`WITH gone AS (
  DELETE FROM @trash t WHERE t.run IN (SELECT run FROM @trash ORDER BY run LIMIT 100) AND NOT EXISTS (SELECT FROM ` +
		`@records r WHERE r.run = t.run) RETURNING t.run)
SELECT EXISTS (SELECT FROM @trash t WHERE t.run NOT IN (SELECT run FROM gone))`)
)
