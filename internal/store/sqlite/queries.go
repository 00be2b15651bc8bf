package sqlite

// All SQL except the migrations. Placeholders are plain ?, because the driver looks up named ones
// by their text.

// Connections.
const (
	// the writer retries by itself: SQLite would do so less and less often
	sqlBusyNow    = sqlText(`PRAGMA busy_timeout = 0`)
	sqlBusyWriter = sqlText(`PRAGMA busy_timeout = 50`) // while it waits for readers
	sqlBusyReader = sqlText(`PRAGMA busy_timeout = 250`)
	sqlVacuumMode = sqlText(`PRAGMA auto_vacuum = INCREMENTAL`) // before the first table, or never
	sqlWAL        = sqlText(`PRAGMA journal_mode = WAL`)
	// Queried, not set.
	sqlJournalMode = sqlText(`PRAGMA journal_mode`)
	// The index of the log is then kept in memory instead of in a file. This must be executed
	// before the first access to the file, and locks out all others.
	sqlAlone    = sqlText(`PRAGMA locking_mode = EXCLUSIVE`)
	sqlSync     = sqlText(`PRAGMA synchronous = FULL`)
	sqlNoFold   = sqlText(`PRAGMA wal_autocheckpoint = 0`) // see limitLog
	sqlWALLimit = sqlText(`PRAGMA journal_size_limit = 67108864`)
	sqlCache    = sqlText(`PRAGMA cache_size = -8192`)
	sqlTemp     = sqlText(`PRAGMA temp_store = MEMORY`)
	sqlReadOnly = sqlText(`PRAGMA query_only = ON`)

	// One statement, because another process may be creating the store between two.
	sqlWhose = sqlText(
		`SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
  (SELECT count(*) FROM sqlite_schema), (SELECT count(*) FROM sqlite_schema WHERE name = 'unfinished_copy')`)
	sqlSetAppID = sqlText(`PRAGMA application_id = 1212896330`)

	sqlBegin     = sqlText(`BEGIN`)
	sqlImmediate = sqlText(`BEGIN IMMEDIATE`)
	sqlCommit    = sqlText(`COMMIT`)
	sqlRollback  = sqlText(`ROLLBACK`)

	sqlSavepoint        = sqlText(`SAVEPOINT lent`)
	sqlRollbackTo       = sqlText(`ROLLBACK TO lent`)
	sqlReleaseSavepoint = sqlText(`RELEASE lent`)

	// busy, pages in the log, pages of the log that are already in the file
	sqlLookAtWAL   = sqlText(`PRAGMA wal_checkpoint(NOOP)`)
	sqlFoldWAL     = sqlText(`PRAGMA wal_checkpoint(PASSIVE)`)
	sqlRestartWAL  = sqlText(`PRAGMA wal_checkpoint(RESTART)`)
	sqlTruncateWAL = sqlText(`PRAGMA wal_checkpoint(TRUNCATE)`)
	sqlFreePages   = sqlText(`PRAGMA freelist_count`)
	sqlVacuum      = sqlText(`PRAGMA incremental_vacuum(512)`)
)

// Appends.
const (
	sqlTarget = sqlText(
		`SELECT r.id, h.epoch, h.owner, h.last, h.seal, h.record, r.status, r.waiting, r.ended, r.session
FROM runs r JOIN heads h ON h.id = r.id WHERE r.run = ?`)

	sqlNewRun = sqlText(
		`INSERT INTO runs (run, created, status, waiting, ended, workflow, name, format, parent, kind, definition, ` +
			`meta, session, place,
  branch, cause, labels, preview, tokens, calls, cost, code, message)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	sqlNewLabel = sqlText(`INSERT INTO labels (key, value, created, run) VALUES (?, ?, ?, ?)`)
	sqlSetTexts = sqlText(
		`INSERT INTO texts (run, text) SELECT value ->> 0, value ->> 1 FROM json_each(?) WHERE value ->> 0 IN ` +
			`(SELECT id FROM runs)
ON CONFLICT (run) DO UPDATE SET text = excluded.text WHERE text <> excluded.text`)
	sqlOpenRun = sqlText(`SELECT run FROM runs INDEXED BY runs_open_session WHERE session = ? AND session <> '' AND ` +
		`status IN ('pending', 'running', 'paused')`)
	sqlNotice  = sqlText(`INSERT INTO notices (run, seq, type, at) VALUES (?, ?, ?, ?)`)
	sqlNewHead = sqlText(`INSERT INTO heads (id, epoch, owner, last, seal, record, updated) VALUES (?, 1, ?, ?, ` +
		`?, ?, ?)`)

	sqlNewRecord = sqlText(`INSERT INTO records (run, prev, last, seal, data) VALUES (?, ?, ?, ?, ?)`)

	// The conditions are what the writer remembers about the run: as long as its last record is the
	// same, so is everything else that only its owner changes.
	sqlMoveHead = sqlText(`UPDATE heads SET last = ?, seal = ?, record = ?, updated = ?
WHERE id = ? AND epoch = ? AND record = ?`)

	// The same for several runs at once.
	newRecords      = `INSERT INTO records (run, prev, last, seal, data) VALUES `
	recordRows1     = `(?, ?, ?, ?, ?)`
	recordRows2     = recordRows1 + `, ` + recordRows1
	recordRows4     = recordRows2 + `, ` + recordRows2
	recordRows8     = recordRows4 + `, ` + recordRows4
	recordRows16    = recordRows8 + `, ` + recordRows8
	recordRows32    = recordRows16 + `, ` + recordRows16
	sqlNewRecords2  = sqlText(newRecords + recordRows2)
	sqlNewRecords4  = sqlText(newRecords + recordRows4)
	sqlNewRecords8  = sqlText(newRecords + recordRows8)
	sqlNewRecords16 = sqlText(newRecords + recordRows16)
	sqlNewRecords32 = sqlText(newRecords + recordRows32)

	moveHeads = `UPDATE heads SET last = v.column1, seal = v.column2, record = v.column3, updated = v.column4 ` +
		`FROM (VALUES `
	movedHeads     = `) AS v WHERE heads.id = v.column5 AND heads.epoch = v.column6 AND heads.record = v.column7`
	headRows1      = `(?, ?, ?, ?, ?, ?, ?)`
	headRows2      = headRows1 + `, ` + headRows1
	headRows4      = headRows2 + `, ` + headRows2
	headRows8      = headRows4 + `, ` + headRows4
	headRows16     = headRows8 + `, ` + headRows8
	headRows32     = headRows16 + `, ` + headRows16
	sqlMoveHeads2  = sqlText(moveHeads + headRows2 + movedHeads)
	sqlMoveHeads4  = sqlText(moveHeads + headRows4 + movedHeads)
	sqlMoveHeads8  = sqlText(moveHeads + headRows8 + movedHeads)
	sqlMoveHeads16 = sqlText(moveHeads + headRows16 + movedHeads)
	sqlMoveHeads32 = sqlText(moveHeads + headRows32 + movedHeads)

	sqlSetStatus  = sqlText(`UPDATE runs SET status = ?, waiting = ?, ended = ? WHERE id = ?`)
	sqlSetOutcome = sqlText(`UPDATE runs SET status = ?, waiting = ?, ended = ?, tokens = ?, calls = ?, cost = ?, ` +
		`code = ?, message = ? WHERE id = ?`)
	sqlDisown = sqlText(`UPDATE heads SET owner = ? WHERE id = ? AND epoch = ? AND owner = ?`)

	sqlBlobID  = sqlText(`SELECT id FROM blobs WHERE hash = ?`)
	sqlNewBlob = sqlText(`INSERT INTO blobs (hash, data) VALUES (?, ?)`)
	sqlHold    = sqlText(`INSERT INTO holds (run, blob) VALUES (?, ?) ON CONFLICT DO NOTHING`)
)

// Reading a run.
const (
	sqlPosition = sqlText(`SELECT h.last, h.seal, h.record FROM runs r JOIN heads h ON h.id = r.id WHERE r.run = ?`)

	// The chain from a record down to and including the one that contains an event. Event numbers
	// decrease with every step, so that the chain ends even if corruption created a cycle.
	sqlChain = sqlText(`WITH RECURSIVE chain (id, prev, last) AS (
  SELECT id, prev, last FROM records WHERE id = ?
  UNION ALL
  SELECT p.id, p.prev, p.last FROM chain c JOIN records p ON p.id = c.prev WHERE c.last > ? AND p.last < c.last
)
SELECT r.prev, r.last, r.seal, r.data FROM chain c CROSS JOIN records r ON r.id = c.id`)

	// The same chain without the records' data, which is then read record by record.
	sqlChainIDs = sqlText(`WITH RECURSIVE chain (id, prev, last) AS (
  SELECT id, prev, last FROM records WHERE id = ?
  UNION ALL
  SELECT p.id, p.prev, p.last FROM chain c JOIN records p ON p.id = c.prev WHERE c.last > ? AND p.last < c.last
)
SELECT id, prev FROM chain`)
	sqlRecord = sqlText(`SELECT last, seal, data FROM records WHERE id = ?`)

	sqlBlob     = sqlText(`SELECT data FROM blobs WHERE hash = ?`)
	sqlBlobPart = sqlText(`SELECT length(data), substr(data, ?, ?) FROM blobs WHERE hash = ?`)
	sqlBlobSize = sqlText(`SELECT length(data), x'' FROM blobs WHERE hash = ?`)
)

// Heads. Lists are read newest first, in streams that an index returns in order; INDEXED BY makes a
// missing index an error rather than a slow list.
const (
	headColumns = `r.id, r.run, r.created, r.status, r.waiting, r.ended, r.workflow, r.name, r.format, r.parent, ` +
		`r.kind, r.definition, r.meta,
  h.epoch, h.last, h.updated, h.owner, o.owner, o.kind, o.pid, r.session, o.host, o.seen, r.place, o.place,
  r.branch, r.cause, r.labels, r.preview, r.tokens, r.calls, r.cost, r.code, r.message`
	headJoins = ` CROSS JOIN heads h ON h.id = r.id LEFT JOIN owners o ON o.id = h.owner `

	// Arguments: from; the creation time of the cursor, twice, and its key; kind, twice; a flag and
	// a JSON list of living owners' numbers; limit.
	inPage = ` r.created >= ? AND r.created <= ? AND (r.created, r.id) < (?, ?) AND (? = '' OR r.kind = ?)
  AND (? = 0 OR h.owner NOT IN (SELECT value FROM json_each(?)))`
	inOrder = ` ORDER BY r.created DESC, r.id DESC LIMIT ?`

	sqlHead = sqlText(`SELECT ` + headColumns + ` FROM runs r` + headJoins + `WHERE r.run = ?`)

	sqlListAll = sqlText(`SELECT ` + headColumns + ` FROM runs r INDEXED BY runs_created` + headJoins + `WHERE` +
		inPage + inOrder)
	sqlListStatus = sqlText(`SELECT ` + headColumns + ` FROM runs r INDEXED BY runs_status` + headJoins +
		`WHERE r.status = ? AND` + inPage + inOrder)
	// The index for counts has trigger and format before the time. The runs of a workflow have few
	// different ones, so there is a stream for each combination.
	sqlListWorkflow = sqlText(`SELECT ` + headColumns + ` FROM runs r INDEXED BY runs_tally` + headJoins +
		`WHERE r.workflow = ? AND r.status = ? AND r.cause = ? AND r.format = ? AND` + inPage + inOrder)
	// The time ends the tuple so that the search starts after all runs of the last trigger and
	// format: SQLite checks rows equal to a tuple one by one.
	sqlNextCause = sqlText(`SELECT r.cause, r.format FROM runs r INDEXED BY runs_tally
WHERE r.workflow = ? AND r.status = ? AND (r.cause, r.format, r.created) > (?, ?, 9223372036854775807) ORDER BY ` +
		`r.cause, r.format, r.created LIMIT 1`)
	// A parent has few children: every other condition is checked for each.
	sqlListParent = sqlText(`SELECT ` + headColumns + ` FROM runs r INDEXED BY runs_parent` + headJoins +
		`WHERE r.parent = ? AND r.parent <> '' AND (? = '' OR r.workflow = ?) AND r.status IN (SELECT value FROM ` +
		`json_each(?)) AND` + inPage + inOrder)

	sqlListSession = sqlText(`SELECT ` + headColumns + ` FROM runs r INDEXED BY runs_session` + headJoins +
		`WHERE r.session = ? AND r.session <> '' AND (? = '' OR r.parent = ?) AND (? = '' OR r.workflow = ?) AND ` +
		`r.status IN (SELECT value FROM json_each(?)) AND` + inPage + inOrder)

	// A prefix typed by a person matches few runs: every other condition is checked for each.
	sqlListPrefix = sqlText(`SELECT ` + headColumns + ` FROM runs r INDEXED BY sqlite_autoindex_runs_1` + headJoins +
		`WHERE r.run >= ? AND r.run < ? AND (? = '' OR r.session = ?) AND (? = '' OR r.parent = ?) AND (? = '' OR ` +
		`r.workflow = ?)
  AND r.status IN (SELECT value FROM json_each(?)) AND` + inPage + inOrder)

	sqlActiveOwners = sqlText(`SELECT DISTINCT h.owner, o.owner FROM runs r INDEXED BY runs_status
CROSS JOIN heads h ON h.id = r.id JOIN owners o ON o.id = h.owner WHERE r.status IN ('pending', 'running')`)
)

// Notices, and numbers of runs.
const (
	sqlNotices = sqlText(`SELECT n.id, r.run, n.seq, n.type, n.at FROM notices n CROSS JOIN runs r ON r.id = ` +
		`n.run WHERE n.id > ? ORDER BY n.id LIMIT ?`)
	sqlLastNotice = sqlText(`SELECT coalesce(max(id), 0) FROM notices`)
	sqlCount      = sqlText(`SELECT count(*) FROM runs INDEXED BY runs_status WHERE status IN (SELECT value FROM ` +
		`json_each(?))`)
)

// Changes, for waiters in other processes.
const (
	sqlVersion = sqlText(`PRAGMA data_version`) // changes with each commit of another connection
	sqlMarks   = sqlText(
		`SELECT (SELECT coalesce(max(id), 0) FROM records), (SELECT coalesce(max(id), 0) FROM notices), ` +
			`requests, owners,
  (SELECT coalesce(max(id), 0) FROM owners), lines, (SELECT coalesce(max(id), 0) FROM runs) FROM changes`)
	sqlMoved = sqlText(`SELECT DISTINCT r.run FROM records c CROSS JOIN runs r ON r.id = c.run WHERE c.id > ?`)

	sqlRequestsChanged = sqlText(`UPDATE changes SET requests = requests + 1`)
	sqlOwnersChanged   = sqlText(`UPDATE changes SET owners = owners + 1`)
	sqlLinesChanged    = sqlText(`UPDATE changes SET lines = lines + 1`)
)

// Owners.
const (
	sqlNewOwner  = sqlText(`INSERT INTO owners (owner, kind, pid, host, seen, place) VALUES (?, ?, ?, ?, 0, ?)`)
	sqlSign      = sqlText(`UPDATE owners SET seen = ? WHERE id = ?`)
	sqlEvict     = sqlText(`UPDATE heads SET owner = ?, epoch = epoch + 1 WHERE id = ? AND epoch = ? AND owner = ?`)
	ownerColumns = `o.owner, o.kind, o.pid, o.host, o.seen, o.place`
	sqlOwners    = sqlText(`SELECT ` + ownerColumns + ` FROM owners o WHERE o.id IN (SELECT DISTINCT h.owner
FROM runs r INDEXED BY runs_status CROSS JOIN heads h ON h.id = r.id WHERE r.status IN ('pending', 'running'))
UNION SELECT ` + ownerColumns + ` FROM schedule_leader l JOIN owners o ON o.owner = l.owner`)
	sqlProcesses = sqlText(`SELECT ` + ownerColumns + `, o.id FROM owners o`)
	// Waiting runs, and runs of dead owners: the latter are only looked up if there are any.
	sqlWaiting = sqlText(
		`SELECT r.run, h.id, h.epoch, h.owner FROM heads h INDEXED BY heads_waiting CROSS JOIN runs r ON r.id = h.id
WHERE h.owner < 0 AND (h.owner = -3 OR r.status IN ('pending', 'running')) AND r.kind = ? AND r.place IN ('', ?) AND ` +
			`r.run NOT IN (SELECT value FROM json_each(?)) LIMIT ?`)
	sqlOrphaned = sqlText(
		`SELECT r.run, h.id, h.epoch, h.owner FROM runs r INDEXED BY runs_status CROSS JOIN heads h ON h.id = r.id
WHERE r.status IN ('pending', 'running') AND h.owner IN (SELECT value FROM json_each(?)) AND r.kind = ? AND r.place ` +
			`IN ('', ?)
  AND r.run NOT IN (SELECT value FROM json_each(?)) LIMIT ?`)
	sqlPlace  = sqlText(`UPDATE runs SET place = ? WHERE run = ?`)
	sqlClaim  = sqlText(`UPDATE heads SET owner = ?, epoch = epoch + 1 WHERE id = ? AND epoch = ? AND owner = ?`)
	sqlUnused = sqlText(`SELECT id, owner FROM owners WHERE id > ? AND id NOT IN (SELECT owner FROM heads) AND id ` +
		`NOT IN (SELECT owner FROM lines) AND id NOT IN (SELECT owner FROM slots) ORDER BY id LIMIT 500`)
	sqlForget = sqlText(`DELETE FROM owners WHERE id = ? AND id NOT IN (SELECT owner FROM heads) AND id NOT IN ` +
		`(SELECT owner FROM lines) AND id NOT IN (SELECT owner FROM slots)`)
)

// Inbox.
const (
	sqlPost = sqlText(`INSERT INTO inbox (run, kind, data, posted, taken, done) SELECT id, ?, ?, ?, 0, 0 FROM runs ` +
		`WHERE run = ?`)
	sqlOpen = sqlText(`SELECT i.id, r.run, i.kind, i.data, i.posted FROM inbox i INDEXED BY inbox_open
CROSS JOIN heads h ON h.id = i.run JOIN runs r ON r.id = i.run
WHERE i.done = 0 AND i.taken <> ? AND h.owner = ? ORDER BY i.id`)
	sqlUnclaimed = sqlText(
		`SELECT i.id, r.run, i.kind, CASE WHEN ?1 = '' THEN x'' ELSE i.data END, i.posted, coalesce(o.owner, '')
FROM inbox i INDEXED BY inbox_open CROSS JOIN heads h ON h.id = i.run JOIN runs r ON r.id = i.run LEFT JOIN owners o ` +
			`ON o.id = h.owner
WHERE i.done = 0 AND (?1 = '' OR r.run = ?1) ORDER BY i.id`)
	sqlTake   = sqlText(`UPDATE inbox SET taken = ? WHERE id = ? AND done = 0 AND taken <> ?`)
	sqlSettle = sqlText(`UPDATE inbox SET done = 1, result = ? WHERE id = ? AND done = 0`)
	sqlResult = sqlText(`SELECT done, result FROM inbox WHERE id = ?`)
)

// Queues.
const (
	sqlEnter  = sqlText(`INSERT INTO lines (kind, name, owner) VALUES (?, ?, ?)`)
	sqlPlaces = sqlText(`SELECT l.id, o.owner FROM lines l JOIN owners o ON o.id = l.owner WHERE l.kind = ? AND ` +
		`l.name = ? ORDER BY l.id`)
	sqlLeave    = sqlText(`DELETE FROM lines WHERE id = ? AND kind = ? AND name = ?`)
	sqlLeaveKey = sqlText(`DELETE FROM lines WHERE owner = ? AND kind = ? AND name = ?`)
)

// Slots. Dead owners are a JSON list of numbers: an owner that is not in it may have arrived since.
const (
	slotHeld = `(s.owner <> 0 AND s.owner NOT IN (SELECT value FROM json_each(?)) OR EXISTS (SELECT 1 FROM runs r ` +
		`WHERE r.run = s.run AND r.status IN ('pending', 'running', 'paused')))`
	slotWaiting = `(s.owner <> 0 AND s.owner NOT IN (SELECT value FROM json_each(?)) OR EXISTS (SELECT 1 FROM runs r ` +
		`CROSS JOIN heads h ON h.id = r.id
  WHERE r.run = s.run AND r.status = 'pending' AND h.owner <> 0 AND h.owner NOT IN (SELECT value FROM json_each(?))))`
	sqlSlot      = sqlText(`SELECT id, name, max, admitted FROM slots WHERE run = ?`)
	sqlNewSlot   = sqlText(`INSERT INTO slots (name, run, max, owner) VALUES (?, ?, ?, ?)`)
	sqlDropSlot  = sqlText(`DELETE FROM slots WHERE run = ?`)
	sqlSlotKept  = sqlText(`SELECT 1 FROM slots s WHERE s.run = ? AND ` + slotHeld)
	sqlConfirm   = sqlText(`UPDATE slots SET owner = 0 WHERE run = ?`)
	sqlAdmit     = sqlText(`UPDATE slots SET admitted = 1 WHERE id = ?`)
	sqlSlotsHeld = sqlText(`SELECT s.run FROM slots s INDEXED BY slots_name WHERE s.name = ? AND s.admitted = 1 AND ` +
		`s.id <> ? AND ` + slotHeld + ` ORDER BY s.id`)
	sqlBehind = sqlText(`SELECT s.run FROM slots s INDEXED BY slots_name WHERE s.name = ? AND s.admitted = 0 AND ` +
		`s.id < ? AND ` + slotWaiting + ` ORDER BY s.id DESC LIMIT 1`)
	sqlBefore = sqlText(`SELECT count(*) FROM slots s INDEXED BY slots_name WHERE s.name = ? AND s.admitted = 0 ` +
		`AND s.id < ? AND ` + slotWaiting)
	// Slots of runs that ended before the run that now gets a slot.
	sqlDropSlots = sqlText(`DELETE FROM slots AS s WHERE s.name = ? AND s.id < ? AND NOT ` + slotHeld)
)

// Schedules.
const (
	sqlSchedules = sqlText(
		`SELECT program, workflow, branch, schedule, version, mode, spec, time_zone, registered, planned, ` +
			`catch_up_after, catch_up_to, run, asked, refused, refusal
FROM schedules ORDER BY program, workflow, branch, schedule`)
	sqlRegister = sqlText(`INSERT INTO schedules
  (program, workflow, branch, schedule, version, mode, spec, time_zone, registered, planned, catch_up_after, ` +
		`catch_up_to, run, asked, refused, refusal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (program, workflow, branch, schedule) DO UPDATE SET version = excluded.version, mode = excluded.mode, ` +
		`spec = excluded.spec, time_zone = excluded.time_zone,
  registered = excluded.registered, planned = excluded.planned, catch_up_after = excluded.catch_up_after, ` +
		`catch_up_to = excluded.catch_up_to,
  run = excluded.run, asked = excluded.asked, refused = excluded.refused, refusal = excluded.refusal`)
	sqlUnregister = sqlText(`DELETE FROM schedules WHERE program = ? AND workflow = ? AND branch = ? AND schedule = ?`)
	sqlControls   = sqlText(
		`SELECT program, workflow, branch, schedule, revision, paused, paused_by, resumed, resumed_by, skip_after, ` +
			`skip_until, skipped_by, asked, asked_by
FROM schedule_controls ORDER BY program, workflow, branch, schedule`)
	sqlControl = sqlText(
		`SELECT program, workflow, branch, schedule, revision, paused, paused_by, resumed, resumed_by, skip_after, ` +
			`skip_until, skipped_by, asked, asked_by
FROM schedule_controls WHERE program = ? AND workflow = ? AND branch = ? AND schedule = ?`)
	// If two updates replace the same revision, the second changes no row.
	sqlSetControl = sqlText(`INSERT INTO schedule_controls
  (program, workflow, branch, schedule, revision, paused, paused_by, resumed, resumed_by, skip_after, skip_until, ` +
		`skipped_by, asked, asked_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (program, workflow, branch, schedule) DO UPDATE SET revision = excluded.revision, paused = ` +
		`excluded.paused, paused_by = excluded.paused_by, resumed = excluded.resumed, resumed_by = ` +
		`excluded.resumed_by, skip_after = excluded.skip_after, skip_until = excluded.skip_until, skipped_by = ` +
		`excluded.skipped_by, asked = excluded.asked, asked_by = excluded.asked_by
WHERE schedule_controls.revision = excluded.revision - 1`)
	sqlLeader = sqlText(`SELECT l.owner, l.kind, l.pid, o.host, o.seen, o.place FROM schedule_leader l LEFT JOIN ` +
		`owners o ON o.owner = l.owner WHERE l.program = ?`)
	sqlLead = sqlText(`INSERT INTO schedule_leader (program, owner, kind, pid) VALUES (?, ?, ?, ?)
ON CONFLICT (program) DO UPDATE SET owner = excluded.owner, kind = excluded.kind, pid = excluded.pid WHERE owner = ?`)
)

// Pruning.
const (
	// Oldest first, continuing after (created, id). A run ends and pauses after it was created,
	// which limits the index range.
	sqlEnded = sqlText(`SELECT r.created, r.id, h.epoch, h.last, h.owner, o.owner FROM runs r INDEXED BY runs_status` +
		headJoins + `
WHERE r.status = ? AND r.created >= ? AND (r.created, r.id) > (?, ?) AND r.ended < ? ORDER BY r.created, r.id ` +
		`LIMIT 200`)
	sqlPaused = sqlText(`SELECT r.created, r.id, h.epoch, h.last, h.owner, o.owner FROM runs r INDEXED BY runs_status` +
		headJoins + `
WHERE r.status = ? AND r.created >= ? AND (r.created, r.id) > (?, ?) AND h.updated < ? ORDER BY r.created, r.id ` +
		`LIMIT 200`)

	sqlHeadRecord = sqlText(`SELECT record FROM heads WHERE id = ? AND epoch = ? AND last = ?`)
	sqlHeld       = sqlText(`SELECT blob FROM holds WHERE run = ?`)
	sqlDropHolds  = sqlText(`DELETE FROM holds WHERE run = ?`)
	sqlDropBlob   = sqlText(`DELETE FROM blobs WHERE id = ? AND NOT EXISTS (SELECT 1 FROM holds WHERE blob = blobs.id)`)
	sqlDropInbox  = sqlText(`DELETE FROM inbox WHERE run = ?`)
	sqlDropNotice = sqlText(`DELETE FROM notices WHERE run = ?`)
	sqlDropLabels = sqlText(`DELETE FROM labels WHERE run = ?`)
	sqlDropTexts  = sqlText(`DELETE FROM texts WHERE run = ?`)
	sqlDropPlaces = sqlText(`DELETE FROM slots WHERE run = (SELECT run FROM runs WHERE id = ?) AND owner = 0`)
	sqlDropHead   = sqlText(`DELETE FROM heads WHERE id = ?`)
	sqlDropRun    = sqlText(`DELETE FROM runs WHERE id = ?`)
	sqlToTrash    = sqlText(`INSERT INTO trash (record, run) VALUES (?, ?)`)
	sqlTrash      = sqlText(`SELECT record, run FROM trash LIMIT 1`)
	sqlDropTrash  = sqlText(`DELETE FROM trash WHERE record = ?`)
	sqlRecordAt   = sqlText(`SELECT prev, length(data) FROM records WHERE id = ? AND run = ?`)
	sqlDropRecord = sqlText(`DELETE FROM records WHERE id = ?`)

	// How full the pages of records are. Only the pages of that table are read.
	sqlFill     = sqlText(`SELECT pgsize, unused FROM dbstat WHERE name = 'records' AND aggregate = TRUE`)
	sqlRunsFrom = sqlText(`SELECT id FROM heads WHERE id > ? ORDER BY id LIMIT 200`)
	sqlLastOf   = sqlText(`SELECT record FROM heads WHERE id = ?`)
	sqlPrevOf   = sqlText(`SELECT prev FROM records WHERE id = ? AND run = ?`)
	sqlPiece    = sqlText(`WITH RECURSIVE chain (id, prev, last) AS (
  SELECT id, prev, last FROM records WHERE id = ?
  UNION ALL
  SELECT p.id, p.prev, p.last FROM chain c JOIN records p ON p.id = c.prev WHERE p.last < c.last
  LIMIT ?
)
SELECT r.id, r.prev, r.last, r.seal, r.data FROM chain c CROSS JOIN records r ON r.id = c.id`)
	sqlSetLast = sqlText(`UPDATE heads SET record = ? WHERE id = ?`)
	sqlSetPrev = sqlText(`UPDATE records SET prev = ? WHERE id = ?`)
)
