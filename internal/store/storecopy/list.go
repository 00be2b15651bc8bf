package storecopy

import (
	"crypto/sha256"
	"errors"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// kind is the type of a column's values.
type kind int

const (
	number  kind = iota // int64
	text                // string that every kind of store can store
	raw                 // string of any bytes
	blob                // []byte
	boolean             // int64, 0 or 1
)

// column is a column of a table.
type column struct {
	name string
	kind kind
}

// table is one table of a store, or the copied part of it.
type table struct {
	name string
	// columns start with the key, by which rows are ordered in all kinds of stores.
	columns []column
	key     int // number of key columns
	// keys returns the key and the approximate size in bytes of each row, from a key on, up to a
	// limit. rows returns the rows between two keys, inclusive. add adds one row, drop deletes the
	// row with a key.
	keys, rows, add, drop tables.Text
	// check verifies a row against a checksum stored with it; nil means that there is none.
	check func(row []any) error
	// run is the column with the number of the run that a row belongs to; -1 means none.
	run int
}

// into returns the destination for added rows of the table.
func (t *table) into() tables.Into {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return tables.Into{Table: t.name, Columns: names, One: t.add}
}

// columnsOf returns columns of one kind.
func columnsOf(k kind, names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{n, k}
	}
	return out
}

func join(parts ...[]column) (out []column) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// errChecksum is returned when the stored contents of a row are not what was written.
var errChecksum = errors.New("its checksum does not match")

// checksum returns a check that a column is the SHA-256 of another.
func checksum(hash, data int) func(row []any) error {
	return func(row []any) error {
		sum := sha256.Sum256(tables.Bytes(row[data]))
		if tables.String(row[hash]) != string(sum[:]) {
			return errChecksum
		}
		return nil
	}
}

// list holds everything that is copied of a namespace, in an order in which no row refers to a
// later one. Stores of namespaces other than the default one have no rows in the access tables.
var list = []*table{
	{
		name: "namespaces", key: 1, run: -1, columns: join(columnsOf(text, "name"), columnsOf(number, "created")),
		keys: `SELECT name, 50 FROM namespaces WHERE name >= ? ORDER BY name LIMIT ?`,
		rows: `SELECT name, created FROM namespaces WHERE name >= ? AND name <= ? ORDER BY name`,
		add:  `INSERT INTO namespaces (name, created) VALUES (?, ?)`,
		drop: `DELETE FROM namespaces WHERE name = ?`,
	},
	blobs,
	runs,
	{ // the full-text index, which stores derive from the texts, comes with them
		name: "labels", key: 4, run: 3,
		columns: join(columnsOf(text, "key", "value"), columnsOf(number, "created", "run")),
		keys: `SELECT key, value, created, run, 60 FROM labels WHERE (key, value, created, run) >= (?, ?, ?, ?) ` +
			`ORDER BY key, value, created, run LIMIT ?`,
		rows: `SELECT key, value, created, run FROM labels WHERE (key, value, created, run) >= (?, ?, ?, ?) ` +
			`AND (key, value, created, run) <= (?, ?, ?, ?) ORDER BY key, value, created, run`,
		add:  `INSERT INTO labels (key, value, created, run) VALUES (?, ?, ?, ?)`,
		drop: `DELETE FROM labels WHERE key = ? AND value = ? AND created = ? AND run = ?`,
	},
	{
		name: "texts", key: 1, run: 0, columns: join(columnsOf(number, "run"), columnsOf(text, "text")),
		keys: `SELECT run, 20 + octet_length(text) FROM texts WHERE run >= ? ORDER BY run LIMIT ?`,
		rows: `SELECT run, text FROM texts WHERE run >= ? AND run <= ? ORDER BY run`,
		add:  `INSERT INTO texts (run, text) VALUES (?, ?)`,
		drop: `DELETE FROM texts WHERE run = ?`,
	},
	{
		name: "holds", key: 2, run: 0, columns: columnsOf(number, "run", "blob"),
		keys: `SELECT run, blob, 20 FROM holds WHERE (run, blob) >= (?, ?) ORDER BY run, blob LIMIT ?`,
		rows: `SELECT run, blob FROM holds WHERE (run, blob) >= (?, ?) AND (run, blob) <= (?, ?) ORDER BY run, blob`,
		add:  `INSERT INTO holds (run, blob) VALUES (?, ?)`,
		drop: `DELETE FROM holds WHERE run = ? AND blob = ?`,
	},
	{ // processes are not copied, so the copied slots have no owner
		name: "slots", key: 1, run: -1, columns: join(columnsOf(number, "id"), columnsOf(raw, "name", "run"),
			columnsOf(number, "max"),
			columnsOf(boolean, "admitted"), columnsOf(number, "owner")),
		keys: `SELECT id, 60 + octet_length(name) FROM slots WHERE id >= ? ORDER BY id LIMIT ?`,
		rows: `SELECT id, name, run, max, admitted, 0 FROM slots WHERE id >= ? AND id <= ? ORDER BY id`,
		add:  `INSERT INTO slots (id, name, run, max, admitted, owner) VALUES (?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM slots WHERE id = ?`,
	},
	{ // taken refers to an owner, and owners are not copied
		name: "inbox", key: 1, run: 1,
		columns: join(columnsOf(number, "id", "run"), columnsOf(raw, "kind"), columnsOf(blob, "data"),
			columnsOf(number, "posted", "taken"),
			columnsOf(boolean, "done"), columnsOf(blob, "result")),
		keys: `SELECT id, 60 + octet_length(data) + coalesce(octet_length(result), 0) FROM inbox WHERE id >= ? ` +
			`ORDER BY id LIMIT ?`,
		rows: `SELECT id, run, kind, data, posted, 0, done, result FROM inbox WHERE id >= ? AND id <= ? ORDER BY id`,
		add:  `INSERT INTO inbox (id, run, kind, data, posted, taken, done, result) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM inbox WHERE id = ?`,
	},
	{
		name: "notices", key: 1, run: 1, columns: join(columnsOf(number, "id", "run", "seq"), columnsOf(raw, "type"),
			columnsOf(number, "at")),
		keys: `SELECT id, 60 FROM notices WHERE id >= ? ORDER BY id LIMIT ?`,
		rows: `SELECT id, run, seq, type, at FROM notices WHERE id >= ? AND id <= ? ORDER BY id`,
		add:  `INSERT INTO notices (id, run, seq, type, at) VALUES (?, ?, ?, ?, ?)`,
		drop: `DELETE FROM notices WHERE id = ?`,
	},
	{
		name: "schedules", key: 4, run: -1,
		columns: join(columnsOf(raw, "program", "workflow", "branch", "schedule"), columnsOf(number, "version"),
			columnsOf(raw, "mode", "spec", "time_zone"), columnsOf(number, "registered", "planned", "catch_up_after",
				"catch_up_to"),
			columnsOf(raw, "run"), columnsOf(number, "asked", "refused"), columnsOf(raw, "refusal")),
		keys: `SELECT program, workflow, branch, schedule, 200 FROM schedules ` +
			`WHERE (program, workflow, branch, schedule) >= (?, ?, ?, ?) ` +
			`ORDER BY program, workflow, branch, schedule LIMIT ?`,
		rows: `SELECT program, workflow, branch, schedule, version, mode, spec, time_zone, registered, planned, ` +
			`catch_up_after, catch_up_to, run, asked, refused, refusal FROM schedules
WHERE (program, workflow, branch, schedule) >= (?, ?, ?, ?) ` +
			`AND (program, workflow, branch, schedule) <= (?, ?, ?, ?) ORDER BY program, workflow, branch, schedule`,
		add: `INSERT INTO schedules (program, workflow, branch, schedule, version, mode, spec, time_zone, ` +
			`registered, planned, catch_up_after, catch_up_to, run, asked, refused, refusal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM schedules WHERE program = ? AND workflow = ? AND branch = ? AND schedule = ?`,
	},
	{
		name: "schedule_controls", key: 4, run: -1,
		columns: join(columnsOf(raw, "program", "workflow", "branch", "schedule"),
			columnsOf(number, "revision", "paused"),
			columnsOf(raw, "paused_by"), columnsOf(number, "resumed"), columnsOf(raw, "resumed_by"),
			columnsOf(number, "skip_after", "skip_until"),
			columnsOf(raw, "skipped_by"), columnsOf(number, "asked"), columnsOf(raw, "asked_by")),
		keys: `SELECT program, workflow, branch, schedule, 200 FROM schedule_controls ` +
			`WHERE (program, workflow, branch, schedule) >= (?, ?, ?, ?) ` +
			`ORDER BY program, workflow, branch, schedule LIMIT ?`,
		rows: `SELECT program, workflow, branch, schedule, revision, paused, paused_by, resumed, resumed_by, ` +
			`skip_after, skip_until, skipped_by, asked, asked_by FROM schedule_controls
WHERE (program, workflow, branch, schedule) >= (?, ?, ?, ?) ` +
			`AND (program, workflow, branch, schedule) <= (?, ?, ?, ?) ORDER BY program, workflow, branch, schedule`,
		add: `INSERT INTO schedule_controls (program, workflow, branch, schedule, revision, paused, paused_by, ` +
			`resumed, resumed_by, skip_after, skip_until, skipped_by, asked, asked_by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM schedule_controls WHERE program = ? AND workflow = ? AND branch = ? AND schedule = ?`,
	},
	{
		name: "agents", key: 1, run: -1, columns: columnsOf(text, "id", "name", "description", "systemPrompt", "model",
			"tools", "definition"),
		keys: `SELECT id, 100 + coalesce(octet_length("systemPrompt"), 0) + coalesce(octet_length(definition), 0) ` +
			`FROM agents WHERE id >= ? ORDER BY id LIMIT ?`,
		rows: `SELECT id, name, description, "systemPrompt", model, tools, definition FROM agents WHERE id >= ? ` +
			`AND id <= ? ORDER BY id`,
		add: `INSERT INTO agents (id, name, description, "systemPrompt", model, tools, definition) ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM agents WHERE id = ?`,
	},
	{
		name: "agent_workflows", key: 1, run: -1,
		columns: join(columnsOf(text, "id", "name", "description"), columnsOf(number, "isConversational"),
			columnsOf(text, "entrypointNodeId", "routing", "humanHandoff"), columnsOf(number, "maxSteps", "timeoutMs"),
			columnsOf(text, "agents")),
		keys: `SELECT id, 100 + coalesce(octet_length(agents), 0) FROM agent_workflows WHERE id >= ? ORDER BY id ` +
			`LIMIT ?`,
		rows: `SELECT id, name, description, "isConversational", "entrypointNodeId", routing, "humanHandoff", ` +
			`"maxSteps", "timeoutMs", agents FROM agent_workflows WHERE id >= ? AND id <= ? ORDER BY id`,
		add: `INSERT INTO agent_workflows (id, name, description, "isConversational", "entrypointNodeId", routing, ` +
			`"humanHandoff", "maxSteps", "timeoutMs", agents)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM agent_workflows WHERE id = ?`,
	},
	{
		name: "agent_workflow_nodes", key: 1, run: -1, columns: join(columnsOf(number, "rowid"),
			columnsOf(text, "id", "workflowId", "nodeType", "nodeName", "agentId", "prompt")),
		keys: `SELECT rowid, 100 + coalesce(octet_length(prompt), 0) FROM agent_workflow_nodes WHERE rowid >= ? ` +
			`ORDER BY rowid LIMIT ?`,
		rows: `SELECT rowid, id, "workflowId", "nodeType", "nodeName", "agentId", prompt FROM agent_workflow_nodes ` +
			`WHERE rowid >= ? AND rowid <= ? ORDER BY rowid`,
		add: `INSERT INTO agent_workflow_nodes (rowid, id, "workflowId", "nodeType", "nodeName", "agentId", prompt) ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM agent_workflow_nodes WHERE rowid = ?`,
	},
	{
		name: "agent_workflow_edges", key: 1, run: -1,
		columns: join(columnsOf(number, "rowid"), columnsOf(text, "id", "workflowId", "sourceNodeId",
			"targetNodeId",
			"conditionType", "conditionValue")),
		keys: `SELECT rowid, 100 + coalesce(octet_length("conditionValue"), 0) FROM agent_workflow_edges ` +
			`WHERE rowid >= ? ORDER BY rowid LIMIT ?`,
		rows: `SELECT rowid, id, "workflowId", "sourceNodeId", "targetNodeId", "conditionType", "conditionValue" ` +
			`FROM agent_workflow_edges
WHERE rowid >= ? AND rowid <= ? ORDER BY rowid`,
		add: `INSERT INTO agent_workflow_edges (rowid, id, "workflowId", "sourceNodeId", "targetNodeId", ` +
			`"conditionType", "conditionValue") VALUES (?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM agent_workflow_edges WHERE rowid = ?`,
	},
	{
		name: "workflow_documents", key: 1, run: -1,
		columns: join(columnsOf(text, "id"), columnsOf(number, "published", "draft", "latest", "updated")),
		keys:    `SELECT id, 60 FROM workflow_documents WHERE id >= ? ORDER BY id LIMIT ?`,
		rows: `SELECT id, published, draft, latest, updated FROM workflow_documents WHERE id >= ? AND id <= ? ` +
			`ORDER BY id`,
		add:  `INSERT INTO workflow_documents (id, published, draft, latest, updated) VALUES (?, ?, ?, ?, ?)`,
		drop: `DELETE FROM workflow_documents WHERE id = ?`,
	},
	{
		name: "workflow_versions", key: 2, run: -1, check: checksum(6, 8),
		columns: join(columnsOf(text, "workflow_id"), columnsOf(number, "version"),
			columnsOf(text, "format", "name", "file", "digest"),
			columnsOf(blob, "hash"), columnsOf(number, "created"), columnsOf(blob, "text"), columnsOf(text, "labels")),
		keys: `SELECT workflow_id, version, 200 + octet_length(text) FROM workflow_versions ` +
			`WHERE (workflow_id, version) >= (?, ?) ORDER BY workflow_id, version LIMIT ?`,
		rows: `SELECT workflow_id, version, format, name, file, digest, hash, created, text, labels ` +
			`FROM workflow_versions
WHERE (workflow_id, version) >= (?, ?) AND (workflow_id, version) <= (?, ?) ORDER BY workflow_id, version`,
		add: `INSERT INTO workflow_versions (workflow_id, version, format, name, file, digest, hash, created, text, ` +
			`labels) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM workflow_versions WHERE workflow_id = ? AND version = ?`,
	},
	{
		name: "workflow_layouts", key: 1, run: -1,
		columns: join(columnsOf(text, "workflow_id"), columnsOf(blob, "layout")),
		keys: `SELECT workflow_id, 60 + octet_length(layout) FROM workflow_layouts WHERE workflow_id >= ? ` +
			`ORDER BY workflow_id LIMIT ?`,
		rows: `SELECT workflow_id, layout FROM workflow_layouts WHERE workflow_id >= ? AND workflow_id <= ? ` +
			`ORDER BY workflow_id`,
		add:  `INSERT INTO workflow_layouts (workflow_id, layout) VALUES (?, ?)`,
		drop: `DELETE FROM workflow_layouts WHERE workflow_id = ?`,
	},
	{
		name: "checkpoints", key: 1, run: -1, check: checksum(3, 4),
		columns: join(columnsOf(number, "n"), columnsOf(text, "execution", "label"), columnsOf(blob, "hash", "state")),
		keys:    `SELECT n, 100 + octet_length(state) FROM checkpoints WHERE n >= ? ORDER BY n LIMIT ?`,
		rows:    `SELECT n, execution, label, hash, state FROM checkpoints WHERE n >= ? AND n <= ? ORDER BY n`,
		add:     `INSERT INTO checkpoints (n, execution, label, hash, state) VALUES (?, ?, ?, ?, ?)`,
		drop:    `DELETE FROM checkpoints WHERE n = ?`,
	},
	{
		name: "memories", key: 1, run: -1,
		columns: join(columnsOf(number, "n"), columnsOf(raw, "space", "key", "category", "text"),
			columnsOf(text, "at")),
		keys: `SELECT n, 100 + octet_length(text) FROM memories WHERE n >= ? ORDER BY n LIMIT ?`,
		rows: `SELECT n, space, key, category, text, at FROM memories WHERE n >= ? AND n <= ? ORDER BY n`,
		add:  `INSERT INTO memories (n, space, key, category, text, at) VALUES (?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM memories WHERE n = ?`,
	},
	{
		name: "access_tokens", key: 1, run: -1,
		columns: join(columnsOf(number, "n"), columnsOf(blob, "hash"),
			columnsOf(text, "namespace", "id", "name", "role"),
			columnsOf(number, "approve", "created", "expires", "used")),
		keys: `SELECT n, 150 FROM access_tokens WHERE n >= ? ORDER BY n LIMIT ?`,
		rows: `SELECT n, hash, namespace, id, name, role, approve, created, expires, used FROM access_tokens ` +
			`WHERE n >= ? AND n <= ? ORDER BY n`,
		add: `INSERT INTO access_tokens (n, hash, namespace, id, name, role, approve, created, expires, used) ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM access_tokens WHERE n = ?`,
	},
	{
		name: "audit", key: 2, run: -1,
		columns: join(columnsOf(text, "namespace"), columnsOf(number, "n", "at"), columnsOf(text, "token"),
			columnsOf(raw, "actor"),
			columnsOf(text, "channel"), columnsOf(raw, "action", "target"), columnsOf(text, "outcome"),
			columnsOf(raw, "request", "remote")),
		keys: `SELECT namespace, n, 150 + octet_length(target) FROM audit WHERE (namespace, n) >= (?, ?) ` +
			`ORDER BY namespace, n LIMIT ?`,
		rows: `SELECT namespace, n, at, token, actor, channel, action, target, outcome, request, remote FROM audit
WHERE (namespace, n) >= (?, ?) AND (namespace, n) <= (?, ?) ORDER BY namespace, n`,
		add: `INSERT INTO audit (namespace, n, at, token, actor, channel, action, target, outcome, request, remote) ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM audit WHERE namespace = ? AND n = ?`,
	},
	{
		name: "webhooks", key: 1, run: -1, columns: join(columnsOf(text, "id"), columnsOf(blob, "path"),
			columnsOf(text, "workflow"),
			columnsOf(number, "created", "disabled"), columnsOf(text, "data")),
		keys: `SELECT id, 150 + octet_length(data) FROM webhooks WHERE id >= ? ORDER BY id LIMIT ?`,
		rows: `SELECT id, path, workflow, created, disabled, data FROM webhooks WHERE id >= ? AND id <= ? ORDER BY id`,
		add:  `INSERT INTO webhooks (id, path, workflow, created, disabled, data) VALUES (?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM webhooks WHERE id = ?`,
	},
	{
		name: "webhook_deliveries", key: 2, run: -1,
		columns: join(columnsOf(text, "webhook"), columnsOf(blob, "key"), columnsOf(number, "at", "until")),
		keys: `SELECT webhook, key, 80 FROM webhook_deliveries WHERE (webhook, key) >= (?, ?) ORDER BY webhook, key ` +
			`LIMIT ?`,
		rows: `SELECT webhook, key, at, until FROM webhook_deliveries WHERE (webhook, key) >= (?, ?) ` +
			`AND (webhook, key) <= (?, ?) ORDER BY webhook, key`,
		add:  `INSERT INTO webhook_deliveries (webhook, key, at, until) VALUES (?, ?, ?, ?)`,
		drop: `DELETE FROM webhook_deliveries WHERE webhook = ? AND key = ?`,
	},
	{
		name: "notification_endpoints", key: 1, run: -1,
		columns: join(columnsOf(text, "id"), columnsOf(number, "created"), columnsOf(text, "data")),
		keys:    `SELECT id, 50 + octet_length(data) FROM notification_endpoints WHERE id >= ? ORDER BY id LIMIT ?`,
		rows:    `SELECT id, created, data FROM notification_endpoints WHERE id >= ? AND id <= ? ORDER BY id`,
		add:     `INSERT INTO notification_endpoints (id, created, data) VALUES (?, ?, ?)`,
		drop:    `DELETE FROM notification_endpoints WHERE id = ?`,
	},
	{
		name: "notifications", key: 1, run: -1,
		columns: join(columnsOf(number, "n"), columnsOf(text, "id", "endpoint"), columnsOf(raw, "run"),
			columnsOf(text, "state"),
			columnsOf(number, "due", "settled"), columnsOf(text, "data")),
		keys: `SELECT n, 150 + octet_length(data) FROM notifications WHERE n >= ? ORDER BY n LIMIT ?`,
		rows: `SELECT n, id, endpoint, run, state, due, settled, data FROM notifications WHERE n >= ? AND n <= ? ` +
			`ORDER BY n`,
		add: `INSERT INTO notifications (n, id, endpoint, run, state, due, settled, data) ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		drop: `DELETE FROM notifications WHERE n = ?`,
	},
	{
		name: "notification_cursor", key: 1, run: -1, columns: columnsOf(number, "id", "at"),
		keys: `SELECT id, 20 FROM notification_cursor WHERE CAST(id AS bigint) >= ? ORDER BY id LIMIT ?`,
		rows: `SELECT id, at FROM notification_cursor WHERE CAST(id AS bigint) >= ? AND CAST(id AS bigint) <= ? ` +
			`ORDER BY id`,
		add:  `INSERT INTO notification_cursor (id, at) VALUES (?, ?)`,
		drop: `DELETE FROM notification_cursor WHERE id = ?`,
	},
	{
		name: "approve_uses", key: 1, run: -1, columns: join(columnsOf(text, "nonce"), columnsOf(number, "until"),
			columnsOf(text, "data")),
		keys: `SELECT nonce, 50 + octet_length(data) FROM approve_uses WHERE nonce >= ? ORDER BY nonce LIMIT ?`,
		rows: `SELECT nonce, until, data FROM approve_uses WHERE nonce >= ? AND nonce <= ? ORDER BY nonce`,
		add:  `INSERT INTO approve_uses (nonce, until, data) VALUES (?, ?, ?)`,
		drop: `DELETE FROM approve_uses WHERE nonce = ?`,
	},
}

// blobs are values of runs, by their hash.
var blobs = &table{
	name: "blobs", key: 1, run: -1, check: checksum(1, 2),
	columns: join(columnsOf(number, "id"), columnsOf(blob, "hash", "data")),
	keys:    `SELECT id, 50 + octet_length(data) FROM blobs WHERE id >= ? ORDER BY id LIMIT ?`,
	rows:    `SELECT id, hash, data FROM blobs WHERE id >= ? AND id <= ? ORDER BY id`,
	add:     `INSERT INTO blobs (id, hash, data) VALUES (?, ?, ?)`,
	drop:    `DELETE FROM blobs WHERE id = ?`,
}

// runs are the runs with their heads, which are a separate table. Records are copied with them.
var runs = &table{
	name: "runs", key: 1, run: 0,
	columns: join(columnsOf(number, "id"), columnsOf(raw, "run"), columnsOf(number, "created"),
		columnsOf(text, "status"),
		columnsOf(number, "waiting", "ended"), columnsOf(raw, "workflow", "name", "format", "parent", "kind"),
		columnsOf(blob, "definition"), columnsOf(raw, "meta", "session", "place", "branch", "cause", "labels",
			"preview"),
		columnsOf(number, "tokens", "calls", "cost"), columnsOf(raw, "code", "message"),
		columnsOf(number, "epoch", "last"),
		columnsOf(blob, "seal"), columnsOf(number, "updated")),
	// records take about 400 bytes per event
	keys: `SELECT r.id, 300 + 400 * h.last FROM runs r JOIN heads h ON h.id = r.id WHERE r.id >= ? ORDER BY r.id ` +
		`LIMIT ?`,
	rows: `SELECT r.id, r.run, r.created, r.status, r.waiting, r.ended, r.workflow, r.name, r.format, r.parent, ` +
		`r.kind, r.definition, r.meta, r.session, r.place,
  r.branch, r.cause, r.labels, r.preview, r.tokens, r.calls, r.cost, r.code, r.message, h.epoch, h.last, h.seal, ` +
		`h.updated
FROM runs r JOIN heads h ON h.id = r.id WHERE r.id >= ? AND r.id <= ? ORDER BY r.id`,
}

// notCopied lists the tables that are not copied, with the reason.
var notCopied = map[string]string{
	"words":            "the index of the words of texts",
	"words_data":       "likewise",
	"words_idx":        "likewise",
	"words_config":     "likewise",
	"access_sessions":  "sessions of browsers, which sign in again",
	"trash":            "records of deleted runs",
	"owners":           "processes of the store",
	"schedule_leader":  "a process of the store",
	"changes":          "counters by which processes are notified of changes",
	"lines":            "places of processes in queues",
	"notice_counter":   "copied as a counter",
	"hocket_key":       "the fingerprint of the key, which is stored when the key is checked",
	"hocket_store":     "the version of the tables",
	"catalog_turn":     "an empty table, which writers lock",
	"access_turn":      "an empty table, which writers lock",
	"hooks_turn":       "an empty table, which writers lock",
	"checkpoints_turn": "an empty table, which writers lock",
	"memories_turn":    "an empty table, which writers lock",
	"unfinished_copy":  "the mark of a copy",
}

// notCopiedColumns lists the columns of copied tables that belong to one store only.
var notCopiedColumns = map[string][]string{
	"namespaces": {"number"},     // number of the schema
	"heads":      {"record"},     // in SQLite, the number of the last record
	"records":    {"id", "prev"}, // likewise
}
